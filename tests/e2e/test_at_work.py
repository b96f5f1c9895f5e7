"""Plans over pools that run reservations: what is in use counts, what fails and what runs on is told, and it is so."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from better_compute.client import Client
from better_compute.domain.problems import ComputeError
from tests.e2e.homes import Home, Ran, entry, phrase, pool_id, served, unchanged

H100 = "NVIDIA H100 80GB HBM3"
RACKED = pool_id("racked")
"""Four hosts of eight H100 stand by for it."""
LIVE = ["placed", "active"]
OVERRIDE = ("--reason", "test", "--allow")


@pytest.fixture(params=["embedded", "served"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Home]:
    """An empty fleet, and a control plane that is asked in process or over the network."""
    found = Home(tmp_path)
    with served(found) if request.param == "served" else nullcontext():
        yield found


@pytest.fixture
def near(tmp_path: Path) -> Home:
    """An empty fleet, and a control plane that is asked in process."""
    return Home(tmp_path)


def book(home: Home, tenant_id: str, *wishes: Mapping[str, int] | int, pool: str = RACKED) -> list[str]:
    """The ids of a tenant's new reservations: of GPUs, where a wish is a number."""
    with home.hand("sa_hand", tenant_id) as client:
        asked = [{"gpu": wish} if isinstance(wish, int) else dict(wish) for wish in wishes]
        return [client.reservations.create(pool, resources).id for resources in asked]


def refused(client: Client, operation: str, **body: Any) -> tuple[str, str]:
    """Code and rule of what is not done."""
    with pytest.raises(ComputeError) as caught:
        client.call(operation, body)
    return caught.value.code, caught.value.problems[0].rule


def states(home: Home, tenant_id: str, pool: str = RACKED) -> Counter[str]:
    """A tenant's reservations by state, and those that failed by their reason."""
    with home.hand("sa_hand", tenant_id) as client:
        found = client.reservations.list(pool)
    return Counter(f"failed {r.reason}" if r.state == "failed" else r.state for r in found)


def row(home: Home, tenant_id: str, resource: str = "gpu", pool: str = RACKED) -> tuple[int, int, int]:
    """Max, used and available."""
    with home.hand("sa_hand", tenant_id) as client:
        [found] = [row for row in client.quotas.list(pool) if row.resource == resource]
    return found.max, found.used, found.available


def hours(home: Home, tenant_id: str) -> float:
    with home.hand("sa_hand", tenant_id) as client:
        return sum(float(used.hours) for used in client.usage.list(0, 2**53 - 1))


def charges(home: Home, tenant_id: str) -> bool:
    before = hours(home, tenant_id)
    time.sleep(0.05)
    return hours(home, tenant_id) > before


def join(home: Home, pool: str, *gpus: str, **fields: Any) -> str:
    """The id of a machine that joins, with these GPUs."""
    with home.hand() as client:
        token = client.nodes.create_join_token(pool).join_token
        return client.nodes.join(pool, join_token=token, inventory={"gpus": gpus, "vcpu": 64}, **fields).id


def blocks(ran: Ran) -> list[tuple[str, str]]:
    """Rule and message of what blocks a plan."""
    return [(f["rule"], f["message"]) for f in ran.report["findings"] if f["severity"] == "error"]


def effects(ran: Ran) -> dict[str, list[str]]:
    """By operation."""
    return {phrase(operation): operation["effects"] for operation in ran.report["operations"]}


def stock(ran: Ran) -> dict[tuple[str, str], tuple[int | None, int | None, float | None, int]]:
    """By model and site: what machines make before and after, the oversell after, and what is in use."""
    rows = ran.report["capacity"]["stock"]
    return {
        (s["gpuModel"], s["siteId"]): (s["schedulable"], s["schedulableAfter"], s["oversellAfter"], s["inUse"])
        for s in rows
    }


def busy(home: Home) -> None:
    """acme uses 20 of 24 GPUs and globex 8 of 16, and globex waits for 8 more, twice."""
    home.wish(entry("racked", {"acme": 24, "globex": 16}))
    home.apply()
    book(home, "acme", 8, 8, 4)
    book(home, "globex", 8, 8)
    assert states(home, "globex") == {"active": 1, "pending": 1}


