"""Flags of operations, made from the inputs that the API itself reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeGuard

import click
from msgspec import Struct
from msgspec import inspect as types

from better_compute.cli.says import FIELDS
from better_compute.cli.target import read_text
from better_compute.domain.problems import ComputeError
from better_compute.wire.body import parse_value

TENANT = "tenantId"

SECRETS = frozenset({"joinToken"})
"""Fields that are read from a file: a flag's value is seen by everybody on the machine."""

NULL = object()
"""The value of a flag that says null, where none at all says that it was not given."""

_SAMPLES = {
    "poolId": "pool_41ajr0h7xph5z9bavercrty41f",
    "siteId": "site_fra1",
    "class": "metal-host",
    "gpuModel": "H100",
    "from": "1796000000000",
    "to": "1796086400000",
    "toTenantId": "acme",
    "quota": "gpu=32",
    "kind": "shared",
    "name": "fra1",
    "region": "eu-central",
    "inventory": "@machine.json",
    "joinToken": "join-token.txt",
    "operations": "@operations.json",
    "identityId": "sa_fleet",
    "credentialId": "cred_41ajr0h7xph5z9bavercrty41f",
    "reservationId": "rsv_57dam74abch9b921771gj6ytj5",
    "resources": "gpu=8",
    "nodeId": "node_41ajr0h7xph5z9bavercrty41f",
}


def all_fields(kind: type[Struct]) -> Sequence[types.Field]:
    info = types.type_info(kind)
    assert isinstance(info, types.StructType)
    return info.fields


def fields(kind: type[Struct]) -> list[types.Field]:
    """The fields of an input but the tenant, which is every command's `--tenant`."""
    return [field for field in all_fields(kind) if field.encode_name != TENANT]


def option(field: types.Field) -> click.Option:
    """The flag of a field. Its parameter has the field's wire name, and its value is ready for the wire."""
    names = [f"--{_flag(field)}", field.encode_name]
    kind = _plain(field.type)
    help_ = _help(field, kind)
    if isinstance(kind, types.BoolType):
        return click.Option([f"--{_flag(field)}/--no-{_flag(field)}", field.encode_name], default=None, help=help_)
    if _repeats(kind):
        return click.Option(names, type=_scalar(_plain(kind.item_type)), multiple=True, help=help_)
    if _counts(kind):
        return click.Option(names, type=Counts(), multiple=True, required=field.required, help=help_)
    return click.Option(names, type=_type(field, kind), required=field.required, help=help_)


def json_value(text: str) -> Any:
    """The JSON value that a text spells, read as strictly as the API reads it: what is not exact is never sent as
    something else. Raises ComputeError."""
    return parse_value(text.encode("utf-8", "surrogateescape"))


def stated(options: dict[str, Any]) -> dict[str, Any]:
    """The input that the options spell: those that were given."""
    body: dict[str, Any] = {}
    for name, value in options.items():
        if value is None or value == ():
            continue
        if isinstance(value, tuple) and isinstance(value[0], dict):
            body[name] = _merged(name, value)
        else:
            body[name] = None if value is NULL else value
    return body


def example(kind: type[Struct]) -> str:
    """Flags with which an operation can be called: what it cannot do without."""
    needed = [field for field in fields(kind) if field.required]
    return "".join(f" --{_flag(field)} {_SAMPLES.get(field.encode_name, 'X')}" for field in needed)


class Json(click.ParamType[Any]):
    """A JSON value, or `@FILE` that holds one."""

    name = "json"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        text = read_text(Path(value[1:]), str(param and param.opts[0])) if value.startswith("@") else value
        try:
            return json_value(text)
        except ComputeError as error:
            self.fail(str(error), param, ctx)


class Counts(Json):
    """`NAME=N`, or a JSON object of such pairs, or `@FILE`."""

    name = "name=n"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and (found := re.fullmatch(r"([^={@][^=]*)=(-?[0-9]{1,18})", value)):
            return {found[1]: int(found[2])}
        if isinstance(value, str) and not value.startswith(("@", "{")):
            self.fail(f"{value!r} does not read NAME=N", param, ctx)
        counts = super().convert(value, param, ctx)
        if not isinstance(counts, dict):
            self.fail("this is no JSON object", param, ctx)
        return counts


class OrNull(click.ParamType[Any]):
    """A word, or `null`."""

    name = "id|null"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        return NULL if value == "null" else value


class Secret(click.ParamType[Any]):
    """A file that holds a secret."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:  # noqa: ARG002
        return read_text(Path(str(value)), str(param and param.opts[0])).strip()


def _merged(name: str, parts: Sequence[dict[str, int]]) -> dict[str, int]:
    merged: dict[str, int] = {}
    for part in parts:
        if twice := merged.keys() & part.keys():
            raise click.UsageError(f"{min(twice)} stands twice in --{_kebab(name)}")
        merged |= part
    return merged


def _type(field: types.Field, kind: types.Type) -> click.ParamType[Any]:
    if field.encode_name in SECRETS:
        return Secret()
    if isinstance(kind, types.UnionType) and {type(_plain(k)) for k in kind.types} == {types.StrType, types.NoneType}:
        return OrNull()
    if isinstance(kind, types.StrType | types.IntType | types.LiteralType):
        return _scalar(kind)
    return Json()


def _scalar(kind: types.Type) -> click.ParamType[Any]:
    if isinstance(kind, types.LiteralType):
        return click.Choice([str(value) for value in kind.values])
    return click.INT if isinstance(kind, types.IntType) else click.STRING


def _help(field: types.Field, kind: types.Type) -> str:
    """What the field means, and how its value is written."""
    schema = field.type.extra_json_schema if isinstance(field.type, types.Metadata) else None
    how = ""
    if schema and "enum" in schema:
        how = f"One of {', '.join(schema['enum'])}."
    elif _repeats(kind):
        how = "May be given several times."
    elif _counts(kind):
        how = "May be given several times; or a JSON object, or @FILE."
    elif isinstance(kind, types.DictType | types.StructType | types.ListType):
        how = "JSON, or @FILE."
    return f"{FIELDS[field.encode_name]} {how}".strip()


def _repeats(kind: types.Type) -> TypeGuard[types.ListType]:
    """Whether a field is a list of words or numbers."""
    return isinstance(kind, types.ListType) and not isinstance(_plain(kind.item_type), types.StructType)


def _counts(kind: types.Type) -> bool:
    """Whether a field maps names to whole numbers, as a quota does."""
    value = kind.value_type if isinstance(kind, types.DictType) else None
    schema = value.extra_json_schema if isinstance(value, types.Metadata) else None
    return bool(schema) and schema is not None and schema.get("type") == "integer"


def _plain(kind: types.Type) -> types.Type:
    return _plain(kind.type) if isinstance(kind, types.Metadata) else kind


def _flag(field: types.Field) -> str:
    return _kebab(field.encode_name) + ("-file" if field.encode_name in SECRETS else "")


def _kebab(name: str) -> str:
    """`toTenantId` as `to-tenant-id`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).lower()
