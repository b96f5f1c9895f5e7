"""Effects: what an operation does to what runs, in the domain's own terms."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.state import PoolState, QuotaRow, Rollup, Work
from fleetctl.plan import effects
from tests.builders import a_pool, an_offer


def a_state(
    work: dict[str, Work] | None = None,
    rows: dict[str, dict[str, QuotaRow]] | None = None,
    rollup: dict[str, Any] | None = None,
    **fields: Any,
) -> PoolState:
    """A pool of root's, offered to everybody else who has rows."""
    rows = rows or {}
    offers = {tenant_id: an_offer(tenant_id) for tenant_id in rows if tenant_id != "root"}
    return PoolState.whole(a_pool(**fields), offers, rows, Rollup(work=work or {}, **(rollup or {})))


def archived(state: PoolState) -> tuple[str, ...]:
    assert state.pool is not None
    return effects.of_archive(state, state.pool)


def updated(state: PoolState, **fields: Any) -> tuple[str, ...]:
    assert state.pool is not None
    return effects.of_update(state, state.pool, a_pool(**{"sharing": state.pool.sharing, **fields}))


class TestAnArchive:
    def test_of_an_idle_pool_spends_the_key_and_nothing_else(self) -> None:
        assert archived(a_state()) == ("cannot be undone: no pool can have this key again",)

    def test_says_what_fails_and_what_runs_on(self) -> None:
        state = a_state(
            {"acme": Work(3, 2, 3, 24, 40), "globex": Work(pending=1), "root": Work(active=1)},
            {"acme": {"gpu": QuotaRow(64, 40), "vcpu": QuotaRow(9)}, "root": {"gpu": QuotaRow(64, 8)}},
        )
        assert archived(state) == (
            "cannot be undone: no pool can have this key again",
            "withdraws what it offers to acme",
            "3 pending reservations of acme will fail with PoolGone",
            "1 pending reservation of globex will fail with PoolGone",
            "5 placed or active reservations of acme run on and charge",
            "1 placed or active reservation of root runs on and charges",
            "48 gpu in use stay booked",
        )

    def test_stays_a_few_lines_whatever_runs(self) -> None:
        names = [f"t{n:03}" for n in range(300)]
        state = a_state(
            {name: Work(pending=n, active=1) for n, name in enumerate(names)},
            {name: {"gpu": QuotaRow(1, 1)} for name in names},
        )
        told = archived(state)
        assert told[1] == "withdraws what it offers to t000, t001 and 298 more tenants"
        assert told[2] == "299 pending reservations of t299 will fail with PoolGone"
        assert told[7] == "43,365 pending reservations of 294 other tenants will fail with PoolGone"
        assert told[13] == "295 placed or active reservations of 295 other tenants run on and charge"
        assert told[14:] == ("300 gpu in use stay booked",)


class TestAWithdrawal:
    def test_concerns_its_tenant_alone(self) -> None:
        work = {"acme": Work(1, 0, 2, 8, 16), "globex": Work(5, 5, 5, 40, 40)}
        rows = {"acme": {"gpu": QuotaRow(32, 16), "vcpu": QuotaRow(99, 64)}, "globex": {"gpu": QuotaRow(64, 40)}}
        assert effects.of_unoffer(a_state(work, rows), "acme") == (
            "acme no longer sees the pool",
            "1 pending reservation of acme will fail with PoolGone",
            "2 placed or active reservations of acme run on and charge",
            "16 gpu and 64 vcpu in use stay booked",
        )

    def test_of_one_atom_is_told_in_the_singular(self) -> None:
        state = a_state({"acme": Work(0, 0, 1, 0, 1)}, {"acme": {"gpu": QuotaRow(32, 1)}})
        assert effects.of_unoffer(state, "acme")[1:] == (
            "1 placed or active reservation of acme runs on and charges",
            "1 gpu in use stays booked",
        )

    def test_of_a_tenant_that_runs_nothing_hides_the_pool(self) -> None:
        assert effects.of_unoffer(a_state(), "acme") == ("acme no longer sees the pool",)


