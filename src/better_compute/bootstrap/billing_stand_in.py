"""A billing of our own, for tests and demonstrations: it knows a limit for some tenants and keeps no account."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from better_compute.bootstrap.billing import PATH, Answer, Question
from better_compute.wire.message import HEALTH, Handle, Request, Response

_question = msgspec.json.Decoder(Question)


def stand_in(limits: Mapping[str, int]) -> Handle:
    """It allows a tenant so many atoms at once, and any number to one without a limit."""

    def handle(request: Request) -> Response:
        if request.path == HEALTH:
            return _say(200, {"status": "ok"})
        if (request.method, request.path) != ("POST", PATH):
            return _say(404, {"error": f"ask by POST {PATH}"})
        try:
            asked = _question.decode(request.body)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return _say(400, {"error": "this is not a question"})
        limit = limits.get(asked.tenant_id)
        if limit is None or asked.atoms <= limit:
            return _say(200, Answer(allowed=True))
        reason = f"{asked.tenant_id} may have {limit} at once, and asks for {asked.atoms}"
        return _say(200, Answer(allowed=False, reason=reason))

    return handle


def _say(status: int, value: object) -> Response:
    return Response(status, {"content-type": "application/json"}, msgspec.json.encode(value))
