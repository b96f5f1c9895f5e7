"""Guards and checks that two sides had before what came after both."""

from __future__ import annotations

from typing import Any

import pytest

from fleetctl.together.limits import governed_before
from tests.fleetctl.together.sides import wish


def fleet(guards: Any = None, **checks: str) -> Any:
    said = [{"name": name, "severity": "deny", "expr": expr, "message": "no"} for name, expr in checks.items()]
    return wish([], guards=guards or {}, checks=said)


@pytest.mark.parametrize(
    ("was", "ours", "theirs", "found"),
    [
        (1, 1, 2, 2),
        (1, 2, 1, 2),
        (2, 1, 2, 1),
        (1, 2, 2, 2),
        (1, 3, 2, 3),
        (3, 1, 2, 3),
        (1, None, 2, None),
        (1, None, 1, None),
    ],
)
def test_a_guard_is_as_the_one_has_it_who_changed_it_and_else_the_laxest(
    was: Any, ours: Any, theirs: Any, found: Any
) -> None:
    before, own, their = (fleet({"maxOversell": each}) for each in (was, ours, theirs))
    assert governed_before(own, their, before).guards.max_oversell == found


def test_what_is_protected_is_what_both_left_and_either_added() -> None:
    before, own, their = (fleet({"protect": list(names)}) for names in ("abc", "abx", "bcy"))
    assert governed_before(own, their, before).guards.protect == set("bxy")


def test_a_check_is_as_the_one_has_it_who_changed_it_and_none_where_both_did() -> None:
    before = fleet(kept="1 == 1", gone="1 == 1", mine="1 == 1", both="1 == 1")
    own = fleet(kept="1 == 1", gone="1 == 1", mine="2 == 2", both="2 == 2", new="1 == 1")
    their = fleet(kept="1 == 1", mine="1 == 1", both="3 == 3", other="1 == 1")
    found = {check.name: check.expr for check in governed_before(own, their, before).checks}
    assert found == {"kept": "1 == 1", "mine": "2 == 2", "new": "1 == 1", "other": "1 == 1"}
