"""Every way in which live state moves between plan and apply, by whoever moves it: refused before the first write, with
what no longer stands, which object moved, who moved it through which change, and what still holds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from fleetctl.apply.saved import SavedPlan
from fleetctl.history import History
from tests.e2e.homes import H100, Home, entry, fleetctl, pool_id, unchanged
from tests.e2e.partly import copied, do

Call = tuple[str, str, Mapping[str, Any]]
"""An operation, the key of its pool, and the rest of its body."""

SIX_HOURS, DAYS = {"maxPending": "6h"}, {"maxPending": "7d"}
LIVE = [
    entry("change", {"acme": 8, "globex": 8}, policy=SIX_HOURS),
    entry("close", {"acme": 8}),
    entry("grant", []),
    entry("rows", "unmanaged"),
]
WISHED = [
    entry("change", {"acme": 6}, policy=DAYS),
    {"idempotencyKey": "close", "archived": True},
    entry("grant", {"acme": 4}),
    entry("rows", "unmanaged", ownerQuota={"gpu": 64}),
    entry("new", {"acme": 4}),
]
OPERATIONS = {
    "create new",
    "offer new for acme",
    "offer grant for acme",
    "update change",
    "offer change for acme",
    "unoffer change for globex",
    "setQuota rows for root",
    "archive close",
}
ALLOWED = ("--allow", "archives=1", "--allow", "withdrawals=2", "--reason", "test")


def create(pool: str, **fields: Any) -> Call:
    return "pools/create", pool, {**H100, "idempotencyKey": pool, **fields}


def update(pool: str, **fields: Any) -> Call:
    return "pools/update", pool, fields


def archive(pool: str) -> Call:
    return "pools/archive", pool, {}


def offer(pool: str, tenant: str, gpu: int, **fields: Any) -> Call:
    return "pools/offer", pool, {"toTenantId": tenant, "quota": {"gpu": gpu}, **fields}


def withdraw(pool: str, tenant: str) -> Call:
    return "pools/unoffer", pool, {"toTenantId": tenant}


def rows(pool: str, tenant: str, gpu: int) -> Call:
    return "quotas/set", pool, {"toTenantId": tenant, "quota": {"gpu": gpu}}


@dataclass(frozen=True)
class Move:
    """What somebody does, the operations of the plan that no longer stand then, and the events that are told."""

    calls: tuple[Call, ...]
    lost: tuple[str, ...]
    told: tuple[str, ...]


def move(lost: str, told: str, *calls: Call) -> Move:
    """Names apart by `; `."""
    return Move(calls, tuple(lost.split("; ")), tuple(told.split("; ")))


NEW, GRANT, UPDATE, LOWER, LEAVE = (
    "create new",
    "offer grant for acme",
    "update change",
    "offer change for acme",
    "unoffer change for globex",
)
ROWS, CLOSE = "setQuota rows for root", "archive close"
MOVES = {
    "new is made alike": move(NEW, "new: pool.created", create("new")),
    "new is made otherwise": move(NEW, "new: pool.created", create("new", policy=DAYS)),
    "new is made and changed": move(NEW, "new: pool.updated", create("new"), update("new", policy=DAYS)),
    "new is made and offered": move(
        f"{NEW}; offer new for acme",
        "new: pool.created; new for acme: pool.offered",
        create("new"),
        offer("new", "acme", 4),
    ),
    "new is made and archived": move(f"{NEW}; offer new for acme", "new: pool.archived", create("new"), archive("new")),
    "grant is offered alike": move(GRANT, "grant for acme: pool.offered", offer("grant", "acme", 4)),
    "grant is offered otherwise": move(GRANT, "grant for acme: pool.offered", offer("grant", "acme", 4, priority=1)),
    "acme's rows change": move(LOWER, "change for acme: quota.updated", rows("change", "acme", 9)),
    "acme's rows become as wished": move(LOWER, "change for acme: quota.updated", rows("change", "acme", 6)),
    "acme's rows go up and down again": move(
        LOWER, "change for acme: quota.updated", rows("change", "acme", 9), rows("change", "acme", 8)
    ),
    "acme's terms change": move(LOWER, "change for acme: pool.offered", offer("change", "acme", 8, priority=5)),
    "acme is withdrawn": move(LOWER, "change for acme: pool.unoffered", withdraw("change", "acme")),
    "acme is withdrawn and offered again": move(
        LOWER, "change for acme: pool.offered", withdraw("change", "acme"), offer("change", "acme", 8)
    ),
    "globex's rows change": move(LEAVE, "change for globex: quota.updated", rows("change", "globex", 9)),
    "globex's rows go up and down again": move(
        LEAVE, "change for globex: quota.updated", rows("change", "globex", 9), rows("change", "globex", 8)
    ),
    "globex is withdrawn": move(LEAVE, "change for globex: pool.unoffered", withdraw("change", "globex")),
    "globex is withdrawn and offered again": move(
        LEAVE, "change for globex: pool.offered", withdraw("change", "globex"), offer("change", "globex", 8)
    ),
    "a policy changes": move(UPDATE, "change: pool.updated", update("change", policy={"maxPending": "1h"})),
    "a policy becomes as wished": move(UPDATE, "change: pool.updated", update("change", policy=DAYS)),
    "a policy changes and is back": move(
        UPDATE, "change: pool.updated", update("change", policy={}), update("change", policy=SIX_HOURS)
    ),
    "a model changes and is back": move(
        UPDATE, "change: pool.updated", update("change", gpuModel="H200"), update("change", gpuModel="H100")
    ),
    "a pool that is to be changed is archived": move(
        f"{UPDATE}; {LOWER}; {LEAVE}", "change: pool.archived", archive("change")
    ),
    "the owner's rows change": move(ROWS, "rows for root: quota.updated", rows("rows", "root", 3)),
    "the owner's rows become as wished": move(ROWS, "rows for root: quota.updated", rows("rows", "root", 64)),
    "the owner's rows go down and up again": move(
        ROWS, "rows for root: quota.updated", rows("rows", "root", 3), rows("rows", "root", 2147483647)
    ),
    "the owner is offered its pool": move(ROWS, "rows for root: pool.offered", offer("rows", "root", 5)),
    "a pool that is to go is archived": move(CLOSE, "close: pool.archived", archive("close")),
    "a pool that is to go gets a policy": move(CLOSE, "close: pool.updated", update("close", policy=DAYS)),
    "a pool that is to go gets a policy and loses it": move(
        CLOSE, "close: pool.updated", update("close", policy=DAYS), update("close", policy={})
    ),
    "a pool that is to go is offered": move(CLOSE, "close for globex: pool.offered", offer("close", "globex", 1)),
    "a pool that is to go changes an offer": move(CLOSE, "close for acme: quota.updated", rows("close", "acme", 9)),
    "a pool that is to go loses an offer": move(CLOSE, "close for acme: pool.unoffered", withdraw("close", "acme")),
    "a pool that is to go loses an offer and gets it again": move(
        CLOSE, "close for acme: pool.offered", withdraw("close", "acme"), offer("close", "acme", 8)
    ),
    "a pool that is to go changes the owner's rows": move(
        CLOSE, "close for root: quota.updated", rows("close", "root", 3)
    ),
}


@dataclass(frozen=True)
class Actor:
    """Who calls, what each call says of itself, and how that is told."""

    identity: str
    change: Mapping[str, str]
    told: str


OTHER_FLEET = {"fleet": "other", "digest": "d" * 64, "commit": "c" * 40, "reason": "moved"}
ACTORS = {
    "by hand": Actor("sa_hand", {}, "no apply"),
    "another fleet": Actor(
        "sa_fleet", OTHER_FLEET, "fleet other, commit cccccccccccc, digest dddddddddddd, reason moved"
    ),
    "another run": Actor("sa_fleet", {"fleet": "default", "digest": "e" * 64}, "fleet default, digest eeeeeeeeeeee"),
}


def cases() -> list[Any]:
    """Each move by one actor, by turns before anything was done and once all else was; in the long run by each actor in
    both. Under its key a pool is made by the files' caller alone."""
    found = []
    for number, (name, one) in enumerate(MOVES.items()):
        actors = [a for a in ACTORS if a != "by hand" or not any(c[0] == "pools/create" for c in one.calls)]
        for at, actor in enumerate(actors):
            for is_begun in (False, True):
                usual = number % len(actors) == at and number // len(actors) % 2 == is_begun
                marks = () if usual else pytest.mark.long
                found.append(pytest.param(name, actor, is_begun, marks=marks))
    return found


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Home:
    home = Home(tmp_path_factory.mktemp("stale"))
    home.wish(*LIVE)
    home.apply()
    home.wish(*WISHED)
    home.plan(*ALLOWED, "--out", home.directory.parent / "plan.json")
    return home


