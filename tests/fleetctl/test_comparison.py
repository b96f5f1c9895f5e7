"""Files, base and live state: what is removed, what moved, what would be made anew, and which part is looked at."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from better_compute.domain.commands import OfferPool, UpdatePool
from better_compute.domain.problems import ComputeError
from fleetctl.base import Base
from fleetctl.comparison import Comparison, compared
from fleetctl.errors import Stop
from fleetctl.plan import Plan, make
from fleetctl.selection import parse
from tests.fleetctl.test_identity import archive, offered, plane, pool_id
from tests.fleets import OWNER
from tests.model import ControlPlane, desired, entry, fleet

PREFIX: Any = {"keyPrefix": "fra1-"}
TOMB = {"archived": True}


def base(*pools: dict[str, Any], **root: Any) -> Base:
    return Base("main", "c0ffee", desired(fleet(*pools, **root)))


def against(live: ControlPlane, *pools: dict[str, Any], of: Base | None = None, **root: Any) -> Comparison:
    return compared(desired(fleet(*pools, **root)), live.live(), base=of)


def planned(live: ControlPlane, *pools: dict[str, Any], **how: Any) -> Plan:
    names = {"base", "prune", "selected", "renames"}
    given = {name: how.pop(name) for name in names & how.keys()}
    return make(desired(fleet(*pools, **how)), live.live(), **given)


def told(made: Plan) -> list[str]:
    return [f"{o.action} {o.name}" + (f" to {o.to_tenant_id}" if o.to_tenant_id else "") for o in made.operations]


def findings(made: Plan) -> list[tuple[str, str]]:
    return [(finding.rule, finding.severity) for finding in made.findings]


def removed(found: Comparison) -> dict[str | None, bool]:
    """Removed pools by key, and whether the base names them."""
    return {one.pool.idempotency_key: one.entry is not None for one in found.diff.removed}


# Removed or foreign.


def test_a_pool_of_this_fleet_is_known_by_caller_and_prefix_or_by_the_base() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"), offered("ams1-c"))
    plane(offered("fra1-d"), caller="sa_old", into=live)
    left = offered("fra1-a")
    assert removed(against(live, left)) == {}
    assert removed(against(live, left, **PREFIX)) == {"fra1-b": False}
    assert removed(against(live, left, **PREFIX, previousCallers=["sa_old"])) == {"fra1-b": False, "fra1-d": False}
    was = base(left, offered("fra1-b"), offered("ams1-c"))
    found = against(live, left, of=was)
    assert (removed(found), found.diff.foreign) == ({"fra1-b": True, "ams1-c": True}, 1)


def test_what_the_base_let_go_is_not_removed() -> None:
    live = plane(offered("a"), offered("b"))
    was = base(offered("a"), {"idempotencyKey": "b", "released": True})
    found = against(live, offered("a"), of=was)
    assert (found.diff.removed, found.diff.foreign) == ((), 1)


def test_an_archived_pool_is_not_removed_whatever_named_it() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    archive(live, "fra1-b")
    assert removed(against(live, offered("fra1-a"), of=base(offered("fra1-b")), **PREFIX)) == {}


def test_a_server_that_does_not_tell_creators_leaves_it_open_unless_a_base_names_them() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    for state in live.pools.values():
        assert state.pool is not None
        state.pool = replace(state.pool, created_by="", idempotency_key=None)
    there = live.live()
    blind = replace(there, instance=replace(there.instance, capabilities=frozenset()))
    wished = desired(fleet(offered("fra1-a"), **PREFIX))
    assert findings(make(wished, blind)) == [("fleet.removed", "unchecked")]
    made = make(wished, blind, base=base(offered("fra1-a"), offered("fra1-b")))
    assert (findings(made), made.removed) == ([("fleet.removed", "warning")], (pool_id("fra1-b"),))


def test_removed_pools_are_told_with_the_tombstone_to_write() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    [finding] = planned(live, offered("fra1-a"), **PREFIX).findings
    assert finding.hint == "to archive it, write `- {idempotencyKey: fra1-b, archived: true}`"
    was = base(offered("fra1-a"), entry("fra1-b", id=pool_id("fra1-b"), offers=[]), keyPrefix="fra1-a")
    [finding] = planned(live, offered("fra1-a"), keyPrefix="fra1-a", base=was).findings
    assert finding.hint == f"to archive it, write `- {{id: {pool_id('fra1-b')}, archived: true}}` or give --prune"


# Prune.


def test_prune_archives_what_the_base_names_and_nothing_else() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"), offered("fra1-c"))
    was = base(offered("fra1-a"), offered("fra1-b"))
    made = planned(live, offered("fra1-a"), **PREFIX, base=was, prune=True)
    assert told(made) == ["archive fra1-b"]
    [operation] = made.operations
    assert (operation.reason.code, operation.severity, operation.causes) == ("removed", "irreversible", ("intent",))
    assert "the base does, at fleet.yaml:" in operation.reason.sentence
    assert [f.path for f in made.findings] == ["fra1-c"]
    assert made.removed == tuple(sorted(("fra1-b", "fra1-c"), key=pool_id))
    live.run(made)
    assert told(planned(live, offered("fra1-a"), base=was, prune=True)) == []


def test_prune_without_a_base_is_refused_with_the_tombstones_to_write() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    with pytest.raises(Stop) as stopped:
        planned(live, offered("fra1-a"), **PREFIX, prune=True)
    assert (stopped.value.exit_code, stopped.value.rule) == (64, "prune.base")
    assert stopped.value.details == ("- {idempotencyKey: fra1-b, archived: true}",)


def test_prune_finds_renamed_entries_of_the_base_where_they_are() -> None:
    live = plane(offered("old"), offered("a"))
    made = planned(live, offered("a"), base=base(offered("a"), offered("new", previously="old")), prune=True)
    assert [(o.action, o.pool_id) for o in made.operations] == [("archive", pool_id("old"))]


def test_a_base_never_changes_what_is_done() -> None:
    live = plane(offered("a"), offered("b"))
    wishes = (offered("a", 9), offered("c"))
    bases = (None, base(offered("a")), base(*wishes), Base("main", None, None))
    digests = {planned(live, *wishes, base=was).digest for was in bases}
    assert len(digests) == 1


# The base's own guards.


def test_a_fleet_may_lose_all_its_pools_only_where_the_base_says_so_too() -> None:
    live = plane(offered("a"))
    for allowed, blocked in ((False, True), (True, False)):
        was = base(offered("a"), **({"allowEmpty": True} if allowed else {}))
        made = planned(live, allowEmpty=True, base=was)
        assert (("fleet.empty", "error") in findings(made)) == made.blocked == blocked


def test_a_fleet_that_was_not_there_names_nothing() -> None:
    made = planned(plane(offered("a")), offered("a", 9), base=Base("main", "c0ffee", None))
    assert findings(made) == []
    assert [o.causes for o in made.operations] == [()]


# Causes.


def causes(made: Plan) -> dict[str, tuple[str, ...]]:
    return {line: o.causes for line, o in zip(told(made), made.operations, strict=True)}


def by_path(made: Plan) -> dict[str, str | None]:
    return {change.path: change.cause for o in made.operations for change in o.changes}


def test_what_the_files_moved_is_intent_and_what_the_live_state_moved_is_drift() -> None:
    was = (offered("a", policy={"x": 1, "y": 1}), offered("b"))
    live = plane(*was)
    live.do(UpdatePool(tenant_id=OWNER, pool_id=pool_id("a"), policy={"x": 1, "y": 2}))
    live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("b"), to_tenant_id="acme", quota={"gpu": 7}, priority=3))
    made = planned(live, offered("a", policy={"x": 2, "y": 1}), offered("b"), base=base(*was))
    assert causes(made) == {"update a": ("intent", "drift"), "offer b to acme": ("drift",)}
    assert by_path(made) == {
        "policy.x": "intent",
        "policy.y": "drift",
        "quota.gpu": "drift",
        "priority": "drift",
    }


def test_without_a_base_no_cause_is_known() -> None:
    made = planned(plane(offered("a")), offered("a", 9))
    assert (causes(made), by_path(made)) == ({"offer a to acme": ()}, {"quota.gpu": None})


@pytest.mark.parametrize(
    ("was", "now", "after"),
    [
        ({"policy": {"a": {"b": 1}}}, {"policy": {"a": 5}}, {"policy.a": "intent"}),
        ({"policy": {"a": 1}}, {"policy": {"a": {"b": 5}}}, {"policy.a": "intent"}),
        ({"gpuModel": "H100"}, {"gpuModel": "H200"}, {"gpuModel": "intent"}),
        ({}, {"ownerQuota": {"gpu": 1}}, {"ownerQuota.gpu": "intent"}),
    ],
)
def test_a_change_is_told_at_whatever_depth_it_is(was: dict[str, Any], now: dict[str, Any], after: Any) -> None:
    live = plane(entry("a", offers=[], **was))
    made = planned(live, entry("a", offers=[], **now), base=base(entry("a", offers=[], **was)))
    assert by_path(made) == after


def test_offers_and_pools_that_come_and_go_have_their_causes() -> None:
    live = plane(entry("a", offers=[{"toTenantId": t, "quota": {"gpu": 1}} for t in ("acme", "globex")]))
    was = (entry("a", offers=[{"toTenantId": t, "quota": {"gpu": 1}} for t in ("globex", "initech")]), offered("gone"))
    now = (entry("a", offers=[{"toTenantId": t, "quota": {"gpu": 1}} for t in ("initech", "umbrella")]), *was[1:])
    made = planned(live, *now, offered("new"), base=base(*was))
    assert causes(made) == {
        "unoffer a to acme": ("drift",),
        "unoffer a to globex": ("intent",),
        "offer a to initech": ("drift",),
        "offer a to umbrella": ("intent",),
        "create gone": ("drift",),
        "offer gone to acme": ("drift",),
        "create new": ("intent",),
        "offer new to acme": ("intent",),
    }


def test_archives_have_the_cause_of_what_asks_for_them() -> None:
    dead = {"idempotencyKey": "a", **TOMB}
    live = plane(offered("a"))
    assert causes(planned(live, dead, base=base(offered("a")))) == {"archive a": ("intent",)}
    assert causes(planned(live, dead, base=base(dead))) == {"archive a": ("drift",)}


# Hazards.


def test_a_renamed_entry_blocks_and_is_pointed_to_previously() -> None:
    live = plane(offered("fra1-old"))
    made = planned(live, offered("fra1-new"), **PREFIX)
    assert told(made) == ["create fra1-new", "offer fra1-new to acme"]
    [error] = made.findings
    assert (error.rule, error.path) == ("fleet.rename", "pools[fra1-new]")
    assert "same shape, new key: fra1-old" in error.message
    assert "`previously: fra1-old`" in error.hint
    assert "--allow rename=1" in error.hint
    assert planned(live, offered("fra1-new", previously="fra1-old"), **PREFIX).operations == ()


@pytest.mark.parametrize(
    "other",
    [{"siteId": "site_ams1"}, {"gpuModel": "H200"}, {"class": "vps-host"}, {"sharing": "mig"}],
)
def test_a_pool_of_another_shape_is_no_rename(other: dict[str, Any]) -> None:
    live = plane(offered("fra1-old"))
    assert "fleet.rename" not in dict(findings(planned(live, entry("fra1-new", offers=[], **other), **PREFIX)))


def test_each_removed_pool_explains_one_new_entry_and_an_override_names_the_number() -> None:
    live = plane(*(offered(f"fra1-{n}") for n in range(3)))
    new = [offered(f"fra1-new{n}") for n in range(5)]
    made = planned(live, *new, **PREFIX)
    assert findings(made).count(("fleet.rename", "error")) == 3
    assert "there are 3 of this shape" in made.findings[0].hint
    assert findings(planned(live, *new, **PREFIX, renames=2)).count(("fleet.rename", "error")) == 3
    passed = planned(live, *new, **PREFIX, renames=3)
    assert (findings(passed).count(("fleet.rename", "warning")), passed.blocked) == (3, False)


def test_what_is_archived_replaced_or_named_is_no_rename() -> None:
    live = plane(offered("fra1-old"))
    tomb = {"idempotencyKey": "fra1-old", **TOMB}
    assert not planned(live, offered("fra1-new"), tomb, **PREFIX).blocked
    assert not planned(live, offered("fra1-new", replaces="fra1-old"), **PREFIX).blocked
    assert not planned(live, offered("fra1-new"), {"idempotencyKey": "fra1-old", "released": True}, **PREFIX).blocked


def test_the_same_key_under_another_caller_is_pointed_to_previous_callers() -> None:
    live = plane(offered("fra1-a"), caller="sa_old")
    was = base(offered("fra1-a"), caller="sa_old")
    error = next(f for f in planned(live, offered("fra1-a"), base=was).findings if f.severity == "error")
    assert error.rule == "fleet.rename"
    assert "`previousCallers: [sa_old]`" in error.hint


def test_a_fleet_of_which_nothing_is_there_beside_pools_like_it_asks_for_the_caller() -> None:
    live = plane(offered("a"), offered("b"), caller="sa_old")
    plane(offered("c"), caller="sa_x", into=live)
    plane(entry("d", offers=[], gpuModel="B200"), caller="sa_y", into=live)
    made = planned(live, offered("a"), offered("b"))
    [finding] = made.findings
    assert (finding.rule, finding.severity, made.blocked) == ("fleet.caller", "warning", False)
    assert "3 pools of the same sites and models, made by sa_old (2) and sa_x (1)" in finding.message
    assert "`caller: sa_old`, or `previousCallers: [sa_old]`" in finding.hint
    assert finding.source is not None
    for settled in (
        planned(live, offered("a"), offered("b"), previousCallers=["sa_old"]),
        planned(live, entry("a", offers=[], gpuModel="L40S")),
        planned(plane(offered("z"), into=live), offered("a"), offered("z")),
    ):
        assert settled.findings == ()


# Selections.


def selection(*only: str, exclude: tuple[str, ...] = ()) -> Any:
    return parse(only, exclude)


def many() -> ControlPlane:
    live = plane(offered("fra1-a"), offered("fra1-b"), entry("ams1-c", siteId="site_ams1", offers=[]))
    live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("fra1-b"), to_tenant_id="globex", quota={"gpu": 1}))
    return live


NEW = (
    offered("fra1-a", 9, policy={"note": "x"}),
    offered("fra1-b", 9),
    entry("ams1-c", siteId="site_ams1", offers=[{"toTenantId": "acme", "quota": {"gpu": 1}}]),
    entry("ams1-d", siteId="site_ams1", gpuModel="H200", offers=[{"toTenantId": "globex", "quota": {"gpu": 1}}]),
)
ALL = [
    "create ams1-d",
    "offer ams1-c to acme",
    "offer ams1-d to globex",
    "offer fra1-a to acme",
    "offer fra1-b to acme",
    "unoffer fra1-b to globex",
    "update fra1-a",
]


@pytest.mark.parametrize(
    ("only", "exclude", "operations", "outside"),
    [
        (["key=*"], [], ALL, 0),
        (["key=fra1-a"], [], ["offer fra1-a to acme", "update fra1-a"], 3),
        (["site=site_ams1"], [], ["create ams1-d", "offer ams1-c to acme", "offer ams1-d to globex"], 2),
        (["site=site_ams1,model=H200"], [], ["create ams1-d", "offer ams1-d to globex"], 3),
        (["key=fra1-a", "model=H200"], [], [ALL[0], ALL[2], ALL[3], ALL[6]], 2),
        (["tenant=globex"], [], ["create ams1-d", "offer ams1-d to globex", "unoffer fra1-b to globex"], 3),
        (["tenant=globex,key=fra1-*"], [], ["unoffer fra1-b to globex"], 4),
        (["tenant=acme"], ["key=ams1-*"], ["offer fra1-a to acme", "offer fra1-b to acme"], 4),
        ([], ["tenant=acme"], [ALL[0], ALL[2], ALL[5], ALL[6]], 3),
        ([], ["key=fra1-?", "model=H200"], ["offer ams1-c to acme"], 3),
        (["file=fleet.yaml"], [], ALL, 0),
    ],
)  # fmt: skip
def test_a_selection_leaves_out_what_is_outside_and_counts_it(
    only: list[str], exclude: list[str], operations: list[str], outside: int
) -> None:
    live = many()
    made = planned(live, *NEW, selected=parse(only, exclude))
    assert sorted(told(made)) == operations
    assert made.comparison.differs_outside == outside
    assert made.findings == ()
    live.run(made)
    rest = planned(live, *NEW)
    assert sorted([*told(made), *told(rest)]) == ALL


def test_nothing_outside_of_a_selection_counts_as_removed() -> None:
    live = plane(*(offered(f"fra1-{n}") for n in range(4)), offered("fra1-x"))
    was = base(*(offered(f"fra1-{n}") for n in range(4)), offered("fra1-x"))
    everything = {"base": was, "prune": True, **PREFIX}
    whole = planned(live, offered("fra1-x"), **everything)
    assert len(told(whole)) == 4
    for selector, archived in (("key=fra1-[01]", 2), ("key=fra1-x", 0), ("tenant=acme", 0), ("file=fleet.yaml", 4)):
        made = planned(live, offered("fra1-x"), **everything, selected=selection(selector))
        assert (len(told(made)), len(made.removed)) == (archived, archived)
        assert made.comparison.differs_outside == 4 - archived


def test_an_archive_that_would_take_what_is_left_out_stays_out() -> None:
    live = plane(offered("a"), entry("b", offers=[]))
    dead = [{"idempotencyKey": key, **TOMB} for key in ("a", "b")]
    made = planned(live, *dead, selected=parse((), ("tenant=acme",)))
    assert (told(made), made.comparison.differs_outside) == (["archive b"], 1)


def test_a_replaced_pool_goes_with_the_entry_that_takes_its_place() -> None:
    live = plane(offered("old"))
    new = offered("new", 9, replaces="old")
    assert told(planned(live, new, offered("z"), selected=selection("key=z"))) == ["create z", "offer z to acme"]
    assert told(planned(live, new, selected=selection("key=new")))[-1] == "archive old"
    for spared in (parse((), ("key=old",)), selection("tenant=acme")):
        made = planned(live, new, selected=spared)
        assert (told(made), made.comparison.differs_outside) == (["create new", "offer new to acme"], 1)
    alone = planned(live, new, selected=selection("key=old"))
    assert (told(alone), alone.comparison.differs_outside) == ([], 2)


def test_a_pool_that_cannot_become_as_wished_blocks_only_where_it_is_selected() -> None:
    live = plane(offered("a"), offered("b"))
    wishes = (offered("a", siteId="site_ams1"), offered("b", 9))
    assert planned(live, *wishes).blocked
    assert not planned(live, *wishes, selected=selection("key=b")).blocked
    assert planned(live, *wishes, selected=selection("tenant=acme")).blocked


def test_counts_are_of_what_is_selected() -> None:
    made = planned(many(), *NEW, selected=selection("site=site_ams1"))
    assert (made.entries, made.unchanged, made.changed_pools) == (2, 0, 2)
    made = planned(many(), *NEW, selected=selection("tenant=globex"))
    assert (made.entries, made.unchanged) == (2, 0)


@pytest.mark.parametrize(
    ("only", "exclude", "hint"),
    [
        (["key=fra1-aa"], [], 'did you mean "fra1-a"?'),
        (["site=site_fra2"], [], 'did you mean "site_fra1"?'),
        ([], ["tenant=acmee"], 'did you mean "acme"?'),
        (["key=zzz-*"], [], "no pool of this fleet has such a key"),
        (["key=fra1-a,site=site_ams1"], [], "of no pool all of them"),
    ],
)
def test_a_selector_that_selects_nothing_is_a_slip_and_nothing_in_sync(
    only: list[str], exclude: list[str], hint: str
) -> None:
    with pytest.raises(ComputeError) as raised:
        planned(many(), *NEW, selected=parse(only, exclude))
    [problem] = raised.value.problems
    assert problem.rule == "fleet.selection"
    assert hint in problem.hint


def test_what_selects_and_leaves_out_the_same_is_refused() -> None:
    with pytest.raises(ComputeError, match="nothing of this fleet is left"):
        planned(many(), *NEW, selected=parse(("key=fra1-a",), ("site=site_fra1",)))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("fra1-*", 'did you mean "key=fra1-*"?'),
        ("sites=x", 'did you mean "site"?'),
        ("", "fields are key, site"),
        ("key=", "key=* selects all"),
        ("key=a,key=b", "twice"),
        ("key=a,", "fields are"),
    ],
)
def test_what_is_no_selector_is_a_usage_error(text: str, hint: str) -> None:
    with pytest.raises(Stop) as stopped:
        parse((text,), ())
    assert stopped.value.exit_code == 64
    assert hint in stopped.value.hint


def test_offers_are_selected_by_the_file_they_stand_in(tmp_path: Path) -> None:
    from fleetctl.desired.load import load

    (tmp_path / "fleet.yaml").write_text("{apiVersion: fleet/v1, tenantId: root, caller: sa_fleet}\n")
    pool = "{idempotencyKey: a, siteId: site_fra1, class: metal-host, gpuModel: H100}"
    (tmp_path / "pools.yaml").write_text(f"pools: [{pool}]\n")
    for tenant in ("acme", "globex"):
        offer = f"{{pool: a, toTenantId: {tenant}, quota: {{gpu: 1}}}}"
        (tmp_path / f"{tenant}.yaml").write_text(f"offers: [{offer}]\n")
    live = ControlPlane()
    one = make(load(tmp_path), live.live(), selected=selection("file=acme.yaml"))
    assert told(one) == ["create a", "offer a to acme"]
    rest = make(load(tmp_path), live.live(), selected=parse((), ("file=acme.yaml",)))
    assert told(rest) == ["create a", "offer a to globex"]
    assert len(told(make(load(tmp_path), live.live(), selected=selection("file=pools.yaml")))) == 3


def test_a_pool_is_not_archived_before_all_of_what_takes_its_place_is_there(tmp_path: Path) -> None:
    from fleetctl.desired.load import load

    live = plane(offered("old"))
    (tmp_path / "fleet.yaml").write_text("{apiVersion: fleet/v1, tenantId: root, caller: sa_fleet}\n")
    pool = "{idempotencyKey: new, replaces: old, siteId: site_fra1, class: metal-host, gpuModel: H100}"
    (tmp_path / "pools.yaml").write_text(f"pools: [{pool}]\n")
    (tmp_path / "acme.yaml").write_text("offers: [{pool: new, toTenantId: acme, quota: {gpu: 8}}]\n")
    made = make(load(tmp_path), live.live(), selected=parse((), ("file=acme.yaml",)))
    assert (told(made), made.comparison.differs_outside) == (["create new"], 2)


def test_a_renamed_entry_is_found_also_where_the_old_pool_is_not_selected() -> None:
    live = plane(offered("fra1-old"))
    made = planned(live, offered("fra1-new"), **PREFIX, selected=selection("key=fra1-new"))
    assert (findings(made), made.removed) == ([("fleet.rename", "error")], ())


def test_ten_thousand_pools_with_base_and_selection_stay_near_linear() -> None:
    from time import process_time

    def cost(count: int) -> float:
        pools = [offered(f"fra1-{n:05}") for n in range(count)]
        fleet_then, now = fleet(*pools, **PREFIX), fleet(*pools[: count // 2], *_renamed(pools), **PREFIX)
        live = ControlPlane()
        live.run(make(desired(fleet_then), live.live()))
        was, there, wished = Base("main", None, desired(fleet_then)), live.live(), desired(now)
        start = process_time()
        compared(wished, there, base=was, prune=True, selected=parse(("key=fra1-*",), ("key=*7",)))
        return process_time() - start

    cost(100)
    small, large = min(cost(300) for _ in range(5)), min(cost(2400) for _ in range(3))
    assert large < small * 8 * 3


def _renamed(pools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**pool, "idempotencyKey": pool["idempotencyKey"] + "-new"} for pool in pools[len(pools) // 2 :]]
