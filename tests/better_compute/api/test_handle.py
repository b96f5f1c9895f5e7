"""The handler: headers of every answer, and what becomes of faults."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from better_compute.api.errors import STATUS, envelope
from better_compute.api.handle import handler
from better_compute.api.routes import COMMON, ROUTES
from better_compute.domain import problems
from better_compute.domain.problems import ComputeError, Problem
from better_compute.service.actions import ACTIONS
from better_compute.service.ports import Caller
from better_compute.wire.message import Request, Response
from tests.better_compute.plane import BODIES, Plane, headers_of


def ask(plane: Plane, path: str = "/api/compute/pools/list", **headers: str) -> Response:
    """A request whose headers are the usual ones and, with `-` for `_`, the given ones."""
    more = {name.replace("_", "-"): value for name, value in headers.items()}
    return plane.handle(Request("POST", path, {**headers_of("sa_fleet"), **more}, b'{"tenantId": "root"}'))


def failing(plane: Plane, error: Exception, tell: Callable[[str], object] = lambda _: None) -> Plane:
    """The plane, failing when it looks for a token's owner."""

    def fails(_token: str) -> Caller:
        raise error

    plane.handle = handler(plane.service, fails, tell)
    return plane


@pytest.mark.parametrize("given", ["x", "a b", "~" * 128, '"quoted"'])
def test_a_request_id_is_echoed(plane: Plane, given: str) -> None:
    assert ask(plane, x_request_id=given).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "x" * 129, "é", "a\tb", "a\x7f", "a\r\nb: c"], ids=ascii)
def test_a_request_id_that_is_not_sane_is_replaced(plane: Plane, given: str) -> None:
    first, second = (ask(plane, x_request_id=given).headers["x-request-id"] for _ in range(2))
    assert first != second
    assert len(first) == 32
    assert first.isalnum()


@pytest.mark.parametrize("path", ["/api/compute/pools/list", "/api/compute/pools/get", "/nowhere", "/health"])
def test_every_answer_names_the_instance(plane: Plane, path: str) -> None:
    answer = ask(plane, path)
    assert answer.headers["x-better-compute-instance"] == plane.store.view(lambda tx: tx.instance_id())
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == "no-store"
    assert isinstance(json.loads(answer.body), dict)


def test_a_fault_of_our_own_is_told_to_the_log_alone(plane: Plane, caplog: pytest.LogCaptureFixture) -> None:
    answer = ask(failing(plane, RuntimeError("the secret is 42")), x_request_id="r-1")
    error = json.loads(answer.body)["error"]
    assert (answer.status, set(error), error["code"]) == (500, {"code", "message"}, "INTERNAL_ERROR")
    assert b"42" not in answer.body
    assert answer.headers["x-request-id"] == "r-1"
    assert "the secret is 42" in caplog.text
    assert "r-1" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("code", ["UNCHECKED", "BLOCKED", "NEW_CODE"])
