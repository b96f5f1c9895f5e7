"""Whatever strings a report holds, its rendering is the same lines of what is seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fleetctl.render import json_, text
from tests.fleetctl.render.test_others import a_drift, a_drifted, a_problem, an_apply, an_outcome
from tests.fleetctl.report.world import World

HOSTILE = "x\n0 to archive\r\x1b[2K\x1b]0;t\x07\u202egpj\u200b\x9b1A\u2028"
KEPT = {"kind", "action", "severity", "status", "formatVersion", "path"}
"""Fields whose few values are the tool's own; a change's path tells quotas from others, and is set by hand."""


def a_plan() -> Any:
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 8}, "globex": {"gpu": 8}}, policy={"note": "old"})
    world.pool("fra1-old", {"acme": {"gpu": 8}})
    return world.report("""\
  - {idempotencyKey: fra1-a, policy: {note: new}, offers: [{toTenantId: acme, quota: {gpu: 4}}]}
  - {idempotencyKey: fra1-old, archived: true}
  - {idempotencyKey: fra1-new, class: provider, agent: none, providerAccountId: pa, policy: {a: b}, offers: []}
""")


REPORTS: dict[str, Callable[[], Any]] = {
    "plan": a_plan,
    "apply": lambda: an_apply(an_outcome(), an_outcome("failed", problem=a_problem()), an_outcome("blocked")),
    "drift": lambda: a_drift(a_drifted(via={"fleet": "other"}), a_drifted(via={"else": "x"}, kind="removed")),
    "error": lambda: {"kind": "error", "problems": [a_problem(path="a", hint="b", rule="c")]},
}


def poisoned(value: Any, name: str = "") -> Any:
    """The same with a hostile end to every string and to every key that people choose."""
    if isinstance(value, dict):
        chosen = name in ("quota", "policy", "ownerQuota", "allow")
        return {(k + HOSTILE if chosen else k): poisoned(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [poisoned(item, name) for item in value]
    if name == "path" and isinstance(value, str):
        return f"{value}{HOSTILE}"
    return value + HOSTILE if value and isinstance(value, str) and name not in KEPT else value


@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("name", REPORTS)
def test_no_string_adds_a_line_or_acts_on_the_terminal(name: str, verbose: bool) -> None:
    report = REPORTS[name]()
    honest, hostile = text.render(report, verbose=True), text.render(poisoned(report), verbose=verbose)
    assert all(line.isprintable() for line in hostile.split("\n"))
    if verbose:
        # Long values take lines of their own: nothing else may add one.
        assert hostile.count("\n") <= honest.count("\n") + sum(len(o["changes"]) for o in report.get("operations", []))
    assert not any(line.startswith("0 to archive") for line in hostile.splitlines())


@pytest.mark.parametrize("name", REPORTS)
def test_json_is_ascii_on_lines_of_its_own(name: str) -> None:
    shown = json_.render(poisoned(REPORTS[name]()))
    assert all(line.isascii() and line.isprintable() for line in shown.split("\n"))
