"""Formats for tools: what each counts, how bad it is, and where it is found."""

from __future__ import annotations

import json
from typing import Any

import pytest
from junitparser import JUnitXml

from fleetctl.look import Look
from fleetctl.render import github, junit, prometheus, sarif
from tests.fleetctl.render.reports import a_drift, a_plan, a_validation, an_apply, drifted, outcome, problem, source


class TestGithub:
    def test_findings_and_destructive_operations_are_annotations_at_their_place(self) -> None:
        lines = github.render(a_plan(), Look(under="fleets/fra1")).splitlines()
        where = "file=fleets/fra1/fra1.yaml,line=17,col=5"
        hint = '%0AHint: if that is meant: --allow archives=1 --reason "why"'
        assert f"::error {where},title=guard.archives::1 pool would be archived, and none may{hint}" in lines
        said = "archive fra1-old: live -> archived; cannot be undone: no pool can have this key again; withdraws"
        assert any(line.startswith(f"::warning {where},title=operation.archive::{said}") for line in lines)
        assert any(line.startswith("::notice title=guard.oversell::no machines joined") for line in lines)
        assert not any("operation.create" in line for line in lines)

    def test_the_sums_come_first_and_the_worst_next(self) -> None:
        commands = [line.split(" ")[0] for line in github.render(a_plan()).splitlines()]
        assert commands == ["::notice", *["::error"] * 2, *["::warning"] * 4, "::notice"]

    def test_what_would_end_a_property_or_a_line_is_escaped(self) -> None:
        file = source(file="a,b:c%\n.yaml")
        shown = github.render(a_validation(problem(source=file, message="100% of a, b: c\nd")))
        assert r"file=a%2Cb%3Ac%25\n.yaml,line=8,col=5" in shown
        assert r"::100%25 of a, b: c\nd" in shown


class TestJunit:
    def cases(self, report: Any) -> dict[str, list[str]]:
        """The names of test cases by how they ended."""
        found: dict[str, list[str]] = {}
        for suite in JUnitXml.fromstring(junit.render(report).encode()):
            for case in suite:
                how = type(case.result[0]).__name__ if case.result else "passed"
                found.setdefault(how, []).append(case.name)
        return found

    def test_errors_fail_what_is_not_known_is_skipped_and_the_rest_passes(self) -> None:
        cases = self.cases(a_plan())
        together = "pools[fra1-a].policy.password [together.wish]"
        assert cases["Failure"] == ["Plan of fleet platform-fra1", "fra1.yaml:17 [guard.archives]", together]
        assert cases["Skipped"] == ["guard.oversell [guard.oversell]"]
        assert "archive fra1-old [operation.archive]" in cases["passed"]

    def test_what_found_nothing_is_one_test_that_passed(self) -> None:
        assert self.cases(a_validation()) == {"passed": ["fleetctl validation"]}

    def test_an_apply_has_a_case_for_each_outcome(self) -> None:
        cases = self.cases(an_apply())
        assert len(cases["Failure"]) == 2
        assert cases["Skipped"] == [
            "withdraw fra1-4 from acme [operation.unoffer]",
            "archive fra1-5 [operation.archive]",
        ]
        assert len(cases["passed"]) == 2
        assert set(self.cases(an_apply(outcome(1)))) == {"passed"}

    def test_drift_fails_unless_it_is_expected(self) -> None:
        assert len(self.cases(a_drift())["Failure"]) == 5
        assert set(self.cases(a_drift(drifted(expected="tried out")))) == {"passed", "Skipped"}