class TestLimits:
    ROWS: dict[str, dict[str, QuotaRow]] = {"acme": {"gpu": QuotaRow(32, 20), "vcpu": QuotaRow(64, 64)}}

    @pytest.mark.parametrize(
        ("quota", "told"),
        [
            ({"gpu": 32}, []),
            ({"gpu": 20}, []),
            ({"gpu": 8}, ["gpu: 8 is below the 20 in use; bookings stay, nothing new fits"]),
            ({"vcpu": 0}, ["vcpu: 0 is below the 64 in use; bookings stay, nothing new fits"]),
            ({"memoryGiB": 0}, []),
        ],
    )
    def test_below_use_freeze_the_row(self, quota: dict[str, int], told: list[str]) -> None:
        assert list(effects.of_limits(a_state(rows=self.ROWS), "acme", quota)) == told

    @pytest.mark.parametrize(
        ("limit", "told"),
        [
            (40, []),
            (32, []),
            (29, ["2 pending reservations of acme ask for 10 gpu, and 9 will be free"]),
            (20, ["2 pending reservations of acme ask for 10 gpu, and 0 will be free"]),
        ],
    )
    def test_that_leave_pending_reservations_without_room_say_so(self, limit: int, told: list[str]) -> None:
        state = a_state({"acme": Work(pending=2, pending_atoms=10)}, self.ROWS)
        assert list(effects.of_limits(state, "acme", {"gpu": limit})) == told

    def test_tell_nothing_of_those_that_did_not_fit_before(self) -> None:
        state = a_state({"acme": Work(pending=1, pending_atoms=99)}, {"acme": {"gpu": QuotaRow(20, 20)}})
        assert effects.of_limits(state, "acme", {"gpu": 30}) == ()
        assert effects.of_limits(state, "acme", {"gpu": 20}) == ()

    def test_of_a_new_pool_touch_nothing(self) -> None:
        assert effects.of_limits(None, "acme", {"gpu": 0}) == ()


class TestAnUpdate:
    def test_of_the_model_counts_what_is_metered_otherwise(self) -> None:
        rows = {"acme": {"gpu": QuotaRow(32, 20), "vcpu": QuotaRow(9, 9)}, "root": {"gpu": QuotaRow(9, 1)}}
        assert updated(a_state(rows=rows, rollup={"models": {"H100": 1}}), gpu_model="H200") == (
            "meters and authorization follow the new model",
            "21 gpu in use are metered as gpu.h200.hours from then on, no longer as gpu.h100.hours",
            "1 machine in it has H100",
        )

    def test_of_the_policy_says_where_a_gpu_is_split_otherwise(self) -> None:
        state = a_state(rollup={"gpus": 8, "host_nodes": 1}, sharing="mps", policy={"gpu": {"slots": 4}})
        assert updated(state, policy={"gpu": {"slots": 2}}) == ("its machines make 16 gpu.slot instead of 32",)
        assert updated(state, policy={"gpu": {"slots": 4}, "note": "x"}) == ()

    def test_of_the_policy_says_where_more_is_in_use_than_there_will_be(self) -> None:
        rows = {"root": {"gpu.slot": QuotaRow(64, 17)}}
        slots: dict[str, Any] = {"sharing": "mps", "policy": {"gpu": {"slots": 4}}}
        state = a_state(rows=rows, rollup={"gpus": 8, "host_nodes": 1}, **slots)
        assert updated(state, policy={"gpu": {"slots": 2}})[1:] == (
            "17 gpu.slot in use stay booked, more than they make then",
        )
        assert updated(state, policy={"gpu": {"slots": 3}})[1:] == ()

    def test_of_a_pool_without_machines_splits_nothing(self) -> None:
        state = a_state(sharing="mps", policy={"gpu": {"slots": 4}})
        assert updated(state, policy={"gpu": {"slots": 2}}) == ()
