"""Every field of a policy, with values that are fine and values that are not."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.bounds import HostBounds
from better_compute.domain.policy import check_policy, validate
from better_compute.domain.policy.fields import FIELDS
from better_compute.domain.policy.rules import RULES
from better_compute.domain.policy.scope import Scope
from better_compute.domain.problems import NOT_FOUND, ComputeError, Problem
from tests.better_compute.domain.policy.table import ATTESTORS, SEVERITY, Case, cases, rows


def judged(case: Case, **more: Any) -> list[Problem]:
    known: dict[str, Any] = {
        "sharing": case.fields["sharing"],
        "class_": case.fields["class"],
        "model": case.fields["gpuModel"],
        "agent": case.fields["agent"],
        "attestors": ATTESTORS,
        "bounds": case.bounds,
        "before": case.before,
    }
    return check_policy(case.policy, **(known | more))


def test_every_field_has_a_row_with_values_of_both_kinds() -> None:
    assert rows().keys() == FIELDS.keys() | {""}
    for row, verdicts in rows().items():
        assert verdicts["fine"], row
        assert verdicts.get("refused") or row == "", row


@pytest.mark.parametrize("case", [case for case in cases() if case.verdict == "fine"], ids=str)
def test_nothing_is_said_of_a_value_that_is_fine(case: Case) -> None:
    assert judged(case) == []


@pytest.mark.parametrize("case", [case for case in cases() if case.verdict != "fine"], ids=str)
def test_a_value_that_is_not_is_one_finding_at_its_place_with_what_to_write(case: Case) -> None:
    (problem,) = judged(case)
    assert (problem.severity, problem.path) == (SEVERITY[case.verdict], case.path)
    assert problem.hint == case.hint
    assert problem.code == "INVALID_INPUT"


# --- what is not known ------------------------------------------------------------------------------------------


def test_hosts_that_are_not_known_leave_one_question_open_and_only_where_the_policy_takes_of_them() -> None:
    for case in cases():
        if not case.inventories:
            continue
        problems = judged(case, bounds=None)
        assert "error" not in [problem.severity for problem in problems], case
        assert [problem.severity for problem in problems] == ["unchecked"], case
    assert check_policy({"maxPending": "6h"}, sharing=None, class_=None, attestors=None, bounds=None) == []


# --- a validator that fails -------------------------------------------------------------------------------------

KUBERNETES = {"kubernetes": {"version": "v1.31.2"}, "iommu": "off"}


def planted(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> list[Problem]:
    """What is said of a policy when the validator of kubernetes fails so."""

    def fail(_: Scope) -> list[Problem]:
        raise fault

    rules = tuple((top, fail if top == "kubernetes" else rule) for top, rule in RULES)
    monkeypatch.setattr(validate, "RULES", rules)
    return check_policy(KUBERNETES, sharing="exclusive", class_="vps-host", attestors=None)


@pytest.mark.parametrize("fault", [KeyError("hunter2"), RecursionError("hunter2"), ZeroDivisionError()])
def test_a_validator_that_fails_refuses_as_bad_input_and_the_others_still_judge(
    monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    iommu, failed = planted(monkeypatch, fault)
    assert iommu.rule == "policy.iommu"
    assert (failed.code, failed.severity, failed.rule) == ("INVALID_INPUT", "error", "policy.validator")
    assert failed.message.startswith("policy: the validator of kubernetes failed")
    assert "hunter2" not in repr(failed), "what the failure says may hold a value of the policy"


def test_what_a_validator_raises_as_a_refusal_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = Problem(NOT_FOUND, "policy.kubernetes", "no such release", "policy.kubernetes.version")
    assert planted(monkeypatch, ComputeError(refusal))[1:] == [refusal]


@pytest.mark.parametrize("value", [None, True, -1, 0, 1.5, 10**15, "4-63", "", [], {}, [1], [{"count": True}]], ids=str)
def test_values_of_any_kind_in_any_field_make_no_validator_fail(value: Any) -> None:
    small = HostBounds(vcpu=4, memory_mib=4096, room_mib=0)
    for case in cases():
        for top, held in case.policy.items():
            wrong = dict.fromkeys(held, value) if isinstance(held, dict) else value
            problems = check_policy(
                case.policy | {top: wrong},
                sharing=case.fields["sharing"],
                class_="vps-host",
                attestors=ATTESTORS,
                model="GH200",
                agent="none",
                bounds=small,
                before={top: wrong},
            )
            assert "policy.validator" not in {problem.rule for problem in problems}, (case, problems)
