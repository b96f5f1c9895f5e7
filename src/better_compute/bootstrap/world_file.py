"""The world file: tenants, sites, identities, accounts and machines that a control plane starts with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from pydantic.alias_generators import to_camel

from better_compute.bootstrap import yaml
from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.escape import NOT_PRINTED
from better_compute.domain.ids import KEY, KEY_SAYS
from better_compute.domain.inventory import MOST_GPUS, Inventory
from better_compute.domain.nodes import Control
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem, Source, did_you_mean
from better_compute.service.actions import ROOT
from better_compute.service.identities import ANOTHER_ID, reserved
from better_compute.service.sites import kinds_of

Id = Annotated[str, StringConstraints(pattern=rf"^(?:{KEY.pattern})$", max_length=128)]
_PRINTED = f"[^{NOT_PRINTED}]"
Name = Annotated[str, StringConstraints(max_length=200, pattern=rf"^{_PRINTED}*[^\s{NOT_PRINTED}]{_PRINTED}*$")]
Count = Annotated[int, Field(ge=0, le=UNLIMITED)]
Number = Annotated[int, Field(ge=0, le=2**53 - 1)]

MOST_MACHINES = 10_000

_SHOWN = 8
"""Tenants of a cycle that are named."""


class Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)


class TenantEntry(Entry):
    """A tenant, below its parent; root always exists."""

    id: Id
    parent_id: Id = ROOT


class SiteEntry(Entry):
    """A site, of the tenant that owns its pools: shared or dedicated of root, custom of any other."""

    id: Id
    tenant_id: Id
    kind: Literal["shared", "dedicated", "custom"]
    region: Name
    name: Name | None = None


class IdentityEntry(Entry):
    """Somebody who may act: a fleet's `caller` stands here."""

    id: Id
    tenant_id: Id
    kind: Literal["service", "user"] = "service"


class AccountEntry(Entry):
    """A provider account, for pools of class provider."""

    id: Id
    tenant_id: Id
    name: Name | None = None


class Gpus(Entry):
    """GPUs of one machine, by their NVML name."""

    name: Name
    count: Annotated[int, Field(ge=1, le=MOST_GPUS)] = 1


class MachineEntry(Entry):
    """Machines that join the pool with this key; `tenantId` and `caller` tell pools with the same key apart."""

    pool: Id
    tenant_id: Id | None = None
    caller: Id | None = None
    count: Annotated[int, Field(ge=1, le=MOST_MACHINES)] = 1
    gpus: Gpus | None = None
    vcpu: Count = 0
    memory_gib: Count = Field(default=0, alias="memoryGiB")
    disk_gib: Count = Field(default=0, alias="diskGiB")
    hugepages_2mi: Count = Field(default=0, alias="hugepages2Mi")
    hugepages_1gi: Count = Field(default=0, alias="hugepages1Gi")
    attributes: dict[Id, Name | Number] = {}
    owner_tenant_id: Id | None = None
    control: Control = "platform"

    def inventory(self) -> Inventory:
        return Inventory(
            gpus=(self.gpus.name,) * self.gpus.count if self.gpus else (),
            vcpu=self.vcpu,
            memory_gib=self.memory_gib,
            disk_gib=self.disk_gib,
            hugepages_2mi=self.hugepages_2mi,
            hugepages_1gi=self.hugepages_1gi,
            attributes=self.attributes,
        )


class Content(Entry):
    """What a control plane starts with; `instance` fixes its instance id. The same file twice changes nothing."""

    instance: Id | None = None
    tenants: list[TenantEntry] = []
    sites: list[SiteEntry] = []
    identities: list[IdentityEntry] = []
    provider_accounts: list[AccountEntry] = []
    machines: list[MachineEntry] = []


@dataclass(frozen=True, slots=True)
class World:
    """A world file that is right in itself; what it refers to may still have to be in the database."""

    content: Content
    document: yaml.Document

    def source(self, *path: str | int) -> Source:
        return self.document.source(path)


def read_world(path: Path) -> World:
    """Raises ComputeError with every problem that the file has by itself, each with line and column."""
    document = yaml.read(path)
    try:
        content = Content.model_validate({} if document.value is None else document.value)
    except ValidationError as error:
        raise ComputeError(*(_problem(document, e) for e in error.errors(include_url=False))) from None
    world = World(content, document)
    if problems := [*_twice(world), *_cycles(world), *_kinds(world), *_reserved(world)]:
        raise ComputeError(*problems)
    return world


def problem(world: World, message: str, *path: str | int, hint: str = "") -> Problem:
    """A problem at a place of the file."""
    return Problem(INVALID_INPUT, "world", message, _spelled(path), hint, source=world.source(*path))