def test_a_code_without_a_status_is_a_fault_of_our_own(
    plane: Plane, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = ask(failing(plane, ComputeError(Problem(code, "", "the secret is 42"))), x_request_id="r-1")
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert b"42" not in answer.body
    assert answer.headers["x-request-id"] == "r-1"
    assert "the secret is 42" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


@pytest.mark.parametrize("code", ["UNAVAILABLE", "INTERNAL_ERROR"])
def test_an_operator_who_cannot_be_told_is_no_callers_fault(
    plane: Plane, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    def tell(_line: str) -> None:
        raise BrokenPipeError

    answer = ask(failing(plane, ComputeError(Problem(code, "storage", "busy")), tell))
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "BrokenPipeError" in caplog.text


def test_an_answer_without_entropy_is_an_answer(plane: Plane, caplog: pytest.LogCaptureFixture) -> None:
    def nothing(_size: int) -> bytes:
        raise OSError("no entropy")

    plane.service = replace(plane.service, entropy=nothing)
    answer = ask(failing(plane, AssertionError("nobody is asked")), x_request_id="")
    assert (answer.status, json.loads(answer.body)["error"]["code"]) == (500, "INTERNAL_ERROR")
    assert "no entropy" in caplog.text


def test_the_log_repeats_no_token(plane: Plane, caplog: pytest.LogCaptureFixture) -> None:
    ask(failing(plane, RuntimeError()), x_request_id="")
    assert "bc_sa_fleet" not in caplog.text


@pytest.mark.parametrize("code", ["UNAVAILABLE", "INTERNAL_ERROR"])
def test_what_is_wanting_is_told_to_the_operator_on_one_line(
    plane: Plane, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    error, told = ComputeError(Problem(code, "storage", "the database is busy")), list[str]()
    error.add_note("no room\non the \x1b[2Jdisk")
    answer = ask(failing(plane, error, told.append), "/api/compute/pools/list", x_request_id="r-1")
    assert b"room" not in answer.body
    line = f'POST /api/compute/pools/list, request "r-1": {code}: the database is busy (no room\\non the \\x1b[2Jdisk)'
    assert told == [line]
    assert caplog.records == []


def test_a_request_id_cannot_pass_for_another_part_of_the_line(plane: Plane) -> None:
    error, told = ComputeError(Problem("UNAVAILABLE", "storage", "busy")), list[str]()
    given = 'r-1": INTERNAL_ERROR: no, request "r-2'
    answer = ask(failing(plane, error, told.append), x_request_id=given)
    assert answer.headers["x-request-id"] == given
    [line] = told
    _, _, quoted = line.partition(", request ")
    found, end = json.JSONDecoder().raw_decode(quoted)
    assert (found, quoted[end:]) == (given, ": UNAVAILABLE: busy")


def test_what_is_the_callers_own_fault_is_not_told_to_the_operator(plane: Plane) -> None:
    told: list[str] = []
    for code in set(STATUS) - {"UNAVAILABLE", "INTERNAL_ERROR"}:
        ask(failing(plane, ComputeError(Problem(code, "", "no")), told.append))
    assert told == []


@pytest.mark.parametrize(("given", "seconds", "wait"), [(None, "1", 1000), (1, "1", 1), (1500, "2", 1500), (0, "1", 0)])
def test_what_may_work_later_says_when(plane: Plane, given: int | None, seconds: str, wait: int) -> None:
    error = ComputeError(Problem(problems.UNAVAILABLE, "", "busy"), retry_after_ms=given)
    answer = ask(failing(plane, error))
    assert (answer.status, answer.headers["retry-after"]) == (503, seconds)
    assert json.loads(answer.body)["error"] == {"code": "UNAVAILABLE", "message": "busy", "retryAfterMs": wait}


def test_other_errors_do_not_say_when() -> None:
    _, headers, body = envelope(ComputeError(Problem(problems.CONFLICT, "pool.key", "no", "siteId", "say other")))
    assert headers == {}
    assert body == {"error": {"code": "CONFLICT", "message": "no; say other", "field": "siteId", "rule": "pool.key"}}


def test_every_code_that_refuses_has_its_status() -> None:
    """Those of the contract, also where nothing answers with one yet."""
    codes = {value for name, value in vars(problems).items() if name.isupper() and name == value}
    assert set(STATUS) == codes - {"UNCHECKED", "BLOCKED"}, "no server answers with those"
    assert STATUS == {
        "INVALID_INPUT": 400,
        "UNAUTHENTICATED": 401,
        "SPEND_LIMIT_REACHED": 402,
        "ACCESS_DENIED": 403,
        "TENANT_INACTIVE": 403,
        "NOT_FOUND": 404,
        "METHOD_NOT_ALLOWED": 405,
        "REQUEST_TIMEOUT": 408,
        "PAYLOAD_TOO_LARGE": 413,
        "CONFLICT": 409,
        "INVALID_STATE": 409,
        "VERSION_CONFLICT": 409,
        "LIMIT_EXCEEDED": 409,
        "RATE_LIMITED": 429,
        "UNAVAILABLE": 503,
        "INTERNAL_ERROR": 500,
    }


def test_every_operation_has_a_route_and_a_right() -> None:
    assert set(ROUTES) == set(ACTIONS)
    assert all(code in STATUS for route in ROUTES.values() for code in (*COMMON, *route.codes))


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "post"])
def test_an_operation_is_called_by_post(plane: Plane, method: str) -> None:
    for operation in ROUTES:
        answer = plane.handle(Request(method, f"/api/compute/{operation}", headers_of("sa_fleet"), b""))
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


HOSTILE: dict[str, Any] = {
    "deep policy": {"policy": {"a": 0}},
    "long name": {"gpuModel": "H" * 1_000_000},
    "long class": {"class": "m" * 1_000_000},
    "many problems": {"ownerQuota": {f"r-{i}": -1 for i in range(20_000)}},
    "big number in the policy": {"policy": {"x": 2**70}},
    "small number in the policy": {"policy": {"x": -(2**53)}},
    "control character in the policy": {"policy": {"x": "a\u0000b"}},
    "control character in a key of the policy": {"policy": {"a\u0000": 1}},
    "large policy": {"policy": {"x": "y" * 70_000}},
    "quota of many resources": {"ownerQuota": {f"r{i}": 1 for i in range(65)}},
    "quota of a long resource": {"ownerQuota": {"r" * 500_000: 1}},
    "huge key": {"x" * 500_000: 1},
    "NUL in a key": {"idempotencyKey": "a\u0000"},
    "policy of a list": {"policy": []},
    "quota of a list": {"ownerQuota": [1]},
    "line end in the site": {"siteId": "site_fra1\n"},
}
deep: dict[str, Any] = HOSTILE["deep policy"]["policy"]
for _ in range(900):
    deep["a"] = {"a": 0}
    deep = deep["a"]


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_body_is_an_invalid_input_and_nothing_worse(either: Plane, body: dict[str, Any]) -> None:
    pool = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", **body}
    answer = either.ask("sa_fleet", "pools/create", pool)
    assert answer.error["code"] == "INVALID_INPUT"
    assert len(answer.raw.body) < 10_000
    assert either.ask("sa_fleet", "pools/list").data["items"] == []


ODD: list[Any] = [None, True, 7, 1.5, "", "a\u0000", "é" * 1000, [], [None], {}, {"a": None}, {"a": [{}]}, 2**80]


@pytest.mark.parametrize("operation", ROUTES)
def test_no_value_in_any_field_is_a_fault_of_our_own(plane: Plane, operation: str) -> None:
    """Each field in turn holds something odd: the answer is a proper one."""
    fields = ROUTES[operation].input.__struct_encode_fields__
    for field, value in product(fields, ODD):
        answer = plane.ask("sa_fleet", operation, {"tenantId": "root", **BODIES[operation], field: value})
        assert answer.raw.status in (200, 400, 403, 404), (field, answer.value)
