"""Checks are about what there will be once the plan is done: not about what files wish and no operation makes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from better_compute.domain.atoms import ATOMS, UNLIMITED
from better_compute.domain.commands import OfferPool, SetQuota
from better_compute.domain.policy.canonical import canonical
from better_compute.domain.state import PoolState
from fleetctl import checks
from fleetctl.checks.after import Standing, standing
from fleetctl.checks.objects import Objects
from fleetctl.comparison.compare import Asked
from fleetctl.comparison.selection import parse
from fleetctl.consequences import Consequences
from fleetctl.desired.inputs import without_zeros
from fleetctl.plan import Plan, make
from tests.fleetctl.comparison.compared import PREFIX, TOMB, base
from tests.fleetctl.test_identity import offered, plane, pool_id
from tests.fleets import OWNER, Fleet, fleets, quotas
from tests.fleets import offers as granted
from tests.model import ControlPlane, desired, entry, fleet

APART = "!pool.offers.exists(o, o.toTenantId == 'globex') || !pool.offers.exists(o, o.toTenantId == 'initech')"


def rule(expr: str, each: str | None = "pool") -> dict[str, Any]:
    written = {"name": "sum", "severity": "deny", "expr": expr, "message": "m"}
    return {**written, "each": each} if each else written


def offers(**tenants: int) -> list[dict[str, Any]]:
    return [{"toTenantId": tenant, "quota": {"gpu": gpus}} for tenant, gpus in tenants.items()]


def denied(live: ControlPlane, *entries: dict[str, Any], expr: str, each: str | None = "pool", **how: Any) -> bool:
    root, given = {**PREFIX, "checks": [rule(expr, each)]}, dict(how)
    state = live.live()
    made = make(desired(fleet(*entries, **root)), state, Asked(**given))
    found = checks.problems(Consequences(made, state))
    assert not any("cannot" in problem.message for problem in found), found
    return bool(found)


@pytest.mark.parametrize(
    ("only", "exclude", "is_denied"),
    [
        ((), (), False),
        (("tenant=initech",), (), True),
        (("tenant=globex",), (), False),
        ((), ("tenant=globex",), True),
        ((), ("tenant=initech",), False),
    ],
)
def test_half_of_a_move_is_judged_as_the_half_that_it_is(
    only: tuple[str, ...], exclude: tuple[str, ...], is_denied: bool
) -> None:
    live = plane(entry("fra1-a", offers=offers(globex=16)))
    moved = entry("fra1-a", offers=offers(initech=16))
    assert denied(live, moved, expr=APART, selected=parse(only, exclude)) == is_denied


def test_what_the_files_mend_outside_of_the_selection_is_not_mended_yet() -> None:
    live = plane(offered("fra1-a", policy={"x": 1}), offered("fra1-b"))
    wishes = (offered("fra1-a", policy={"x": 2}, gpuModel="H200"), offered("fra1-b", 9))
    for mended in ("pool.policy.x == 2", "pool.gpuModel == 'H200'"):
        expr = f"pool.idempotencyKey != 'fra1-a' || {mended}"
        assert not denied(live, *wishes, expr=expr)
        assert denied(live, *wishes, expr=expr, selected=parse(("key=fra1-b",), ()))


def test_a_pool_that_is_not_made_is_not_there() -> None:
    live, wishes = plane(offered("fra1-a")), (offered("fra1-a", 9), offered("fra1-b"))
    assert not denied(live, *wishes, expr="pools.size() == 2", each=None)
    assert denied(live, *wishes, expr="pools.size() == 2", each=None, selected=parse(("key=fra1-a",), ()))


@pytest.mark.parametrize(("prune", "pools"), [(False, 2), (True, 1)])
def test_a_removed_pool_is_there_until_it_is_pruned(prune: bool, pools: int) -> None:
    live, was = plane(offered("fra1-a"), offered("fra1-gone")), base(offered("fra1-a"), offered("fra1-gone"))
    sees = f"pools.size() == {pools} && offers.size() == {pools}"
    assert not denied(live, offered("fra1-a"), expr=sees, each=None, base=was, prune=prune)
    managed = "pools.map(p, p.managed ? p.idempotencyKey : '-').filter(k, k == '-').size()"
    assert not denied(live, offered("fra1-a"), expr=f"{managed} == {pools - 1}", each=None, base=was, prune=prune)


def test_a_tombstone_that_is_left_out_leaves_its_pool() -> None:
    live, wishes = (
        plane(offered("fra1-a"), offered("fra1-b")),
        ({"idempotencyKey": "fra1-a", **TOMB}, offered("fra1-b")),
    )
    assert not denied(live, *wishes, expr="pool.idempotencyKey != 'fra1-a'")
    assert denied(live, *wishes, expr="pool.idempotencyKey != 'fra1-a'", selected=parse(("key=fra1-b",), ()))


def test_pools_of_others_are_seen_by_a_check_that_asks_for_them_alone() -> None:
    """Nobody here may change them, so that a check of this fleet would block all that it does."""
    live = plane(offered("fra1-a"))
    plane(entry("other", offers=offers(umbrella=500)), caller="alice", into=live)

    def is_denied(expr: str, each: str | None = None) -> bool:
        return denied(live, offered("fra1-a"), expr=expr, each=each)

    assert not is_denied("pools.map(p, p.idempotencyKey) == ['fra1-a'] && offers.size() == 1")
    assert not is_denied("pools.filter(p, p.foreign).size() == 1 && offers.size() == 2")
    assert is_denied("pools.all(p, !p.foreign)")
    assert is_denied("pools.all(p, !p['foreign'])")
    assert is_denied('pools.all(p, !p[ "foreign" ])')
    assert is_denied("pools.all(p, !p[('foreign')])")
    assert is_denied("pools.all(p, !p[ // whose\n 'foreign' ])")
    assert is_denied("pools.all(p, !p.`foreign`)")
    assert not is_denied("pool.idempotencyKey == 'fra1-a'", "pool")
    assert is_denied("!pool.foreign", "pool")
    assert not is_denied("offer.quota.gpu < 100", "offer")
    assert is_denied("!offer.foreign || offer.quota.gpu < 100", "offer")
    assert not is_denied("tenant.id != 'umbrella' && tenant.offers.size() == 1", "tenant")
    assert is_denied("tenant.offers.all(o, o.foreign || o.quota.gpu > 0) && tenant.id != 'umbrella'", "tenant")
    assert not is_denied("pools.size() == 1 && '.foreign' != ''  // .foreign")
    assert not is_denied("pools.size() == 1 && '[\"foreign\"]' != ''  // ['foreign']")


@pytest.mark.parametrize("key", ["fra1-b", "b"])
@pytest.mark.parametrize("is_released", [True, False])
def test_whoever_lets_a_pool_go_does_not_take_it_from_under_the_checks(key: str, is_released: bool) -> None:
    """What the fleet's caller made is seen with an entry, without one, and whatever prefix keys have."""
    live, most = plane(offered("fra1-a"), offered(key)), "offers.filter(o, o.quota.gpu >= 8).size() <= 1"
    let_go = [{"idempotencyKey": key, "released": True}] if is_released and key == "fra1-b" else []
    assert denied(live, offered("fra1-a"), *let_go, expr=most, each=None)


