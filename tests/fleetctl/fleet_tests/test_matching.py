"""What a test expects, held against a plan: parts match, everything else is told."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from fleetctl.desired import Place
from fleetctl.files import read_text
from fleetctl.fleet_tests import Case, Made, mismatches
from tests.timing import times_as_long


def an_operation(action: str = "offer", key: str = "a", tenant: str | None = "acme", **fields: Any) -> dict[str, Any]:
    usual = {"poolId": f"pool_{key}", "changes": [], "effects": [], "after": {"quota": {"gpu": 8}}, "severity": "safe"}
    return {"action": action, "key": key, "toTenantId": tenant, **usual, **fields}


def a_finding(rule: str = "guard.archives", severity: str = "error", **fields: Any) -> dict[str, Any]:
    return {"rule": rule, "severity": severity, "message": "2 archives, and one apply may do 1", "hint": "", **fields}


def told(made: Made, **expect: Any) -> list[str]:
    """What is otherwise than expected."""
    (document,) = read_text(b"expect: {}", "a.fleet-test.yaml")
    usual: dict[str, Any] = {"exit_code": made.exit_code, "operations": None, "findings": None, "others": False}
    case = Case(name="x", place=Place(document), fleet=Path("."), live=None, now=None, **{**usual, **expect})
    return [found.message for found in mismatches(case, made)]


class TestExitCode:
    @pytest.mark.parametrize(
        ("made", "operations", "expected", "passes"),
        [
            (0, 0, 0, True),
            (0, 1, 0, True),
            (0, 1, 2, True),
            (0, 0, 2, False),
            (3, 1, 3, True),
            (3, 1, 2, False),
            (3, 1, 0, False),
            (1, 0, 1, True),
            (1, 0, 0, False),
        ],
    )
    def test_2_is_for_changes_of_a_plan_that_is_not_blocked(
        self, made: int, operations: int, expected: int, passes: bool
    ) -> None:
        found = told(Made(made, [an_operation()] * operations, []), exit_code=expected)
        assert (found == []) is passes

    def test_says_what_blocks(self) -> None:
        (said,) = told(Made(3, [], [a_finding(), a_finding("x", "warning")]), exit_code=0)
        assert said == (
            "the exit code is 3, and 0 is expected: error guard.archives: 2 archives, and one apply may do 1"
        )


class TestParts:
    @pytest.mark.parametrize(
        ("wanted", "fits"),
        [
            ({}, True),
            ({"action": "offer", "key": "a"}, True),
            ({"key": "b"}, False),
            ({"toTenantId": None}, False),
            ({"after": {"quota": {}}}, True),
            ({"after": {"quota": {"gpu": 8.0}}}, True),
            ({"after": {"quota": {"gpu": True}}}, False),
            ({"after": {"quota": {"vcpu": 8}}}, False),
            ({"after": None}, False),
            ({"changes": [{"path": "quota.gpu"}]}, True),
            ({"changes": [{"path": "quota.gpu"}, {"path": "quota.gpu"}]}, False),
            ({"changes": []}, False),
            ({"effects": ["cannot be undone"]}, True),
            ({"effects": ["this key"]}, True),
            ({"effects": [""]}, False),
            ({"severity": "saf"}, False),
        ],
    )
    def test_a_part_of_a_map_a_list_or_a_sentence_is_enough(self, wanted: dict[str, Any], fits: bool) -> None:
        changes = [{"path": "quota.gpu", "before": 4, "after": 8}, {"path": "priority", "after": 1}]
        one = an_operation(changes=changes, effects=["cannot be undone: no pool can have this key again"])
        assert (told(Made(0, [one], []), operations=[wanted]) == []) is fits


class TestLists:
    def test_what_is_missing_is_told_with_the_nearest(self) -> None:
        made = Made(0, [an_operation(after={"quota": {"gpu": 4}}, changes=[{"path": "quota.gpu", "after": 4}])], [])
        said = told(made, operations=[{"action": "offer", "key": "a", "after": {"quota": {"gpu": 8}}}], others=True)
        assert said == [
            "no operation is {action: offer, key: a, after: {quota: {gpu: 8}}}; the nearest is "
            "offer a to acme (quota.gpu - -> 4): after.quota.gpu is 4, and 8 is expected"
        ]

    def test_what_is_not_expected_is_told_unless_others_may_be(self) -> None:
        made = Made(0, [an_operation(), an_operation("archive", "b", None)], [a_finding("x", "unchecked"), a_finding()])
        wanted: dict[str, Any] = {"operations": [{"key": "a"}], "findings": []}
        assert told(made, **wanted) == [
            "not expected: archive b",
            "not expected: error guard.archives: 2 archives, and one apply may do 1",
        ]
        assert told(made, **wanted, others=True) == []
        assert told(made) == []

    def test_many_that_are_not_expected_are_counted(self) -> None:
        said = told(Made(0, [an_operation(key=f"k{n}") for n in range(30)], []), operations=[])
        assert (len(said), said[-1]) == (11, "not expected: 20 other operations")

    @pytest.mark.parametrize("order", [*permutations(range(3))])
    def test_each_stands_for_one_whatever_the_order(self, order: tuple[int, ...]) -> None:
        """A vague one makes room for one that can be no other."""
        wanted = [{}, {"action": "offer"}, {"action": "offer", "key": "a", "toTenantId": "acme"}]
        found = [an_operation(), an_operation(tenant="globex"), an_operation("archive", "b", None)]
        assert told(Made(0, found, []), operations=[wanted[n] for n in order]) == []
        assert len(told(Made(0, found[:2], []), operations=[wanted[n] for n in order])) == 1

    @pytest.mark.parametrize("order", [*permutations(range(2))])
    def test_so_do_the_items_of_a_list_in_it(self, order: tuple[int, ...]) -> None:
        wanted = ["stay booked", "8 gpu in use stay booked"]
        one = an_operation(effects=["8 gpu in use stay booked", "3 gpu stay booked"])
        assert told(Made(0, [one], []), operations=[{"effects": [wanted[n] for n in order]}]) == []
        (said,) = told(Made(0, [one], []), operations=[{"key": "a", "effects": [*wanted, "stay"]}], others=True)
        assert said.endswith("effects has no stay")

    def test_what_was_not_checked_may_be_expected(self) -> None:
        made = Made(0, [], [a_finding("offer.tenant", "unchecked")])
        assert told(made, findings=[{"rule": "offer.tenant"}]) == []
        assert told(made, findings=[{"rule": "offer.tenant"}, {"rule": "offer.tenant"}]) != []

    def test_many_that_are_missing_are_counted(self) -> None:
        wanted = [{"action": "archive", "key": f"k{n}"} for n in range(30)]
        said = told(Made(0, [], []), operations=wanted)
        assert (said[9], said[10:]) == ("no operation is {action: archive, key: k9}", ["missing: 20 other operations"])


OPERATIONS: dict[str, Callable[[int], dict[str, Any]]] = {
    "each of its own pool": lambda n: an_operation(key=f"k{n}"),
    "all of one pool": lambda n: an_operation(tenant=f"t{n}"),
}


@pytest.mark.parametrize("action", ["offer", "unoffer"])
@pytest.mark.parametrize("one", OPERATIONS.values(), ids=OPERATIONS)
def test_many_cost_no_square_whether_they_are_there_or_not(one: Callable[[int], dict[str, Any]], action: str) -> None:
    def prepared(size: int) -> Callable[[], object]:
        found = [one(n) for n in range(size)]
        wanted = [{"action": action, "key": each["key"], "toTenantId": each["toTenantId"]} for each in found]
        return lambda: told(Made(0, found, []), operations=wanted)

    assert times_as_long(prepared, 250, 2000) < 24, "the square would be 64 times as long"


def test_no_mismatch_says_what_a_sensitive_name_stands_for() -> None:
    policy = {"password": "(sensitive)", "url": "https://(sensitive)@h"}
    made = Made(2, [an_operation(after={"policy": policy})], [])
    wanted: dict[str, Any]
    for wanted in ({"password": "HUNTER2"}, {"secret": {"a": ["HUNTER2"]}}, {"url": "https://u:HUNTER2@h"}):
        (said,) = told(made, operations=[{"key": "a", "after": {"policy": wanted}}], others=True)
        assert "HUNTER2" not in said
        assert "write (sensitive), as plans do" in said
    changes = [{"path": "policy.password", "before": "(sensitive)", "after": "(sensitive)"}]
    for after in ("HUNTER2", {"a": "HUNTER2"}):
        wanted = {"changes": [{"path": "policy.password", "after": after}]}
        (said,) = told(Made(2, [an_operation(changes=changes)], []), operations=[wanted], others=True)
        assert "HUNTER2" not in said
        assert "write (sensitive), as plans do" in said
    wanted = {"key": "a", "action": "update", "after": {"policy": {"password": "(sensitive)"}}}
    (said,) = told(made, operations=[wanted], others=True)
    assert "as plans do" not in said


@pytest.mark.parametrize(
    ("wanted", "found", "said"),
    [
        ("4", 4, 'is 4, and "4" is expected'),
        (4, "4", 'is "4", and 4 is expected'),
        ("null", None, 'is null, and "null" is expected'),
        ("true", True, 'is true, and "true" is expected'),
        ("[]", [], 'is [], and "[]" is expected'),
        ("", None, 'is null, and "" is expected'),
        ("four", 4, "is 4, and four is expected"),
    ],
)
def test_a_text_that_reads_like_another_type_is_shown_in_quotes(wanted: Any, found: Any, said: str) -> None:
    made = Made(2, [an_operation(before={"quota": {"gpu": found}})], [])
    (message,) = told(made, operations=[{"key": "a", "before": {"quota": {"gpu": wanted}}}], others=True)
    assert message.endswith(f"before.quota.gpu {said}")
