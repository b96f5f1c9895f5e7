"""Whether the rest of a plan may run: which events count, and whose. The command's side is in `tests/e2e`."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from better_compute.client import Client
from fleetctl.apply import approval
from fleetctl.apply.saved import SavedOperation, SavedPlan
from fleetctl.apply.staleness import NEW_PLAN, differences
from fleetctl.consequences import Consequences
from fleetctl.desired.load import load
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.live import Live, read
from fleetctl.plan import Plan, make
from fleetctl.report.forms import PlanReport
from fleetctl.report.of_plan import of_plan
from fleetctl.report.plan_file import saved_plan
from tests.e2e.edge import apply_over, straight
from tests.e2e.homes import Home, entry, pool_id
from tests.e2e.partly import do
from tests.fleetctl.report.world import a_header
from tests.timing import times_as_long

Hand = Callable[[Client], Any]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Two pools and their offers are live. The files change a policy, both offers of a, and what the owner holds."""
    home = Home(tmp_path)
    home.wish(entry("a", {"acme": 8, "globex": 8}), entry("b", "unmanaged"))
    home.apply()
    home.wish(
        entry("a", {"acme": 9}, policy={"maxPending": "6h"}),
        entry("b", "unmanaged", ownerQuota={"gpu": 64}, gpuModel="H200"),
        guards={"allowModelChange": True},
    )
    return home


def file(home: Home) -> Path:
    path = home.directory.parent / "plan.json"
    home.plan("--out", path)
    return path


def numbers(home: Home, *actions: str) -> set[int]:
    """The numbers of today's operations of these actions."""
    return {o["n"] for o in home.plan().report["operations"] if o["action"] in actions}


def judge(home: Home, saved: SavedPlan, commit: str | None = None, url: str | None = None) -> tuple[str, ...]:
    """What keeps the plan from running, at the server that it was made for or at another; nothing when it may."""
    with home.hand("sa_fleet") as client:
        live = read(client, url or saved.url, "root")
        plan: Plan = make(load(home.directory), live)
        try:
            approval.by_file(saved, plan, live, client, commit, shown(plan, live))
        except Stop as stop:
            if stop.exit_code != EXIT_STALE:
                raise
            return (stop.message, *stop.details)
    return ()


def shown(plan: Plan, live: Live) -> PlanReport:
    return of_plan(plan, a_header(), Consequences(plan, live))


def test_a_plan_as_it_was_made_may_run(home: Home) -> None:
    assert judge(home, saved_plan(file(home))) == ()


@pytest.mark.parametrize("actions", [(), ("update",), ("offer",), ("unoffer", "setQuota"), ("update", "offer")])
def test_the_rest_of_it_may_run(home: Home, actions: tuple[str, ...]) -> None:
    saved = saved_plan(file(home))
    do(home, numbers(home, *actions))
    assert judge(home, saved) == ()


def call(operation: str, pool: str, **body: Any) -> Hand:
    return lambda client: client.call(operation, {"poolId": pool_id(pool), **body})


MOVES: dict[str, tuple[Hand, str]] = {
    "an offer that is to be changed": (
        call("pools/offer", "a", toTenantId="acme", quota={"gpu": 8, "vcpu": 1}),
        "a for acme: pool.offered by sa_hand",
    ),
    "its rows alone": (
        call("quotas/set", "a", toTenantId="acme", quota={"gpu": 7}),
        "a for acme: quota.updated by sa_hand",
    ),
    "an offer that is to go": (
        call("pools/unoffer", "a", toTenantId="globex"),
        "a for globex: pool.unoffered by sa_hand",
    ),
    "the pool of an update": (call("pools/update", "a", policy={"maxPending": "1h"}), "a: pool.updated by sa_hand"),
    "the owner's rows": (
        call("quotas/set", "b", toTenantId="root", quota={"gpu": 3}),
        "b for root: quota.updated by sa_hand",
    ),
    "everything of a pool": (call("pools/archive", "a"), "a: pool.archived by sa_hand"),
}


@pytest.mark.parametrize("name", MOVES)
def test_an_object_that_somebody_moved_makes_it_stale(home: Home, name: str) -> None:
    hand, said = MOVES[name]
    saved = saved_plan(file(home))
    with home.hand() as client:
        hand(client)
    message, *details = judge(home, saved)
    assert "stale" in message
    assert any(said in detail for detail in details), details


@pytest.mark.parametrize("name", MOVES)
def test_an_object_that_was_done_and_then_moved_makes_it_stale(home: Home, name: str) -> None:
    """Done by this plan, then undone by somebody: it is not done again over his change."""
    hand, said = MOVES[name]
    saved = saved_plan(file(home))
    do(home, numbers(home, "update", "offer", "unoffer", "setQuota"))
    if name == "an offer that is to go":
        hand = call("pools/offer", "a", toTenantId="globex", quota={"gpu": 1})
        said = "a for globex: pool.offered by sa_hand"
    with home.hand() as client:
        hand(client)
    details = judge(home, saved)[1:]
    assert any(said in detail for detail in details), details


