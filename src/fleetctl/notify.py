"""A notice to a webhook: a text that chats show, and the report beside it, signed as Standard Webhooks are."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from better_compute.client.webhook import RULE, Webhook
from better_compute.domain.problems import ComputeError
from fleetctl.errors import EXIT_ERROR, EXIT_USAGE, Stop
from fleetctl.machine import clock
from fleetctl.spelling import canonical_json

SECRET = "FLEETCTL_NOTIFY_SECRET"
"""The variable that holds the secret that notices are signed with."""

MOST = 256 * 1024
"""Bytes of a notice: a larger one goes without its report."""

_PREFIX = "whsec_"
_SHORTEST = 16
"""Bytes of a secret: a shorter one may be guessed."""


@dataclass(frozen=True, slots=True)
class Notifier:
    """Where a notice goes, and the key that signs it (None: nothing does)."""

    webhook: Webhook
    key: bytes | None = field(repr=False)

    def send(self, text: str, report: Mapping[str, Any]) -> tuple[tuple[str, ...], bool]:
        """Send it once: what people should know, and whether it was taken. Its id derives from what it says, so that
        whoever gets it twice can tell."""
        remarks: tuple[str, ...] = ()
        body = canonical_json({"text": text, "report": report})
        if len(body) > MOST:
            remarks = (f"The report has {len(body) >> 10:,} KiB, and the notice goes without it",)
            body = canonical_json({"text": f"{text} The report is too large for this notice.", "report": None})
        try:
            self.webhook.post(body, headers(body, self.key, clock.now() // 1000))
        except ComputeError as error:
            first = error.problems[0]
            hint = f"; {first.hint}" if first.hint else ""
            return (*remarks, f"The notice of --notify could not be sent: {first.message}{hint}"), False
        return (*remarks, "The notice was sent"), True


def notifier(url: str, environ: Mapping[str, str]) -> Notifier:
    """Raises Stop for a URL or a secret that cannot be used; neither is ever shown."""
    try:
        webhook = Webhook.at(url)
    except ComputeError as error:
        first = error.problems[0]
        if first.rule != RULE:
            raise
        raise Stop(EXIT_USAGE, f"--notify: {first.message}", hint=first.hint) from None
    secret = environ.get(SECRET)
    return Notifier(webhook, _key(secret) if secret else None)


def headers(body: bytes, key: bytes | None, seconds: int) -> dict[str, str]:
    """Those of Standard Webhooks, for a body that is sent at an epoch second."""
    name = f"msg_{hashlib.sha256(body).hexdigest()[:32]}"
    found = {"webhook-id": name, "webhook-timestamp": str(seconds)}
    return found if key is None else {**found, "webhook-signature": signature(name, seconds, body, key)}


def signature(name: str, seconds: int, body: bytes, key: bytes) -> str:
    """That of a message with this id."""
    digest = hmac.new(key, f"{name}.{seconds}.".encode() + body, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def _key(secret: str) -> bytes:
    """The bytes that a secret spells, as Standard Webhooks do."""
    try:
        key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) < _SHORTEST:
        message = f"{SECRET} is not {_PREFIX} and {_SHORTEST} bytes or more in base64; nothing was done"
        raise Stop(EXIT_ERROR, message, hint=f'make one with `echo "{_PREFIX}$(openssl rand -base64 32)"`')
    return key