@pytest.fixture
def home(original: Home, tmp_path: Path) -> Home:
    return copied(original, tmp_path)


@pytest.fixture
def file(original: Home) -> Path:
    return original.directory.parent / "plan.json"


def named(operation: Mapping[str, Any]) -> str:
    """As messages name it."""
    to = f" for {operation['toTenantId']}" if operation["toTenantId"] else ""
    return f"{operation['action']} {operation['key']}{to}"


def act(home: Home, calls: Sequence[Call], actor: Actor) -> None:
    with home.hand(actor.identity) as client:
        for operation, pool, body in calls:
            where = {} if operation == "pools/create" else {"poolId": pool_id(pool)}
            (client.under(actor.change) if actor.change else client).call(operation, {**where, **body})


def do_the_rest(home: Home, file: Path, lost: Sequence[str]) -> int:
    """A run of the plan that was killed before it came to what is `lost`, and to what waits for it. How many it did."""
    plan = json.loads(file.read_text())
    waits = {"offer new for acme"} if NEW in lost else set()
    numbers = {o["n"] for o in plan["operations"] if named(o) not in {*lost, *waits}}
    do(home, numbers, plan["digest"])
    return len(numbers)


def said(home: Home, file: Path) -> list[str]:
    """What an apply of the plan file says below its refusal, which has written nothing; times left out."""
    with unchanged(home):
        ran = home.run("apply", *ALLOWED, "--plan", file)
        assert (ran.code, ran.out) == (4, ""), f"it ends with {ran.code}: {ran.said}"
    assert "MISMATCH: the plan is stale" in ran.err
    lines = [line[2:] for line in ran.err.splitlines() if line.startswith("  ")]
    return [re.sub(r" at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "", line) for line in lines]


def check(home: Home, file: Path, name: str, actor: Actor, *, is_begun: bool) -> None:
    """The plan is refused after a move; what is told is all of it, and nothing else."""
    one = MOVES[name]
    done = do_the_rest(home, file, one.lost) if is_begun else 0
    act(home, one.calls, actor)
    lines = said(home, file)
    lost = {line.partition(": ")[2].partition(" (")[0] for line in lines if line.startswith("planned")}
    assert lost == set(one.lost)
    told = [line for line in lines if ", via " in line]
    assert told == [f"{event} by {actor.identity}, via {actor.told}" for event in one.told], f"told otherwise: {told}"
    held = len(OPERATIONS) - len(lost) - done
    still = f"{held} operation{'s' * (held != 1)}" if held else "nothing"
    assert lines[-1] == f"still as planned: {still}" + (f"; done by this plan: {done}" if done else "")


def test_the_plan_has_operations_of_every_kind(file: Path) -> None:
    assert {named(o) for o in json.loads(file.read_text())["operations"]} == OPERATIONS
    assert {lost for one in MOVES.values() for lost in one.lost} == OPERATIONS


@pytest.mark.parametrize(("name", "actor", "is_begun"), cases())
def test_what_moved_is_refused_and_told(home: Home, file: Path, name: str, actor: str, is_begun: bool) -> None:
    check(home, file, name, ACTORS[actor], is_begun=is_begun)


ORIGINS = {
    "acme's rows change": "quota.gpu: planned from 8, live 9, wished 6",
    "acme's terms change": "priority: planned from 0, live 5, wished 0",
    "acme's rows go up and down again": "the same value, changed and changed back",
    "acme is withdrawn": "planned from an offer, and there is none now",
    "acme is withdrawn and offered again": "the same value, changed and changed back",
    "grant is offered otherwise": (
        "planned from no offer, and there is one now: quota.gpu 4, priority 1, includeDescendants false"
    ),
    "globex's rows change": "quota.gpu: planned from 8, live 9",
    "globex's rows go up and down again": "the same value, changed and changed back",
    "a policy changes": "policy.maxPending: planned from 6h, live 1h, wished 7d",
    "a policy changes and is back": "the same value, changed and changed back",
    "a model changes and is back": "the same value, changed and changed back",
    "the owner's rows change": "ownerQuota.gpu: planned from 2147483647, live 3, wished 64",
    "the owner's rows go down and up again": "the same value, changed and changed back",
    "a pool that is to go gets a policy": "",
}
"""What is said of where an operation was planned from, and of what is there."""


@pytest.mark.parametrize("name", ORIGINS)
def test_what_was_planned_from_another_state_is_told_with_both_values(home: Home, file: Path, name: str) -> None:
    act(home, MOVES[name].calls, ACTORS["by hand"])
    [line] = [line for line in said(home, file) if line.startswith("planned from another state")]
    told = f" ({ORIGINS[name]})" if ORIGINS[name] else ""
    assert line == f"planned from another state: {MOVES[name].lost[0]}{told}"


@pytest.mark.parametrize(
    ("before", "by_hand", "told"),
    [
        ({}, {"x": 2}, "policy.x: planned from nothing, live 2, wished 2"),
        ({"x": 2}, {}, "policy.x: planned from 2, live nothing, wished 2"),
        ({"x": 2, "z": 1}, {"z": 1}, "policy.x: planned from 2, live nothing, wished 2"),
        ({"z": 1}, {}, "policy.z: planned from 1, live nothing, wished nothing"),
    ],
)
def test_a_value_that_came_or_went_is_told_also_where_one_side_is_as_wished(
    tmp_path: Path, before: dict[str, int], by_hand: dict[str, int], told: str
) -> None:
    home, file = Home(tmp_path), tmp_path / "plan.json"
    home.wish(entry("a", policy=before))
    home.apply()
    home.wish(entry("a", policy={"x": 2, "y": 1}))
    home.plan("--out", file)
    with home.hand() as client:
        client.call("pools/update", {"poolId": pool_id("a"), "policy": by_hand})
    assert said(home, file)[0] == f"planned from another state: update a ({told})"


def test_a_secret_is_in_neither_value(tmp_path: Path) -> None:
    home = Home(tmp_path)
    for secret in ("hidden-1", "hidden-2"):
        home.wish(entry("a", policy={"x-token": secret, "maxPending": "6h"}))
        if secret == "hidden-1":
            home.apply()
    file = home.directory.parent / "plan.json"
    home.plan("--out", file)
    with home.hand() as client:
        body = {"poolId": pool_id("a"), "policy": {"x-token": "hidden-3", "maxPending": "7d"}}
        client.call("pools/update", body)
    lines = said(home, file)
    moved = "policy.maxPending: planned from 6h, live 7d, wished 6h"
    assert lines[0] == f"planned from another state: update a ({moved})"
    assert "hidden" not in "".join(lines)


def test_the_rule_and_a_command_stand_beside_it(home: Home, file: Path) -> None:
    act(home, MOVES["acme's rows change"].calls, ACTORS["by hand"])
    ran = home.run("apply", *ALLOWED, "--plan", file)
    assert ran.err.splitlines()[0].endswith(" [plan.stale]")
    assert ran.err.splitlines()[-1] == "Hint: make a new plan, and look at it: fleetctl plan --out FILE"
    assert fleetctl("explain", "plan.stale").code == 0
    ran = home.run("apply", "--expect", "0" * 64)
    assert ran.code == 4
    assert "Hint: look at what is to be done now, and give the digest that it shows: fleetctl plan\n" in ran.err


def test_a_plan_of_a_part_stands_whatever_drifts_elsewhere(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(entry("a", {"acme": 8}), entry("b", {"acme": 8}))
    home.apply()
    home.wish(entry("a", {"acme": 6}), entry("b", {"acme": 8}))
    whole, part = home.directory.parent / "whole.json", home.directory.parent / "part.json"
    home.plan("--out", whole)
    home.plan("--out", part, "--only", "key=a")
    act(home, [rows("b", "acme", 9)], ACTORS["by hand"])
    assert said(home, whole)[0] == "to be done now, and not planned: offer b for acme"
    ran = home.run("apply", "--plan", whole)
    assert "; one of these pools alone, by --only key=a, stands whatever drifts elsewhere\n" in ran.err
    assert home.apply("--plan", part).report["summary"]["done"] == 1


def test_what_is_done_is_not_done_again_over_a_move(home: Home, file: Path) -> None:
    """Once everything was done each object may be moved again."""
    home.apply(*ALLOWED, "--plan", file)
    act(home, [rows("change", "acme", 9), withdraw("grant", "acme")], ACTORS["another fleet"])
    lines = said(home, file)
    assert lines[-1] == "still as planned: nothing; done by this plan: 6"
    assert [line.partition(",")[0] for line in lines if ", via " in line] == [
        "change for acme: quota.updated by sa_fleet",
        "grant for acme: pool.unoffered by sa_fleet",
    ]


def test_a_replaced_pool_that_is_booked_by_then_is_told_with_what_keeps_it(tmp_path: Path) -> None:
    """A booking moves no object that a plan changes."""
    home = Home(tmp_path)
    home.wish(entry("racked", {"acme": 8}))
    home.apply()
    home.wish(entry("new", {"acme": 8}, replaces="racked"))
    file = home.directory.parent / "plan.json"
    home.plan(*ALLOWED, "--out", file)
    with home.hand("sa_hand", "acme") as client:
        client.reservations.create(pool_id("racked"), {"gpu": 4})
    assert [re.sub("1 (placed|active)", "1", line) for line in said(home, file)] == [
        "planned, and not to be done now: archive racked",
        "racked is replaced by new and has 1 reservation: it is kept",
        "still as planned: 2 operations",
    ]


# What is planned where there is none.


@pytest.fixture
def grants(tmp_path: Path) -> Home:
    """Pools that nobody holds, and files that offer them: an offer that is withdrawn leaves what the plan was made
    for."""
    home = Home(tmp_path)
    home.wish(entry("a", []), entry("b", []))
    home.apply()
    home.wish(entry("a", {"acme": 8}), entry("b", {"acme": 8, "globex": 8}))
    home.plan("--out", home.directory.parent / "plan.json")
    return home


def check_not_done_twice(home: Home) -> None:
    """Everything was done, and taken back by somebody: the live state is again what it was."""
    file = home.directory.parent / "plan.json"
    digest = json.loads(file.read_text())["digest"]
    home.apply("--plan", file)
    act(home, [withdraw("a", "acme"), withdraw("b", "acme"), withdraw("b", "globex")], ACTORS["by hand"])
    assert home.plan().report["digest"] == digest
    assert said(home, file) == [
        "a for acme: pool.unoffered by sa_hand, via no apply",
        "b for acme: pool.unoffered by sa_hand, via no apply",
        "b for globex: pool.unoffered by sa_hand, via no apply",
        "still as planned: nothing",
    ]


def test_a_plan_that_was_carried_out_and_taken_back_is_not_carried_out_again(grants: Home) -> None:
    check_not_done_twice(grants)
    file = grants.directory.parent / "plan.json"
    grants.apply("--expect", json.loads(file.read_text())["digest"])
    assert grants.is_settled(), "a digest approves this change whenever the live state returns"


def test_a_plan_that_was_not_begun_runs_where_the_live_state_returned(grants: Home) -> None:
    act(grants, [offer("a", "acme", 1), withdraw("a", "acme")], ACTORS["by hand"])
    grants.apply("--plan", grants.directory.parent / "plan.json")
    assert grants.is_settled()


def test_what_was_taken_back_before_the_plan_was_made_does_not_count(grants: Home) -> None:
    file = grants.directory.parent / "plan.json"
    grants.apply("--plan", file)
    act(grants, [withdraw("a", "acme"), withdraw("b", "acme"), withdraw("b", "globex")], ACTORS["by hand"])
    grants.plan("--out", file)
    grants.apply("--plan", file)
    assert grants.is_settled()


# What makes no plan stale.


@pytest.mark.parametrize(
    "calls",
    [
        [create("new")],
        [offer("rows", "acme", 1), withdraw("rows", "acme")],
        [rows("change", "root", 3), rows("change", "root", 2147483647)],
    ],
    ids=["a pool of the same key by another caller", "an offer that the files leave alone", "rows of no operation"],
)
def test_what_the_plan_does_not_touch_may_move(home: Home, file: Path, calls: list[Call]) -> None:
    act(home, calls, ACTORS["by hand"])
    assert home.apply(*ALLOWED, "--plan", file).report["summary"]["done"] == len(OPERATIONS)


def test_a_tenant_that_is_gone_is_found_before_the_first_write(home: Home, file: Path) -> None:
    home.sql("UPDATE tenants SET status = 'inactive' WHERE id = 'acme'")
    with unchanged(home):
        assert "TENANT_INACTIVE" in home.apply(*ALLOWED, "--plan", file, code=3).out


# Planted faults.


def test_what_anybody_did_taken_for_one_s_own_breaks_the_law(
    home: Home, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SavedPlan, "is_own", lambda *_: True)
    with pytest.raises(AssertionError, match=r"^it ends with 0: "):
        check(home, file, "globex is withdrawn", ACTORS["another run"], is_begun=False)


def test_a_history_of_pools_alone_breaks_the_law(home: Home, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(History, "of", lambda self, subject: self.events.get((subject[0], None)))
    with pytest.raises(AssertionError, match=r"^told otherwise: \[\]"):
        check(home, file, "acme's rows become as wished", ACTORS["by hand"], is_begun=False)


def test_a_digest_that_is_all_that_counts_breaks_the_law(grants: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetctl.apply.approval.check_again", lambda *_: None)
    with pytest.raises(AssertionError, match=r"^it ends with 0: "):
        check_not_done_twice(grants)