def test_what_somebody_else_says_to_have_done_by_it_is_a_move(home: Home) -> None:
    saved = saved_plan(file(home))
    with home.hand() as client:
        call("pools/offer", "a", toTenantId="acme", quota={"gpu": 9})(client.under({"digest": saved.digest}))
    difference, moved, _ = judge(home, saved)[1:]
    assert difference == "planned, and not to be done now: offer a for acme"
    assert moved.startswith("a for acme: pool.offered by sa_hand at ")


OTHERS: dict[str, Hand] = {
    "an offer of an unmanaged pool": call("pools/offer", "b", toTenantId="acme", quota={"gpu": 1}),
    "another pool": lambda client: client.call(
        "pools/create", {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "A100"}
    ),
    "a join token": call("nodes/createJoinToken", "a"),
}


@pytest.mark.parametrize("done", [("update",), ("offer", "unoffer", "setQuota", "update")])
@pytest.mark.parametrize("name", OTHERS)
def test_other_events_do_not_count(home: Home, name: str, done: tuple[str, ...]) -> None:
    saved = saved_plan(file(home))
    do(home, numbers(home, *done))
    with home.hand() as client:
        OTHERS[name](client)
    assert judge(home, saved) == ()


def test_a_machine_that_joins_in_between_does_not_count(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(entry("racked", {"acme": 8}))
    saved = saved_plan(file(home))
    do(home, numbers(home, "create"))
    assert {event.type for event in home.events()} == {"pool.created", "node.joined"}
    assert judge(home, saved) == ()


def test_an_archive_covers_the_offers_it_removed(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(entry("a", {"acme": 8}), entry("b", []))
    home.apply()
    home.wish({"idempotencyKey": "a", "archived": True}, entry("b", {"acme": 8}))
    path = home.directory.parent / "plan.json"
    home.plan("--out", path)
    saved = saved_plan(path)
    do(home, numbers(home, "offer"), saved.digest)
    assert judge(home, saved) == ()
    do(home, numbers(home, "archive"), saved.digest)
    assert judge(home, saved) == ()


def test_a_call_of_the_killed_run_may_land_after_the_live_state_was_read(home: Home) -> None:
    saved = saved_plan(file(home))
    with home.hand("sa_fleet") as client:
        live = read(client, "", "root")
        plan = make(load(home.directory), live)
        do(home, numbers(home, "update"), saved.digest)
        approval.by_file(saved, plan, live, client, None, shown(plan, live))
    outcomes = apply_over(home, straight, plan, digest=saved.digest)
    assert {o.operation.action for o in outcomes if o.found} == {"update"}
    assert home.is_settled()


def test_differences_are_told_both_ways_and_by_object(home: Home) -> None:
    saved = saved_plan(file(home))
    with home.hand() as client:
        client.call("pools/offer", {"poolId": pool_id("a"), "toTenantId": "initech", "quota": {"gpu": 1}})
    difference, moved, held = judge(home, saved)[1:]
    assert held == "still as planned: 5 operations"
    assert difference == "to be done now, and not planned: unoffer a for initech"
    assert moved.startswith("a for initech: pool.offered by sa_hand at ")


def test_an_expired_plan_is_none_whatever_it_says(home: Home) -> None:
    saved = saved_plan(file(home))
    with home.hand() as client:
        now = client.system.info().time
    assert "expired" in judge(home, replace(saved, expires_at=now - 1))[0]
    assert judge(home, replace(saved, expires_at=now + 60_000)) == ()


@pytest.mark.parametrize("name", ["instance_id", "tenant_id", "caller", "fleet", "derivation"])
def test_every_part_of_the_scope_counts(home: Home, name: str) -> None:
    saved = saved_plan(file(home))
    other = replace(saved, scope=replace(saved.scope, **{name: "another"}))
    message, detail = judge(home, other)
    assert message == "the plan file was made for another target"
    assert "planned for another, this is " in detail


def test_files_count_even_where_the_operations_are_the_same(home: Home) -> None:
    [message] = judge(home, replace(saved_plan(file(home)), inputs="0" * 64))
    assert "files or base are not those" in message


def test_files_that_changed_are_told_by_commit_and_by_operation(home: Home) -> None:
    saved = replace(saved_plan(file(home)), commit="c1")
    home.wish(entry("a", {"acme": 9}), entry("b", "unmanaged", gpuModel="H200", ownerQuota={"gpu": 64}), entry("c", []))
    message, *details = judge(home, saved, commit="c2")
    assert "files or base are not those" in message
    assert details == [
        "planned from c1, these are c2",
        "planned, and not to be done now: update a",
        "to be done now, and not planned: create c",
    ]
    assert judge(home, saved)[1] == "planned from c1, these are files that are not committed"


def test_the_same_files_at_a_database_that_was_made_anew_are_told_so(home: Home) -> None:
    saved = replace(saved_plan(file(home)), inputs="0" * 64, commit="c1")
    assert "its database was made anew" in judge(home, saved, commit="c1")[0]


def test_another_control_plane_of_the_same_name_is_told_with_the_flag_that_is_missing(home: Home) -> None:
    saved = replace(saved_plan(file(home)), inputs="0" * 64, commit="c1", url="https://compute.example.com")
    message, where = judge(home, saved, commit="c1", url="embedded:.fleet/plane.db")
    assert message == "the files, or the control plane, are not those that the plan was made from"
    assert where == "planned for https://compute.example.com, this is embedded:.fleet/plane.db"


@pytest.mark.parametrize(
    ("planned_for", "flag"),
    [("https://c.example.com", "give --server https://c.example.com"), ("embedded:x.db", "leave --server out")],
)
def test_how_the_control_plane_that_was_planned_for_is_asked(home: Home, planned_for: str, flag: str) -> None:
    saved = replace(saved_plan(file(home)), inputs="0" * 64, url=planned_for)
    with home.hand("sa_fleet") as client:
        live = read(client, "http://127.0.0.1:1", "root")
        plan = make(load(home.directory), live)
        with pytest.raises(Stop) as caught:
            approval.by_file(saved, plan, live, client, None, shown(plan, live))
    assert caught.value.hint == f"if {planned_for} is meant, {flag}; else {NEW_PLAN}"


def test_the_same_commit_may_hold_another_fleet(home: Home) -> None:
    saved = replace(saved_plan(file(home)), commit="c1")
    home.wish(entry("a", {"acme": 9}), entry("b", "unmanaged"), entry("c", []))
    assert judge(home, saved, commit="c1")[0].startswith("files or base are not those that the plan was made from, or ")


def test_whoever_moved_what_an_archive_stands_on_is_told(home: Home) -> None:
    """The archive's precondition holds the versions of offers and rows, which are other objects."""
    home.wish({"idempotencyKey": "a", "archived": True}, entry("b", "unmanaged"))
    saved = saved_plan(file(home))
    with home.hand() as client:
        call("pools/offer", "a", toTenantId="initech", quota={"gpu": 1})(client)
        call("quotas/set", "a", toTenantId="root", quota={"gpu": 1})(client)
    assert [detail.partition(" at ")[0] for detail in judge(home, saved)[1:]] == [
        "planned from another state: archive a",
        "a for initech: pool.offered by sa_hand",
        "a for root: quota.updated by sa_hand",
        "still as planned: nothing",
    ]


def test_offers_that_went_with_their_pool_are_told_once(home: Home) -> None:
    saved = saved_plan(file(home))
    with home.hand() as client:
        call("pools/archive", "a")(client)
    details = judge(home, saved)[1:]
    assert [d.partition(" at ")[0] for d in details if "sa_hand" in d] == ["a: pool.archived by sa_hand"]


def test_differences_of_many_operations_cost_no_square() -> None:
    def prepared(count: int) -> Callable[[], object]:
        saved = [SavedOperation("create", f"k{n}", (f"pool_{n}", None), "d") for n in range(count)]
        plan = SimpleNamespace(operations=[replace(o, digest="e") for o in saved])
        assert len(differences(saved, plan)) == count  # type: ignore[arg-type]  # no more of a plan is asked for
        return lambda: differences(saved, plan)  # type: ignore[arg-type]

    assert times_as_long(prepared, 5_000, 40_000) < 24, "the square would be 64 times as long"


def test_what_moved_is_told_with_whoever_moved_it_planned_or_not(home: Home) -> None:
    saved = saved_plan(file(home))
    with home.hand() as client:
        call("pools/offer", "a", toTenantId="acme", quota={"gpu": 20})(client)
        call("pools/offer", "a", toTenantId="initech", quota={"gpu": 1})(client)
    assert [detail.partition(" at ")[0] for detail in judge(home, saved)[1:]] == [
        "planned from another state: offer a for acme (quota.gpu: planned from 8, live 20, wished 9)",
        "to be done now, and not planned: unoffer a for initech",
        "a for acme: pool.offered by sa_hand",
        "a for initech: pool.offered by sa_hand",
        "still as planned: 4 operations",
    ]


def test_a_digest_is_equal_or_it_is_not(home: Home) -> None:
    with home.hand("sa_fleet") as client:
        plan = make(load(home.directory), read(client, "", "root"))
    approval.by_digest(plan.digest, plan)
    for other in ("", plan.digest[:-1], plan.digest.upper(), f" {plan.digest}"):
        with pytest.raises(Stop) as stopped:
            approval.by_digest(other, plan)
        assert stopped.value.exit_code == EXIT_STALE


def test_a_saved_plan_names_what_it_is_about(home: Home) -> None:
    path = file(home)
    saved, report = saved_plan(path), json.loads(path.read_text())
    assert [(o.action, o.digest) for o in saved.operations] == [
        (o["action"], o["digest"]) for o in report["operations"]
    ]
    assert len({o.subject for o in saved.operations}) == len(saved.operations) == 5
