"""A branch that is put together with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fleetctl.base.revisions import Files
from fleetctl.desired import Desired


@dataclass(frozen=True, slots=True)
class Branch:
    """A revision by the name that it was asked for. `desired` is the fleet that it has, None: none; `left` is the one
    from which it and all others (HEAD and the branches before it) went apart: what differs from it is its own. `files`
    and `had` are what the files of these hold."""

    ref: str
    desired: Desired | None
    left: Desired | None
    files: Files = field(default_factory=dict)
    had: Files = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Branches:
    """`asked`: the commit of every revision that was asked for; `found` those that have something of their own. Their
    order does not depend on the one in which they were asked for. `files` is what those at hand hold; None: not
    known."""

    asked: Mapping[str, str]
    found: tuple[Branch, ...]
    files: Files | None = None