def test_a_pool_of_others_that_the_base_has_is_seen_still() -> None:
    live = plane(offered("fra1-a"))
    made = plane(offered("by-hand"), caller="alice", into=live)
    (other,) = (state.pool for state in made.live().pools.values() if state.pool and state.pool.created_by == "alice")
    adopted = {"id": other.id, **{k: v for k, v in offered("by-hand").items() if k != "idempotencyKey"}}
    was = base(offered("fra1-a"), adopted)
    assert not denied(live, offered("fra1-a"), expr="pools.size() == 1", each=None)
    assert denied(live, offered("fra1-a"), expr="pools.size() == 1", each=None, base=was)
    assert denied(live, offered("fra1-a"), {"id": other.id, "released": True}, expr="pools.size() == 1", each=None)


def test_what_this_fleet_lost_is_seen_whoever_looks() -> None:
    """A pool that left the files is its own to mend."""
    live = plane(offered("fra1-a"), offered("fra1-gone"))
    assert denied(live, offered("fra1-a"), expr="pool.managed", each="pool")


def test_a_tenant_that_the_plan_leaves_with_foreign_pools_alone_is_seen() -> None:
    live = plane(entry("fra1-a", offers=offers(acme=8)))
    plane(entry("other", offers=offers(acme=8)), caller="alice", into=live)
    assert denied(live, entry("fra1-a", offers=[]), expr="tenant.id != 'acme'", each="tenant")
    assert not denied(live, entry("fra1-a", offers=[]), expr="tenant.offers == []", each="tenant")


