"""What is protected loses nothing, whatever an override says."""

from __future__ import annotations

from typing import Any

import pytest

from fleetctl.override import ALLOWABLE
from tests.fleetctl.guards.case import EVERYTHING, Case, entry, files, offers, pool_id, tombstone

TAKEN: dict[str, dict[str, Any]] = {
    "archive a": tombstone("a"),
    "withdraw a from acme": entry("a", offers=offers(globex=8), ownerQuota={"gpu": 8}),
    "leave acme no H100 in a": entry("a", offers=offers(acme={"gpu": 0, "vcpu": 1}, globex=8), ownerQuota={"gpu": 8}),
    "leave root no H100 in a": entry("a", offers=offers(acme=8, globex=8), ownerQuota={"gpu": 0}),
    "make a a pool of H200, no longer of H100": entry(
        "a", gpuModel="H200", offers=offers(acme=8, globex=8), ownerQuota={"gpu": 8}
    ),
}


@pytest.fixture
def case() -> Case:
    case = Case()
    case.pool("a", acme=8, globex=8, owner={"gpu": 8})
    case.pool("b")
    return case


def protecting(*names: str) -> dict[str, Any]:
    return {**EVERYTHING, "protect": list(names)}


@pytest.mark.parametrize("how", TAKEN)
@pytest.mark.parametrize("name", ["a", pool_id("a")])
def test_nothing_is_taken_from_a_protected_pool_named_by_key_or_id(case: Case, how: str, name: str) -> None:
    [problem] = case.judged(files(TAKEN[how], entry("b"), **protecting(name)))
    assert (problem.rule, problem.severity) == ("guard.protect", "error")
    assert problem.message == f"1 operation would take from what is protected: {how}"


@pytest.mark.parametrize("how", TAKEN)
def test_no_override_lets_it_pass(case: Case, how: str) -> None:
    allow: dict[str, int] = dict.fromkeys(ALLOWABLE, 9999)
    problems = case.judged(files(TAKEN[how], entry("b"), **protecting("a")), allow)
    [problem] = [problem for problem in problems if problem.severity == "error"]
    assert problem.rule == "guard.protect"
    assert "--allow" not in problem.hint
    assert "in a change of its own first" in problem.hint


@pytest.mark.parametrize(
    "wished",
    [
        entry("a", offers=offers(acme=1, globex=99), ownerQuota={"gpu": 1}),
        entry("a", offers=offers(acme=8, globex=8, initech=8), ownerQuota={"gpu": 8}),
        entry("a", offers=offers(acme=8, globex=8), ownerQuota={"gpu": 8}, policy={"maxPending": "6h"}),
    ],
)
def test_a_protected_pool_may_change_otherwise(case: Case, wished: dict[str, Any]) -> None:
    assert case.judged(files(wished, entry("b"), **protecting("a"))) == []


def test_an_offer_that_grants_no_gpu_is_not_withdrawn_either() -> None:
    case = Case()
    case.pool("a", acme={"gpu": 0, "vcpu": 8})
    assert case.blocked(files(entry("a", offers=[]), **protecting("a"))) == [("guard.protect", "")]


def test_a_pool_that_is_offered_to_nobody_may_change_its_model() -> None:
    case = Case()
    case.pool("a")
    assert case.judged(files(entry("a", gpuModel="H200", offers=[]), **protecting("a"))) == []


def test_more_gpus_of_another_model_are_none_of_those_that_are_protected() -> None:
    case = Case()
    case.pool("a", acme=8)
    [problem] = case.judged(files(entry("a", gpuModel="H200", offers=offers(acme=9)), **protecting("a")))
    assert problem.message == "1 operation would take from what is protected: leave acme no H100 in a"


def test_an_entry_protects_its_own_pool(case: Case) -> None:
    wished = files({**TAKEN["withdraw a from acme"], "protect": True}, entry("b"))
    assert case.blocked(wished) == [("guard.protect", "")]


def test_another_pool_is_not_protected(case: Case) -> None:
    assert case.judged(files(TAKEN["archive a"], entry("b"), **protecting("b"))) == []


@pytest.mark.parametrize("base", [files(entry("a", protect=True)), files(entry("a"), protect=["a"])])
def test_the_base_protects_too(case: Case, base: Any) -> None:
    """A change cannot remove its own guard, in whichever way it was written."""
    wished = files(TAKEN["archive a"], entry("b"), **EVERYTHING)
    assert case.blocked(wished, base=base)[0] == ("guard.protect", "")


def test_an_old_key_protects_a_renamed_entry(case: Case) -> None:
    wished = files(entry("a2", id=pool_id("a"), offers=offers(globex=8)), entry("b"), **protecting("a"))
    assert ("guard.protect", "") in case.blocked(wished)


def test_a_name_that_is_nobodys_protects_nothing_and_is_told(case: Case) -> None:
    keys = ["fra1-h100", "a"]
    case.pool("fra1-h100")
    wished = files(*map(entry, ["b", "fra1-h100"]), protect=["fra1-h10", "a", "fra1-h100"])
    [problem] = case.judged(wished)
    assert (problem.rule, problem.severity) == ("guard.protect", "warning")
    assert problem.message.startswith("fra1-h10 is protected")
    assert problem.hint == 'did you mean "fra1-h100"?', keys
    assert problem.source is not None


@pytest.mark.parametrize("how", TAKEN)
def test_beside_a_name_that_is_nobodys_nothing_is_taken_whatever_is_allowed(case: Case, how: str) -> None:
    """The name may be one that the taken pool had in its entry, which is gone."""
    wished = files(TAKEN[how], entry("b"), **protecting("a-new"))
    problems = case.judged(wished, dict.fromkeys(ALLOWABLE, 9999))
    [problem] = [problem for problem in problems if problem.severity == "error"]
    assert (problem.rule, problem.path) == ("guard.protect", "guards.protect")
    assert problem.message.endswith(f"it may be meant for what this plan takes, {how}")
    assert "write a key or id that the pool has" in problem.hint
    assert problem.source is not None


def test_a_renamed_pool_that_is_protected_by_its_new_key_is_not_archived_by_its_old_one() -> None:
    case = Case()
    case.pool("gpu-h100-mig")
    kept = entry("gpu-first-h100-mig", previously="gpu-h100-mig")
    assert case.judged(files(kept, **protecting("gpu-first-h100-mig"))) == []
    gone = files(tombstone("gpu-h100-mig"), **protecting("gpu-first-h100-mig"))
    [problem] = [problem for problem in case.judged(gone) if problem.severity == "error"]
    assert problem.rule == "guard.protect"
    assert 'did you mean "gpu-h100-mig"?' in problem.hint
    [known] = case.judged(gone, base=files(kept))
    assert known.message == "1 operation would take from what is protected: archive gpu-h100-mig"


def test_a_name_that_only_the_base_has_is_said_to_be_the_bases(case: Case) -> None:
    wished = files(TAKEN["archive a"], entry("b"), **EVERYTHING)
    [problem] = case.judged(wished, base=files(entry("b"), protect=["nobody"]))
    assert problem.severity == "error"
    assert problem.message.startswith("nobody is protected at the base, and neither")
    assert problem.source is None


def test_beside_a_name_that_is_nobodys_a_plan_may_give(case: Case) -> None:
    wished = files(entry("a", offers=offers(acme=9, globex=8), ownerQuota={"gpu": 8}), entry("b"), protect=["zzz"])
    assert [problem.severity for problem in case.judged(wished)] == ["warning"]