def test_less_than_is_in_use_and_a_withdrawal_are_told_held_and_done(home: Home) -> None:
    busy(home)
    home.wish(entry("racked", {"acme": 8}))
    planned = home.plan(code=3)
    says = "1 quota row would drop below what is in use: gpu of acme in racked (8, with 20 in use)"
    assert blocks(planned) == [("guard.belowUse", f"{says}, and none may, by allowBelowUse")]
    assert effects(planned) == {
        "withdraw racked to globex": [
            "globex no longer sees the pool",
            "1 pending reservation of globex will fail with PoolGone",
            "1 placed or active reservation of globex runs on and charges",
            "8 gpu in use stay booked",
        ],
        "offer racked to acme": ["gpu: 8 is below the 20 in use; bookings stay, nothing new fits"],
    }
    assert stock(planned) == {("H100", "site_fra1"): (32, 32, 0.25, 28)}
    with unchanged(home):
        home.apply(code=3)
        home.apply(*OVERRIDE, "belowUse=0", code=3)
    home.apply(*OVERRIDE, "belowUse=1")
    assert home.is_settled()
    assert row(home, "acme") == (8, 20, 0)
    assert states(home, "acme") == {"active": 3}
    assert states(home, "globex") == {"active": 1, "failed PoolGone": 1}
    assert charges(home, "acme")
    assert charges(home, "globex")
    with home.hand("sa_hand", "acme") as acme:
        ask = {"poolId": RACKED, "resources": {"gpu": 1}}
        assert refused(acme, "reservations/create", **ask) == ("LIMIT_EXCEEDED", "quota.exact")
    with home.hand("sa_hand", "globex") as globex:
        assert refused(globex, "reservations/create", **ask)[0] == "NOT_FOUND"


def test_what_a_withdrawn_tenant_still_uses_counts_in_every_later_plan(near: Home) -> None:
    busy(near)
    near.wish(entry("racked", {"acme": 24}))
    near.apply()
    near.wish(entry("racked", {"acme": 25}))
    assert stock(near.plan()) == {("H100", "site_fra1"): (32, 32, 0.78125, 28)}
    near.wish(entry("racked", {"acme": 24, "globex": 4}))
    planned = near.plan(code=3)
    says = "1 quota row would drop below what is in use: gpu of globex in racked (4, with 8 in use)"
    assert blocks(planned) == [("guard.belowUse", f"{says}, and none may, by allowBelowUse")]
    assert effects(planned) == {
        "offer racked to globex": ["gpu: 4 is below the 8 in use; bookings stay, nothing new fits"]
    }
    near.apply(*OVERRIDE, "belowUse=1")
    assert row(near, "globex") == (4, 8, 0)
    assert near.is_settled()


def test_a_snapshot_holds_what_runs(near: Home, tmp_path: Path) -> None:
    busy(near)
    near.wish(entry("racked", {"acme": 24}))
    near.apply()
    near.wish({"idempotencyKey": "racked", "archived": True})
    file = tmp_path / "snapshot.json"
    assert near.run("snapshot", "--out", file).code == 0
    live, kept = near.plan(code=3), near.plan("--snapshot", file, code=3)
    told = ("digest", "operations", "capacity", "losses")
    assert {name: kept.report[name] for name in told} == {name: live.report[name] for name in told}
    assert blocks(kept) == blocks(live)
    assert "28 gpu in use stay booked" in effects(kept)["archive racked"]


def test_a_pool_in_use_is_archived_by_an_override_alone_and_what_runs_lives_on(home: Home) -> None:
    busy(home)
    home.wish({"idempotencyKey": "racked", "archived": True})
    planned = home.plan(code=3)
    says = "1 pool would be archived in use: racked (4 reservations), and none may, by allowArchiveInUse"
    assert blocks(planned) == [("guard.archiveInUse", says)]
    assert effects(planned) == {
        "archive racked": [
            "cannot be undone: no pool can have this key again",
            "withdraws what it offers to acme and globex",
            "1 pending reservation of globex will fail with PoolGone",
            "3 placed or active reservations of acme run on and charge",
            "1 placed or active reservation of globex runs on and charges",
            "28 gpu in use stay booked",
        ]
    }
    assert stock(planned) == {("H100", "site_fra1"): (32, 0, 0.0, 28)}
    with unchanged(home):
        home.apply(code=3)
    home.apply(*OVERRIDE, "archiveInUse=1")
    assert home.is_settled()
    assert states(home, "acme") == {"active": 3}
    assert states(home, "globex") == {"active": 1, "failed PoolGone": 1}
    assert charges(home, "acme")
    with home.hand("sa_hand", "acme") as acme:
        for reservation in acme.reservations.list(RACKED):
            acme.reservations.end(reservation.id)
    assert not charges(home, "acme")
    assert home.is_settled()


