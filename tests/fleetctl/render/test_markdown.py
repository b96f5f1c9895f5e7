"""Markdown for a comment: within its size, the sums first, what is dangerous kept as long as there is room."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from fleetctl.look import Look
from fleetctl.render import html, markdown
from tests.fleetctl.render import checks
from tests.fleetctl.render.reports import (
    a_drift,
    a_plan,
    a_validation,
    an_apply,
    archive,
    created,
    drifted,
    large_plan,
    operation,
    outcome,
    problem,
    raised,
    source,
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


def pools(number: int) -> list[str]:
    return [f"fra1-{n:05}" for n in range(1, number + 1)]


class TestGroups:
    """Who reads a comment cannot ask for more."""

    def test_are_named_in_full_each_with_its_place(self) -> None:
        made = shown(a_plan([raised(n, key) for n, key in enumerate(pools(50), 1)]))
        assert all(f"      {key}  fra1.yaml:{10 + n}\n" in made for n, key in enumerate(pools(50), 1))
        assert "--verbose" not in made

    def test_lose_places_before_names_and_names_before_anything_else_is_left_out(self) -> None:
        report = a_plan([*(raised(n, key) for n, key in enumerate(pools(1_000), 1)), archive(1_001, "fra1-old")])
        assert "fra1-01000  fra1.yaml:1010" in shown(report)
        bare, short = shown(report, max_bytes=30_000), shown(report, max_bytes=15_000)
        assert all(f"      {key}\n" in bare for key in pools(1_000))
        assert "fra1-00001, fra1-00002 and 998 more pools" in short
        assert "because the files mark it archived" in short
        assert "> **1 group is told in short.** The whole: `fleetctl show plan.json --verbose`" in short
        assert LEFT.search(short) is None

    def test_take_no_room_of_what_comes_behind_them(self) -> None:
        raises = [raised(n, key) for n, key in enumerate(pools(900), 1)]
        report = a_plan(raises, findings=[problem(severity="warning", message=f"w{n} {'x' * 90}") for n in range(80)])
        made = shown(report, max_bytes=20_000)
        assert all(f"w{n} " in made for n in range(80))

    def test_of_findings_are_placed_in_full_where_their_kind_is(self) -> None:
        at = [{"file": "fra1.yaml", "line": n, "column": 1} for n in range(1, 31)]
        errors = [problem(severity="error", message="e", source=one) for one in at]
        warnings = [problem(severity="warning", message="w", source=one) for one in at]
        made = shown(a_plan([], findings=[*errors, *warnings]))
        wrong, mild = made.partition("<details>")[::2]
        assert all(f"- **error** `fra1.yaml:{n}:1`" in wrong for n in range(1, 31))
        assert all(f"- **warning** `fra1.yaml:{n}:1`" in mild for n in range(1, 31))

    def test_of_what_drifted_are_named_in_full(self) -> None:
        made = shown(a_drift(*(drifted(key=key) for key in pools(9))))
        assert "9 pools for acme" in made
        assert all(key in made for key in pools(9))

    def test_of_notes_are_named_in_full(self) -> None:
        notes = [{"kind": "id", "sentence": f"{key} adopts", "source": source(3)} for key in pools(9)]
        made = shown(a_plan([], notes=notes))
        assert "9 entries adopt pools by their ids\n" in made
        assert all(f"{key} adopts  fra1.yaml:3\n" in made for key in pools(9))

    def test_a_long_policy_of_a_new_pool_is_shown_whole(self) -> None:
        assert "y" * 1_000 in shown(a_plan([created(1, "fra1-a", note="y" * 1_000)]))

    def test_a_fence_is_longer_than_any_run_in_what_only_pages_show(self) -> None:
        made = shown(a_plan([raised(n, f"{'`' * 9}{n}") for n in range(1, 9)]))
        assert f"\n{'`' * 10}diff\n" in made

    def test_are_whole_on_a_page_too(self) -> None:
        made = html.render(a_plan([raised(n, key) for n, key in enumerate(pools(50), 1)], findings=[problem()] * 9))
        assert all(f"<div>{key} <span" in made for key in pools(50))
        assert "--verbose" not in made


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
