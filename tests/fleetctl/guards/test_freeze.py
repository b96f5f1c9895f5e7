"""Windows in which nothing is done, by the server's clock."""

from __future__ import annotations

import pytest

from tests.fleetctl.guards.case import NOW, Case, entry, files

# 2023-11-14T22:13:20Z
BEFORE, UNTIL = "2023-11-14T22:13:20Z", "2023-11-15T00:00:00Z"
WINDOW = {"from": BEFORE, "to": UNTIL, "reason": "holidays"}
END = NOW + 6_400_000
"""The end of the window in epoch milliseconds."""


@pytest.mark.parametrize(("now", "blocks"), [(NOW - 1, False), (NOW, True), (END - 1, True), (END, False)])
def test_a_window_holds_from_its_first_moment_up_to_its_end(now: int, blocks: bool) -> None:
    wished = files(entry("a"), entry("b"), freeze=[WINDOW])
    assert Case().blocked(wished, now=now) == ([("guard.freeze", "freeze=2")] if blocks else [])


def test_until_when_and_why_is_told() -> None:
    [problem] = Case().judged(files(entry("a"), freeze=[WINDOW]))
    assert problem.message == (
        "1 operation in a freeze until 2023-11-15 00:00:00 UTC: holidays, and none may run in it"
    )


def test_the_window_that_ends_last_is_told_first() -> None:
    longer = {"from": BEFORE, "to": "2023-12-01T00:00:00Z", "reason": "audit"}
    [problem] = Case().judged(files(entry("a"), freeze=[WINDOW, longer]))
    assert problem.message.index("audit") < problem.message.index("holidays")


def test_where_there_is_nothing_to_do_there_is_nothing_to_block() -> None:
    case = Case()
    case.pool("a")
    assert case.judged(files(entry("a"), freeze=[WINDOW])) == []


def test_an_override_lets_so_many_operations_run() -> None:
    wished = files(entry("a"), entry("b"), freeze=[WINDOW])
    assert Case().blocked(wished, {"freeze": 2}) == []
    assert Case().blocked(wished, {"freeze": 1}) == [("guard.freeze", "freeze=2")]


def test_the_base_freezes_too() -> None:
    assert Case().blocked(files(entry("a")), base=files(entry("a"), freeze=[WINDOW])) == [("guard.freeze", "freeze=1")]
