"""`fleetctl graph` draws the plan that `fleetctl plan` shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fleetctl.cli.streams import GRAPHS
from tests.fleetctl.cli.runs import ENTRY, ROOT, Fleet
from tests.fleetctl.render.graph.drawings import READ

TAKEN = "  - {idempotencyKey: fra1-a, archived: true}\n"


@pytest.mark.parametrize("name", GRAPHS)
def test_it_draws_what_the_plan_has(name: str, fleet: Fleet) -> None:
    fleet.make()
    plan = json.loads(fleet.on("plan", "--format", "json").out)
    ran = fleet.on("graph", "--format", name)
    assert (ran.code, ran.err) == (0, "")
    nodes, edges = READ[name](ran.out)
    assert nodes.keys() == {operation["n"] for operation in plan["operations"]}
    assert edges == {(n, operation["n"]) for operation in plan["operations"] for n in operation["dependsOn"]} != set()


def test_it_is_mermaid_unless_it_is_asked_otherwise(fleet: Fleet) -> None:
    fleet.make()
    assert fleet.on("graph").out == fleet.on("graph", "--format", "mermaid").out


def test_a_blocked_plan_is_drawn_and_said_to_be_blocked(fleet: Fleet) -> None:
    fleet.write(ENTRY + "  - {idempotencyKey: fra1-b, offers: []}\n")
    assert fleet.on("apply", "--yes").code == 0
    fleet.write(TAKEN + "  - {idempotencyKey: fra1-b, archived: true}\n")
    assert fleet.on("plan").code == 3
    ran = fleet.on("graph")
    assert ran.code == 0
    assert len(READ["mermaid"](ran.out)[0]) == 2
    assert ran.err.startswith("This plan is blocked by 1 error: `fleetctl plan` tells")


def test_an_empty_plan_is_an_empty_graph_and_said_so(fleet: Fleet) -> None:
    assert fleet.on("apply", "--yes").code == 0
    ran = fleet.on("graph")
    assert ran.code == 0
    assert READ["mermaid"](ran.out) == ({}, set())
    assert ran.err == "This plan has no operation: the graph is empty\n"


def test_an_error_prints_no_graph(fleet: Fleet) -> None:
    (fleet.directory / "fleet.yaml").write_text("pools: 7\n")
    ran = fleet.on("graph", "--format", "svg")
    assert (ran.code, ran.out) == (1, "")
    assert "fleet.yaml:1" in ran.err


def test_it_draws_the_part_that_is_asked_for_and_a_snapshot(fleet: Fleet, tmp_path: Path) -> None:
    fleet.write(ENTRY + "  - {idempotencyKey: fra1-b, offers: []}\n")
    live = tmp_path / "live.json"
    assert fleet.on("snapshot", "--out", str(live)).code == 0
    ran = fleet.on("graph", "--only", "key=fra1-b", "--snapshot", str(live))
    assert READ["mermaid"](ran.out)[0] == {1: "create fra1-b\nsafe, #1"}


def test_the_guards_of_a_base_block_the_plan_that_is_drawn(fleet: Fleet, tmp_path: Path) -> None:
    assert fleet.on("apply", "--yes").code == 0
    fleet.write(TAKEN)
    (tmp_path / ".was").mkdir()
    (tmp_path / ".was" / "fleet.yaml").write_text(ROOT.replace("pools:", "guards: {maxArchives: 0}\npools:") + ENTRY)
    assert fleet.on("graph").err == ""
    ran = fleet.on("graph", "--base-dir", str(tmp_path / ".was"))
    assert "accTitle: Plan: 1 operation, 0 dependencies, blocked" in ran.out
    assert ran.err.startswith("This plan is blocked by ")


def test_what_mermaid_would_not_draw_is_said(fleet: Fleet) -> None:
    offers = "{toTenantId: acme, quota: {gpu: 1}}, {toTenantId: globex, quota: {gpu: 1}}"
    pools = (f"  - {{idempotencyKey: fra1-{n}, offers: [{offers}]}}\n" for n in range(251))
    fleet.make()
    fleet.write("".join(pools))
    assert "502; and 50,000 characters unless its maxTextSize says more" in fleet.on("graph").err
    assert fleet.on("graph", "--format", "svg").err == ""


def test_a_flowchart_without_arrows_that_mermaid_would_not_read_is_said_to_be_one(fleet: Fleet) -> None:
    fleet.make()
    fleet.write("".join(f"  - {{idempotencyKey: fra1-{n}, offers: []}}\n" for n in range(1000)))
    ran = fleet.on("graph")
    said = f"Mermaid draws 50,000 characters unless its maxTextSize says more, and here are {len(ran.out):,}:"
    assert ran.err.startswith(said)
    assert fleet.on("graph", "--only", "key=fra1-1*").err == ""
