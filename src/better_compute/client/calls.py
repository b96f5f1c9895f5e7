"""One call: the request's bytes, its retries, and what its answer says, be it an error or no answer at all."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import msgspec

from better_compute.client import secret
from better_compute.client.peer import Peer
from better_compute.client.retry import TRANSIENT, Retry, is_read, repeatable, sensible
from better_compute.domain.problems import (
    INVALID_INPUT,
    NO_ANSWER,
    NOT_REACHED,
    STRANGE_ANSWER,
    UNAVAILABLE,
    ComputeError,
    Problem,
)
from better_compute.http import Http, NetworkError
from better_compute.wire.message import CHANGE_HEADER, CHANGE_LIMIT, INSTANCE_HEADER, PREFIX, Response

T = TypeVar("T")

_CODE = re.compile(r"[A-Z][A-Z_]{0,63}")


@dataclass(frozen=True, slots=True)
class Attempt:
    """A call that failed and is to be made again after `wait` seconds, which `is_asked`: the server asked for them.
    `status` is the answer's; None when there was no answer."""

    operation: str
    number: int
    error: ComputeError
    wait: float
    status: int | None = None
    is_asked: bool = False


@dataclass(frozen=True, slots=True)
class Calls:
    """Makes the calls to one server that act as one tenant (None: nobody but the token's own identity).

    `change` is what they name as the change they belong to. `pause` waits between two attempts in the place of
    `retry.sleep`; true: there is no other attempt. Whoever then makes the same call again later says how many attempts
    were `made` by then, so that they count. All that are made from one have one `peer`.
    """

    http: Http
    tenant_id: str | None
    retry: Retry
    change: str | None = None
    pause: Callable[[Attempt], bool] | None = None
    made: int = 0
    peer: Peer = field(default_factory=Peer)

    def under(self, change: Mapping[str, Any]) -> Calls:
        """The same, with calls that name `change`; events keep it as `via`. Raises ComputeError when it is too long."""
        # As a header must be: ASCII without control characters, and JSON leaves DEL as it is.
        text = json.dumps(change, sort_keys=True, separators=(",", ":")).replace("\x7f", "\\u007f")
        if len(text) > CHANGE_LIMIT:
            message = f"a change is named in {CHANGE_LIMIT} bytes of JSON, not {len(text)}"
            raise ComputeError(Problem(INVALID_INPUT, "client.change", message))
        return replace(self, change=text)

    def call(self, operation: str, body: Mapping[str, Any]) -> bytes:
        """The answer's body of a call that succeeded. `operation` reads `pools/create`; the tenant is added to `body`.

        Raises ComputeError: the server's problem, UNAVAILABLE when no control plane answered, or INVALID_STATE when
        another one did.
        """
        tenant = {} if self.tenant_id is None else {"tenantId": self.tenant_id}
        data = _spelled({**tenant, **body})
        last, again = max(self.retry.attempts, self.made + 1), repeatable(operation, body)
        for number in range(self.made + 1, last + 1):
            answer = self._send(operation, data)
            if isinstance(answer, bytes):
                return answer
            if number == last or not answer.transient or (answer.sent and not again):
                raise answer.final(number)
            if answer.asked is not None and answer.asked > self.retry.patience:
                raise answer.impatient(answer.asked, self.retry.patience)
            wait = self.retry.wait(number, answer.asked)
            attempt = Attempt(operation, number, answer.error, wait, answer.status, answer.asked is not None)
            if self.pause is None:
                self.retry.sleep(wait)
            elif self.pause(attempt):
                raise answer.error
        raise AssertionError("at least one attempt is made")

    def decoded(self, operation: str, body: Mapping[str, Any], decode: Callable[[bytes], T]) -> T:
        """The answer as `decode` reads it. Raises ComputeError also when it is not what this client understands."""
        answer = self.call(operation, body)
        try:
            return decode(answer)
        except (ValueError, RecursionError) as error:
            text = self.clean(str(error))
            message = f"the answer of {self.http.server} to {operation} is not understood: {text}"
            hint = "is it a control plane, of the same version as this client?"
            raise ComputeError(Problem(UNAVAILABLE, STRANGE_ANSWER, message, hint=hint)) from error

    def _send(self, operation: str, data: bytes) -> bytes | _Failure:
        headers = {"content-type": "application/json", "x-better-compute": "1"}
        if self.change is not None:
            headers[CHANGE_HEADER] = self.change
        self.peer.check()
        try:
            answer = self.http.post(f"{PREFIX}{operation}", data, headers)
        except NetworkError as error:
            rule = NO_ANSWER if error.sent else NOT_REACHED
            problem = Problem(UNAVAILABLE, rule, self.clean(str(error)), hint=error.hint)
            return _Failure(ComputeError(problem), error.transient, sent=error.sent)
        name = answer.headers.get(INSTANCE_HEADER)
        known = None if name is None else self.clean(name)
        self.peer.meet(known, is_read=is_read(operation), is_success=answer.status == 200)
        if answer.status == 200:
            if secret.repeats(answer.body, self.http.secret):  # it would go into files and outputs
                return _Failure(ComputeError(self._indiscreet(operation)), transient=False)
            return answer.body
        refusal = self._refusal(answer)
        body = None if refusal.retry_after_ms is None else refusal.retry_after_ms / 1000
        asked = self.retry.asked(answer.headers, body)
        return _Failure(refusal, answer.status in TRANSIENT, asked, status=answer.status)

    def _refusal(self, answer: Response) -> ComputeError:
        """What an answer that is no success says."""
        error = _read_error(answer.body)
        if error is None or self.clean(error["code"]) != error["code"]:
            return ComputeError(self._stranger(answer))
        # A failure of what stands in between, such as a gateway's timeout, may look like one of the control plane.
        stranger = answer.status >= 500 and INSTANCE_HEADER not in answer.headers
        problem = Problem(
            error["code"],
            STRANGE_ANSWER if stranger else self.clean(str(error.get("rule") or "")),
            self.clean(str(error.get("message") or "(the server gave no message)")),
            self.clean(str(error.get("field") or "")),
        )
        return ComputeError(problem, retry_after_ms=sensible(error.get("retryAfterMs")))

    def _stranger(self, answer: Response) -> Problem:
        """An answer that no control plane gave."""
        server = self.http.server
        if 300 <= answer.status < 400:
            target = self.clean(answer.headers.get("location", "nowhere"))
            message = f"{server} redirects to {target} (HTTP {answer.status})"
            hint = "redirects are not followed, so that no token goes to another place: name the server itself"
            return Problem(UNAVAILABLE, "client.redirect", message, hint=hint)
        kind = answer.headers.get("content-type", "").partition(";")[0].strip() or "no type"
        message = f"{server} answered with HTTP {answer.status} and {self.clean(kind)}, not as a control plane does"
        return Problem(UNAVAILABLE, STRANGE_ANSWER, message, hint="is this the right URL, and what stands before it?")

    def _indiscreet(self, operation: str) -> Problem:
        message = f"the answer of {self.http.server} to {operation} repeats the token that asked, and is not read"
        hint = "no control plane does that: find out what answers there, and use a new token"
        return Problem(UNAVAILABLE, STRANGE_ANSWER, message, hint=hint)

    def clean(self, text: str) -> str:
        """A text of the server's as it may be shown."""
        return secret.clean(text, self.http.secret)


