"""The only writer: order, parallel calls, answers held against wishes, and what becomes of the rest."""

from __future__ import annotations

import json
import threading
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import pytest

from fleetctl.apply.journal import Outcome
from tests.e2e.edge import Asked, Bend, apply_over, bent, planned, refusal, said, straight
from tests.e2e.homes import Home, entry

WRITES = ("create", "update", "offer", "unoffer", "set", "archive")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.fixture
def one_of_each(home: Home) -> Home:
    """Files that ask for one operation of every kind, none of which waits for another."""
    live = {key: entry(key, []) for key in ("update", "setQuota", "archive")}
    offered = {key: entry(key, {tenant: 8}) for key, tenant in (("offer", "acme"), ("unoffer", "globex"))}
    home.wish(*live.values(), *offered.values())
    home.apply()
    home.wish(
        entry("create", []),
        entry("update", [], policy={"maxPending": "6h"}),
        entry("offer", {"acme": 9}),
        entry("unoffer", []),
        entry("setQuota", [], ownerQuota={"gpu": 64}),
        {"idempotencyKey": "archive", "archived": True},
    )
    return home


def run(home: Home, bend: Bend, **settings: Any) -> tuple[Outcome, ...]:
    """Apply what the home's files ask for."""
    return apply_over(home, bend, planned(home), **settings)


def is_write(asked: Asked) -> bool:
    return asked.operation.partition("/")[2] in WRITES


def told(outcomes: tuple[Outcome, ...]) -> dict[str, str]:
    """What became of each operation, by action and pool."""
    return {
        f"{o.operation.action} {o.operation.key}"
        + (f" {o.operation.to_tenant_id}" if o.operation.to_tenant_id else ""): o.status
        for o in outcomes
    }


def test_every_kind_of_operation_is_done_in_the_plans_order_of_outcomes(one_of_each: Home) -> None:
    outcomes = run(one_of_each, straight)
    assert [o.operation.n for o in outcomes] == [1, 2, 3, 4, 5, 6]
    assert {(o.status, o.found, o.attempts) for o in outcomes} == {("done", False, 1)}
    assert one_of_each.is_settled()


def test_an_operation_starts_when_those_it_waits_for_are_done(home: Home) -> None:
    home.wish(entry("a", {"acme": 1, "globex": 1}))
    order: list[str] = []

    def bend(asked: Asked) -> httpx.Response:
        answer = asked.forward()
        order.append(asked.operation)
        return answer

    run(home, bend, parallelism=10)
    assert order == ["pools/create", "pools/offer", "pools/offer"]


def test_so_many_run_at_once_and_no_more(home: Home) -> None:
    home.wish(*(entry(f"k{n}", []) for n in range(9)))
    three = threading.Barrier(3, timeout=30)
    running: list[int] = []
    most = 0

    def bend(asked: Asked) -> httpx.Response:
        nonlocal most
        if is_write(asked):
            running.append(1)
            most = max(most, len(running))
            three.wait()
            running.pop()
        return asked.forward()

    assert set(told(run(home, bend, parallelism=3)).values()) == {"done"}
    assert most == 3


def test_a_failed_operation_blocks_what_waits_for_it_and_nothing_else(home: Home) -> None:
    home.wish(entry("a", {"acme": 1, "globex": 1}), entry("b", {"acme": 1}))

    def bend(asked: Asked) -> httpx.Response:
        refuse = asked.operation == "pools/create" and asked.body["idempotencyKey"] == "a"
        return refusal(409, "INVALID_STATE") if refuse else asked.forward()

    outcomes = run(home, bend)
    assert told(outcomes) == {
        "create a": "failed",
        "offer a acme": "blocked",
        "offer a globex": "blocked",
        "create b": "done",
        "offer b acme": "done",
    }
    failed = next(o.operation.n for o in outcomes if o.status == "failed")
    assert [o.waits_for for o in outcomes if o.status == "blocked"] == [(failed,)] * 2


def test_what_waits_for_a_blocked_operation_is_blocked_too(home: Home) -> None:
    home.wish(entry("old", {"acme": 8}))
    home.apply()
    home.wish({"idempotencyKey": "old", "archived": True}, entry("new", {"acme": 8}))
    outcomes = run(home, lambda a: refusal(409, "CONFLICT") if a.operation == "pools/create" else a.forward())
    assert told(outcomes) == {"create new": "failed", "offer new acme": "blocked", "archive old": "blocked"}


