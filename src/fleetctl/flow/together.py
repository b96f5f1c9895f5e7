"""Together: what the plan of a session, and what other branches changed, break only together."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from fleetctl.base.branches import Branch, Branches
from fleetctl.desired import Desired
from fleetctl.flow.judge import Judged, judged
from fleetctl.history import History, Reader
from fleetctl.session.opening import Session
from fleetctl.together.joint import Joint, Together, apart, find
from fleetctl.together.merging import merged
from fleetctl.together.part import Part, part


def together(session: Session, found: Judged, others: Branches) -> Together:
    """`found` is the session's own plan, which nothing here changes. Each branch is planned once alone and all of them
    once together, on the live state that was read, and the server is asked nothing more about them. Raises ComputeError
    and Stop."""
    session = _offline(session)
    # 1. Put aside what is another fleet; 2. put together what the others changed.
    strange = [joint for branch in others.found if (joint := _apart(branch, session.desired))]
    alike = [branch for branch in others.found if _apart(branch, session.desired) is None]
    merging = merged(session.desired, alike)
    # 3. Plan each alone, and all of them; 4. find what only all of them break.
    parts = [_part(None, found), *(_alone(branch, session) for branch in sorted(alike, key=lambda one: one.ref))]
    whole = judged(replace(session, desired=merging.desired))
    broken = find(whole.does, whole.plan.findings, parts, merging.clashes.values())
    return Together(others.asked, (*broken, *strange))


def _apart(branch: Branch, ours: Desired) -> Joint | None:
    return apart(branch.ref, branch.desired, ours) if branch.desired else None


def _part(ref: str | None, found: Judged) -> Part:
    return part(ref, found.does, found.plan.findings, found.taken)


def _alone(branch: Branch, session: Session) -> Part:
    """What the branch does by itself: on the files of the base, where there is one, since a branch may have been left
    behind by these; else as it is."""
    base = session.asked.base
    trunk = base.desired if base and base.desired else next(filter(None, branch.left), None)
    desired = merged(trunk, [branch]).desired if trunk else branch.desired
    if desired is None or desired.caller is None:
        desired = replace(session.desired, entries={})
    return _part(branch.ref, judged(replace(session, desired=desired)))


def _offline(session: Session) -> Session:
    """The session for other files than its own: what selects a part of them may select nothing of these."""
    selected = replace(session.asked.selected, may_miss=True)
    asked = replace(session.asked, selected=selected)
    return replace(session, client=None, asked=asked, read_history=_once(session.read_history))


def _once(read: Reader) -> Reader:
    """Asks for the last events of the same pools no second time."""
    known: dict[tuple[Sequence[str], int], History] = {}

    def reading(pool_ids: Collection[str], after: int) -> History:
        asked = tuple(sorted(pool_ids)), after
        if asked not in known:
            known[asked] = read(pool_ids, after)
        return known[asked]

    return reading
