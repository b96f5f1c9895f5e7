"""Staleness: what of an approved plan no longer stands, which objects moved and by whom, and what still holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from better_compute.domain.policy.urls import mask_message
from fleetctl import history
from fleetctl.apply import origins
from fleetctl.apply.origins import Origins
from fleetctl.apply.saved import SavedOperation, SavedPlan
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.history import History, LastEvent, Subject
from fleetctl.plan import Operation, Plan
from fleetctl.words import LISTED, count

if TYPE_CHECKING:
    from better_compute.client import Client

NEW_PLAN = "make a new plan, and look at it: fleetctl plan --out FILE"


def check_again(saved: SavedPlan, plan: Plan, client: Client) -> None:
    """The plan made now is the saved one: it is not done twice over somebody who took back what it did. Raises Stop.

    Only an offer where there was none comes back to what its precondition says: no other version repeats.
    """
    born = {o.pool_id for o in plan.operations if o.action == "create"}
    firsts = [o for o in plan.operations if o.precondition.get("offerVersion") == 0 and o.pool_id not in born]
    names, subjects = {o.pool_id: o.name for o in firsts}, {o.subject for o in firsts}
    events = [event for event in history.every(client, names, after=saved.sequence) if event.subject in subjects]
    before = {event.subject for event in events if saved.is_own(event)}
    last = {event.subject: event for event in events}
    taken_back = [event for event in last.values() if event.subject in before and not saved.is_own(event)]
    if taken_back:
        message = "the plan is stale: it was carried out before, and what it did was taken back since"
        held = len(plan.operations) - len(taken_back)
        raise Stop(EXIT_STALE, message, (*told(taken_back, names), _holding(held, 0)), NEW_PLAN, "plan.stale")


def check_rest(saved: SavedPlan, plan: Plan, client: Client, shown: Mapping[str, Any]) -> None:
    """Raises Stop where what is to be done now is not the rest of the plan file after a run that was killed, or where
    somebody else moved an object of it since. `shown` is the report of the plan made now."""
    both: list[SavedOperation | Operation] = [*saved.operations, *plan.operations]
    last = history.read(client, {operation.subject[0] for operation in both}, after=saved.sequence)
    open_now = {operation.subject for operation in plan.operations}
    rest = [o for o in saved.operations if o.subject in open_now or not _is_done(o, last, saved)]
    differing = differences(rest, plan, origins.told(saved.report["operations"], shown["operations"]))
    # A call of the killed run may land after the live state was read: then its event is this plan's own.
    counts = open_now.union(operation.subject for operation in rest)
    names = {operation.pool_id: operation.name for operation in both}
    events = [event for subject in counts if (event := last.of(subject))]
    if differing:
        # Nothing else tells who moved what an archive stands on besides its own object.
        events += last.of_pools({operation.pool_id for operation in rest if operation.action == "archive"})
    moved = [event for event in events if not saved.is_own(event)]
    if moved or differing:
        message = "the plan is stale: the live state is not the one it was made for"
        kept = _holding(_held(rest, plan, last, saved), len(saved.operations) - len(rest))
        details = (*differing, *_found_since(saved, plan), *told(moved, names), kept)
        raise Stop(EXIT_STALE, message, details, NEW_PLAN + _part(saved, plan), "plan.stale")


def done_before(saved: SavedPlan, client: Client) -> frozenset[str]:
    """The digests of the operations that earlier runs of the plan file did, whatever became of their objects since.
    Raises ComputeError."""
    events = history.every(client, {o.pool_id for o in saved.operations}, after=saved.sequence)
    return frozenset(digest for event in events if (digest := saved.done_by(event)))


def told(events: Iterable[LastEvent], names: Mapping[str, str]) -> list[str]:
    """Which objects moved, and by whom: each event once, in their order. Of several offers that went with their pool
    there is one. `names`: of pools, by id."""
    by_sequence = {event.sequence: event for event in events}
    return [f"{object_name(names[e.subject[0]], e.subject)}: {e.told}" for _, e in sorted(by_sequence.items())]


def differences(
    rest: Sequence[SavedOperation | Operation], plan: Plan, told_of: Origins = MappingProxyType({})
) -> list[str]:
    """Operation by operation: what was planned and is not to be done now, and the other way round."""
    planned = {(o.action, o.subject): o.digest for o in rest}
    wanted = {(o.action, o.subject): o.digest for o in plan.operations}

    def differing(
        operations: Iterable[SavedOperation | Operation], others: Mapping[Any, str], missing: str
    ) -> list[str]:
        found = [(o, others.get((o.action, o.subject))) for o in operations]
        return [
            f"{'planned from another state' if other else missing}: {o.action} {object_name(o.name, o.subject)}"
            f"{f' ({said})' if (said := told_of.get((o.action, o.subject))) else ''}"
            for o, other in found
            if o.digest != other
        ]

    gone = differing(rest, wanted, "planned, and not to be done now")
    new = differing(plan.operations, planned, "to be done now, and not planned")
    return list(dict.fromkeys([*gone, *new]))


def object_name(name: str, subject: Subject) -> str:
    """`fra1-a`, or `fra1-a for acme`."""
    return name if subject[1] is None else f"{name} for {subject[1]}"


def _part(saved: SavedPlan, plan: Plan) -> str:
    """What to do where pools moved that a plan of the whole fleet did not touch."""
    touched = {operation.pool_id for operation in saved.operations}
    keys = [*dict.fromkeys(operation.key for operation in saved.operations)]
    is_part = bool(saved.frame.only or saved.frame.exclude)
    if is_part or touched.issuperset(operation.pool_id for operation in plan.operations):
        return ""
    named = " ".join(f"--only key={key}" for key in keys) if None not in keys and len(keys) <= LISTED else "--only ..."
    return f"; one of these pools alone, by {named}, stands whatever drifts elsewhere"


def _found_since(saved: SavedPlan, plan: Plan) -> list[str]:
    """What the plan made now tells and the saved one does not: a booking moves no object, and may be why. What guards
    say of the plan is none of that."""
    before = {finding["message"] for finding in saved.report["findings"]}
    messages = (mask_message(found.message) for found in plan.findings if not found.rule.startswith("guard."))
    return [message for message in messages if message not in before]


def _held(rest: Sequence[SavedOperation], plan: Plan, last: History, saved: SavedPlan) -> int:
    """How many operations are to be done now as they were planned, and nobody else touched what they change."""
    wanted = {operation.digest for operation in plan.operations}
    events = ((operation, last.of(operation.subject)) for operation in rest)
    return sum(o.digest in wanted and (event is None or saved.is_own(event)) for o, event in events)


def _holding(held: int, done: int) -> str:
    """Whether the rest still holds."""
    already = f"; done by this plan: {done:,}" if done else ""
    return f"still as planned: {count(held, 'operation') if held else 'nothing'}{already}"


def _is_done(operation: SavedOperation, last: History, saved: SavedPlan) -> bool:
    """By this very plan: the last event of the object names it. That the object is as wished was seen before."""
    event = last.of(operation.subject)
    return event is not None and saved.is_own(event)
