"""Kind d: answers that do not come, or ask to wait, and what is done twice, missed or given up for it (K035, K036,
K039, K041, K042, K044; K037 is among the tests of reading)."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import httpx
import pytest

from better_compute.api.handle import handler
from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.plane import opened
from better_compute.client import Calls, Client, Retry
from better_compute.domain.problems import ComputeError
from better_compute.http import Http, InProcess
from better_compute.iam import Trusted
from better_compute.service import core
from fleetctl.apply import answers
from fleetctl.apply.attempts import UNSEEN
from fleetctl.apply.journal import Outcome
from tests.better_compute.plane import CARD
from tests.e2e.edge import Asked, Bend, refusal, straight
from tests.e2e.homes import H100, Home, entry, pool_id
from tests.fleetctl.apply.timed import Stage

ONE_OF_EACH = ("create", "update", "offer", "setQuota", "unoffer", "archive")
WRITES = {
    "pools/create": "pool.created",
    "pools/update": "pool.updated",
    "pools/offer": "pool.offered",
    "pools/unoffer": "pool.unoffered",
    "quotas/set": "quota.updated",
    "pools/archive": "pool.archived",
}
"""Every call that an apply may make, and the event of each."""


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.fixture
def each(home: Home) -> Home:
    """Files that ask for one operation of every kind."""
    home.wish(
        entry("update", []),
        entry("setQuota", []),
        entry("archive", []),
        entry("offer", {"acme": 8}),
        entry("unoffer", {"globex": 8}),
    )
    home.apply()
    home.wish(
        entry("create", []),
        entry("update", [], policy={"maxPending": "6h"}),
        entry("setQuota", [], ownerQuota={"gpu": 64}),
        entry("offer", {"acme": 9}),
        entry("unoffer", []),
        {"idempotencyKey": "archive", "archived": True},
    )
    return home


def lost(times: int, sent: list[Asked]) -> Bend:
    """Every write is done, and so many answers of each do not come: its client waits in vain."""
    met: Counter[str] = Counter()

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation not in WRITES:
            return asked.forward()
        sent.append(asked)
        answer = asked.forward()
        met[asked.operation] += 1
        if met[asked.operation] <= times:
            raise httpx.ReadTimeout("slow")
        return answer

    return bend


def became(outcomes: tuple[Outcome, ...]) -> dict[str, str]:
    """What became of each operation, by its pool's key."""
    return {str(o.operation.key): o.status for o in outcomes}


# K035 fresh-token-per-retry.


def check_made_once(home: Home, stage: Stage) -> None:
    """Two answers of each write get lost: it was asked for three times in the same words, and done and told once."""
    sent: list[Asked] = []
    before = len(home.events())
    outcomes = stage.applied(home, lost(2, sent))
    assert became(outcomes) == dict.fromkeys(ONE_OF_EACH, "done")
    for operation in WRITES:
        bodies = [asked.body for asked in sent if asked.operation == operation]
        assert bodies[1:] == bodies[:1] * (len(bodies) - 1)
    assert Counter(event.type for event in home.events()[before:]) == Counter(WRITES.values())
    assert home.is_settled()


def test_k035_what_is_asked_again_is_asked_in_the_same_words_and_done_once(each: Home, stage: Stage) -> None:
    check_made_once(each, stage)


def test_k035_the_key_of_a_rerun_is_that_of_the_files(home: Home) -> None:
    """The first run ends before any answer came; another one, later, plans anew."""
    home.wish(entry("fra1", [], policy={"maxPending": "6h"}))
    keys = []
    for _ in range(2):
        sent: list[Asked] = []
        Stage().applied(home, lost(99, sent))
        keys += [asked.body["idempotencyKey"] for asked in sent]
        home.wish(entry("fra1", [], policy={"maxPending": "6h"}), entry("ams1", []))
    assert set(keys[:5]) == {"fra1"}
    assert set(keys[5:]) == {"ams1"}, "what is there by then is not made again"
    assert Counter(event.type for event in home.events()) == {"pool.created": 2}


