"""Guards that count: archives, withdrawals and GPUs, each up to its limit and no further."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.atoms import UNLIMITED
from fleetctl.comparison.selection import parse
from fleetctl.desired import Desired
from tests.fleetctl.guards.case import EVERYTHING, Case, entry, files, offers, pool_id, tombstone
from tests.fleets import CALLER
from tests.model import desired, fleet


def live(count: int) -> tuple[Case, list[str]]:
    case, keys = Case(), [f"k{n:03}" for n in range(count)]
    for key in keys:
        case.pool(key)
    return case, keys


def prefixed(*entries: dict[str, Any], **limits: Any) -> Desired:
    """A fleet that owns all keys of fra1."""
    return desired(fleet(*entries, keyPrefix="fra1-", guards=limits))


class TestArchives:
    @pytest.mark.parametrize("size", [1, 2, 8, 20, 100])
    def test_one_passes_and_two_do_not_at_every_size(self, size: int) -> None:
        case, keys = live(size + 2)
        assert case.blocked(files(tombstone(keys[0]), *map(entry, keys[1:]))) == []
        two = files(*map(tombstone, keys[:2]), *map(entry, keys[2:]))
        assert case.blocked(two) == [("guard.archives", "archives=2")]

    @pytest.mark.parametrize(("archives", "rules"), [(30, []), (31, [("guard.archives", "archives=31")])])
    def test_thirty_of_a_hundred_pass_by_thirty_percent_and_the_next_does_not(
        self, archives: int, rules: list[Any]
    ) -> None:
        case, keys = live(100)
        wished = files(
            *map(tombstone, keys[:archives]), *map(entry, keys[archives:]), maxArchives=50, maxArchivePercent=30
        )
        assert case.blocked(wished) == rules

    def test_what_the_share_comes_to_is_told(self) -> None:
        case, keys = live(100)
        wished = files(*map(tombstone, keys[:31]), *map(entry, keys[31:]), maxArchives=50, maxArchivePercent=30)
        [problem] = case.judged(wished)
        assert problem.message == "31 archives, and one apply may do 30, by maxArchivePercent: 30 % of 100 live pools"

    @pytest.mark.parametrize(
        ("percent", "pools", "most"),
        [(0, 100, 1), (0.29, 100, 1), (29, 100, 29), (19.9, 10, 1), (20, 10, 2), (50, 3, 1)],
    )
    def test_the_share_is_rounded_down_and_one_at_least(self, percent: float, pools: int, most: int) -> None:
        case, keys = live(pools)
        for archives in (most, most + 1):
            wished = files(
                *map(tombstone, keys[:archives]),
                *map(entry, keys[archives:]),
                maxArchives=99,
                maxArchivePercent=percent,
            )
            assert bool(case.blocked(wished)) == (archives > most)

    def test_zero_refuses_all(self) -> None:
        case, keys = live(3)
        wished = files(tombstone(keys[0]), *map(entry, keys[1:]), maxArchives=0)
        assert case.blocked(wished) == [("guard.archives", "archives=1")]

    def test_the_share_is_of_this_fleets_pools_alone(self) -> None:
        """Foreign, archived and released pools, and those that are still to be made, are no reason to archive more."""
        case, keys = live(10)
        for n in range(90):
            case.pool(f"foreign-{n}")
        case.pool("gone", archived_at=1)
        case.pool("let-go")
        others = [
            tombstone("gone"),
            {"idempotencyKey": "let-go", "released": True},
            *(entry(f"new{n}") for n in range(90)),
        ]
        two = [*map(tombstone, keys[:2]), *map(entry, keys[2:]), *others]
        limits = {"maxArchives": 99, "maxArchivePercent": 19}
        assert case.blocked(files(*two, **limits)) == [("guard.archives", "archives=2")]
        limits["maxArchivePercent"] = 20
        assert case.blocked(files(*two, **limits)) == []

    def test_removed_pools_are_still_this_fleets(self) -> None:
        """Selected or not: a part of a fleet has no larger share than the whole."""
        case = Case()
        for n in range(20):
            case.pool(f"fra1-{n:02}")
        kept = [*map(tombstone, ["fra1-00", "fra1-01"]), entry("fra1-02")]
        limits = {"maxArchives": 99, "maxArchivePercent": 10}
        wished = prefixed(*kept, **limits)
        assert case.blocked(wished) == []
        assert case.blocked(wished, selected=parse(["key=fra1-0[01]"], [])) == []
        limits["maxArchivePercent"] = 9
        assert case.blocked(prefixed(*kept, **limits)) == [("guard.archives", "archives=2")]

    def test_those_that_a_caller_before_made_are_too(self) -> None:
        case = Case()
        for n in range(20):
            case.pool(f"fra1-{n:02}")
        kept = [*map(tombstone, ["fra1-00", "fra1-01"]), entry("fra1-02")]
        rotated = {"caller": "sa_new", "previousCallers": [CALLER], "keyPrefix": "fra1-"}
        guarded = {"maxArchives": 99, "maxArchivePercent": 10}
        was = desired(fleet(*map(entry, ["fra1-00", "fra1-01", "fra1-02"]), guards=guarded, **rotated))
        assert case.blocked(desired(fleet(*kept, guards=guarded, **rotated)), base=was) == []
        guarded["maxArchivePercent"] = 9
        wished = desired(fleet(*kept, guards=guarded, **rotated))
        assert case.blocked(wished, base=was) == [("guard.archives", "archives=2")]

    def test_what_the_change_itself_adopts_makes_no_room(self) -> None:
        """The share is of what the base had."""
        case, keys = live(10)
        for n in range(20):
            case.pool(f"foreign-{n}")
        limits = {"maxArchives": 99, "maxArchivePercent": 20}
        was = files(*map(entry, keys), **limits)
        adopted = [{**entry(f"new-{n}"), "id": pool_id(f"foreign-{n}")} for n in range(20)]
        for archives, rules in [(2, []), (3, [("guard.archives", "archives=3")])]:
            wished = files(*map(tombstone, keys[:archives]), *map(entry, keys[archives:]), *adopted, **limits)
            assert case.blocked(wished, base=was) == rules
        fewer = files(*map(tombstone, keys[:2]), *map(entry, keys[2:9]), {**entry(keys[9]), "released": True}, **limits)
        assert case.blocked(fewer, base=was) == [("guard.archives", "archives=2")]

    def test_a_pool_that_is_replaced_is_still_this_fleets(self) -> None:
        case = Case()
        for n in range(10):
            case.pool(f"k{n}", sharing="mig" if n == 9 else "exclusive")
        heir = entry("new", replaces="k9", sharing="exclusive", offers=[])
        wished = [tombstone("k0"), *(entry(f"k{n}") for n in range(1, 9)), heir]
        limits = {"maxArchives": 99, "maxArchivePercent": 20}
        assert case.blocked(files(*wished, **limits)) == []
        limits["maxArchivePercent"] = 19
        assert case.blocked(files(*wished, **limits)) == [("guard.archives", "archives=2")]

    def test_an_archived_pool_is_not_archived_again(self) -> None:
        case = Case()
        for n in range(3):
            case.pool(f"k{n}", archived_at=1)
        assert case.judged(files(*(tombstone(f"k{n}") for n in range(3)))) == []


class TestWithdrawals:
    ENDS: dict[str, Any] = {
        "withdrawn": lambda key: entry(key, offers=[]),
        "all rows zero": lambda key: entry(key, offers=offers(acme={"gpu": 0, "vcpu": 64})),
        "archived": tombstone,
    }

    @pytest.mark.parametrize(("count", "rules"), [(10, []), (11, [("guard.withdrawals", "withdrawals=11")])])
    @pytest.mark.parametrize("how", ENDS)
    def test_ten_pass_and_eleven_do_not(self, count: int, rules: list[Any], how: str) -> None:
        case = Case()
        for n in range(count):
            case.pool(f"k{n:02}", acme={"gpu": 8, "vcpu": 64})
        limits = {**EVERYTHING, "maxWithdrawals": 10}
        assert case.blocked(files(*(self.ENDS[how](f"k{n:02}") for n in range(count)), **limits)) == rules

    def test_all_kinds_count_together(self) -> None:
        case = Case()
        for n in range(3):
            case.pool(f"k{n}", acme=8, globex=8, initech=8, umbrella=8)
        wished = files(
            tombstone("k0"),
            entry("k1", offers=[]),
            entry("k2", offers=offers(acme=0, globex=0, initech=0, umbrella=1)),
        )
        assert [p.message for p in case.judged(wished)] == ["11 withdrawals, and one apply may do 10"]

    def test_an_offer_that_keeps_some_gpus_is_none(self) -> None:
        case = Case()
        for n in range(20):
            case.pool(f"k{n:02}", acme=8)
        assert case.blocked(files(*(entry(f"k{n:02}", offers=offers(acme=1)) for n in range(20)))) == []

    @pytest.mark.parametrize(("sharing", "atom"), [("mig", "gpu.mig"), ("exclusive", "gpu")])
    def test_a_row_of_another_atom_does_not_hide_one(self, sharing: str, atom: str) -> None:
        case, other = Case(), {"gpu": "gpu.mig", "gpu.mig": "gpu"}[atom]
        case.pool("k", sharing=sharing, acme={atom: 4, other: 8})
        kept = entry("k", sharing=sharing, offers=offers(acme={atom: 0, other: 8}))
        assert case.blocked(files(kept, maxWithdrawals=0)) == [("guard.withdrawals", "withdrawals=1")]
        kept = entry("k", sharing=sharing, offers=offers(acme={atom: 1, other: 0}))
        assert case.blocked(files(kept, maxWithdrawals=0)) == []

    def test_an_offer_that_granted_no_gpu_takes_nothing_away(self) -> None:
        case = Case()
        case.pool("k", acme={"gpu": 0, "vcpu": 64})
        assert case.blocked(files(entry("k", offers=offers(acme={"gpu": 0, "vcpu": 1})), maxWithdrawals=0)) == []

    def test_an_offer_that_goes_is_one_though_it_granted_no_gpu(self) -> None:
        case = Case()
        case.pool("k", acme={"gpu": 0, "vcpu": 64})
        blocked = [("guard.withdrawals", "withdrawals=1")]
        assert case.blocked(files(entry("k", offers=[]), maxWithdrawals=0)) == blocked

    def test_the_owners_own_quota_is_no_offer(self) -> None:
        case = Case()
        case.pool("k", owner={"gpu": 8})
        assert case.blocked(files(entry("k", ownerQuota={"gpu": 0}), maxWithdrawals=0)) == []


class TestGpus:
    LIMITS = {**EVERYTHING, "maxGpusWithdrawn": 256}

    @pytest.mark.parametrize(("gpus", "rules"), [(256, []), (257, [("guard.gpusWithdrawn", "gpusWithdrawn=257")])])
    def test_as_many_as_the_limit_pass_and_one_more_does_not(self, gpus: int, rules: list[Any]) -> None:
        case = Case()
        case.pool("a", acme=gpus - 56)
        case.pool("b", globex=64)
        wished = files(entry("a", offers=[]), entry("b", offers=offers(globex=8)), **self.LIMITS)
        assert case.blocked(wished) == rules

    def test_what_is_gained_elsewhere_makes_up_for_nothing(self) -> None:
        case = Case()
        case.pool("a", acme=300, globex=0)
        wished = files(
            entry("a", offers=offers(acme=0, globex=300)), entry("b", offers=offers(acme=300)), **self.LIMITS
        )
        assert case.blocked(wished) == [("guard.gpusWithdrawn", "gpusWithdrawn=300")]

    def test_all_tenants_count_and_the_owner_too(self) -> None:
        case = Case()
        case.pool("a", owner={"gpu": 200}, acme=100)
        wished = files(entry("a", ownerQuota={"gpu": 0}, offers=[]), **self.LIMITS)
        assert case.blocked(wished) == [("guard.gpusWithdrawn", "gpusWithdrawn=300")]

    @pytest.mark.parametrize(
        ("sharing", "atom", "policy", "there"),
        [
            ("exclusive", "gpu", {}, 64),
            ("mig", "gpu.mig", {"gpu": {"mig": {"devices": {"3g.40gb": 2}}}}, 128),
            ("timeslice", "gpu.slot", {"gpu": {"slots": 4}}, 256),
        ],
    )
    def test_of_an_unlimited_row_those_count_that_there_are(
        self, sharing: str, atom: str, policy: dict[str, Any], there: int
    ) -> None:
        case = Case()
        case.pool("a", sharing=sharing, policy=policy, gpus=64, owner={atom: UNLIMITED})
        wished = entry("a", sharing=sharing, policy=policy, ownerQuota={atom: 16})
        assert case.blocked(files(wished, maxGpusWithdrawn=there - 16)) == []
        blocked = [("guard.gpusWithdrawn", f"gpusWithdrawn={there - 16}")]
        assert case.blocked(files(wished, maxGpusWithdrawn=there - 17)) == blocked

    def test_an_unlimited_row_that_stays_above_what_there_is_loses_nothing(self) -> None:
        case = Case()
        case.pool("a", gpus=8, acme=UNLIMITED)
        assert case.judged(files(entry("a", offers=offers(acme=8)), maxGpusWithdrawn=0)) == []

    def test_where_no_gpu_is_known_that_is_said(self) -> None:
        case = Case()
        case.pool("a", acme=UNLIMITED)
        [problem] = case.judged(files(entry("a", offers=offers(acme=16)), maxGpusWithdrawn=0))
        assert (problem.rule, problem.severity, problem.code) == ("guard.gpusWithdrawn", "unchecked", "UNCHECKED")
        assert "acme in a" in problem.message

    @pytest.mark.parametrize(("machines", "lost"), [(0, 24), (8, 24), (64, 56)])
    def test_what_is_in_use_of_an_unlimited_row_is_lost_whatever_machines_there_are(
        self, machines: int, lost: int
    ) -> None:
        limits = {**EVERYTHING, "maxGpusWithdrawn": lost - 1}
        case = Case()
        case.pool("a", acme=UNLIMITED, used={"acme": {"gpu": 32}}, gpus=machines)
        wished = [entry("a", offers=offers(acme=8))]
        assert case.blocked(files(*wished, **limits)) == [("guard.gpusWithdrawn", f"gpusWithdrawn={lost}")]
        limits["maxGpusWithdrawn"] = lost
        assert case.blocked(files(*wished, **limits)) == []
        told = [problem.severity for problem in case.judged(files(*wished, **limits))]
        assert told == ([] if machines else ["unchecked"])

    def test_a_row_that_stays_unlimited_takes_nothing(self) -> None:
        case = Case()
        case.pool("a", acme=UNLIMITED)
        wished = entry("a", offers=[{"toTenantId": "acme", "quota": {"gpu": UNLIMITED}, "priority": 7}])
        assert case.judged(files(wished, maxGpusWithdrawn=0)) == []

    def test_scalars_are_no_gpus(self) -> None:
        case = Case()
        case.pool("a", acme={"gpu": 8, "vcpu": 4000})
        assert case.judged(files(entry("a", offers=offers(acme={"gpu": 8, "vcpu": 1})), maxGpusWithdrawn=0)) == []

    def test_creating_and_raising_take_nothing_away(self) -> None:
        case = Case()
        case.pool("a", acme=8)
        wished = files(entry("a", offers=offers(acme=64, globex=64)), entry("b", offers=offers(acme=64)))
        assert case.judged(wished) == []
