"""Drift in one paragraph, for chats and whatever else shows it as it is, markup and mentions included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fleetctl.outline import values
from fleetctl.outline.drifted import coverage
from fleetctl.outline.head import outside
from fleetctl.words import listed, time

if TYPE_CHECKING:
    from fleetctl.report.forms import Coverage, Drifted, DriftReport

_LONGEST = 64
"""Characters of a name."""
_OTHER = re.compile(r"[^A-Za-z0-9._:-]")
"""What no key and no id holds: in a chat it may be a mention, a link or markup."""


def notice(report: DriftReport) -> str:
    """What drifted, by whom and since when, and how much is under code; what is expected to differ is not told."""
    found = [one for one in report["drift"] if one["expected"] is None]
    kinds = {kind: [one for one in found if one["kind"] == kind] for kind in ("changed", "removed", "pending")}
    part = report["selection"]
    counts = ", ".join(f"{len(some):,} {kind}" for kind, some in kinds.items() if some)
    rest = f" (a part of the fleet; {outside(part)})" if part else ""
    of = f"{_name(report['fleet'])}, tenant {_name(report['tenantId'])}"
    told = [f"Drift of fleet {of}: {counts or 'none'}{rest}.", *_kinds(kinds)]
    return " ".join([*told, f"Coverage: {coverage(report['coverage'])}.", *_unnamed(report["coverage"])])


def _unnamed(it: Coverage) -> Iterator[str]:
    """The first of the pools that are not under code, and how many more there are."""
    if it["unnamed"]:
        rest = it["livePools"] - it["namedPools"] - len(it["unnamed"])
        names = [_name(pool["key"] or pool["poolId"]) + _by(pool["createdBy"]) for pool in it["unnamed"]]
        yield f"Not under code: {listed([*names, *[''] * rest], 'pool')}."


def _kinds(kinds: dict[str, list[Drifted]]) -> Iterator[str]:
    for kind, found in kinds.items():
        if found:
            yield f"{kind.capitalize()}: {listed(_objects(found), 'object')}."


def _objects(found: Sequence[Drifted]) -> list[str]:
    return [f"{_name(one['key'] or one['poolId'])}{_for(one)}{_since(one)}" for one in found]


def _for(one: Drifted) -> str:
    return f" for {_name(one['toTenantId'])}" if one["toTenantId"] else ""


def _since(one: Drifted) -> str:
    by = _by(one["actorId"])
    return f"{by} since {time(one['since'])}" if one["since"] is not None else by


def _by(actor: str | None) -> str:
    return f" by {_name(actor)}" if actor else ""


def _name(text: str) -> str:
    """A name with nothing in it that a chat acts on."""
    return _OTHER.sub("?", values.cut(text, _LONGEST))