def test_a_call_that_goes_wrong_in_an_unknown_way_costs_itself_alone(home: Home) -> None:
    home.wish(entry("a", []), entry("b", []))

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == "pools/create" and asked.body["idempotencyKey"] == "a":
            raise RuntimeError("nobody thought of this")
        return asked.forward()

    outcomes = run(home, bend)
    assert told(outcomes) == {"create a": "failed", "create b": "done"}
    problem = next(o.problem for o in outcomes if o.problem)
    assert (problem.code, problem.rule) == ("INTERNAL_ERROR", "apply.call")
    assert "nobody thought of this" in problem.message


def test_nothing_new_is_started_once_it_is_to_stop(home: Home) -> None:
    home.wish(*(entry(f"k{n}", {"acme": 1}) for n in range(5)))
    stop = threading.Event()

    def bend(asked: Asked) -> httpx.Response:
        if is_write(asked):
            stop.set()
        return asked.forward()

    outcomes = run(home, bend, parallelism=1, stop=stop)
    assert sorted(o.status for o in outcomes) == ["done"] + ["notStarted"] * 9
    assert [o.waits_for for o in outcomes] == [()] * 10


GONE: dict[str, Bend] = {
    "no connection": lambda _: broken(httpx.ConnectError("refused")),
    "no answer": lambda _: broken(httpx.ReadTimeout("slow")),
    "a proxy that has no server": lambda _: httpx.Response(502, content=b"bad gateway"),
}


def broken(error: Exception) -> httpx.Response:
    raise error


@pytest.mark.parametrize("how", GONE)
def test_nothing_new_is_started_once_the_server_is_gone(home: Home, how: str) -> None:
    """Each of many would wait through attempts of its own."""
    home.wish(*(entry(f"k{n:02}", []) for n in range(20)))
    calls: list[str] = []

    def bend(asked: Asked) -> httpx.Response:
        calls.append(asked.operation)
        return asked.forward() if len(calls) == 1 else GONE[how](asked)

    outcomes = run(home, bend, parallelism=1)
    assert [o.status for o in outcomes] == ["done", "failed"] + ["notStarted"] * 18
    assert {o.note for o in outcomes[2:]} == {"the server no longer answers"}
    assert calls == ["pools/create"] * 6 + ["system/info"]


def test_an_operation_that_alone_gets_no_answer_ends_nothing(home: Home) -> None:
    home.wish(*(entry(f"k{n}", []) for n in range(4)))

    def bend(asked: Asked) -> httpx.Response:
        return GONE["no answer"](asked) if asked.body.get("idempotencyKey") == "k1" else asked.forward()

    assert sorted(told(run(home, bend, parallelism=1)).values()) == ["done"] * 3 + ["failed"]


@pytest.mark.parametrize(("how", "unknown"), [("no connection", False), ("no answer", True)])
def test_a_failure_says_where_it_may_have_been_done_all_the_same(home: Home, how: str, unknown: bool) -> None:
    home.wish(entry("a", []))
    [outcome] = run(home, lambda asked: GONE[how](asked) if is_write(asked) else asked.forward())
    assert outcome.problem is not None
    assert ("it may have been done all the same" in outcome.problem.hint) is unknown


def test_a_retry_that_cannot_be_journalled_hides_no_lost_answer(home: Home) -> None:
    class Full(BytesIO):
        def write(self, data: Any) -> int:
            if b'"retry"' in data:
                raise OSError(27, "File too large")
            return super().write(data)

    home.wish(entry("a", []))

    def bend(asked: Asked) -> httpx.Response:
        if is_write(asked):
            asked.forward()
            return GONE["no answer"](asked)
        return asked.forward()

    [outcome] = run(home, bend, journal=Full())
    assert outcome.problem is not None
    assert "File too large" in outcome.problem.message
    assert "it may have been done all the same" in outcome.problem.hint


def test_a_gateways_failure_in_the_words_of_a_control_plane_is_a_lost_answer(home: Home) -> None:
    home.wish(entry("a", []))
    for status, code in ((504, "UNAVAILABLE"), (500, "INTERNAL_ERROR")):
        [outcome] = run(home, lambda a, s=status, c=code: refusal(s, c) if is_write(a) else a.forward())  # type: ignore[misc]
        assert outcome.problem is not None
        assert "it may have been done all the same" in outcome.problem.hint


