"""From an error to an answer: its status, and its envelope."""

from __future__ import annotations

from typing import Any

from better_compute.domain import problems
from better_compute.domain.problems import ComputeError, Problem

STATUS: dict[str, int] = {
    problems.INVALID_INPUT: 400,
    problems.UNAUTHENTICATED: 401,
    problems.SPEND_LIMIT_REACHED: 402,
    problems.ACCESS_DENIED: 403,
    problems.TENANT_INACTIVE: 403,
    problems.NOT_FOUND: 404,
    problems.METHOD_NOT_ALLOWED: 405,
    problems.REQUEST_TIMEOUT: 408,
    problems.CONFLICT: 409,
    problems.INVALID_STATE: 409,
    problems.VERSION_CONFLICT: 409,
    problems.LIMIT_EXCEEDED: 409,
    problems.PAYLOAD_TOO_LARGE: 413,
    problems.RATE_LIMITED: 429,
    problems.INTERNAL_ERROR: 500,
    problems.UNAVAILABLE: 503,
}

_WAITS = (problems.RATE_LIMITED, problems.UNAVAILABLE)
_WAIT_MS = 1000
"""How long to wait where the error itself does not say."""


def envelope(error: ComputeError) -> tuple[int, dict[str, str], dict[str, Any]]:
    """Status, headers of its own, and body. The first problem decides; its hint ends the message. Raises KeyError for a
    code that refuses nothing."""
    problem = error.problems[0]
    body: dict[str, Any] = {"code": problem.code, "message": _message(problem)}
    if problem.path:
        body["field"] = problem.path
    if problem.rule:
        body["rule"] = problem.rule
    headers: dict[str, str] = {}
    if problem.code in _WAITS:
        body["retryAfterMs"] = _WAIT_MS if error.retry_after_ms is None else error.retry_after_ms
        headers["retry-after"] = str(max(1, -(-body["retryAfterMs"] // 1000)))
    if problem.code == problems.UNAUTHENTICATED:
        headers["www-authenticate"] = "Bearer"
    return STATUS[problem.code], headers, {"error": body}


def internal() -> ComputeError:
    """What an answer says of a fault of our own: nothing."""
    return ComputeError(Problem(problems.INTERNAL_ERROR, "", "something went wrong here; the server's log has it"))


def _message(problem: Problem) -> str:
    return f"{problem.message}; {problem.hint}" if problem.hint else problem.message
