"""Applies, drift, validation and errors on a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.policy.secrets import SENSITIVE
from fleetctl.look import Look
from fleetctl.outline import outline
from fleetctl.outline.shape import plain
from fleetctl.render import json_, text
from fleetctl.report.forms import ApplyReport, Drifted, DriftReport, ErrorReport, Outcome, Problem, WhoamiReport
from tests.builders import NOW
from tests.fleetctl.render import reports
from tests.fleetctl.render.formats import lines

SOURCE = {"file": "fleet.yaml", "line": 8, "column": 5}
SERVER = {"url": "https://compute.example.com", "instanceId": "inst_1", "derivation": "d", "overridden": False}
HEAD: dict[str, Any] = {
    "formatVersion": 1,
    "fleet": "platform",
    "tenantId": "root",
    "caller": "sa_fleet",
    "reader": "sa_fleet",
    "server": SERVER,
    "createdAt": NOW,
    "commit": None,
}


def a_problem(**fields: Any) -> Problem:
    common = {"code": "CONFLICT", "rule": "", "message": "no", "path": "", "hint": "", "severity": "error"}
    return {**common, "source": None, **fields}  # type: ignore[typeddict-item]


def an_outcome(status: str = "done", **fields: Any) -> Outcome:
    common = {"n": 1, "action": "offer", "poolId": "pool_1", "key": "fra1-a", "toTenantId": "acme", "digest": "d"}
    rest: dict[str, Any] = {"note": "", "problem": None, "waitsFor": [], "attempts": 1, "source": SOURCE}
    rest |= {"found": False, "meanwhile": []}
    rest["inverse"] = {"action": "unoffer", "after": None, "why": ""}
    return {**common, **rest, "status": status, **fields}  # type: ignore[typeddict-item]


def an_apply(*outcomes: Outcome, interrupted: str | None = None, by: str = "hand") -> ApplyReport:
    lists = {s: [o for o in outcomes if o["status"] == s] for s in ("done", "failed", "blocked", "notStarted")}
    summary = {**reports.COMPARED, "operations": len(outcomes), **{s: len(found) for s, found in lists.items()}}
    rest: dict[str, Any] = {
        "allow": {},
        "reason": None,
        "selection": None,
        "interrupted": interrupted,
        "refused": None,
        "before": [],
        "sequence": 1,
        "digest": "abc",
        "checksum": "abc",
        "seal": "abc",
        "undo": None,
        "summary": summary,
        "approvedBy": by,
    }
    return {**HEAD, "kind": "apply", **rest, **lists}  # type: ignore[typeddict-item]


COVERAGE: dict[str, Any] = {
    "livePools": 5,
    "namedPools": 4,
    "percent": 80.0,
    "liveAtoms": 0,
    "namedAtoms": 0,
    "unnamed": [],
}


def a_drift(*drifted: Drifted) -> DriftReport:
    kinds = {kind: sum(one["kind"] == kind for one in drifted) for kind in ("changed", "pending", "removed")}
    summary = {**kinds, "expected": 0, "entries": 4, "offers": 2, "waiting": []}
    rest = {"base": None, "selection": None, "snapshot": False, "coverage": COVERAGE}
    return {**HEAD, **rest, "kind": "drift", "drift": list(drifted), "summary": summary}  # type: ignore[typeddict-item]


def a_drifted(**fields: Any) -> Drifted:
    common = {"kind": "changed", "poolId": "pool_1", "key": "fra1-a", "toTenantId": "acme", "source": SOURCE}
    rest = {"what": "the offer differs", "changes": [{"path": "quota.gpu", "before": 64, "after": 32}]}
    event = {"since": NOW, "actorId": "sa_ops", "eventType": "pool.offered", "via": None, "expected": None}
    return {**common, **rest, **event, **fields}  # type: ignore[typeddict-item]


class TestApply:
    def test_all_done_is_one_line_and_the_digest(self) -> None:
        assert lines(an_apply(an_outcome()), below_plan=True) == ["Applied: 1 operation done.", "Digest: abc"]

    def test_nothing_to_do_is_said(self) -> None:
        assert lines(an_apply(), below_plan=True)[0] == "No changes: everything is as the files say."

    def test_in_part_says_what_failed_why_where_and_what_to_do(self) -> None:
        problem = a_problem(code="UNAVAILABLE", message="nobody answers", hint="look at it")
        failed = an_outcome("failed", n=2, problem=problem, attempts=3)
        blocked = an_outcome("blocked", n=3, action="unoffer", toTenantId="globex", waitsFor=[2])
        shown = lines(an_apply(an_outcome(), failed, blocked, an_outcome("notStarted", n=4, action="archive")))
        assert "  offer fra1-a to acme after 3 attempts  fleet.yaml:8" in shown
        assert "    UNAVAILABLE: nobody answers" in shown
        assert "      Hint: look at it" in shown
        assert "  withdraw fra1-a from globex (waits for #2)" in shown
        assert "Applied in part: 1 of 4 operations done, 1 failed, 1 blocked, 1 not started." in shown
        assert "Run the same command again to go on: what is done is not done twice." in shown

    def test_an_undo_ends_with_the_files_that_must_be_reverted_and_names_their_commit(self) -> None:
        shown = lines(reports.an_undo())
        assert (
            "Applied: 1 operation done (a part of the apply: 1 of its operations outside is still in place)." in shown
        )
        assert "2 operations need no undo: what they changed is as it was before." in shown
        assert "2 operations of it are not taken back." in shown
        assert "  archive fra1-old  fra1.yaml:7" in shown
        assert shown[-3].startswith("Revert the files too (that was of commit 0123456789ab): else")

    def test_where_nothing_was_done_it_is_not_called_a_part(self) -> None:
        failed, blocked = an_outcome("failed", problem=a_problem()), an_outcome("blocked", n=2, waitsFor=[1])
        shown = lines(an_apply(failed, blocked))
        assert "Not applied: 0 of 2 operations done, 1 failed, 1 blocked." in shown
        assert not any("in part" in line for line in shown)

    def test_an_expected_digest_is_of_the_whole_change(self) -> None:
        outcomes = an_outcome(), an_outcome("failed", n=2, problem=a_problem(code="UNAVAILABLE"))
        assert "Run the same command again" in lines(an_apply(*outcomes, by="plan"))[-2]
        assert "plan again, and approve the digest of what is left" in lines(an_apply(*outcomes, by="digest"))[-2]

    @pytest.mark.parametrize("by", ["hand", "plan", "digest"])
    def test_what_somebody_changed_meanwhile_is_planned_again(self, by: str) -> None:
        """The same command would take back what somebody just did; what else failed is in a new plan too."""
        mover = {"actorId": "sa_fleet", "fleet": "other", "digest": "e" * 64, "commit": "c" * 40}
        moved = an_outcome("failed", problem=a_problem(code="VERSION_CONFLICT"), movedBy=mover)
        rest = an_outcome("failed", n=2, problem=a_problem(code="UNAVAILABLE"))
        assert lines(an_apply(moved, rest, by=by))[-2] == (
            "What failed was changed meanwhile by sa_fleet's apply eeeeeeeeeeee (fleet other, commit cccccccccccc):"
            " plan again, and look at what that would take back."
        )

    @pytest.mark.parametrize("code", ["CONFLICT", "VERSION_CONFLICT", "INVALID_STATE"])
    def test_what_is_otherwise_and_nobody_knows_by_whom_is_planned_again(self, code: str) -> None:
        failed = an_outcome("failed", problem=a_problem(code=code))
        said = "What failed is not as it was planned from: plan again, and look at what that would take back."
        assert lines(an_apply(failed))[-2] == said

    def test_what_failed_for_one_change_is_told_together(self) -> None:
        by_hand = {"actorId": "alice\x1b[2J", "fleet": None, "digest": None, "commit": None}
        apply = {**by_hand, "actorId": "sa_fleet", "digest": "e" * 64}
        failed = [
            an_outcome(
                "failed", n=n, key=f"p{n}", problem=a_problem(code="VERSION_CONFLICT", message=f"no {n}"), movedBy=mover
            )
            for n, mover in enumerate([by_hand, apply, by_hand, by_hand, by_hand, apply])
        ]
        shown = lines(an_apply(*failed))
        at = shown.index("  4 operations  fleet.yaml:8")
        assert shown[at + 1] == r"    VERSION_CONFLICT: their objects were changed meanwhile by alice\x1b[2J"
        assert [line.split()[1] for line in shown[at + 2 : at + 6]] == ["p0", "p2", "p3", "p4"]
        assert "    VERSION_CONFLICT: no 1" in shown, "few are told as they are"
        assert "by alice\\x1b[2J and sa_fleet's apply eeeeeeeeeeee: plan again" in shown[-2]

    def test_why_nothing_new_was_started_comes_first_and_once(self) -> None:
        rest = [an_outcome("notStarted", n=n, note="the server no longer answers\x1b[2J") for n in (2, 3)]
        shown = lines(an_apply(an_outcome("failed", problem=a_problem()), *rest), below_plan=True)
        assert shown[0] == r"Nothing new was started: the server no longer answers\x1b[2J."
        assert sum("no longer answers" in line for line in shown) == 1

    def test_an_interruption_comes_first(self) -> None:
        assert lines(an_apply(an_outcome(), interrupted="SIGTERM"), below_plan=True)[0].startswith(
            "Interrupted by SIGTERM"
        )

    def test_verbose_lists_what_was_done(self) -> None:
        report = an_apply(an_outcome(found=True))
        assert "  offer fra1-a to acme (already as wished)" in lines(report, verbose=True)

    def test_what_was_done_is_listed_but_right_below_the_lines_that_told_it(self) -> None:
        report = an_apply(*(an_outcome(n=n, key=f"p{n}") for n in range(25)))
        shown = lines(report)
        at = shown.index("Done")
        assert shown[at + 1] == "  offer p0 to acme"
        assert shown[at + 21] == "  and 5 more (--verbose)"
        assert "Done" not in lines(report, below_plan=True)
        assert "  offer p24 to acme" in lines(report, below_plan=True, verbose=True)

    def test_what_was_found_done_is_counted_for_another_run_may_have_done_it(self) -> None:
        said = "by another run, or by a call whose answer was lost."
        found = an_outcome(found=True), an_outcome(n=2, found=True), an_outcome(n=3)
        assert f"2 operations were done already, {said}" in lines(an_apply(*found), below_plan=True)
        assert f"1 operation was done already, {said}" in lines(an_apply(*found[1:]), below_plan=True)
        assert not any("already" in line for line in lines(an_apply(found[2])))

    def test_progress_is_one_line(self) -> None:
        assert text.progress_line(an_outcome(), 3, 12) == "[ 3/12] done    offer fra1-a to acme"
        failed = an_outcome("failed", problem=a_problem(message="a\nb"))
        assert text.progress_line(failed, 12, 12) == "[12/12] failed  offer fra1-a to acme: CONFLICT: a\\nb"
        assert text.progress_line(failed, 12, 12, whole=False) == "[12/12] failed  offer fra1-a to acme: CONFLICT"


class TestDrift:
    @pytest.mark.parametrize("hash_", ["5d93" * 10, "5" * 40, "5d93" * 16])
    def test_names_a_commit_and_a_digest_by_12_digits_wherever_a_change_is_told(self, hash_: str) -> None:
        report = a_drift(a_drifted(via={"fleet": "other", "digest": hash_, "commit": hash_}))
        assert f"    via fleet other, digest {hash_[:12]}, commit {hash_[:12]}" in lines(report)
        assert json_.render(report).count(hash_) == 2

    def test_says_what_since_when_by_whom_and_via(self) -> None:
        via = {"fleet": "other", "commit": "abc", "secret": SENSITIVE, "reason": "a b"}
        shown = [line.strip() for line in lines(a_drift(a_drifted(via=via)))]
        start = shown.index("Changed behind the files' back")
        assert shown[start + 1 : start + 5] == [
            "fra1-a for acme  the offer differs  fleet.yaml:8",
            "quota.gpu  live 64, files 32",
            "since 2026-11-30 00:53:20 UTC by sa_ops (pool.offered)",
            'via fleet other, commit abc, reason "a b"',
        ]

    def test_an_event_without_a_change_says_so(self) -> None:
        assert "    via no apply: the call named no change" in lines(a_drift(a_drifted()))

    def test_what_was_changed_comes_before_what_is_only_pending(self) -> None:
        report = a_drift(a_drifted(kind="pending", since=None), a_drifted(kind="removed", key="fra1-r"), a_drifted())
        titles = [line for line in lines(report) if line in ("Changed behind the files' back", "Not applied yet")]
        assert titles == ["Changed behind the files' back", "Not applied yet"]
        assert lines(report)[-1] == "Drift: 1 changed, 1 removed, 1 pending."

    def test_many_that_drifted_alike_are_told_together_in_the_files_order(self) -> None:
        sources = [{**SOURCE, "line": 10 + n} for n in range(5)]
        alike = [a_drifted(key=f"fra1-{n}", source=sources[n], since=1000 * n) for n in (4, 1, 0, 3, 2)]
        shown = [line.strip() for line in lines(a_drift(*alike, a_drifted(key="fra1-x", actorId="sa_else")))]
        start = shown.index("Changed behind the files' back")
        assert shown[start + 1 : start + 6] == [
            "fra1-x for acme  the offer differs  fleet.yaml:8",
            "quota.gpu  live 64, files 32",
            "since 2026-11-30 00:53:20 UTC by sa_else (pool.offered)",
            "via no apply: the call named no change",
            "fra1-0, fra1-1, fra1-2 and 2 more (--verbose) for acme  the offer differs  fleet.yaml:10 and 4 more",
        ]
        assert shown[start + 7] == (
            "since 1970-01-01 00:00:00 UTC, the last 1970-01-01 00:00:04 UTC by sa_ops (pool.offered)"
        )
        assert "fra1-0, fra1-1, fra1-2, fra1-3, fra1-4 for acme" in text.render(a_drift(*alike), Look(verbose=True))
        assert lines(a_drift(*alike))[-1] == "Drift: 5 changed."

    @pytest.mark.parametrize(
        ("fields", "says"),
        [
            ({}, "4 of 5 live pools under code (80 %)"),
            ({"namedPools": 5, "percent": 100.0}, "5 of 5 live pools under code (100 %)"),
            ({"livePools": 1000, "namedPools": 999, "percent": 99.9}, "999 of 1,000 live pools under code (99.9 %)"),
            ({"liveAtoms": 1024, "namedAtoms": 8}, "4 of 5 live pools under code (80 %), 8 of 1,024 GPU atoms"),
            ({"livePools": 0, "namedPools": 0, "percent": None}, "no live pools"),
        ],
    )
    def test_how_much_is_under_code_is_said_of_the_whole_fleet(self, fields: Any, says: str) -> None:
        report: Any = {**a_drift(), "coverage": {**COVERAGE, **fields}}
        assert f"  coverage {says}" in lines(report)
        part = {**report, "selection": {"only": ["site=x"], "exclude": [], "outside": 0}}
        assert f"  coverage {says}, in the whole fleet" in lines(part)

    def test_no_drift_is_one_line(self) -> None:
        assert lines(a_drift())[-1] == "No drift. 4 pools, 2 offers as the files say."

    def test_a_missing_row_is_not_zero(self) -> None:
        missing = a_drifted(changes=[{"path": "quota.gpu", "after": 0}])
        assert "    quota.gpu  live no row (grants 0), files 0" in lines(a_drift(missing))

    @pytest.mark.parametrize("time", [10**30, -(10**17)])
    def test_a_time_that_no_calendar_holds_is_a_number(self, time: int) -> None:
        assert f"    since {time} ms by sa_ops (pool.offered)" in lines(a_drift(a_drifted(since=time)))


class TestProblems:
    def report(self, *problems: Problem) -> ErrorReport:
        return {"formatVersion": 1, "kind": "error", "problems": list(problems)}

    def test_a_place_comes_first(self) -> None:
        problem = a_problem(
            source=SOURCE, path="pools[0].class", message="no such class", hint="write infra", rule="pool.class"
        )
        assert lines(self.report(problem)) == [
            "fleet.yaml:8:5: pools[0].class: no such class [pool.class]",
            "  Hint: write infra",
        ]

    def test_without_a_place_the_code_does(self) -> None:
        assert lines(self.report(a_problem(code="UNAVAILABLE", message="no answer"))) == ["UNAVAILABLE: no answer"]

    def test_what_is_no_error_says_so(self) -> None:
        assert lines(self.report(a_problem(severity="warning", source=SOURCE))) == ["fleet.yaml:8:5: warning: no"]


def test_whoami_says_what_is_missing_and_whose_token_apply_needs() -> None:
    report: WhoamiReport = {
        "formatVersion": 1,
        "kind": "whoami",
        "server": SERVER,  # type: ignore[typeddict-item]
        "identity": {"id": "sa_ci", "tenantId": "root"},
        "pins": {"server": None, "tenantId": "root", "caller": "sa_fleet"},
        "missing": {"plan": ["compute:sites:read"], "apply": ["compute:pools:create"]},
        "clockOffsetMs": -5000,
    }
    assert [line.split(maxsplit=1) for line in lines(report)] == [
        ["identity", "sa_ci of tenant root"],
        ["server", "https://compute.example.com (instance inst_1)"],
        ["pins", "server (none), tenant root, caller sa_fleet"],
        ["plan", "missing compute:sites:read"],
        ["apply", "needs the token of sa_fleet"],
        ["clock", "the server's is 5.0 s behind this machine's"],
    ]


@pytest.mark.parametrize("make", [an_apply, a_drift, lambda: reports.a_plan([])], ids=["apply", "drift", "plan"])
@pytest.mark.parametrize(
    ("part", "removed", "waiting", "tone"),
    [
        (None, [], [], "good"),
        ({"only": ["key=a"], "exclude": [], "outside": 0}, [], [], "notice"),
        (None, ["fra1-gone"], [], "notice"),
        (None, [], ["fra1-full"], "notice"),
    ],
    ids=["all", "a part", "removed", "waiting"],
)
def test_only_where_all_is_as_the_files_say_it_is_good_that_nothing_differs(
    make: Any, part: Any, removed: list[str], waiting: list[str], tone: str
) -> None:
    report = make()
    if report["kind"] == "drift" and removed:
        report = a_drift(a_drifted(kind="removed", toTenantId=None))
    else:
        report = {**report, "selection": part, "summary": {**report["summary"], "removed": removed, "waiting": waiting}}
    said = outline(report).closing
    assert said[0][0].tone == tone
    kept = "1 pool is replaced, and is kept while it is in use."
    assert any(plain(sentence) == kept for sentence in said) == bool(waiting)
    assert (plain(said[0]) == "No changes: everything is as the files say.") == (make is an_apply and tone == "good")


class TestPart:
    """Of a part of a fleet nobody says that it is in sync."""

    PART: Any = {"only": ["key=fra1-*"], "exclude": [], "outside": 2}

    def test_a_plan_of_one_says_so_in_its_header_and_its_sum(self) -> None:
        shown = lines(reports.a_plan([], selection=self.PART))
        assert "  part     only key=fra1-*: a part of the fleet; 2 outside differ" in shown
        assert "No changes in the selection. 52 pools, 900 offers as wished; 2 outside differ." in shown
        assert "2 outside differ" in next(
            line for line in lines(reports.a_plan(selection=self.PART)) if "Plan:" in line
        )

    def test_an_apply_of_one_does_too(self) -> None:
        nothing, done = ({**an_apply(*outcomes), "selection": self.PART} for outcomes in ((), (an_outcome(),)))
        assert (
            lines(nothing, below_plan=True)[0]
            == "No changes in the selection. 55 pools, 900 offers as wished; 2 outside differ."
        )
        assert lines(done, below_plan=True)[0] == "Applied: 1 operation done (a part of the fleet: 2 outside differ)."

    def test_a_drift_of_one_does_too(self) -> None:
        report = {**a_drift(), "selection": {**self.PART, "outside": 1}}
        assert lines(report)[-1] == "No drift in the selection of 4 pools, 2 offers; 1 outside differs."

    def test_drift_that_is_expected_is_none_and_says_why(self) -> None:
        report = reports.a_drift(reports.drifted(expected="tried out"))
        assert lines(report)[-1] == "No drift. 60 pools, 900 offers as the files say or expect, 1 expected."
        assert "    expected: tried out" in lines(report)
