"""Sums of usage: exact at any size, in pages, for those who may see them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest

from better_compute.domain.usage import HOUR, Stretch
from better_compute.service.ports import Store, Tx, UsageQuery, Used
from better_compute.storage import SqlStore
from better_compute.storage import tables as t
from tests.better_compute.storage.changes import carry_out, counted, opened, populate
from tests.better_compute.storage.test_lists import explained
from tests.builders import NOW, a_site
from tests.decisions import create

OWNERS = {"pool_1": "root", "pool_2": "root", "pool_3": "acme", "pool_4": "acme"}
SHARES = [Fraction(*share) for share in ((1, 64), (1, 3), (2, 3), (3, 7), (60, 61), (1, 1), (8, 1))]
H100, H200 = "gpu.h100.hours", "gpu.h200.hours"


def stretch(reservation_id: str, started_at: int, ended_at: int | None = None, **more: Any) -> Stretch:
    fields = {"pool_id": "pool_1", "tenant_id": "acme", "meter": H100, "share": Fraction(1), **more}
    return Stretch(reservation_id=reservation_id, started_at=started_at, ended_at=ended_at, **fields)


def note(store: Store, stretches: Sequence[Stretch], state: str = "active") -> None:
    """The stretches are there, and the reservations that they are of."""

    def work(tx: Tx) -> None:
        for one in {s.reservation_id: s for s in stretches}.values():
            row: dict[str, Any] = {
                "id": one.reservation_id,
                "pool_id": one.pool_id,
                "tenant_id": one.tenant_id,
                "state": state,
            }
            row |= {"resources": "{}", "selectors": "{}", "atoms": 1, "created_by": "sa", "created_at": NOW}
            tx._connection.execute(t.reservations.insert(), row)  # type: ignore[attr-defined]
        for one in stretches:
            tx.meter_from(one)

    store.transact(work)


def all_of(store: Store) -> list[Stretch]:
    def read(tx: Tx) -> list[Stretch]:
        rows = tx._connection.execute(t.usage.select().order_by(t.usage.c.started_at, t.usage.c.reservation_id))  # type: ignore[attr-defined]
        return [_stretch(**row._mapping) for row in rows]

    return store.view(read)


def _stretch(*, share: int, whole: int, **fields: Any) -> Stretch:
    return Stretch(share=Fraction(share, whole), **fields)


def amount(of: Stretch, start: int, end: int, now: int) -> Fraction:
    last = min(now if of.ended_at is None else of.ended_at, end)
    return of.share * max(0, last - max(of.started_at, start))


def expected(stretches: Sequence[Stretch], who: str, meter: str | None, *times: int) -> list[Used]:
    sums: dict[tuple[str, str, str], Fraction] = {}
    for one in stretches:
        if who in (one.tenant_id, OWNERS[one.pool_id]) and meter in (None, one.meter) and amount(one, *times):
            key = (one.pool_id, one.tenant_id, one.meter)
            sums[key] = sums.get(key, Fraction(0)) + amount(one, *times)
    return [Used(*key, sums[key]) for key in sorted(sums)]


def pages(store: Store, limit: int, **query: Any) -> Iterator[Used]:
    after: tuple[str, ...] = ()
    asked = {"limit": limit, "now": 2**53, **query}
    while True:
        page = store.view(lambda tx, after=after: tx.usage(UsageQuery(after=after, **asked)))  # type: ignore[misc]
        yield from page
        if len(page) < limit:
            return
        after = page[-1][:3]


def some_stretches(chance: random.Random) -> Iterator[Stretch]:
    for number in range(80):
        pool_id, begin = chance.choice(sorted(OWNERS)), NOW + chance.randrange(-5 * HOUR, 5 * HOUR)
        more: dict[str, Any] = {"pool_id": pool_id, "tenant_id": chance.choice(("root", "acme", "globex"))}
        more |= {"meter": chance.choice((H100, H200)), "share": chance.choice(SHARES)}
        end = chance.choice((None, begin + chance.randrange(1, 5 * HOUR)))
        yield stretch(f"rsv_{number}", begin, end, **more)


def test_a_tenant_sees_what_was_used_in_its_pools_and_what_it_used_itself(store: SqlStore) -> None:
    populated(store)
    stretches = list(some_stretches(random.Random(7)))
    note(store, stretches)
    for who in ("root", "acme", "globex", "initech"):
        for start, end in ((NOW - HOUR, NOW + HOUR), (NOW, NOW + 1), (0, 2 * NOW), (NOW, NOW), (NOW, NOW - 1)):
            for meter, now in product((None, H200), (NOW - HOUR, NOW, 2 * NOW)):
                wanted = expected(stretches, who, meter, start, end, now) if start < end else []
                for limit in (1, 2, 1000):
                    given = {"tenant_id": who, "start": start, "end": end, "now": now, "meter": meter}
                    assert list(pages(store, limit, **given)) == wanted, (limit, given)


def test_sums_are_exact_where_64_bits_hold_no_part_of_them(store: SqlStore) -> None:
    populated(store)
    century = 100 * 365 * 24 * HOUR
    share = Fraction(10**9 - 1, 64)
    stretches = [stretch(f"rsv_{n}", 1, century, share=share) for n in range(50)]
    note(store, stretches)
    [used] = pages(store, 10, tenant_id="acme", start=0, end=2**53 - 1)
    assert used.amount == 50 * (century - 1) * share > 2**64 / 64


def test_one_that_ends_is_metered_to_its_end_and_ends_once(store: SqlStore) -> None:
    populated(store)
    begun = stretch("rsv_1", NOW)
    note(store, [begun, stretch("rsv_2", NOW)])
    for now in (NOW + 5, NOW + 9):
        store.transact(lambda tx, now=now: tx.meter_until("rsv_1", now))  # type: ignore[misc]
    assert all_of(store) == [replace(begun, ended_at=NOW + 5), stretch("rsv_2", NOW)]


def test_another_meter_takes_over_where_the_first_ended(store: SqlStore) -> None:
    populated(store)
    mine, over, other = (
        stretch("rsv_1", NOW, share=Fraction(5, 3)),
        stretch("rsv_2", 1, 2),
        stretch("rsv_3", NOW, pool_id="pool_2"),
    )
    note(store, [mine, other])
    note(store, [over], "ended")
    store.transact(lambda tx: tx.meter_anew("pool_1", H200, NOW + 7))
    anew = replace(mine, meter=H200, started_at=NOW + 7)
    assert all_of(store) == [over, replace(mine, ended_at=NOW + 7), other, anew]


@pytest.mark.parametrize("back", [0, 4, HOUR])
def test_a_meter_may_change_there_and_back_in_a_millisecond_or_while_a_clock_goes_back(
    store: SqlStore, back: int
) -> None:
    """No time is metered twice, and none is lost."""
    populated(store)
    note(store, [stretch("rsv_1", NOW)])
    for meter, now in ((H200, NOW + 7), (H100, NOW + 7), (H200, NOW + 7), (H100, NOW + 7 - back)):
        store.transact(lambda tx, meter=meter, now=now: tx.meter_anew("pool_1", meter, now))  # type: ignore[misc]
    assert store.view(lambda tx: tx.metered_from("rsv_1")) == NOW + 7
    store.transact(lambda tx: tx.meter_until("rsv_1", NOW + 10))
    assert store.view(lambda tx: tx.metered_from("rsv_1")) is None
    assert all_of(store) == [stretch("rsv_1", NOW, NOW + 7), stretch("rsv_1", NOW + 7, NOW + 10)]


def test_what_began_after_the_time_of_a_change_is_on_the_new_meter_from_its_start(store: SqlStore) -> None:
    populated(store)
    early, late = stretch("rsv_1", NOW), stretch("rsv_2", NOW + 9)
    note(store, [early, late])
    store.transact(lambda tx: tx.meter_anew("pool_1", H200, NOW + 5))
    anew = replace(early, meter=H200, started_at=NOW + 5)
    assert all_of(store) == [replace(early, ended_at=NOW + 5), anew, replace(late, meter=H200)]


def test_what_ends_as_it_begins_was_never_metered(store: SqlStore) -> None:
    populated(store)
    note(store, [stretch("rsv_1", NOW), stretch("rsv_2", NOW)])
    store.transact(lambda tx: tx.meter_until("rsv_1", NOW))
    assert all_of(store) == [stretch("rsv_2", NOW)]


@pytest.mark.parametrize("who", ["root", "acme"])
def test_a_page_is_found_by_indexes_that_hold_all_it_needs(sqlite_url: str, who: str) -> None:
    with opened(sqlite_url) as store:
        populated(store)
        note(store, list(some_stretches(random.Random(1))))
        with counted(store) as statements:
            for meter in (None, H100):
                list(pages(store, 1, tenant_id=who, start=0, end=2 * NOW, meter=meter))
        selects = {s for s in statements if s.startswith("SELECT")}
        assert len(selects) == 6
        for statement in selects:
            plan = store._database.read(lambda c, s=statement: explained(c, s))  # type: ignore[misc]
            assert "SEARCH usage USING COVERING INDEX" in plan, plan
            assert "SCAN" not in plan, plan
            assert "TEMP B-TREE" not in plan, plan


def populated(store: Store) -> None:
    """`OWNERS`; a store that a fixture gives has its tenants by now."""
    if store.view(lambda tx: tx.tenant("root")) is None:
        populate(store)
    store.transact(lambda tx: tx.add_site(a_site("site_acme", tenant_id="acme")))
    for pool_id, owner_id in OWNERS.items():
        site = {} if owner_id == "root" else {"site_id": "site_acme"}
        carry_out(store, create(pool_id=pool_id, tenant_id=owner_id, idempotency_key=pool_id, **site))
