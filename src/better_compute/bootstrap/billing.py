"""Billing over HTTP: a question at `URL/check`, an answer that is waited for a few seconds and no longer.

The question is `{"tenantId", "poolId", "meter", "atom", "atoms"}`, the answer `{"allowed": true}`, or
`{"allowed": false, "reason": "…"}`, with status 200. Everything else is no answer: another status (a redirect is not
followed), a body that is too large or that is no such object.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import BoundedSemaphore

import msgspec

from better_compute.domain.escape import escape
from better_compute.http import Http, NetworkError
from better_compute.service.billing import NoBilling, unreached, unread
from better_compute.service.ports import Billing, Spending, Verdict

SECONDS = 5.0
"""So long a question takes at most, its connection included."""

MOST = 64 * 1024
"""Bytes of an answer."""

REASON = 200
"""Letters of a reason that are told."""

PATH = "/check"

AT_ONCE = 16
"""So many questions are under way at once: fewer than the calls that a server answers, so that a billing that hangs
leaves room for those that do not need it."""

WAIT = 0.5
"""Seconds that one more question waits for the place of another."""


class Question(msgspec.Struct, rename="camel", kw_only=True):
    tenant_id: str
    pool_id: str
    meter: str
    atom: str
    atoms: int


class Answer(msgspec.Struct, kw_only=True):
    allowed: bool
    reason: str = ""


_answer = msgspec.json.Decoder(Answer)


@dataclass(frozen=True, slots=True)
class HttpBilling:
    """A `Billing` that is asked over HTTP. Safe to use from many threads."""

    http: Http
    places: BoundedSemaphore = field(default_factory=lambda: BoundedSemaphore(AT_ONCE))

    def check(self, spending: Spending) -> Verdict:
        question = Question(
            tenant_id=spending.tenant_id,
            pool_id=spending.pool_id,
            meter=spending.meter,
            atom=spending.atom,
            atoms=spending.atoms,
        )
        if not self.places.acquire(timeout=WAIT):
            raise unreached(f"{AT_ONCE} questions wait for an answer of {self.http.server}")
        try:
            answer = self.http.post(PATH, msgspec.json.encode(question), {"content-type": "application/json"})
        except NetworkError as error:
            # What lasts although it was sent, such as an answer that is too large, is about this question alone.
            silent = error.transient or not error.sent
            raise (unreached if silent else unread)(str(error)) from error
        finally:
            self.places.release()
        if answer.status != 200:
            raise unread(f"{self.http.server} answered with status {answer.status}")
        try:
            found = _answer.decode(answer.body)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise unread(f"what {self.http.server} answered cannot be read: {type(error).__name__}") from error
        return Verdict(found.allowed, escape(found.reason[:REASON])[:REASON])


@contextmanager
def billing_at(url: str | None) -> Iterator[Billing]:
    """Billing at a URL for the length of a block; none without one. Raises ComputeError as `http_billing`."""
    if not url:
        yield NoBilling()
        return
    found = http_billing(url)
    try:
        yield found
    finally:
        found.http.close()


def http_billing(url: str, seconds: float = SECONDS) -> HttpBilling:
    """Billing at a URL. Raises ComputeError INVALID_INPUT for what is none."""
    return HttpBilling(Http(url, timeout=seconds, patience=1, most=MOST))
