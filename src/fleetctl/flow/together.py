"""Together: what the plan of a session, and what other branches changed, break only together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from fleetctl.desired import Desired
from fleetctl.flow.judge import Judged, judged
from fleetctl.history import History, LastEvent, Reader, Subject
from fleetctl.session.opening import Session
from fleetctl.together.branch import Branch, Branches, under
from fleetctl.together.joint import Joint, Together, apart, find, in_order, is_looked_at, lost
from fleetctl.together.merging import Merging, merged
from fleetctl.together.part import Part, part
from fleetctl.together.shared import shared
from fleetctl.together.union import Union, united


def together(session: Session, found: Judged, others: Branches) -> Together:
    """`found` is the session's own plan, which nothing here changes. Each branch is planned once alone and all of them
    once together, on the live state that was read; of the server only the last events are asked for of pools that one
    of them leaves out, of each pool once. Raises ComputeError and Stop."""
    session = _for_others(session)
    # 1. Put aside what is another fleet; 2. put together what the others changed.
    strange = [joint for branch in others.found if (joint := _apart(branch, session.desired))]
    alike = [branch for branch in others.found if _apart(branch, session.desired) is None]
    merging = merged(session.desired, alike)
    union = _united(session, others, alike)
    # 3. Plan each alone, and all of them; 4. find what only all of them break.
    alone = [_alone(branch, session) for branch in sorted(alike, key=lambda one: one.ref)]
    whole = judged(replace(session, desired=_whole(union, merging)))
    sides = [_part(None, found), *alone]
    broken = find(whole.does, whole.plan.findings, sides, merging.clashes.values())
    reached = shared(union, merging, partial(is_looked_at, whole.does, sides)) if union else []
    gone = [lost(branch.ref) for branch in alike if branch.desired is None and branch.left]
    return Together(others.asked, in_order((*broken, *reached, *strange, *gone)), tuple(alone))


def _united(session: Session, others: Branches, alike: Sequence[Branch]) -> Union | None:
    """None: nothing is known of the files at hand. That no pool is left of all, a base that forbids it tells too."""
    if not others.files or not alike:
        return None
    base = session.asked.base
    told = base is not None and base.desired is not None and not base.desired.allow_empty
    return united(session.request.path, session.desired, others.files, alike, empty_ok=told)


def _whole(union: Union | None, merging: Merging) -> Desired:
    """What all wish together: as the merged files say it, where they can be read, under the limits of all sides."""
    limits = merging.desired
    if union is None or union.desired is None:
        return limits
    return replace(union.desired, guards=limits.guards, checks=limits.checks)


def _apart(branch: Branch, ours: Desired) -> Joint | None:
    return apart(branch.ref, branch.desired, ours) if branch.desired else None


def _part(ref: str | None, found: Judged) -> Part:
    return part(ref, found.does, found.plan.findings, found.taken)


def _alone(branch: Branch, session: Session) -> Part:
    """What the branch does by itself: on the files of the base, where there is one, since a branch may have been left
    behind by these; else as it is."""
    base = session.asked.base
    trunk = base.desired if base and base.desired else branch.left
    if trunk and branch.desired:
        trunk = under(trunk, branch.desired)
    desired = merged(trunk, [branch]).desired if trunk else branch.desired
    if desired is None or desired.caller is None:
        desired = replace(session.desired, entries={})
    return _part(branch.ref, judged(replace(session, desired=desired)))


def _for_others(session: Session) -> Session:
    """The session for other files than its own. What selects a part of them may select nothing of these; and without a
    client no plan of theirs asks for what a live state does not tell, such as rights: the plan at hand did."""
    selected = replace(session.asked.selected, may_miss=True)
    asked = replace(session.asked, selected=selected)
    return replace(session, client=None, asked=asked, read_history=_once(session.read_history))


def _once(read: Reader) -> Reader:
    """Asks for the last events of no pool a second time."""
    known: dict[int, tuple[set[str], dict[Subject, LastEvent], dict[Subject, LastEvent]]] = {}

    def reading(pool_ids: Collection[str], after: int) -> History:
        asked, events, since = known.setdefault(after, (set(), {}, {}))
        if new := set(pool_ids) - asked:
            found = read(new, after)
            events.update(found.events)
            since.update(found.since)
            asked.update(new)
        return History(events, since).among(frozenset(pool_ids))

    return reading