class TestSarif:
    def run(self, report: Any, **how: Any) -> Any:
        (run,) = json.loads(sarif.render(report, Look(**how)))["runs"]
        return run

    def test_a_result_has_its_rule_its_level_and_its_place(self) -> None:
        run = self.run(a_plan(), under="fleets/fra 1")
        first = run["results"][0]
        assert (first["ruleId"], first["level"]) == ("guard.archives", "error")
        place = first["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "fleets/fra%201/fra1.yaml"
        assert place["region"] == {"startLine": 17, "startColumn": 5}
        levels = ["error", "warning", "note", "error", "warning", "warning", "warning"]
        assert [result["level"] for result in run["results"]] == levels

    def test_what_has_no_place_has_a_name(self) -> None:
        (result,) = self.run(a_validation(problem(source=None, path="pools[0]")))["results"]
        assert result["locations"] == [{"logicalLocations": [{"name": "pools[0]"}]}]

    @pytest.mark.parametrize("file", ["/etc/passwd", "//evil.example/x", "http://evil.example/x", "C:\\x", "../../x"])
    def test_a_file_names_neither_host_nor_scheme(self, file: str) -> None:
        (result,) = self.run(a_validation(problem(source=source(file=file))))["results"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert ":" not in uri
        assert not uri.startswith("//")


class TestPrometheus:
    def samples(self, report: Any) -> dict[str, str]:
        lines = [line for line in prometheus.render(report).splitlines() if not line.startswith("#")]
        return {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in lines}

    def test_counts_by_kind_coverage_and_when(self) -> None:
        samples = self.samples(a_drift())
        fleet = 'fleet="platform-fra1",tenant="root",instance_id="inst_1"'
        assert samples[f'fleetctl_drift_objects{{{fleet},kind="changed"}}'] == "2"
        assert samples[f'fleetctl_drift_objects{{{fleet},kind="removed"}}'] == "1"
        assert samples[f"fleetctl_drift_expected_objects{{{fleet}}}"] == "1"
        assert samples[f"fleetctl_drift_checked_pools{{{fleet}}}"] == "60"
        assert samples[f"fleetctl_drift_partial{{{fleet}}}"] == "1"
        shares = {"live_pools": "64", "named_pools": "60", "live_atoms": "2048", "named_atoms": "1920"}
        for name, value in {**shares, "coverage_ratio": "0.9375"}.items():
            assert samples[f"fleetctl_drift_{name}{{{fleet}}}"] == value
        assert samples[f"fleetctl_drift_last_check_timestamp_seconds{{{fleet}}}"] == "1796000000.000"

    @pytest.mark.parametrize(
        ("live", "named", "ratio"),
        [(0, 0, "NaN"), (4, 4, "1.0"), (4, 0, "0.0"), (10**9, 10**9 - 1, "0.999999999")],
    )
    def test_the_share_under_code_is_one_only_where_all_is(self, live: int, named: int, ratio: str) -> None:
        none: dict[str, Any] = {"percent": None, "liveAtoms": 0, "namedAtoms": 0, "unnamed": []}
        counts = {"livePools": live, "namedPools": named, **none}
        samples = self.samples(a_drift(coverage=counts))
        assert [value for name, value in samples.items() if name.startswith("fleetctl_drift_coverage_ratio")] == [ratio]

    def test_their_number_does_not_grow_with_what_drifted(self) -> None:
        many = a_drift(*(drifted(key=f"fra1-{n}", actorId=f"sa_{n}") for n in range(1000)))
        assert set(self.samples(many)) == set(self.samples(a_drift()))
        assert len(max(self.samples(a_drift(fleet="x" * 10_000)), key=len)) < 300

    def test_every_metric_says_what_it_is(self) -> None:
        lines = prometheus.render(a_drift()).splitlines()
        named = {line.split("{")[0] for line in lines if not line.startswith("#")}
        assert {line.split()[2] for line in lines if line.startswith("# HELP")} == named
        assert {line.split()[2] for line in lines if line.startswith("# TYPE")} == named

    def test_an_error_in_its_place_is_a_check_that_was_none(self) -> None:
        report = {"formatVersion": 1, "kind": "error", "problems": [problem()]}
        assert self.samples(report) == {"fleetctl_drift_check_success": "0"}


@pytest.mark.parametrize("form", [github, junit, sarif])
def test_drift_says_since_when_by_whom_and_through_which_change(form: Any) -> None:
    one = drifted(since=1_700_000_000_000, actorId="alice", eventType="pool.offered", via={"fleet": "other"})
    shown = form.render(a_drift(one))
    assert "since 2023-11-14 22:13:20 UTC by alice (pool.offered); via fleet other" in shown
    unseen = form.render(a_drift(drifted(since=None, actorId=None, eventType=None, via=None)))
    assert "since 20" not in unseen
    assert "via" not in unseen
