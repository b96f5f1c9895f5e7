"""Parts that several reports share."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Json = Any
Action = Literal["create", "update", "offer", "setQuota", "unoffer", "archive"]
FormatVersion = Literal[1]


class Source(TypedDict):
    """A place in a fleet file; line and column count from 1."""

    file: str
    line: int
    column: int


class Problem(TypedDict):
    """One thing that is wrong. An `error` blocks, a `warning` only tells, `unchecked` says that a fact needed to judge
    was not known. `path` names the field, `rule` what a reader can look up."""

    code: str
    rule: str
    message: str
    path: str
    hint: str
    severity: Literal["error", "warning", "unchecked"]
    source: Source | None


class Change(TypedDict):
    """One difference. A side that is left out is not there: neither null nor empty nor zero; of a quota it says that
    there is no row, which grants 0. `sensitive`: the values differ and may not be shown."""

    path: str
    before: NotRequired[Json]
    after: NotRequired[Json]
    sensitive: NotRequired[Literal[True]]


class Server(TypedDict):
    """The control plane. `overridden`: the flag `--server` was given against the files' pin."""

    url: str
    instanceId: str
    derivation: str
    overridden: bool


class Headed(TypedDict):
    """What a report is of: the fleet, as whom, read by whom, where, and when by the server's clock."""

    formatVersion: FormatVersion
    fleet: str
    tenantId: str
    caller: str
    reader: str
    server: Server
    createdAt: int