@dataclass(frozen=True, slots=True)
class _Failure:
    """A call that did not succeed. `asked`: the seconds to wait that the server asked for. `sent`: it may have arrived,
    and may have been carried out."""

    error: ComputeError
    transient: bool
    asked: float | None = None
    sent: bool = True
    status: int | None = None

    def final(self, attempts: int) -> ComputeError:
        return self.error if attempts == 1 else self._with(f"gave up after {attempts} attempts")

    def impatient(self, wait: float, patience: float) -> ComputeError:
        return self._with(f"the server asks to wait {wait:.0f} s, longer than {patience:.0f} s: gave up")

    def _with(self, remark: str) -> ComputeError:
        problem = self.error.problems[0]
        wait = None if self.asked is None else round(self.asked * 1000)
        return ComputeError(replace(problem, message=f"{problem.message} ({remark})"), retry_after_ms=wait)


def _spelled(body: Mapping[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(body)
    except (UnicodeEncodeError, RecursionError):
        message = "what is to be sent is no JSON: a text is not Unicode, or it is nested too deep"
        raise ComputeError(Problem(INVALID_INPUT, "client.body", message)) from None


def _read_error(body: bytes) -> dict[str, Any] | None:
    """The error of an answer; None when it is not one as a control plane says it."""
    try:
        answer = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    error = answer.get("error") if isinstance(answer, dict) else None
    return error if isinstance(error, dict) and _CODE.fullmatch(str(error.get("code"))) else None
