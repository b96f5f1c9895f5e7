"""The JSON spelling of commands: the operation that carries one and its input, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)

C = TypeVar("C", bound=Command)

OPERATIONS: dict[type[Command], str] = {
    CreatePool: "pools/create",
    UpdatePool: "pools/update",
    OfferPool: "pools/offer",
    UnofferPool: "pools/unoffer",
    ArchivePool: "pools/archive",
    SetQuota: "quotas/set",
}


def encode(command: Command) -> tuple[str, dict[str, Any]]:
    """The operation and its input. What the command leaves open (None) is absent; the id of a pool to create is left
    to the server, which derives it from tenant, caller and key."""
    kind = type(command)
    values = ((wire, getattr(command, name)) for name, wire in _SPELLING[kind])
    return OPERATIONS[kind], {wire: value for wire, value in values if value is not None}


def build(kind: type[C], given: Mapping[str, Any], pool_id: str) -> C:
    """The command that an input's stated fields (by their Python names) ask for."""
    return kind(**{**given, "pool_id": pool_id})


def camel(name: str) -> str:
    """`to_tenant_id` as `toTenantId`, `class_` as `class`."""
    first, *rest = name.strip("_").split("_")
    return first + "".join(part.capitalize() for part in rest)


_SPELLING: dict[type[Command], list[tuple[str, str]]] = {
    kind: [(f.name, camel(f.name)) for f in fields(kind) if not (kind is CreatePool and f.name == "pool_id")]
    for kind in OPERATIONS
}