@pytest.mark.parametrize("ends", [False, True])
def test_a_pool_where_work_only_waits_or_is_over_is_not_in_use(near: Home, ends: bool) -> None:
    near.wish(entry("fra1-a", {"acme": 8}))
    near.apply()
    machine = join(near, pool_id("fra1-a"), *[H100] * 8) if ends else None
    [asked] = book(near, "acme", 8, pool=pool_id("fra1-a"))
    assert states(near, "acme", pool_id("fra1-a")) == ({"active": 1} if machine else {"pending": 1})
    if ends:
        with near.hand() as client:
            client.reservations.end(asked)
    near.wish({"idempotencyKey": "fra1-a", "archived": True})
    planned = near.plan()
    told = [] if ends else ["1 pending reservation of acme will fail with PoolGone"]
    assert effects(planned)["archive fra1-a"][2:] == told
    near.apply()
    assert states(near, "acme", pool_id("fra1-a")) == ({"ended": 1} if ends else {"failed PoolGone": 1})


def test_bookings_are_no_drift_and_no_change_by_hand(near: Home) -> None:
    busy(near)
    assert near.is_settled()
    with near.hand() as client:
        client.call("quotas/set", {"poolId": RACKED, "toTenantId": "acme", "quota": {"gpu": 23}})
    book(near, "acme", 1)
    ran = near.run("drift", "--format", "json")
    assert ran.code == 2
    [found] = ran.report["drift"]
    assert (found["kind"], found["toTenantId"], found["actorId"]) == ("changed", "acme", "sa_hand")
    assert found["eventType"] == "quota.updated"


def test_a_plan_holds_where_somebody_books_after_it(near: Home, tmp_path: Path) -> None:
    """Bookings raise no version that a plan stands on; its guards see them at apply."""
    busy(near)
    near.wish(entry("racked", {"acme": 21, "globex": 16}))
    plan = tmp_path / "plan.json"
    near.plan("--out", plan)
    book(near, "acme", 1)
    near.apply("--plan", plan)
    assert row(near, "acme") == (21, 21, 0)
    near.wish(entry("racked", {"acme": 20, "globex": 16}))
    assert [rule for rule, _ in blocks(near.apply(code=3))] == ["guard.belowUse"]


def test_machines_that_tenants_run_and_machines_in_quarantine_make_nothing_to_sell(near: Home) -> None:
    offered = [entry("racked", {"acme": 32}), entry("ams1-a", {"acme": 16}, siteId="site_ams1")]
    near.wish(*offered, guards={"maxOversell": 1})
    near.apply()
    ams1 = pool_id("ams1-a")
    join(near, ams1, *[H100] * 8)
    controlled = join(near, ams1, *[H100] * 8, control="tenant")
    join(near, ams1, "NVIDIA H900 Mystery", *[H100] * 7)
    near.wish(offered[0], entry("ams1-a", {"acme": 17}, siteId="site_ams1"), guards={"maxOversell": 1})
    planned = near.plan(code=3)
    assert stock(planned) == {("H100", "site_ams1"): (8, 8, 2.125, 0)}
    says = "1 pool oversold: ams1-a (17 of 8, 2.12 times), and maxOversell is 1"
    assert blocks(planned) == [("guard.oversell", says)]
    with near.hand() as client:
        client.nodes.set_control(controlled, control="platform")
    join(near, ams1, H100)
    assert stock(near.plan()) == {("H100", "site_ams1"): (17, 17, 1.0, 0)}
    near.apply()
    assert near.is_settled()


def test_slices_and_slots_are_counted_as_machines_and_policy_make_them(near: Home) -> None:
    cut = {"sharing": "mig", "policy": {"gpu": {"mig": {"devices": {"1g.10gb": 7}}}}, "ownerQuota": {"gpu.mig": 7}}
    split = {"sharing": "mps", "policy": {"gpu": {"slots": 4}}, "ownerQuota": {"gpu.slot": 64}}
    more = [{"toTenantId": "acme", "quota": {"gpu.mig": 17}}]
    near.wish(entry("fra1-mig", more, **cut), entry("fra1-mps", [], **split))
    near.apply()
    mig, mps = pool_id("fra1-mig"), pool_id("fra1-mps")
    join(near, mig, *[H100] * 2)
    join(near, mig, H100, *[f"{H100} MIG 3g.40gb"] * 2)
    join(near, mps, *[H100] * 2)
    more = [{"toTenantId": "acme", "quota": {"gpu.mig": 20}}]
    eight = {**split, "policy": {"gpu": {"slots": 8}}}
    near.wish(entry("fra1-mig", more, **cut), entry("fra1-mps", [], **eight))
    planned = near.plan()
    made = {s["atom"]: (s["schedulable"], s["schedulableAfter"]) for s in planned.report["capacity"]["stock"]}
    assert made == {"gpu.mig": (16, 16), "gpu.slot": (8, 16)}
    assert effects(planned)["update fra1-mps"] == ["its machines make 16 gpu.slot instead of 8"]
    near.apply()
    [held] = book(near, "root", {"gpu.slot": 12}, pool=mps)
    near.wish(entry("fra1-mig", more, **cut), entry("fra1-mps", [], **split))
    assert effects(near.plan())["update fra1-mps"] == [
        "its machines make 8 gpu.slot instead of 16",
        "12 gpu.slot in use stay booked, more than they make then",
    ]
    near.apply()
    assert near.is_settled()
    assert states(near, "root", mps) == {"active": 1}
    with near.hand() as client:
        assert client.pools.get(mps).rollup.gpus == 2
        client.reservations.end(held)
        assert [client.reservations.create(mps, {"gpu.slot": n}).state for n in (8, 1)] == ["placed", "pending"]


