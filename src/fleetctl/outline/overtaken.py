"""What failed since somebody else changed its object meanwhile, in words: by whom, and what is to be done then."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from better_compute.domain.problems import CONFLICT, INVALID_STATE, VERSION_CONFLICT
from fleetctl.outline import values
from fleetctl.words import listed, short

if TYPE_CHECKING:
    from fleetctl.report.forms import Mover, Outcome

_CODES = (CONFLICT, VERSION_CONFLICT, INVALID_STATE)
"""Of objects that are not as they were planned from: the same command would not go on, but change them back."""
_LONGEST = 80


def is_moved(outcome: Outcome) -> bool:
    return outcome["problem"] is not None and outcome["problem"]["code"] in _CODES


def together(failed: Sequence[Outcome]) -> Iterator[list[Outcome]]:
    """In their order; those whose objects the same change moved are told together with the first of them."""
    groups: dict[object, list[Outcome]] = {}
    for number, outcome in enumerate(failed):
        problem, mover = outcome["problem"], outcome.get("movedBy")
        alike = problem and mover and (problem["code"], problem["rule"], problem["hint"], *mover.values())
        groups.setdefault(alike or number, []).append(outcome)
    yield from groups.values()


def by(mover: Mover) -> str:
    """`sa_fleet's apply 0123456789ab (commit 0123456789ab)`; of one that named no change just the actor."""
    actor = escape(values.cut(mover["actorId"], _LONGEST))
    if mover["digest"] is None:
        return actor
    of = [f"{name} {shown}" for name in ("fleet", "commit") if (shown := _shown(name, mover))]
    return f"{actor}'s apply {_shown('digest', mover)}" + (f" ({', '.join(of)})" if of else "")


def advice(failed: Sequence[Outcome]) -> str:
    """How to go on after what `is_moved`: whoever gives the same command again takes back what somebody just did."""
    movers = [*dict.fromkeys(by(one["movedBy"]) for one in failed if is_moved(one) and "movedBy" in one)]
    said = f"was changed meanwhile by {listed(movers, 'change')}" if movers else "is not as it was planned from"
    return f"What failed {said}: plan again, and look at what that would take back."


def _shown(name: str, mover: Mover) -> str:
    value = {"fleet": mover["fleet"], "digest": mover["digest"], "commit": mover["commit"]}[name]
    return escape(value if name == "fleet" else short(value)) if value else ""
