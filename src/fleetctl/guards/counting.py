"""Guards that count what a plan takes away: archives, withdrawals, GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

from better_compute.domain.problems import UNCHECKED, Problem
from fleetctl.consequences.grants import Grant
from fleetctl.desired import Desired
from fleetctl.guards.tally import Case, Tally
from fleetctl.identity import is_live
from fleetctl.words import count, listed


def tallies(case: Case) -> Iterator[Tally]:
    yield from _archives(case)
    yield from _withdrawals(case)
    yield from _gpus(case)


def unknown(case: Case) -> list[Problem]:
    """Unlimited rows that are lowered in pools of which nobody knows how many GPUs they have: what is taken beside
    those in use cannot be counted, and that is said."""
    lost = [grant for grant in case.grants if grant.is_uncounted]
    if not lost:
        return []
    names = listed([f"{grant.tenant_id} in {grant.operation.name}" for grant in lost], "row")
    message = f"an unlimited quota is lowered where no GPU is known to be, so those in use alone count: {names}"
    source = lost[0].operation.source
    return [Problem(UNCHECKED, "guard.gpusWithdrawn", message, severity="unchecked", source=source)]


def _archives(case: Case) -> Iterator[Tally]:
    archives = [operation for operation in case.plan.operations if operation.action == "archive"]
    if not archives:
        return
    limit, percent = case.guards.max_archives, case.guards.max_archive_percent
    may = f"one apply may do {limit}"
    pools = _pools_of_fleet(case)
    share = max(1, math.floor(Fraction(str(percent)) * pools / 100))  # of the decimal number that the files write
    if share < limit:
        limit, whole = share, count(pools, "live pool")
        may = f"one apply may do {share}, by maxArchivePercent: {percent:g} % of {whole}"
    yield Tally(
        name="archives",
        number=len(archives),
        limit=limit,
        says=count(len(archives), "archive"),
        may=may,
        first=archives[0],
    )


def _pools_of_fleet(case: Case) -> int:
    """Live pools that entries name or replace, or that were removed from the files, selected or not; those that the
    fleet lets go are its no more. Of a base those count that were its before, where they are fewer: what a change
    adopts makes room for no archive in it."""
    comparison, was = case.plan.comparison, case.plan.comparison.was
    removed = [one.pool for one in (*comparison.diff.removed, *comparison.outside.removed)]
    ids = _named(comparison.desired) | comparison.settled.replaced.keys() | {pool.id for pool in removed}
    pools = _count_live(ids, case)
    if was is None:
        return pools
    ids = _named(was) | {pool.id for pool in removed if pool.created_by in was.callers}
    return min(pools, _count_live(ids, case))


def _named(desired: Desired) -> set[str]:
    return {entry.pool_id for entry in desired.entries.values() if not entry.released}


def _count_live(ids: Iterable[str], case: Case) -> int:
    return sum(is_live(case.live.pools.get(pool_id)) for pool_id in ids)


def _withdrawals(case: Case) -> Iterator[Tally]:
    lost = [grant.operation for grant in case.grants if _withdraws(grant)]
    if lost:
        limit = case.guards.max_withdrawals
        says, may = count(len(lost), "withdrawal"), f"one apply may do {limit}"
        yield Tally(name="withdrawals", number=len(lost), limit=limit, says=says, may=may, first=lost[0])


def _withdraws(grant: Grant) -> bool:
    """An offer that goes, by itself or with its pool; or one whose GPUs all go: the row of the pool's own atom falls
    to 0."""
    if grant.before is None or grant.operation.action == "setQuota":
        return False
    had, has = grant.atoms
    return grant.after is None or bool(had and not has)


def _gpus(case: Case) -> Iterator[Tally]:
    """Gross: what a tenant gains elsewhere does not run the work that is here. The owner's own rows count too."""
    lost = [(grant.operation, number) for grant in case.grants if (number := grant.withdrawn())]
    if lost:
        total, limit = sum(number for _, number in lost), case.guards.max_gpus_withdrawn
        says, may = f"{count(total, 'GPU atom')} lowered or withdrawn", f"one apply may take {limit:,}"
        yield Tally(name="gpusWithdrawn", number=total, limit=limit, says=says, may=may, first=lost[0][0])
