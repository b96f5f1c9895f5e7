"""The one handler behind every door: a request in, an answer out, whatever happens."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from better_compute.api.errors import envelope, internal
from better_compute.api.routes import ROUTES, Route
from better_compute.domain.escape import escape
from better_compute.domain.problems import (
    METHOD_NOT_ALLOWED,
    NO_PATH,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    UNAUTHENTICATED,
    ComputeError,
    Problem,
)
from better_compute.service.core import Service
from better_compute.service.ports import Authenticate, Caller
from better_compute.wire.body import parse, parse_change, refuse
from better_compute.wire.message import (
    BODY_LIMIT,
    CHANGE_HEADER,
    HEALTH,
    INSTANCE_HEADER,
    PREFIX,
    Handle,
    Request,
    Response,
)
from better_compute.wire.reading import read

log = logging.getLogger(__name__)

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/:=-]{1,512})")
_REQUEST_ID = re.compile(r"[\x20-\x7e]{1,128}")
_JSON_TYPE = re.compile(r"application/json(?: *; *charset=\"?utf-8\"?)?", re.IGNORECASE)


def _description() -> msgspec.Raw:
    from better_compute.api.openapi import document  # not at the top: a client in this process never asks for it

    return msgspec.Raw(document())


Tell = Callable[[str], object]

PAGES: dict[str, Callable[[], Any]] = {HEALTH: lambda: {"status": "ok"}, "/openapi.json": _description}
"""What GET serves, without a credential."""


def handler(service: Service, authenticate: Authenticate, tell: Tell = lambda _: None) -> Handle:
    """The API of a control plane. The store must be ready: the instance's id is read once, here. `tell` is given a line
    of each answer that says UNAVAILABLE, or that people must see to the database: what the operator should know."""
    instance_id = service.store.view(lambda tx: tx.instance_id())
    return _Api(service, authenticate, tell, instance_id).handle


@dataclass(frozen=True, slots=True)
class _Api:
    service: Service
    authenticate: Authenticate
    tell: Tell
    instance_id: str

    def handle(self, request: Request) -> Response:
        """Answers every request; never raises."""
        request_id = "-"
        try:
            given = request.headers.get("x-request-id", "")
            request_id = given if _REQUEST_ID.fullmatch(given) else self.service.entropy(16).hex()
            status, extra, body = self._answer(request, request_id)
        except Exception:
            log.exception("request %r to %r failed", request_id, request.path[:200])
            status, extra, error = envelope(internal())
            body = msgspec.json.encode(error)
        headers = {
            "content-type": "application/json",
            "cache-control": "no-store",
            "x-request-id": request_id,
            INSTANCE_HEADER: self.instance_id,
        }
        return Response(status, headers | extra, body)

    def _answer(self, request: Request, request_id: str) -> tuple[int, dict[str, str], bytes]:
        """Status, headers of its own, and body. Raises whatever is a fault of our own."""
        try:
            return 200, {}, msgspec.json.encode(self._result(request))
        except _WrongMethodError as error:
            status, headers, body = envelope(error)
            headers["allow"] = error.allow
        except ComputeError as error:
            status, headers, body = envelope(error)
            if status >= 500:
                self.tell(_line(request, request_id, error))
        return status, headers, msgspec.json.encode(body)

    def _result(self, request: Request) -> Any:
        """What a success says."""
        if request.unread is not None:
            raise ComputeError(request.unread)
        if page := PAGES.get(request.path):
            _check_method(request, "GET")
            return page()
        route = ROUTES.get(request.path.removeprefix(PREFIX)) if request.path.startswith(PREFIX) else None
        if route is None:
            raise ComputeError(Problem(NOT_FOUND, NO_PATH, "there is no such path"))
        _check_method(request, "POST")
        return {"data": self._operate(route, request)}

    def _operate(self, route: Route, request: Request) -> msgspec.Struct:
        if len(request.body) > BODY_LIMIT:
            message = f"a body has at most {BODY_LIMIT} bytes"
            raise ComputeError(Problem(PAYLOAD_TOO_LARGE, "", message))
        caller = self._caller(request)
        if request.headers.get("x-better-compute") != "1":
            refuse("the header X-Better-Compute: 1 is missing")
        if not _JSON_TYPE.fullmatch(request.headers.get("content-type", "")):
            refuse("the header Content-Type: application/json is missing")
        return route.run(self.service, caller, read(route.input, parse(request.body)))

    def _caller(self, request: Request) -> Caller:
        bearer = _BEARER.fullmatch(request.headers.get("authorization", ""))
        if bearer is None:
            message = "there is no token: a request carries Authorization: Bearer TOKEN"
            raise ComputeError(Problem(UNAUTHENTICATED, "", message))
        caller = self.authenticate(bearer[1])
        change = request.headers.get(CHANGE_HEADER)
        return caller if change is None else replace(caller, via=parse_change(change))


def _line(request: Request, request_id: str, error: ComputeError) -> str:
    """What was asked and what was wanting, with a reason that the caller is not told; one line, whatever they hold."""
    reason = "".join(f" ({note})" for note in getattr(error, "__notes__", ()))
    line = f"{request.method} {request.path[:200]}, request {json.dumps(request_id)}: {error.code}: {error}{reason}"
    return escape(line)


class _WrongMethodError(ComputeError):
    def __init__(self, allow: str) -> None:
        super().__init__(Problem(METHOD_NOT_ALLOWED, "", f"this path answers {allow} alone"))
        self.allow = allow


def _check_method(request: Request, allowed: str) -> None:
    if request.method != allowed:
        raise _WrongMethodError(allowed)