def test_a_call_that_was_sent_before_the_server_was_lost_may_have_been_done(home: Home) -> None:
    home.wish(entry("a", []))
    answers = [GONE["no answer"], *[GONE["no connection"]] * 9]
    [outcome] = run(home, lambda asked: answers.pop(0)(asked) if is_write(asked) else asked.forward())
    assert outcome.problem is not None
    assert "cannot connect" in outcome.problem.message
    assert "it may have been done all the same" in outcome.problem.hint


def test_nothing_more_is_written_once_another_control_plane_answers(home: Home) -> None:
    home.wish(*(entry(f"k{n}", []) for n in range(9)))
    calls: list[str] = []

    def bend(asked: Asked) -> httpx.Response:
        calls.append(asked.operation)
        answer = asked.forward()
        if len(calls) == 3:
            answer.headers["x-better-compute-instance"] = "inst_other"
        return answer

    outcomes = run(home, bend, parallelism=1)
    assert [o.status for o in outcomes] == ["done"] * 2 + ["failed"] + ["notStarted"] * 6
    assert outcomes[2].problem is not None
    assert "it may have done what this call asked for" in outcomes[2].problem.message
    assert {o.note for o in outcomes[3:]} == {"another control plane answers"}
    assert calls == ["pools/create"] * 3


def test_blocked_and_not_started_are_told_apart(home: Home) -> None:
    home.wish(entry("a", {"acme": 1}), entry("b", {"acme": 1}))
    stop = threading.Event()

    def bend(asked: Asked) -> httpx.Response:
        if not is_write(asked):
            return asked.forward()
        stop.set()
        return refusal(409, "INVALID_STATE")

    statuses = sorted(o.status for o in run(home, bend, parallelism=1, stop=stop))
    assert statuses == ["blocked", "failed", "notStarted", "notStarted"]


def test_progress_hears_of_all_that_ran(home: Home) -> None:
    home.wish(entry("a", {"acme": 1}), entry("b", []))
    heard: list[Outcome] = []
    refuse_b: Bend = lambda a: refusal(409, "CONFLICT") if a.body.get("idempotencyKey") == "b" else a.forward()  # noqa: E731
    outcomes = run(home, refuse_b, progress=heard.append)
    assert sorted(o.operation.n for o in heard) == sorted(o.operation.n for o in outcomes if o.status != "blocked")


# An answer that is another than the wish.

ANSWERS: list[tuple[str, dict[str, Any], str]] = [
    ("pools/create", {"id": "pool_other"}, "the server made pool_other where"),
    ("pools/create", {"archived": True, "archivedAt": 1}, "was archived meanwhile"),
    ("pools/create", {"gpuModel": "H200"}, "gpuModel H200, not H100"),
    ("pools/create", {"policy": {"maxPending": "1h"}}, "another policy.maxPending"),
    ("pools/update", {"policy": {"maxPending": "1h"}}, "another policy.maxPending"),
    ("pools/offer", {"priority": 3}, "another priority"),
    ("pools/offer", {"includeDescendants": True}, "another includeDescendants"),
    ("pools/archive", {"archived": False, "archivedAt": ...}, "the pool is not archived"),
]


@pytest.mark.parametrize(("operation", "fields", "said"), ANSWERS)
def test_a_server_that_answers_with_something_else_did_not_do_it(
    one_of_each: Home, operation: str, fields: dict[str, Any], said: str
) -> None:
    outcomes = run(one_of_each, lambda a: bent(a, **fields) if a.operation == operation else a.forward())
    [failed] = [o for o in outcomes if o.status == "failed"]
    assert failed.problem is not None
    assert (failed.problem.code, failed.problem.rule) == ("CONFLICT", "apply.answer")
    assert said in failed.problem.message


def test_values_in_other_words_are_no_other_answer(one_of_each: Home) -> None:
    outcomes = run(
        one_of_each,
        lambda a: bent(a, policy={"maxPending": "360m"}) if a.operation == "pools/update" else a.forward(),
    )
    assert {o.status for o in outcomes} == {"done"}


def test_an_answer_that_nobody_understands_is_a_failure(home: Home) -> None:
    home.wish(entry("a", []))
    outcomes = run(home, lambda a: said(a.forward(), []) if is_write(a) else a.forward())
    assert [o.problem.code for o in outcomes if o.problem] == ["UNAVAILABLE"]


