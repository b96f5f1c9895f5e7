"""One plan, however it is come by: over generated files, a real control plane, and hands in between.

The plan from a snapshot is the live plan; formatting changes none; a fleet and its twin with templates plan the same;
and the files that `export` writes of the live state plan nothing.
"""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from better_compute.domain.commands import Command
from fleetctl import export, snapshot
from fleetctl.desired import templates
from tests.e2e.homes import Home
from tests.e2e.test_laws import ALLOWED, FLEET, HAND, SLOW, by_hand, changes, settle
from tests.fleets import Fleet, write


def twins(change: tuple[Fleet, list[Command], Fleet], random: Random) -> bool:
    """Whether there was something to hold: the rules may refuse what is applied first."""
    first, given, last = change
    with TemporaryDirectory() as name:
        home = Home(Path(name))
        if not settle(home, first, random):
            return False
        by_hand(home, given)
        spelt(home, last, random)
        live = seen(home)
        check_snapshot(home, live)
        check_formatted(home, live)
        check_templates(home, last, random, live)
        check_export(home)
        return True


def spelt(home: Home, fleet: Fleet, random: Random) -> None:
    """The files of a fleet, in some split, order and style."""
    shutil.rmtree(home.directory)
    home.directory.mkdir()
    root = {**fleet.root, "server": {"embedded": str(home.database)}}
    pools = [{name: value for name, value in pool.items() if name != "id"} for pool in fleet.pools]
    write(Fleet(root, pools), home.directory, random)


def seen(home: Home, *arguments: str | Path) -> dict[str, Any]:
    """What is planned, and by what digest it is known."""
    ran = home.run("plan", "--format", "json", *ALLOWED, *arguments)
    assert ran.code in (0, 3), ran.said
    report = ran.report
    operations = [{name: each[name] for name in each if name != "source"} for each in report["operations"]]
    return {"digest": report["digest"], "operations": operations, "unchecked": report["summary"]["unchecked"]}


def check_snapshot(home: Home, live: dict[str, Any]) -> None:
    file = home.database.parent / "live.json"
    assert home.run("snapshot", "--out", file).code == 0
    again = seen(home, "--snapshot", file)
    assert {**again, "unchecked": 0} == {**live, "unchecked": 0}, "the snapshot has another plan"
    assert again["unchecked"] >= bool(live["operations"])  # whether the caller may do it, a file does not say
    file.unlink()


def check_formatted(home: Home, live: dict[str, Any]) -> None:
    assert home.run("fmt").code == 0
    assert seen(home) == live
    assert home.run("fmt", "--check").code == 0


def check_templates(home: Home, fleet: Fleet, random: Random, live: dict[str, Any]) -> None:
    """Each entry as a template of one, with its key's end and its model in variables."""
    made = deepcopy(fleet)
    for pool in made.pools:
        key = pool["idempotencyKey"]
        variables = {"end": [key[-2:]]}
        pool["idempotencyKey"] = f"{key[:-2]}${{end}}"
        if "gpuModel" in pool:
            variables["model"] = [pool["gpuModel"]]
            pool["gpuModel"] = "${model}"
        pool["forEach"] = variables
    spelt(home, Fleet(made.root, []), random)
    (home.directory / "pools.yaml").write_text(_document(made))
    assert seen(home) == live, "templates have another plan"


def check_export(home: Home) -> None:
    """Nothing changes by moving in."""
    out = home.database.parent / "exported"
    assert home.run("export", "--out", out).code == 0
    home.directory = out
    assert seen(home)["operations"] == [], "what was exported changes something"
    assert home.run("fmt", "--check").code == 0
    shutil.rmtree(out)


def _document(fleet: Fleet) -> str:
    pools = [{name: value for name, value in pool.items() if name != "id"} for pool in fleet.pools]
    return json.dumps({"pools": pools})


@settings(max_examples=8, deadline=None, suppress_health_check=SLOW)
@given(changes(), st.randoms(use_true_random=True))
def test_one_plan_however_it_is_come_by(change: tuple[Fleet, list[Command], Fleet], random: Random) -> None:
    assume(twins(change, random))


@pytest.mark.long
@settings(max_examples=300, deadline=None, suppress_health_check=SLOW)
@given(changes(), st.randoms(use_true_random=True))
def test_one_plan_over_hundreds_of_changes(change: tuple[Fleet, list[Command], Fleet], random: Random) -> None:
    assume(twins(change, random))


def test_the_laws_hold_for_one_change_of_every_kind() -> None:
    assert twins((FLEET, HAND, FLEET), Random(0))


def test_a_snapshot_that_forgets_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: offers are not kept with their versions."""
    real = snapshot.read

    def read(path: Path) -> snapshot.Saved:
        saved = real(path)
        for state in saved.live.pools.values():
            state.offers.clear()
        return saved

    monkeypatch.setattr(snapshot, "read", read)
    with pytest.raises(AssertionError, match="the snapshot has another plan"):
        twins((FLEET, HAND, FLEET), Random(0))


def test_a_template_that_loses_a_value_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: every variable writes the same."""
    real = templates._fill
    monkeypatch.setattr(
        templates, "_fill", lambda value, filled, memo: real(value, dict.fromkeys(filled, "H200"), memo)
    )
    with pytest.raises(AssertionError, match="templates have another plan"):
        twins((FLEET, HAND, FLEET), Random(0))


def test_an_export_that_leaves_out_a_field_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: the policy of a pool is not written."""
    real = export.entries

    def entries(*given: Any) -> Any:
        return [
            (site, {name: value for name, value in entry.items() if name != "policy"}) for site, entry in real(*given)
        ]

    monkeypatch.setattr(export, "entries", entries)
    with pytest.raises(AssertionError, match="what was exported changes something"):
        twins((FLEET, HAND, FLEET), Random(0))
