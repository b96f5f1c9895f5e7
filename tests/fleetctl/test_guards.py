"""Guards: what one plan may take away, at every size, and what an override lets pass."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.problems import Problem
from fleetctl import guards
from fleetctl.guards import Override
from tests.fleetctl.report.world import NO_OVERRIDE
from tests.model import ControlPlane, desired, entry, fleet


def live(pools: list[dict[str, Any]]) -> ControlPlane:
    plane = ControlPlane()
    plane.run(plane.plan(desired(fleet(*pools))))
    return plane


def offered(key: str, **tenants: int) -> dict[str, Any]:
    return entry(key, offers=[{"toTenantId": t, "quota": {"gpu": gpus, "vcpu": 64}} for t, gpus in tenants.items()])


def tombstone(key: str) -> dict[str, Any]:
    return {"idempotencyKey": key, "archived": True}


def check(plane: ControlPlane, wished: list[dict[str, Any]], override: Override = NO_OVERRIDE) -> list[Problem]:
    asked, live = desired(fleet(*wished)), plane.live()
    return guards.check(plane.plan(asked), live, asked, guards.in_force(asked), override, live.instance.now)


def broken(*args: Any) -> list[tuple[str, str]]:
    """The rules that are broken, and the override that would let pass what is wished."""
    return [(p.rule, p.hint.partition("--allow ")[2].partition(" --")[0]) for p in check(*args)]


@pytest.mark.parametrize("size", [1, 2, 8, 20, 100])
def test_one_archive_passes_and_two_do_not_at_every_size(size: int) -> None:
    keys = [f"k{n:03}" for n in range(size + 2)]
    plane = live([entry(key) for key in keys])
    assert broken(plane, [tombstone(keys[0]), *(entry(key) for key in keys[1:])]) == []
    two = [tombstone(keys[0]), tombstone(keys[1]), *(entry(key) for key in keys[2:])]
    assert broken(plane, two) == [("guard.archives", "archives=2")]


def test_an_override_lets_its_number_pass_and_no_more() -> None:
    keys = [f"k{n:03}" for n in range(100)]
    plane = live([entry(key) for key in keys])
    wished = [*map(tombstone, keys[:31]), *map(entry, keys[31:])]
    assert broken(plane, wished, Override({"archives": 31}, "why")) == []
    assert broken(plane, wished, Override({"archives": 30}, "why")) == [("guard.archives", "archives=31")]
    assert broken(plane, wished, Override({"withdrawals": 99}, "why")) == [("guard.archives", "archives=31")]


def test_an_override_of_zero_lets_nothing_pass() -> None:
    plane = live([entry("a"), entry("b")])
    assert broken(plane, [tombstone("a"), entry("b")], Override({"archives": 0}, "why")) == [
        ("guard.archives", "archives=1")
    ]


@pytest.mark.parametrize(("count", "rules"), [(10, []), (11, [("guard.withdrawals", "withdrawals=11")])])
@pytest.mark.parametrize("how", ["withdrawn", "all rows zero", "archived"])
def test_ten_withdrawals_pass_and_eleven_do_not(count: int, rules: list[Any], how: str) -> None:
    pools = [offered(f"k{n:02}", acme=8) for n in range(count)]
    ends: dict[str, Any] = {
        "withdrawn": lambda key: entry(key, offers=[]),
        "all rows zero": lambda key: offered(key, acme=0),
        "archived": tombstone,
    }
    wished = [ends[how](pool["idempotencyKey"]) for pool in pools]
    assert broken(live(pools), wished, Override({"archives": 99}, "why")) == rules


def test_withdrawals_of_all_kinds_count_together() -> None:
    pools = [offered(f"k{n}", acme=8, globex=8, initech=8, umbrella=8) for n in range(3)]
    wished = [tombstone("k0"), entry("k1", offers=[]), offered("k2", acme=0, globex=0, initech=0, umbrella=1)]
    [problem] = check(live(pools), wished)
    assert problem.message == "11 withdrawals, and one apply may do 10"


def test_an_offer_that_keeps_some_gpus_is_no_withdrawal() -> None:
    pools = [offered(f"k{n:02}", acme=8) for n in range(20)]
    assert broken(live(pools), [offered(p["idempotencyKey"], acme=1) for p in pools]) == []


def test_a_row_of_another_atom_does_not_hide_a_withdrawal() -> None:
    """In a mig pool only gpu.mig grants GPUs."""

    def pool(number: int, **quota: int) -> dict[str, Any]:
        offers = [{"toTenantId": "acme", "quota": {atom.replace("_", "."): limit for atom, limit in quota.items()}}]
        return entry(
            f"k{number:02}", sharing="mig", policy={"gpu": {"mig": {"devices": {"3g.40gb": 2}}}}, offers=offers
        )

    plane = live([pool(n, gpu_mig=4, gpu=8) for n in range(11)])
    assert broken(plane, [pool(n, gpu_mig=0, gpu=8) for n in range(11)]) == [("guard.withdrawals", "withdrawals=11")]
    assert broken(plane, [pool(n, gpu_mig=1, gpu=0) for n in range(11)]) == []


def test_an_offer_that_had_none_takes_nothing_away() -> None:
    pools = [offered(f"k{n:02}", acme=0) for n in range(20)]
    wished = [
        entry(p["idempotencyKey"], offers=[{"toTenantId": "acme", "quota": {"gpu": 0, "vcpu": 1}}]) for p in pools
    ]
    assert broken(live(pools), wished) == []


def test_creating_and_raising_take_nothing_away() -> None:
    plane = live([offered(f"k{n:02}", acme=8) for n in range(20)])
    wished = [offered(f"k{n:02}", acme=64, globex=64) for n in range(40)]
    assert broken(plane, wished) == []


def test_a_problem_blocks_and_has_the_place_of_the_first() -> None:
    plane = live([entry("a"), entry("b")])
    [problem] = check(plane, [tombstone("a"), tombstone("b")])
    assert (problem.code, problem.severity) == ("BLOCKED", "error")
    assert problem.source is not None
    assert problem.source.file == "fleet.yaml"
    assert '--reason "why"' in problem.hint


def test_every_name_that_can_be_allowed_is_a_guard() -> None:
    pools = [offered(f"k{n:02}", acme=8) for n in range(11)]
    rules = {p.rule.removeprefix("guard.") for p in check(live(pools), [tombstone(p["idempotencyKey"]) for p in pools])}
    assert rules == set(guards.ALLOWABLE)