# A precondition that no longer holds.


def twice(asked: Asked) -> httpx.Response:
    """Done, but the answer gets lost: it is asked for once more."""
    if is_write(asked):
        asked.forward()
    return asked.forward()


def test_what_is_as_wished_already_is_done(one_of_each: Home) -> None:
    found = {o.operation.action: o.found for o in run(one_of_each, twice) if o.status == "done"}
    assert found == {
        "create": False,
        "update": True,
        "offer": True,
        "setQuota": True,
        "unoffer": True,
        "archive": False,
    }


@pytest.mark.parametrize(
    ("action", "operation", "body"),
    [
        ("update", "pools/update", {"policy": {"maxPending": "7d"}}),
        ("offer", "pools/offer", {"toTenantId": "acme", "quota": {"gpu": 1}}),
        ("setQuota", "quotas/set", {"toTenantId": "root", "quota": {"gpu": 1}}),
    ],
)
def test_what_is_otherwise_by_then_is_a_failure_and_stays(
    one_of_each: Home, action: str, operation: str, body: dict[str, Any]
) -> None:
    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == operation:
            with one_of_each.hand() as hand:
                hand.call(operation, {"poolId": asked.body["poolId"], **body})
        return asked.forward()

    outcomes = run(one_of_each, bend)
    assert [(o.operation.action, o.problem.code) for o in outcomes if o.problem] == [(action, "VERSION_CONFLICT")]
    assert [o["key"] for o in one_of_each.plan().report["operations"]] == [action]


MOVED: dict[str, tuple[str, dict[str, Any], str]] = {
    "update": ("pools/update", {"policy": {"maxPending": "7d"}}, "pool.updated"),
    "offer": ("pools/offer", {"toTenantId": "acme", "quota": {"gpu": 1}}, "pool.offered"),
    "setQuota": ("quotas/set", {"toTenantId": "root", "quota": {"gpu": 1}}, "quota.updated"),
    "archive": ("pools/offer", {"toTenantId": "acme", "quota": {"gpu": 1}}, "pool.offered"),
}
"""What somebody else does to the object of each kind of operation, and the event that tells of it."""


def moved(home: Home, asked: Asked, who: str, via: dict[str, Any] | None = None) -> None:
    """Somebody does to the object of a write what stands above."""
    action = asked.operation.partition("/")[2].replace("set", "setQuota")
    if is_write(asked) and action in MOVED:
        operation, body, _ = MOVED[action]
        with home.hand(who) as hand:
            hand.under(via or {}).call(operation, {"poolId": asked.body["poolId"], **body})


def test_a_conflict_says_who_moved_the_object(one_of_each: Home) -> None:
    asked_of: list[str] = []

    def bend(asked: Asked) -> httpx.Response:
        asked_of.append(asked.operation)
        moved(one_of_each, asked, "sa_hand")
        return asked.forward()

    failed = {str(o.operation.action): o.problem for o in run(one_of_each, bend) if o.problem}
    assert set(failed) == set(MOVED)
    for action, (_, _, event) in MOVED.items():
        assert f"; {event} by sa_hand at 20" in failed[action].message
    assert asked_of.count("events/list") == len(MOVED), "one request more for each, and for no other"


def test_the_loser_of_two_applies_of_one_caller_says_by_which_run(one_of_each: Home) -> None:
    def bend(asked: Asked) -> httpx.Response:
        moved(one_of_each, asked, "sa_fleet", {"fleet": "default", "digest": "d" * 64, "commit": "c" * 40})
        return asked.forward()

    for problem in (o.problem for o in run(one_of_each, bend) if o.problem):
        assert "by sa_fleet at" in problem.message
        assert "default" in problem.message
        assert "cccccccccccc" in problem.message


@pytest.mark.parametrize("answer", [refusal(403, "ACCESS_DENIED"), refusal(503, "UNAVAILABLE")])
def test_a_conflict_is_told_also_where_no_event_tells_by_whom(one_of_each: Home, answer: httpx.Response) -> None:
    def bend(asked: Asked) -> httpx.Response:
        moved(one_of_each, asked, "sa_hand")
        return answer if asked.operation == "events/list" else asked.forward()

    problems = [o.problem for o in run(one_of_each, bend) if o.problem]
    assert {problem.code for problem in problems} == {"VERSION_CONFLICT"}
    assert not any("sa_hand" in problem.message for problem in problems)


