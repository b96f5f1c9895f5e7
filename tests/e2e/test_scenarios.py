"""Changes with one right order, through the real thing: each is planned, applied, and repaired from any halfway."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fleetctl.order import Ordering, arrange
from tests.e2e.homes import Home, entry, phrase, unchanged
from tests.e2e.partly import admitted, copied, do


def single(key: str, *tenants: str) -> dict[str, Any]:
    return entry(key, dict.fromkeys(tenants, 8), policy={"singleTenant": True})


@dataclass(frozen=True)
class Change:
    """What is live, what is wished, and which operations wait for which: each of a chain for the one before it.
    `flags` let it pass the guards; `effect` is what the plan says of it."""

    before: list[dict[str, Any]]
    after: list[dict[str, Any]]
    chains: list[list[str]]
    flags: list[str] = field(default_factory=list)
    effect: str = ""


CHANGES = {
    "a singleTenant pool changes its tenant": Change(
        [single("a", "acme")],
        [single("a", "globex")],
        [["withdraw a to acme", "offer a to globex"]],
        effect="nobody holds the pool between acme and its next tenant",
    ),
    "two tenants swap two singleTenant pools": Change(
        [single("a", "acme"), single("b", "globex")],
        [single("a", "globex"), single("b", "acme")],
        [["withdraw a to acme", "offer a to globex"], ["withdraw b to globex", "offer b to acme"]],
    ),
    "three tenants go round in three singleTenant pools": Change(
        [single("a", "acme"), single("b", "globex"), single("c", "initech")],
        [single("a", "initech"), single("b", "acme"), single("c", "globex")],
        [
            ["withdraw a to acme", "offer a to initech"],
            ["withdraw b to globex", "offer b to acme"],
            ["withdraw c to initech", "offer c to globex"],
        ],
    ),
    "a tenant's quota moves from one pool to another": Change(
        [entry("a", {"acme": 32}), entry("b", {"acme": 8})],
        [entry("a", {"acme": 8}), entry("b", {"acme": 32})],
        [["offer b to acme", "offer a to acme"]],
    ),
    "a tenant's quota moves to a pool that is new": Change(
        [entry("a", {"acme": 32})],
        [entry("a", {"acme": 8}), entry("b", {"acme": 24})],
        [["create b", "offer b to acme", "offer a to acme"]],
    ),
    "quota moves between two tenants of a pool": Change(
        [entry("a", {"acme": 32, "globex": 8})],
        [entry("a", {"acme": 8, "globex": 32})],
        [["offer a to acme", "offer a to globex"]],
    ),
    "two tenants swap their quota in two pools": Change(
        [entry("a", {"acme": 32, "globex": 8}), entry("b", {"acme": 8, "globex": 32})],
        [entry("a", {"acme": 8, "globex": 32}), entry("b", {"acme": 32, "globex": 8})],
        [["offer b to acme", "offer a to acme"], ["offer a to globex", "offer b to globex"]],
        effect="more than before or after are promised until",
    ),
    "a tenant moves, then the old pool is archived": Change(
        [entry("old", {"acme": 32})],
        [{"idempotencyKey": "old", "archived": True}, entry("new", {"acme": 32})],
        [["create new", "offer new to acme", "archive old"]],
        ["--allow", "archives=1", "--reason", "moved"],
        effect="withdraws what it offers to acme",
    ),
    "a pool of two becomes singleTenant": Change(
        [entry("a", {"acme": 8, "globex": 8})],
        [single("a", "acme")],
        [["withdraw a to globex", "update a"]],
    ),
    "a singleTenant pool takes a second tenant": Change(
        [single("a", "acme")],
        [entry("a", {"acme": 8, "globex": 8})],
        [["update a", "offer a to globex"]],
    ),
    "an offer drops includeDescendants as its pool becomes singleTenant": Change(
        [entry("a", [{"toTenantId": "acme", "quota": {"gpu": 8}, "includeDescendants": True}])],
        [single("a", "acme")],
        [["offer a to acme", "update a"]],
    ),
}


def started(change: Change, directory: Path) -> Home:
    """Live as before, files as after."""
    home = Home(directory)
    home.wish(*change.before)
    home.apply()
    home.wish(*change.after)
    return home


def waiting(operations: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Every operation with all those that it waits for, by way of others too."""
    waits: dict[str, set[str]] = {}
    names = {operation["n"]: phrase(operation) for operation in operations}
    for operation in operations:
        firsts = {names[n] for n in operation["dependsOn"]}
        waits[phrase(operation)] = firsts.union(*(waits[first] for first in firsts))
    return waits