def test_whose_pool_it_is_stands_beside_its_name() -> None:
    live = plane(offered("fra1-gone"))
    plane(offered("by-hand"), caller="alice", into=live)
    for expr, said in {
        "pool.managed": "m: fra1-gone (no entry stands for it, made by sa_fleet)",
        "!pool.foreign": "m: by-hand (not of this fleet, made by alice)",
    }.items():
        state = live.live()
        made = make(desired(fleet(**PREFIX, allowEmpty=True, checks=[rule(expr)])), state)
        assert [problem.message for problem in checks.problems(Consequences(made, state))] == [said]


def test_unmanaged_offers_and_an_unmanaged_quota_of_the_owner_are_as_they_are() -> None:
    live = plane(entry("fra1-a", offers=offers(acme=8)))
    live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("fra1-a"), to_tenant_id="globex", quota={"gpu": 500}))
    live.do(SetQuota(tenant_id=OWNER, pool_id=pool_id("fra1-a"), to_tenant_id=OWNER, quota={"gpu": 70}))
    wish = entry("fra1-a", offers="unmanaged")
    assert denied(live, wish, expr="offer.quota.gpu < 100", each="offer")
    assert not denied(live, wish, expr="!offer.managed", each="offer")
    assert not denied(live, wish, expr="pool.ownerQuota == {'gpu': 70}")


def test_a_pool_that_cannot_become_as_wished_stays_as_it_is() -> None:
    live = plane(entry("fra1-a", offers=offers(globex=1)))
    wish = entry("fra1-a", siteId="site_ams1", policy={"x": 1}, offers=offers(initech=1))
    there = "pool.siteId == 'site_fra1' && pool.policy == {} && pool.offers.map(o, o.toTenantId) == ['globex']"
    assert not denied(live, wish, expr=there)


def test_what_is_equal_is_spelled_as_the_files_do() -> None:
    live = plane(entry("fra1-a", policy={"maxPending": "360m"}, ownerQuota={"gpu": 8}, offers=offers(acme=8)))
    wish = entry(
        "fra1-a",
        policy={"maxPending": "6h"},
        ownerQuota={"gpu": 8, "vcpu": 0},
        offers=[{"toTenantId": "acme", "quota": {"gpu": 8, "vcpu": 0}}],
    )
    spelled = "pool.policy.maxPending == '6h' && pool.ownerQuota.vcpu == 0 && pool.offers[0].quota.vcpu == 0"
    assert not denied(live, wish, expr=spelled)


def test_capacity_is_of_all_pools_also_where_a_plan_does_nothing_to_them() -> None:
    live = plane(entry("fra1-a", offers=offers(acme=40)), entry("fra1-b", siteId="site_ams1", offers=offers(acme=3)))
    same = (entry("fra1-a", offers=offers(acme=40)), entry("fra1-b", siteId="site_ams1", offers=offers(acme=3)))
    assert not denied(live, *same, expr="capacity.map(c, c.after) == [3, 40]", each=None)
    more = (same[0], entry("fra1-b", siteId="site_ams1", offers=offers(acme=4)))
    assert not denied(live, *more, expr="capacity.map(c, c.after) == [4, 40]", each=None)
    assert denied(live, *more, expr="capacity.all(c, c.after < 40)", each=None)


# The plan done by the control plane's own rules, and the ledger, see the same.

OLD = (
    offered("fra1-a", policy={"x": 1}, ownerQuota={"gpu": 9, "vcpu": 4}),
    entry("fra1-b", offers=offers(globex=16, acme=2)),
    offered("fra1-dead"),
    offered("fra1-old"),
    offered("fra1-gone"),
    offered("fra1-free"),
    offered("fra1-site"),
    entry("fra1-open", offers=offers(globex=3)),
    offered("other"),
)
NEW = (
    offered("fra1-a", 9, policy={"x": 2}, ownerQuota={"gpu": 7}),
    entry("fra1-b", gpuModel="H200", offers=offers(initech=16, acme=4)),
    {"idempotencyKey": "fra1-dead", **TOMB},
    entry("fra1-new", replaces="fra1-old", siteId="site_ams1", offers=offers(acme=8, globex=1)),
    {"idempotencyKey": "fra1-free", "released": True},
    offered("fra1-site", siteId="site_ams1"),
    entry("fra1-open", offers="unmanaged"),
)