def test_a_quota_with_a_row_more_is_not_as_wished(one_of_each: Home) -> None:
    """What is written is kept exact."""

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == "quotas/set":
            with one_of_each.hand() as hand:
                whole = {name: value for name, value in asked.body.items() if name != "expectedVersion"}
                hand.call("quotas/set", {**whole, "quota": {"gpu": 64, "vcpu": 5}})
        return asked.forward()

    (failed,) = [o for o in run(one_of_each, bend) if o.problem]
    assert (failed.operation.action, failed.problem and failed.problem.code) == ("setQuota", "VERSION_CONFLICT")
    assert [o["key"] for o in one_of_each.plan().report["operations"]] == ["setQuota"]


@pytest.mark.parametrize("operation", ["pools/update", "quotas/set"])
def test_what_was_archived_meanwhile_is_not_as_wished(one_of_each: Home, operation: str) -> None:
    """Somebody made the very change, and archived the pool: no later plan can change it any more."""

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == operation:
            asked.forward()
            with one_of_each.hand() as hand:
                hand.call("pools/archive", {"poolId": asked.body["poolId"]})
        return asked.forward()

    (failed,) = [o for o in run(one_of_each, bend) if o.problem]
    assert failed.problem is not None
    assert failed.problem.code in ("VERSION_CONFLICT", "INVALID_STATE")


def test_a_pool_that_another_apply_made_with_another_owner_quota_was_not_created(home: Home) -> None:
    home.wish(entry("a", [], ownerQuota={"gpu": 10}))

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == "pools/create":
            with home.hand("sa_fleet") as other:
                other.call("pools/create", {**asked.body, "ownerQuota": {"gpu": 5}})
        return asked.forward()

    (outcome,) = run(home, bend)
    assert outcome.problem is not None
    assert "ownerQuota.gpu" in outcome.problem.message
    assert [o["action"] for o in home.plan().report["operations"]] == ["setQuota"]


def test_a_state_that_cannot_be_read_is_not_as_wished(one_of_each: Home) -> None:
    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == "pools/get":
            return refusal(500, "INTERNAL_ERROR")
        return twice(asked)

    failed = {o.operation.action for o in run(one_of_each, bend) if o.status == "failed"}
    assert failed == {"update", "offer", "setQuota"}


# What is told of every call.


def test_every_call_names_the_change_that_it_belongs_to(one_of_each: Home) -> None:
    named: dict[str, Any] = {}

    def bend(asked: Asked) -> httpx.Response:
        if is_write(asked):
            named[asked.operation] = json.loads(asked.headers["x-better-compute-change"])
        return asked.forward()

    outcomes = run(one_of_each, bend)
    assert {change["operation"] for change in named.values()} == {o.operation.digest for o in outcomes}
    assert {change["fleet"] for change in named.values()} == {"default"}
    assert len({change["digest"] for change in named.values()}) == 1


def test_attempts_are_counted_and_journalled(home: Home) -> None:
    home.wish(entry("a", []))
    answers = [refusal(503, "UNAVAILABLE"), refusal(429, "RATE_LIMITED")]
    journal = BytesIO()
    [outcome] = run(home, lambda a: answers.pop() if is_write(a) and answers else a.forward(), journal=journal)
    assert (outcome.status, outcome.attempts) == ("done", 3)
    lines = [json.loads(line) for line in journal.getvalue().splitlines()]
    assert lines.pop(0)["event"] == "begin"
    assert [(line["event"], line.get("attempt", line.get("limit")), line.get("code")) for line in lines] == [
        ("attempt", 1, None),
        ("slower", 2, None),
        ("retry", 2, "RATE_LIMITED"),
        ("slower", 1, None),
        ("retry", 3, "UNAVAILABLE"),
        ("done", 3, None),
    ]


def test_a_change_too_long_to_name_is_told_and_nothing_is_sent(home: Home) -> None:
    home.wish(entry("a", []), fleet="f" * 128)
    sent: list[str] = []

    def bend(asked: Asked) -> httpx.Response:
        sent.append(asked.operation)
        return asked.forward()

    [outcome] = run(home, bend, digest="d" * 2048)
    assert outcome.problem is not None
    assert (outcome.status, outcome.problem.rule, sent) == ("failed", "client.change", [])
