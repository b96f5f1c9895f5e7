"""Notices of drift: what goes to the webhook, signed, and of a size that it takes."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import pytest

from fleetctl import notify
from fleetctl.errors import EXIT_ERROR, EXIT_USAGE, Stop
from fleetctl.machine import clock
from tests.better_compute.client.conftest import Received, Server, reply, serving

KEY = b"k" * 24
SECRET = f"whsec_{base64.b64encode(KEY).decode()}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(clock, "now", lambda: 1_796_000_000_123)
    with serving() as started:
        started.script = [reply(200, b"ok")]
        yield started


def sent(server: Server, report: Any = None, text: str = "Drift.", **environ: str) -> tuple[Received, tuple[str, ...]]:
    """What arrived, and what was said of it."""
    remarks, is_sent = notify.notifier(f"{server.url}/s3cr3t", environ).send(text, report or {"kind": "drift"})
    assert is_sent
    return server.received[-1], remarks


def test_text_and_report_are_sent(server: Server) -> None:
    got, remarks = sent(server)
    assert got.body == {"text": "Drift.", "report": {"kind": "drift"}}
    assert remarks == ("The notice was sent",)
    assert got.headers["webhook-timestamp"] == "1796000000"
    assert "webhook-signature" not in got.headers


def test_a_notice_is_signed_as_standard_webhooks_are(server: Server) -> None:
    got, _ = sent(server, {"note": "ü"}, **{notify.SECRET: SECRET})
    body = json.dumps(got.body, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    signed = f"{got.headers['webhook-id']}.1796000000.".encode() + body
    digest = base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    assert got.headers["webhook-signature"] == f"v1,{digest}"


def test_a_signature_is_the_one_that_others_compute() -> None:
    """The example of the specification."""
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    name, seconds, body = "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    signature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert notify.signature(name, seconds, body, key) == signature


def test_the_id_is_that_of_the_content(server: Server) -> None:
    names = [
        sent(server, report, text)[0].headers["webhook-id"]
        for report, text in [({"a": 1}, "x"), ({"a": 1}, "x"), ({"a": 2}, "x"), ({"a": 1}, "y")]
    ]
    assert names[0] == names[1]
    assert len(set(names)) == 3


def test_a_report_that_is_too_large_is_left_out_and_that_is_told(server: Server) -> None:
    room = notify.MOST - len('{"report":{"x":""},"text":"Drift."}')
    assert sent(server, {"x": "x" * room})[0].body["report"] is not None
    got, remarks = sent(server, {"x": "x" * (room + 1)})
    assert got.body == {"report": None, "text": "Drift. The report is too large for this notice."}
    assert remarks == ("The report has 256 KiB, and the notice goes without it", "The notice was sent")


def test_a_notice_that_nobody_takes_is_told_without_where(server: Server) -> None:
    server.script = [reply(404, b"")]
    [remark], is_sent = notify.notifier(f"{server.url}/s3cr3t", {}).send("Drift.", {})
    assert remark == "The notice of --notify could not be sent: the webhook answered with HTTP 404"
    assert not is_sent


@pytest.mark.parametrize("secret", ["whsec_", "whsec_a", "whsec_????", "short", "QQ==" * 9, "whsec_" + "QUFB" * 5])
def test_a_secret_that_is_none_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(Stop) as stopped:
        notify.notifier("https://hooks.example/x", {notify.SECRET: secret})
    assert stopped.value.exit_code == EXIT_ERROR
    assert notify.SECRET in stopped.value.message
    assert secret.removeprefix("whsec_") not in (stopped.value.message + stopped.value.hint) or len(secret) < 9


@pytest.mark.parametrize("secret", [SECRET, SECRET.removeprefix("whsec_")])
def test_neither_url_nor_secret_is_in_what_a_notifier_says_of_itself(secret: str) -> None:
    shown = repr(notify.notifier("https://hooks.example/s3cr3t", {notify.SECRET: secret}))
    assert shown == "Notifier(webhook=Webhook())"


def test_a_url_that_is_none_is_a_usage_error() -> None:
    with pytest.raises(Stop) as stopped:
        notify.notifier("http://hooks.example/s3cr3t", {})
    assert (stopped.value.exit_code, "s3cr3t" in str(stopped.value)) == (EXIT_USAGE, False)