def test_a_ratio_of_hosts_makes_no_gpus(near: Home) -> None:
    vcpu = [{"toTenantId": "acme", "quota": {"gpu": 32, "vcpu": 2000}}]
    near.wish(entry("racked", vcpu))
    near.apply()
    near.wish(entry("racked", vcpu, policy={"overcommit": {"vcpu": 2}}))
    planned = near.plan()
    assert (effects(planned), stock(planned)) == ({"update racked": []}, {})
    book(near, "acme", {"gpu": 1, "vcpu": 192})
    near.apply()
    book(near, "acme", *[{"gpu": 1, "vcpu": 384}] * 3, {"gpu": 1, "vcpu": 192})
    assert states(near, "acme") == {"active": 5}
    near.wish(entry("racked", vcpu))
    near.apply()
    with near.hand() as client:
        vcpus = client.pools.get(RACKED).rollup.resources["vcpu"]
    assert (vcpus.total, vcpus.booked) == (1536, 1536)
    assert near.is_settled()


@pytest.mark.parametrize("name", [None, "NVIDIA H900 Mystery"])
def test_k077_no_other_model_where_machines_have_the_old_one(near: Home, name: str | None) -> None:
    """Also not where their GPUs are not understood any more while something runs on them. The server says the same."""
    near.wish(entry("fra1-a", {"acme": 8}))
    near.apply()
    pool = pool_id("fra1-a")
    machine = join(near, pool, *[H100] * 8)
    book(near, "acme", 4, pool=pool)
    if name is not None:
        with near.hand() as client:
            assert client.nodes.report(machine, {"gpus": [name] * 8}).quarantined == name
    near.wish(entry("fra1-a", {"acme": 8}, gpuModel="H200"))
    planned = near.plan(*OVERRIDE, "modelChange=1", code=3)
    [(rule, message)] = blocks(planned)
    assert rule == "pool.update"
    assert effects(planned)["update fra1-a"] == [
        "meters and authorization follow the new model",
        "4 gpu in use are metered as gpu.h200.hours from then on, no longer as gpu.h100.hours",
        "1 machine in it has H100",
    ]
    with unchanged(near):
        near.apply(*OVERRIDE, "modelChange=1", code=3)
    with near.hand() as client, pytest.raises(ComputeError) as caught:
        client.call("pools/update", {"poolId": pool, "gpuModel": "H200"})
    assert (caught.value.problems[0].rule, caught.value.problems[0].message) == (rule, message)
    assert states(near, "acme", pool) == {"active": 1}


@pytest.mark.parametrize(
    ("policy", "rule"),
    [
        ({"hostReserve": {"vcpu": 191}}, None),
        ({"hostReserve": {"vcpu": 192}}, "policy.hostReserve.vcpu"),
        ({"hugepages": {"1Gi": 4096}}, "policy.hugepages.1Gi"),
        ({"singleTenant": True}, None),
        ({"gpu": {"slots": 1}}, "policy.gpu.slots"),
    ],
)
def test_a_plan_and_the_server_refuse_the_same_policies(near: Home, policy: dict[str, Any], rule: str | None) -> None:
    """The smallest host has 192 CPUs and 2048 GiB, whatever is booked of it."""
    near.wish(entry("racked", {"acme": 32}))
    near.apply()
    book(near, "acme", 8)
    near.wish(entry("racked", {"acme": 32}, policy=policy))
    planned = near.run("plan", "--format", "json")
    assert planned.code == (3 if rule else 0)
    assert {found for found, _ in blocks(planned)} == ({rule} if rule else set())
    with near.hand() as client:
        body = {"poolId": RACKED, "policy": policy}
        if rule is None:
            client.call("pools/update", body)
        else:
            assert refused(client, "pools/update", **body) == ("INVALID_INPUT", rule)
