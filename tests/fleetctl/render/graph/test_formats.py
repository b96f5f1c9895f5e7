"""Every drawing shows all operations and what waits for what, whatever their names are.

After a change that is meant, `UPDATE_GOLDEN=1 .venv/bin/pytest tests/fleetctl/render/graph/test_formats.py` writes the
files anew: look at them before they are kept.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from better_compute.domain.escape import escape
from fleetctl.cli.streams import GRAPHS
from fleetctl.render.graph import mermaid
from tests.fleetctl.render.graph.drawings import READ, SVG, drawn, waiting
from tests.fleetctl.render.reports import OPERATIONS, a_plan, archive, operation
from tests.fleetctl.render.test_hostile import HOSTILE, poisoned

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {"mermaid": "mmd", "dot": "dot", "svg": "svg"}
DIAMOND = {1: [], 2: [1], 3: [1], 4: [2, 3], 5: []}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_plan_is_drawn_as_it_is_kept(name: str) -> None:
    made, file = drawn(name, a_plan()), GOLDEN / f"plan.{ENDINGS[name]}"
    if os.environ.get("UPDATE_GOLDEN"):
        file.write_text(made)
    assert made == file.read_text()
    assert {path.name for path in GOLDEN.iterdir()} == {f"plan.{ending}" for ending in ENDINGS.values()}


@pytest.mark.parametrize("name", GRAPHS)
class TestEveryFormat:
    def test_has_each_operation_with_its_words(self, name: str) -> None:
        nodes, edges = READ[name](drawn(name, a_plan()))
        assert len(nodes) == len(OPERATIONS)
        assert nodes[2] == "offer fra1-new\nto acme\nsafe, #2"
        assert nodes[7] == "archive fra1-old\nirreversible, #7"
        assert edges == {(1, 2)}

    def test_has_an_arrow_for_each_dependency(self, name: str) -> None:
        _, edges = READ[name](drawn(name, waiting(DIAMOND)))
        assert edges == {(1, 2), (1, 3), (2, 4), (3, 4)}

    def test_tells_severities_apart_without_colour(self, name: str) -> None:
        degrees = ("safe", "lowers", "withdraws", "irreversible")
        looks = set()
        for severity in degrees:
            text = drawn(name, a_plan([operation(1, "offer", "p", "acme", severity=severity)]))
            assert f"{severity}, #" in READ[name](text)[0][1]
            looks.add(shape(name, text))
        assert len(looks) == len(degrees)

    def test_is_valid_where_there_is_nothing_to_do(self, name: str) -> None:
        assert READ[name](drawn(name, a_plan([]))) == ({}, set())

    def test_is_an_empty_graph_of_what_is_no_plan(self, name: str) -> None:
        error = {"formatVersion": 1, "kind": "error", "problems": []}
        assert READ[name](drawn(name, error)) == ({}, set())

    @pytest.mark.parametrize("poison", HOSTILE)
    def test_holds_any_name(self, name: str, poison: str) -> None:
        text = drawn(name, poisoned(a_plan(), HOSTILE[poison]))
        assert text.isascii()
        assert "##[" not in text
        nodes, edges = READ[name](text)
        assert (len(nodes), edges) == (len(OPERATIONS), {(1, 2)})

    @given(st.text(min_size=1, max_size=12))
    @settings(max_examples=40)
    def test_says_a_name_as_it_is(self, name: str, key: str) -> None:
        nodes, _ = READ[name](drawn(name, a_plan([archive(1, key)])))
        shown = escape(key)
        assert nodes[1] == f"archive {shown if len(shown) <= 24 else f'{shown[:21]}...'}\nirreversible, #1"

    def test_of_ten_thousand_operations_takes_seconds(self, name: str) -> None:
        report = waiting({n: [n - n % 4] if n % 4 else [] for n in range(4, 10_004)})
        began = time.process_time()
        text = drawn(name, report)
        assert time.process_time() - began < 5
        assert text.count("offer p") >= 10_000


def shape(name: str, text: str) -> str:
    """What draws the outline of the only node."""
    if name == "svg":
        paths = ElementTree.fromstring(text).iter(f"{SVG}path")
        return next(path.get("d", "") for path in paths if path.get("fill", "").startswith("#") and path.get("stroke"))
    line = next(line for line in text.splitlines() if line.startswith("  n1"))
    return line.partition('"')[0] if name == "mermaid" else line.partition("shape=")[2].partition("fillcolor")[0]


def test_a_name_that_is_not_escaped_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A planted fault: what reads the drawings here takes no markup."""
    monkeypatch.setattr(mermaid, "_label", lambda text: text)
    with pytest.raises(AssertionError, match=r'n1\["create "'):
        READ["mermaid"](drawn("mermaid", poisoned(a_plan(), HOSTILE["quotes"])))


def test_mermaid_says_when_it_draws_not_all_arrows() -> None:
    most = {n: list(range(1, n)) for n in range(1, 33)}  # 496 arrows
    assert mermaid.remarks(waiting({**most, 33: [1, 2, 3, 4]})) == ()
    assert mermaid.remarks(waiting({**most, 33: [1, 2, 3, 4, 5]})) == (
        "Mermaid draws 500 dependencies unless its maxEdges says more, and here are 501:"
        " --format svg draws all, --only a part of the fleet",
    )
    assert mermaid.remarks({"formatVersion": 1, "kind": "error", "problems": []}) == ()


def test_svg_tells_those_who_do_not_see_it() -> None:
    root = ElementTree.fromstring(drawn("svg", waiting(DIAMOND)))
    texts = {element.get("id"): element.text for element in root if element.get("id")}
    assert root.get("role") == "img"
    assert [texts[name] for name in root.get("aria-labelledby", "").split()] == [
        "Plan of fleet platform-fra1",
        "5 operations, 4 dependencies. An arrow leads from each operation to those that wait for it.",
    ]


def test_svg_holds_all_that_it_draws() -> None:
    root = ElementTree.fromstring(drawn("svg", waiting(DIAMOND | {n: [] for n in range(6, 40)})))
    width, height = (float(root.get(name, "0")) for name in ("width", "height"))
    for text in root.iter(f"{SVG}text"):
        assert 0 < float(text.get("x", "")) < width - 200
        assert 0 < float(text.get("y", "")) < height


@pytest.mark.parametrize("plan", [a_plan(), a_plan([]), poisoned(a_plan(), HOSTILE["entities"])], ids=["a", "b", "c"])
def test_graphviz_draws_it(plan: Any) -> None:
    program = shutil.which("dot")
    if program is None:  # what it would read is read in `drawings.dot`
        assert READ["dot"](drawn("dot", plan))[0].keys() == {o["n"] for o in plan["operations"]}
        return
    done = subprocess.run([program, "-Tsvg"], input=drawn("dot", plan), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "error" not in done.stderr.lower()
    assert len(ElementTree.fromstring(done.stdout).findall(f".//{SVG}g[@class='node']")) == len(plan["operations"])