def _spelled(path: Sequence[str | int]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def _problem(document: yaml.Document, error: Any) -> Problem:
    """One of pydantic's errors, in our words."""
    # Where a value may be of several types, the place ends with the name of one of them.
    path = tuple(part for part in error["loc"] if part not in ("constrained-str", "constrained-int"))
    source = document.keys.get(path) if error["type"] == "extra_forbidden" else None
    message, hint = _said(error, path)
    if error["type"] == "extra_forbidden" and not yaml.looks_like_a_field(str(path[-1])):
        path = path[:-1]
    return Problem(INVALID_INPUT, "world", message, _spelled(path), hint, source=source or document.source(path))


def _said(error: Any, path: tuple[str | int, ...]) -> tuple[str, str]:
    match error["type"]:
        case "extra_forbidden":
            fields = _fields(path[:-1])
            return f"unknown field; there are {', '.join(fields)}", did_you_mean(str(path[-1]), fields)
        case "missing":
            return f"{path[-1]} is missing", ""
        case "list_type" if error["input"] is None:
            return "a list without a value", "write [] or leave it out"
        case "model_type" | "dict_type":
            return "this should be a mapping", ""
        case "string_pattern_mismatch" if KEY.pattern in error["ctx"]["pattern"]:
            return KEY_SAYS, ""
        case "string_pattern_mismatch":
            return "a name is printable and not all blank", ""
        case "literal_error":
            allowed = re.findall(r"'([^']*)'", error["ctx"]["expected"])
            return f"one of {', '.join(allowed)}", did_you_mean(str(error["input"]), allowed)
        case _:
            return str(error["msg"]).replace("Input should", "this should").replace("String should", "this should"), ""


def _fields(path: tuple[str | int, ...]) -> list[str]:
    """The fields of the entry at `path`."""
    kinds: dict[tuple[str, ...], type[Entry]] = {
        (): Content,
        ("tenants",): TenantEntry,
        ("sites",): SiteEntry,
        ("identities",): IdentityEntry,
        ("providerAccounts",): AccountEntry,
        ("machines",): MachineEntry,
        ("machines", "gpus"): Gpus,
    }
    kind = kinds[tuple(part for part in path if isinstance(part, str))]
    return [info.alias or name for name, info in kind.model_fields.items()]


def _twice(world: World) -> Iterator[Problem]:
    """Ids that stand twice in one list."""
    c = world.content
    lists: dict[str, Sequence[TenantEntry | SiteEntry | IdentityEntry | AccountEntry]] = {
        "tenants": c.tenants,
        "sites": c.sites,
        "identities": c.identities,
        "providerAccounts": c.provider_accounts,
    }
    for name, entries in lists.items():
        first: dict[str, int] = {}
        for i, entry in enumerate(entries):
            if (had := first.setdefault(entry.id, i)) != i:
                line = world.source(name, had, "id").line
                yield problem(world, f"{entry.id} stands twice: first in line {line}", name, i, "id")


def _cycles(world: World) -> Iterator[Problem]:
    """Tenants above which there is no root; and root itself, which has no parent."""
    places = {tenant.id: i for i, tenant in enumerate(world.content.tenants)}
    if ROOT in places:
        yield problem(world, "root always exists and has no parent", "tenants", places[ROOT], "id", hint="leave it out")
    parents = {tenant.id: tenant.parent_id for tenant in world.content.tenants if tenant.id != ROOT}
    judged: set[str] = set()
    for start in parents:
        above: list[str] = []
        at = start
        while at in parents and at not in judged:
            judged.add(at)
            above.append(at)
            at = parents[at]
        if at in above:
            yield _cycle(world, above[above.index(at) :], places)


def _cycle(world: World, tenants: list[str], places: Mapping[str, int]) -> Problem:
    """Said once, where the first of them by name stands."""
    first = min(tenants)
    at = tenants.index(first)
    names = tenants[at:] + tenants[:at]
    shown = names if len(names) <= _SHOWN else [*names[:_SHOWN], "..."]
    message = f"a tenant above itself: {' > '.join([*shown, first])}"
    return problem(world, message, "tenants", places[first], "parentId")


def _reserved(world: World) -> Iterator[Problem]:
    """Names of identities that are not the file's to give."""
    for i, identity in enumerate(world.content.identities):
        if why := reserved(identity.id, identity.tenant_id):
            yield problem(world, why, "identities", i, "id", hint=ANOTHER_ID)


def _kinds(world: World) -> Iterator[Problem]:
    """Rule site.kind."""
    for i, site in enumerate(world.content.sites):
        kinds = kinds_of(site.tenant_id)
        if site.kind not in kinds:
            yield problem(world, f"a site of {site.tenant_id} is {' or '.join(kinds)}", "sites", i, "kind")