def test_k035_a_key_made_for_each_attempt_is_caught(each: Home, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault."""
    send = Calls._send

    def anew(self: Calls, operation: str, data: bytes) -> Any:
        body = json.loads(data)
        if "idempotencyKey" in body:
            body["idempotencyKey"] += uuid.uuid4().hex
        return send(self, operation, json.dumps(body).encode())

    monkeypatch.setattr(Calls, "_send", anew)
    with pytest.raises(AssertionError, match="'create': 'failed'"):
        check_made_once(each, stage)


# K036 error-after-commit.


def broken(*_: object) -> None:
    raise RuntimeError("the notifier is down")


def check_done_for_good(home: Home) -> None:
    """Whatever follows a commit goes wrong, and every write is answered as done; said again, it is the same one."""
    with opened(str(home.database), SYSTEM) as plane:
        hooks = dict.fromkeys(("created", "freed", "changed", "placed"), broken)
        service = replace(plane.service, **hooks)  # type: ignore[arg-type]
        http = Http("here", token="sa_fleet", transport=InProcess(handler(service, Trusted(plane.store))))
        tenant = Http("here", token="sa_acme", transport=InProcess(handler(service, Trusted(plane.store))))
        retry = Retry(lambda _: None, lambda: 0.0, SYSTEM.clock, attempts=1)
        root, acme = Client(Calls(http, "root", retry)), Client(Calls(tenant, "acme", retry))
        (pool,) = {root.call("pools/create", {**H100, "idempotencyKey": "a"})["id"] for _ in range(2)}
        for step in (
            ("pools/offer", {"toTenantId": "acme", "quota": {"gpu": 8}}),
            ("pools/update", {"policy": {"maxPending": "6h"}}),
            ("quotas/set", {"toTenantId": "acme", "quota": {"gpu": 16}}),
        ):
            for _ in range(2):
                root.call(step[0], {"poolId": pool, **step[1]})
        token = root.nodes.create_join_token(pool).join_token
        root.nodes.join(pool, join_token=token, inventory={"gpus": [CARD] * 8})
        booked = [acme.reservations.create(pool, {"gpu": 2}, idempotency_key="r1").id for _ in range(2)]
        assert len(set(booked)) == 1
        (row,) = [row for row in root.quotas.list(pool, "acme") if row.resource == "gpu"]
        assert row.used == 2
        assert [acme.reservations.end(booked[0]).state for _ in range(2)] == ["ended"] * 2
        assert [root.call("pools/unoffer", {"poolId": pool, "toTenantId": "acme"})["removed"] for _ in range(2)] == [
            True,
            False,
        ]
        assert [root.call("pools/archive", {"poolId": pool})["archived"] for _ in range(2)] == [True] * 2
    kinds = Counter(event.type for event in home.events())
    assert {kinds[kind] for kind in WRITES.values()} == {1}


def test_k036_what_follows_a_commit_changes_no_answer(home: Home) -> None:
    check_done_for_good(home)


def test_k036_what_follows_a_commit_and_is_not_kept_apart_is_caught(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: a finished write becomes an error of the server's."""
    monkeypatch.setattr(core, "attempt", lambda work, _: work())
    with pytest.raises(ComputeError, match="something went wrong here"):
        check_done_for_good(home)


# K039 retry-after-odd-values.

DATE = "Fri, 15 Jan 2027 08:00:%02d GMT"
"""The day at whose hour the stage's clock begins; its first answer comes a tenth of a second later."""
ODD: list[tuple[Mapping[str, str], float | None]] = [
    ({"retry-after": "-1"}, 0.0),
    ({"retry-after": "0"}, 0.0),
    ({"retry-after": "2"}, 2.0),
    ({"retry-after": "2.5"}, 2.5),
    ({"retry-after": "60"}, 60.0),
    ({"retry-after": DATE % 33, "date": DATE % 30}, 3.0),
    ({"retry-after": DATE % 3}, 2.9),
    ({"retry-after": DATE % 3, "date": "yesterday"}, 2.9),
    ({"retry-after": "Fri, 15 Jan 1999 08:00:03 GMT"}, 0.0),
    ({"retry-after": "Fri, 15 Jan 1999 08:00:03 GMT", "date": DATE % 30}, 0.0),
    ({"retry-after": "abc"}, None),
    ({"retry-after": ""}, None),
    ({"retry-after": "9" * 400}, None),
    ({"retry-after": "Fri, 15 Jan 99999 08:00:03 GMT"}, None),
    ({}, None),
]


def check_waits(
    home: Home, headers: Mapping[str, str], wait: float | None, *, random: float = 0.0, **body: int
) -> None:
    """A create that is refused once is made again that long after, in the same words; None: after a backoff."""
    stage = Stage()
    sent: list[Any] = []

    def bend(asked: Asked) -> httpx.Response:
        sent.append(asked.body)
        error = {"code": "UNAVAILABLE", "message": "busy", **body}
        return asked.forward() if len(sent) > 1 else httpx.Response(503, json={"error": error}, headers=dict(headers))

    home.wish(entry("a", []))
    (outcome,) = stage.applied(home, bend, random=random)
    assert (outcome.status, outcome.attempts) == ("done", 2)
    assert sent[0] == sent[1]
    longest = Retry(lambda _: None, lambda: 1.0, lambda: 0).backoff(1)
    least, most = (random * longest,) * 2 if wait is None else (wait, wait * 1.1)
    assert least - 1e-6 <= stage.begun[1][0] - stage.seconds <= most + 1e-6, "it waits another time"


@pytest.mark.parametrize(("headers", "wait"), ODD, ids=lambda value: str(value)[:60])
def test_k039_an_odd_wait_is_no_less_than_asked_and_no_failure(
    home: Home, headers: Mapping[str, str], wait: float | None
) -> None:
    check_waits(home, headers, wait, random=0.5)


@pytest.mark.parametrize(
    ("header", "body", "wait"),
    [(None, 1500, 1.5), ("1", 250, 0.25), ("2", 1500, 1.5), ("9", 250, 9.0), ("1", 7000, 7.0)],
)
def test_k039_of_two_ways_to_ask_the_longer_counts_and_the_exact_one_where_they_are_one(
    home: Home, header: str | None, body: int, wait: float
) -> None:
    check_waits(home, {} if header is None else {"retry-after": header}, wait, retryAfterMs=body)


@pytest.mark.parametrize(
    "headers", [{"retry-after": "86400"}, {"retry-after": "Sat, 16 Jan 2027 08:00:00 GMT"}], ids=str
)
def test_k039_a_day_is_not_waited_for(home: Home, stage: Stage, headers: dict[str, str]) -> None:
    home.wish(entry("a", []), entry("b", []))
    outcomes = stage.applied(home, lambda _: httpx.Response(429, headers=headers), parallelism=1)
    assert [o.status for o in outcomes] == ["failed", "notStarted"]
    assert outcomes[0].problem is not None
    assert "longer than 60 s: gave up" in outcomes[0].problem.message
    assert "the server asks to wait 86" in outcomes[1].note
    assert len(stage.begun) == 1


@pytest.mark.parametrize(("headers", "wait"), [ODD[0], ODD[2], ODD[5], ODD[8]], ids=lambda value: str(value)[:60])
def test_k039_a_wait_that_is_not_understood_is_caught(
    home: Home, headers: Mapping[str, str], wait: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: it is nonsense, and chance alone says how long to wait."""
    monkeypatch.setattr(Retry, "_header", lambda *_: None)
    with pytest.raises(AssertionError, match="it waits another time"):
        check_waits(home, headers, wait, random=0.5)


# K041 not-visible-right-after-create.


def lagging(stage: Stage, seconds: float, operations: tuple[str, ...], **fields: str) -> Bend:
    """For so long after it was made nobody but its maker knows of a pool."""
    made: dict[str, float] = {}

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == "pools/create":
            answer = asked.forward()
            made.setdefault(answer.json()["data"]["id"], stage.now)
            return answer
        born = made.get(asked.body.get("poolId", ""))
        if asked.operation in operations and born is not None and stage.now < born + seconds:
            return httpx.Response(404, json={"error": {"code": "NOT_FOUND", "message": "no such pool", **fields}})
        return asked.forward()

    return bend


@pytest.mark.parametrize("fields", [{}, {"rule": "pool.owner"}], ids=["bare", "by the rule"])
def test_k041_what_stands_on_a_pool_that_is_not_visible_yet_waits_for_it(
    home: Home, stage: Stage, fields: dict[str, str]
) -> None:
    home.wish(entry("a", {"acme": 8, "globex": 8}), entry("b", []))
    outcomes = stage.applied(home, lagging(stage, 2.0, ("pools/offer",), **fields))
    assert {o.status for o in outcomes} == {"done"}
    assert 2.0 < stage.now < 5.0
    assert Counter(event.type for event in home.events()) == {"pool.created": 2, "pool.offered": 2}
    assert home.is_settled()


def test_k041_a_pool_that_is_looked_at_before_it_is_visible_is_waited_for_too(home: Home, stage: Stage) -> None:
    """The answer of the offer is lost, so it is looked at."""
    home.wish(entry("a", {"acme": 8}))
    late, is_lost = lagging(stage, 2.0, ("pools/get",)), False

    def bend(asked: Asked) -> httpx.Response:
        nonlocal is_lost
        answer = late(asked)
        if asked.operation == "pools/offer" and not is_lost:
            is_lost = True
            raise httpx.ReadTimeout("slow")
        return answer

    outcomes = stage.applied(home, bend)
    assert [(o.status, o.found) for o in outcomes] == [("done", False), ("done", True)]


def test_k041_a_pool_that_never_appears_is_told_and_the_next_run_goes_on(home: Home, stage: Stage) -> None:
    home.wish(entry("a", {"acme": 8}), entry("b", {"acme": 8}))
    created: list[str] = []
    never = lagging(stage, 1e9, ("pools/offer",))

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == "pools/create":
            created.append(asked.body["idempotencyKey"])
        return asked.forward() if asked.body.get("poolId") == pool_id("b") else never(asked)

    outcomes = stage.applied(home, bend)
    assert sorted(created) == ["a", "b"]
    (failed,) = [o for o in outcomes if o.status != "done"]
    assert failed.problem is not None
    assert (failed.operation.action, failed.operation.key, failed.problem.rule) == ("offer", "a", "apply.unseen")
    assert "created but not visible" in failed.problem.message
    assert failed.attempts == 1 + len(UNSEEN)
    assert stage.now < sum(UNSEEN) + 2
    assert {o.status for o in Stage().applied(home, straight)} == {"done"}
    assert home.is_settled()


def test_k041_a_pool_that_was_there_before_and_is_gone_is_not_waited_for(home: Home, stage: Stage) -> None:
    home.wish(entry("a", []))
    home.apply()
    home.wish(entry("a", {"acme": 8}))
    refuse: Bend = lambda a: refusal(404, "NOT_FOUND") if a.operation == "pools/offer" else a.forward()  # noqa: E731
    (failed,) = stage.applied(home, refuse)
    assert failed.problem is not None
    assert (failed.problem.code, failed.attempts) == ("NOT_FOUND", 1)


# K042 already-gone-aborts-run.


def somebody(home: Home, operation: str, key: str, **body: Any) -> None:
    with home.hand() as hand:
        hand.call(operation, {"poolId": pool_id(key), **body})


def quicker(home: Home) -> Bend:
    """Somebody else is quicker with whatever removes something."""

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == "pools/unoffer":
            somebody(home, asked.operation, "unoffer", toTenantId="globex")
        if asked.operation == "pools/archive":
            somebody(home, asked.operation, "archive")
        return asked.forward()

    return bend


def check_already_gone(home: Home, stage: Stage) -> None:
    outcomes = stage.applied(home, quicker(home), parallelism=1)
    assert became(outcomes) == dict.fromkeys(ONE_OF_EACH, "done")
    assert [str(o.operation.key) for o in outcomes if o.found] == ["unoffer"]
    assert home.is_settled()


def test_k042_what_is_gone_already_is_done_and_the_rest_goes_on(each: Home, stage: Stage) -> None:
    check_already_gone(each, stage)


def test_k042_a_removal_that_must_find_something_is_caught(
    each: Home, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault."""
    send = answers.send

    def strict(operation: Any, client: Client) -> Outcome:
        outcome = send(operation, client)
        if outcome.found:
            raise RuntimeError("there was no such offer")
        return outcome

    monkeypatch.setattr(answers, "send", strict)
    with pytest.raises(AssertionError, match="'unoffer': 'failed'"):
        check_already_gone(each, stage)


def test_k042_a_failure_stops_what_stands_on_it_and_nothing_else(home: Home) -> None:
    home.wish(entry("old", {"acme": 8}), entry("left", {"globex": 8}))
    home.apply()
    # The archive waits for the offer that takes the quota over, and that for its pool.
    home.wish({"idempotencyKey": "old", "archived": True}, entry("new", {"acme": 8}), entry("left", []), entry("b", []))
    refuse: Bend = lambda a: refusal(409, "CONFLICT") if a.body.get("idempotencyKey") == "new" else a.forward()  # noqa: E731
    outcomes = Stage().applied(home, refuse)
    told = {f"{o.operation.action} {o.operation.key}": o.status for o in outcomes}
    assert told == {
        "create new": "failed",
        "offer new": "blocked",
        "archive old": "blocked",
        "unoffer left": "done",
        "create b": "done",
    }


# K044 same-key-other-body.


def test_k044_a_key_that_somebody_used_for_something_else_is_not_told_as_created(home: Home, stage: Stage) -> None:
    home.wish(entry("k", {"acme": 8}, gpuModel="H200"))

    def bend(asked: Asked) -> httpx.Response:
        if asked.operation == "pools/create":
            with home.hand("sa_fleet") as other:
                other.call("pools/create", {**asked.body, "gpuModel": "H100", "policy": {"maxPending": "6h"}})
        return asked.forward()

    create, offer = stage.applied(home, bend)
    assert (create.status, offer.status) == ("failed", "blocked")
    assert create.problem is not None
    assert "gpuModel H100, not H200; pool.created by sa_fleet at" in create.problem.message


def test_k044_a_refused_create_is_not_remembered(home: Home, stage: Stage) -> None:
    home.wish(entry("k", [], siteId="site_none"))
    with home.hand("sa_fleet") as hand:
        with pytest.raises(ComputeError):
            hand.call("pools/create", {**H100, "siteId": "site_none", "idempotencyKey": "k"})
        home.wish(entry("k", []))
        assert became(stage.applied(home, straight)) == {"k": "done"}
    assert home.is_settled()


def test_k044_an_answer_that_is_not_held_against_the_wish_is_caught(
    home: Home, stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault."""
    monkeypatch.setattr(answers, "_judged", lambda operation, _: Outcome(operation, "done"))
    with pytest.raises(AssertionError, match=r"\('done', 'done'\) == \('failed', 'blocked'\)"):
        test_k044_a_key_that_somebody_used_for_something_else_is_not_told_as_created(home, stage)
