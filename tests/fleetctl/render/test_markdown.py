"""Markdown for a comment: within its size, the sums first, what is dangerous kept as long as there is room."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from fleetctl.look import Look
from fleetctl.render import markdown
from tests.fleetctl.render import checks
from tests.fleetctl.render.reports import (
    a_drift,
    a_plan,
    a_validation,
    an_apply,
    archive,
    drifted,
    large_plan,
    operation,
    outcome,
    problem,
)
from tests.timing import times_as_long

LEFT = re.compile(r"\*\*([0-9,]+) lines are left out\.\*\*")


def shown(report: Any, **how: Any) -> str:
    """The comment, once it is seen to be sound."""
    made = markdown.render(report, Look(**how))
    checks.markdown(made)
    return made


def withdrawal(n: int) -> Any:
    """One that equals no other."""
    before = {"quota": {"gpu": n}}
    return operation(n, "unoffer", f"fra1-{n:05}", f"t{n}", before=before, severity="withdraws", effects=["x" * 60])


class TestSize:
    def test_a_plan_of_900_operations_keeps_its_sums_and_all_that_is_destructive(self) -> None:
        made = shown(large_plan(900), max_bytes=20_000)
        assert 18_000 < len(made.encode()) <= 20_000
        assert "3 to archive, 897 raises" in made[:400]
        assert all(f"fra1-{n:05}" in made for n in (450, 451, 452))
        assert made.index("fra1-00452") < made.index("fra1-00001")

    def test_says_how_many_lines_are_left_out_and_where_they_are(self) -> None:
        whole, cut = shown(large_plan(900), max_bytes=10**6), shown(large_plan(900), max_bytes=20_000)
        operations = [len([line for line in text.splitlines() if line.startswith("~ ")]) for text in (whole, cut)]
        left = LEFT.search(cut)
        assert left is not None
        assert LEFT.search(whole) is None
        facts = whole.count("\n| ") - cut.count("\n| ") - 2  # without its head
        assert int(left[1].replace(",", "")) == operations[0] - operations[1] + facts
        assert "`fleetctl show plan.json`" in cut.splitlines()[-1]

    @pytest.mark.parametrize("most", [4_000, 4_001, 4_999, 7_000, 30_000, 65_000, 300_000])
    def test_is_sound_and_within_it_wherever_it_is_cut(self, most: int) -> None:
        for report in (large_plan(2_000, 300), a_plan(), a_plan([withdrawal(n) for n in range(1, 400)])):
            assert len(shown(report, max_bytes=most, verbose=True).encode()) <= most

    def test_letters_of_several_bytes_count_as_such(self) -> None:
        findings = [problem(message=f"{n} {'ż' * 200}") for n in range(200)]
        assert 7_000 < len(shown(a_validation(*findings), max_bytes=8_000).encode()) <= 8_000

    def test_destructive_operations_lose_their_details_before_one_of_them_is_lost(self) -> None:
        report = a_plan([withdrawal(n) for n in range(1, 101)])
        assert "because the files changed it" in shown(report, max_bytes=40_000)
        made = shown(report, max_bytes=12_000)
        assert "because the files changed it" not in made
        assert all(f"- withdraw  fra1-{n:05} from t{n}" in made for n in range(1, 101))

    def test_where_even_they_do_not_fit_those_that_are_missing_are_counted(self) -> None:
        made = shown(a_plan([withdrawal(n) for n in range(1, 1001)]), max_bytes=10_000)
        there = made.count("- withdraw ")
        assert 50 < there < 1000
        assert f"**{1000 - there:,} of what is dangerous could not be shown.**" in made

    def test_losers_do_not_take_the_room_of_what_is_destructive(self) -> None:
        losses = [{"tenantId": f"t{n}", "sentence": "loses 1 GPU" + "x" * 90, "operations": [1]} for n in range(500)]
        made = shown(a_plan([archive(1, "fra1-old")], losses=losses), max_bytes=6_000)
        assert "- archive   fra1-old" in made
        assert made.index("### Who loses") < made.index("### Destructive operations")

    def test_a_plan_of_10_000_operations_fits_and_costs_no_square(self) -> None:
        assert len(shown(large_plan(10_000, 500)).encode()) <= 65_000

        def prepared(size: int) -> Callable[[], object]:
            report = large_plan(size, size // 20)
            return lambda: shown(report)

        assert times_as_long(prepared, 1_250, 10_000) < 24, "the square would be 64 times as long"


class TestOrder:
    def test_the_marker_then_the_sums_then_who_loses_then_what_is_destructive(self) -> None:
        made = shown(a_plan())
        assert made.startswith(
            "<!-- fleetctl:plan platform-fra1 -->\n## Plan of fleet `platform-fra1`\n\n- **Blocked: "
        )
        parts = [
            "**Plan:**",
            "**Digest:**",
            "### Who loses",
            "### Who gains",
            "### Destructive",
            "### Cuts (2)",
            "### Findings",
            "### Capacity",
            "<details>",
        ]
        places = [made.index(part) for part in parts]
        assert places == sorted(places)

    def test_what_changes_the_meaning_of_the_sums_stands_with_them(self) -> None:
        head = shown(a_plan()).partition("###")[0]
        for name in ("base: `origin/main", "part: `only key=fra1-\\*", "allow: `withdrawals=12: site closes`"):
            assert name.replace("\\", "") in head

    def test_the_marker_of_a_fleet_is_its_own_whatever_its_name(self) -> None:
        names = ["a", "-->", "a b", "ż", "x" * 300, "x" * 299 + "y"]
        marks = [markdown.render(a_plan(fleet=name)).partition("\n")[0] for name in names]
        assert len(set(marks)) == len(names)
        assert all(re.fullmatch(r"<!-- fleetctl:plan [A-Za-z0-9%.~_-]+ -->", mark) for mark in marks)

    def test_drift_is_told_by_kind_and_what_is_only_pending_is_folded(self) -> None:
        made = shown(a_drift(drifted(kind="pending", since=None), drifted()))
        assert made.index("### Changed behind the files' back") < made.index("<details><summary>Not applied yet")


def test_an_apply_lists_what_was_done_within_its_size() -> None:
    made = shown(an_apply(*(outcome(n) for n in range(1, 500))), max_bytes=10_000)
    assert "<details><summary>Done (499)</summary>" in made
    assert "  offer fra1-1 to acme\n" in made
    assert LEFT.search(made)


def test_many_cuts_do_not_take_the_room_of_what_is_destructive() -> None:
    cuts = [operation(n, "offer", f"k{n}", "t", before={"quota": {"gpu": n}}, severity="lowers") for n in range(2, 900)]
    made = shown(a_plan([*cuts, archive(1, "fra1-old")]), max_bytes=6_000)
    assert "because the files mark it archived" in made
    assert made.index("### Destructive operations") < made.index("### Cuts (898)")


def test_a_fence_is_longer_than_any_run_in_it() -> None:
    made = markdown.render(a_plan([archive(1, "a`````b")]))
    assert "\n``````diff\n" in made
    assert "\n``````\n" in made


def test_rows_that_were_not_made_are_counted_also_below_a_table() -> None:
    row = {"gpuModel": "H100", "atom": "gpu", "siteId": "s", "before": 1, "after": 2, "inUse": 0, "frozen": 0}
    shares = [{**row, "tenantId": f"t{n}", "costBefore": None, "costAfter": None} for n in range(30)]
    capacity = {"shares": shares, "stock": []}
    assert "\nand 10 more (--verbose)\n" in shown(a_plan([], capacity=capacity)).replace("\\", "")
    assert "`t29`" in shown(a_plan([], capacity=capacity), verbose=True)