def check_halfway(home: Home, change: Change, directory: Path, *, resume: bool) -> int:
    """Whatever a killed apply left done: it was legal to do, what remains is exactly the rest, and the same command
    does that. The number of halfway states."""
    file = directory / "plan.json"
    plan = home.plan(*change.flags, "--out", file).report
    sets = list(admitted(plan["operations"]))
    for number, done in enumerate(sets):
        half = copied(home, directory / str(number))
        do(half, done)
        rest = {o["digest"] for o in plan["operations"] if o["n"] not in done}
        assert {o["digest"] for o in half.plan(*change.flags).report["operations"]} == rest
        if not resume:
            continue
        half.apply(*change.flags, "--plan", file)
        assert half.is_settled()
        via = [event.via for event in half.events()[plan["sequence"] :]]
        assert sorted(v["operation"] for v in via if v) == sorted(o["digest"] for o in plan["operations"])
        assert {v["digest"] for v in via if v} == {plan["digest"]}
    return len(sets)


@pytest.mark.parametrize("name", CHANGES)
def test_is_planned_in_order_and_applied(name: str, tmp_path: Path) -> None:
    change = CHANGES[name]
    home = started(change, tmp_path)
    operations = home.plan(*change.flags).report["operations"]
    waits = waiting(operations)
    assert sorted(waits) == sorted(phrase for chain in change.chains for phrase in chain)
    for first, then in (pair for chain in change.chains for pair in pairwise(chain)):
        assert first in waits[then], f"{then} does not wait for {first}"
    effects = [effect for operation in operations for effect in operation["effects"]]
    assert any(change.effect in effect for effect in effects) or not change.effect
    assert home.apply(*change.flags).report["summary"]["done"] == len(operations)
    assert home.is_settled()


@pytest.mark.parametrize("name", CHANGES)
def test_is_repaired_from_any_halfway(name: str, tmp_path: Path) -> None:
    change = CHANGES[name]
    assert check_halfway(started(change, tmp_path), change, tmp_path, resume=False) > 1


LONGEST = "a tenant moves, then the old pool is archived"


@pytest.mark.parametrize("name", [pytest.param(n, marks=() if n == LONGEST else pytest.mark.long) for n in CHANGES])
def test_is_resumed_by_its_plan_file_from_any_halfway(name: str, tmp_path: Path) -> None:
    change = CHANGES[name]
    assert check_halfway(started(change, tmp_path), change, tmp_path, resume=True) > 1


def test_a_plan_without_dependencies_breaks_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: operations of one pool that wait for nothing."""
    change = CHANGES["a singleTenant pool changes its tenant"]
    home = started(change, tmp_path)

    def alone(*given: Any) -> Ordering:
        ordering = arrange(*given)
        return replace(ordering, depends_on=tuple(() for _ in ordering.depends_on))

    monkeypatch.setattr(import_module("fleetctl.plan.make"), "arrange", alone)
    with pytest.raises(AssertionError, match=r"offer\.single"):
        check_halfway(home, change, tmp_path, resume=False)


def test_a_move_whose_new_half_is_refused_takes_nothing_away(tmp_path: Path) -> None:
    change = CHANGES[LONGEST]
    home = started(change, tmp_path)
    home.sql("UPDATE tenants SET status = 'inactive' WHERE id = 'acme'")
    with unchanged(home):
        blocked = home.apply(*change.flags, code=3)
    assert [f["code"] for f in blocked.report["findings"] if f["severity"] == "error"] == ["TENANT_INACTIVE"]