def seen(one: Standing) -> Any:
    policy = canonical(dict(one.pool.policy))
    terms = {t: (without_zeros(o.quota), o.priority, o.include_descendants) for t, o in one.offers.items()}
    return one.pool.site_id, one.pool.gpu_model, one.pool.sharing, policy, without_zeros(one.owner_quota), terms


def is_there(state: PoolState) -> Any:
    assert state.pool is not None
    terms = {tenant_id: found for tenant_id in state.offers if (found := state.terms(tenant_id))}
    return seen(Standing(pool=state.pool, owner_quota=state.limits(OWNER), offers=terms))


def sums(objects: Objects) -> dict[tuple[str, str, str], int]:
    """By tenant, model and atom, what offers that a check sees grant."""
    found: dict[tuple[str, str, str], int] = {}
    for offer in objects.offers:
        atom = ATOMS[offer.value["sharing"]]
        key = offer.value["toTenantId"], offer.value["gpuModel"], atom
        found[key] = min(found.get(key, 0) + offer.value["quota"].get(atom, 0), UNLIMITED)
    return {key: atoms for key, atoms in found.items() if atoms}


def counted(does: Consequences) -> dict[tuple[str, str, str], int]:
    """The same as the ledger counts it."""
    rows = {(tenant, *key): one.after.atoms for tenant, held in does.holdings.items() for key, one in held.items()}
    return {key: atoms for key, atoms in rows.items() if atoms}


def agree(live: ControlPlane, made: Plan) -> None:
    """What checks see after a plan, what the ledger counts, and what the control plane's own rules make of it, by which
    preflight judges, are one. The plan is done then."""
    state = live.live()
    after, does = {one.id: seen(one) for one in standing(made, state)}, Consequences(made, state)
    assert sums(Objects(does, foreign=True)) == counted(does)
    live.run(made)
    assert after == {i: is_there(s) for i, s in live.live().pools.items() if s.pool and not s.pool.archived}


@pytest.mark.parametrize("prune", [False, True])
@pytest.mark.parametrize(
    ("only", "exclude"),
    [
        ((), ()),
        (("tenant=acme",), ()),
        (("tenant=initech",), ()),
        (("key=fra1-a", "key=fra1-gone"), ()),
        (("key=fra1-new",), ()),
        ((), ("tenant=acme",)),
        ((), ("key=fra1-b", "key=fra1-dead")),
        (("site=site_ams1",), ("tenant=globex",)),
    ],
)
def test_checks_see_what_the_control_plane_has_after_the_plan_and_what_the_ledger_counts(
    only: tuple[str, ...], exclude: tuple[str, ...], prune: bool
) -> None:
    live = plane(*OLD)
    asked = Asked(base=base(*OLD[:-1], **PREFIX), prune=prune, selected=parse(only, exclude))
    agree(live, make(desired(fleet(*NEW, **PREFIX)), live.live(), asked))


@st.composite
def twice(draw: st.DrawFn) -> tuple[Fleet, Fleet]:
    """A fleet, and what a change makes of its pools."""
    first, pools = draw(fleets()), list[dict[str, Any]]()
    for old in first.pools:
        what = draw(st.sampled_from(("as it is", "archived", "changed", "changed")))
        if what == "changed" and not old.get("archived"):
            sharing, single = old["sharing"], old.get("policy", {}).get("singleTenant", False)
            model, owner = draw(st.sampled_from(("H100", "H200"))), draw(quotas(ATOMS[sharing]))
            pools.append({**old, "gpuModel": model, "ownerQuota": owner, "offers": draw(granted(sharing, single))})
        else:
            pools.append(old if what != "archived" else {"idempotencyKey": old["idempotencyKey"], **TOMB})
    return first, Fleet(first.root, pools)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(twice())
def test_they_see_it_of_every_plan_that_nothing_blocks(fleets: tuple[Fleet, Fleet]) -> None:
    live = ControlPlane()
    for wished in fleets:
        made = live.plan(desired(wished))
        if live.allows(made):
            agree(live, made)
