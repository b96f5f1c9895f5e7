"""The world file of an embedded control plane: its own mistakes, and what it declares that the database has not.

It is read when the database is made. What is written into it later is in nobody's way until somebody asks for it.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from better_compute.domain.problems import ComputeError, Problem, Source
from fleetctl.desired import worlds
from fleetctl.desired.model import Desired, Embedded

if TYPE_CHECKING:
    from better_compute.bootstrap.world_file import World

_LISTS = {
    "pool.site": "sites",
    "pool.provider": "provider_accounts",
    "offer.tenant": "tenants",
    "server.rights": "tenants",
    "world.identity": "identities",
}
"""Rules that something exists -> the list of a world file that declares it."""
_OWNED = frozenset({"pool.site", "pool.provider"})
"""Those that it belongs to the fleet's tenant, too."""


def problems(desired: Desired) -> list[Problem]:
    """Every problem of the world file that the files name, offline: that it is not there, or what is wrong in it."""
    server, place = desired.server, desired.places.get("server")
    if found := worlds.problems(desired):
        return found
    if place is None or not isinstance(server, Embedded) or not server.world or not os.path.exists(server.world):
        return []
    try:
        _read(server.world)
    except ComputeError as error:
        home = posixpath.dirname(place.document.file)
        file = posixpath.normpath(posixpath.join(home, worlds.written(place)))
        return [replace(p, source=_named(p.source, file)) for p in error.problems]
    return []


@dataclass(frozen=True)
class Declared:
    """What the world file of `server` declares; nothing where that is no embedded control plane, or has no such file.
    The file is read when it is first asked about."""

    server: str | Embedded
    tenant_id: str

    def hint(self, rule: str, name: str) -> str:
        """How to bring in what `rule` finds nowhere, where the world file has it; else an empty text."""
        server = self.server
        if not isinstance(server, Embedded) or not server.world or name not in self._names.get(rule, ()):
            return ""
        world, database = _from_here(server.world), _from_here(server.database)
        command = f"better-compute world {quote(world)} --database {quote(database)}"
        return f"{world} has it and the database has not: run `{command}`"

    @cached_property
    def _names(self) -> Mapping[str, frozenset[str]]:
        """By rule; none where somebody who reads the file says what is wrong in it."""
        assert isinstance(self.server, Embedded)
        try:
            content = _read(self.server.world or "").content
        except ComputeError:
            return {}
        return {
            rule: frozenset(
                entry.id for entry in getattr(content, name) if rule not in _OWNED or entry.tenant_id == self.tenant_id
            )
            for rule, name in _LISTS.items()
        }


def _read(path: str) -> World:
    from better_compute.bootstrap.world_file import read_world  # not at the top: most fleets have no world

    return read_world(Path(path))


def _named(source: Source | None, file: str) -> Source | None:
    return source and replace(source, file=file)


def _from_here(path: str) -> str:
    """A path as whoever runs a command next will write it."""
    near = os.path.relpath(path)
    return os.path.abspath(path) if near.startswith(os.pardir) else near
