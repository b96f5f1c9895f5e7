"""Parts that several reports share."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

Json = Any
Action = Literal["create", "update", "offer", "setQuota", "unoffer", "archive"]
FormatVersion = Literal[1]
Cause = Literal["intent", "drift"]


class Source(TypedDict):
    """A place in a fleet file, or as `base:FILE` in a file as the base has it; line and column count from 1."""

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


class Note(TypedDict):
    """What a reader should know, and nobody has to act upon: which pool an entry means that is not its own key's. It
    names it by its `id`, or the pool was made under another `key`, or by another `caller`. Or that a new pool is
    offered to nobody (`unoffered`), and its entry does not say that this is meant."""

    kind: Literal["id", "key", "caller", "unoffered"]
    sentence: str
    source: Source


class Change(TypedDict):
    """One difference. A side that is left out is not there: neither null nor empty nor zero; of a quota it says that
    there is no row, which grants 0. `sensitive`: the values differ and may not be shown. `cause`, where there is a
    base: `intent`, the files moved away from it; `drift`, the live state did; `both` did."""

    path: str
    before: NotRequired[Json]
    after: NotRequired[Json]
    sensitive: NotRequired[Literal[True]]
    cause: NotRequired[Cause | Literal["both"]]


class Inverse(TypedDict):
    """What would undo an operation: an action and its `after`; without an action `why` says why nothing does."""

    action: Action | None
    after: Json
    why: str


class Server(TypedDict):
    """The control plane. `overridden`: the flag `--server` was given against the files' pin."""

    url: str
    instanceId: str
    derivation: str
    overridden: bool


class Base(TypedDict):
    """The files that a change is compared with: `ref` as it was asked for (a git revision, or a directory), and the
    commit that was read, null for a directory."""

    ref: str
    commit: str | None


class Selection(TypedDict):
    """The part of a fleet that was looked at, as selectors; empty: all. `outside` counts entries and removed pools that
    differ and were left out, so that nothing is taken for in sync that nobody was shown."""

    only: list[str]
    exclude: list[str]
    outside: int


class Compared(TypedDict):
    """How the files, or the part of them that was looked at, and live state compare: the number of entries, of those
    that are `unchanged`, and of offers that the files state; `removed` are the names of live pools that the fleet made,
    that no entry names, and that are left as they are, `waiting` those of pools that are replaced, and kept while they
    are in use."""

    entries: int
    offers: int
    unchanged: int
    removed: list[str]
    waiting: list[str]


class Headed(TypedDict):
    """What a report is of: the fleet, as whom, read by whom, where, and when by the server's clock."""

    formatVersion: FormatVersion
    fleet: str
    tenantId: str
    caller: str
    reader: str
    server: Server
    createdAt: int


class UnnamedPool(TypedDict):
    """A live pool that no entry names. `createdBy` of an empty text: the server does not say."""

    poolId: str
    key: str | None
    createdBy: str
    siteId: str
    gpuModel: str
