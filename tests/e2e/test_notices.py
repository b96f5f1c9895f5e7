"""`drift --notify`: whoever is to know of drift is told once, and nobody is shown where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.better_compute.client.conftest import Server, reply, serving
from tests.e2e.homes import Home, Ran, entry, pool_id, served

SECRET = "T0/B0/s3cr3t?token=hunter2"
POOLS = [entry("fra1-a", {"acme": 8}), entry("fra1-b", [])]


@pytest.fixture
def hook() -> Iterator[Server]:
    with serving() as started:
        started.script = [reply(200, b"ok")]
        yield started


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Two pools, one of which somebody changed by hand."""
    home = Home(tmp_path, fleet="platform", keyPrefix="fra1-")
    home.wish(*POOLS)
    home.apply()
    with home.hand() as client:
        offer = {"poolId": pool_id("fra1-a"), "toTenantId": "acme", "quota": {"gpu": 9}}
        client.call("pools/offer", offer)
    return home


def drift(home: Home, hook: Server, *arguments: str | Path, **environ: str) -> Ran:
    """A drift that notifies, and shows neither URL nor host of it."""
    ran = home.run("drift", "--notify", f"{hook.url}/{SECRET}", *arguments, **environ)
    for part in ("s3cr3t", "hunter2", hook.url, hook.url.removeprefix("http://")):
        assert part not in ran.said
    return ran


def test_what_drifted_is_told_with_the_report(home: Home, hook: Server) -> None:
    ran = drift(home, hook, "--format", "json")
    assert ran.code == 2
    [got] = hook.received
    assert got.path == f"/{SECRET}"
    assert got.body["report"] == ran.report
    assert got.body["text"].startswith(
        "Drift of fleet platform, tenant root: 1 changed. Changed: fra1-a for acme by sa_hand"
    )
    assert "The notice was sent" in ran.err


def test_no_token_and_no_change_is_sent_along(home: Home, hook: Server) -> None:
    with served(home):
        token = home.environ["FLEETCTL_TOKEN"]
        assert drift(home, hook, FLEETCTL_NOTIFY_SECRET="whsec_" + "QUFB" * 8).code == 2
    [got] = hook.received
    assert token not in repr(got)
    assert "authorization" not in got.headers
    assert got.headers["webhook-signature"].startswith("v1,")


def test_nobody_is_told_where_nothing_drifted(home: Home, hook: Server) -> None:
    for expected in ({"key": "fra1-a", "reason": "a trial"}, None):
        home.wish(*POOLS, expected=[expected] if expected else [])
        if expected is None:
            home.apply()
        assert drift(home, hook).code == 0
    assert hook.received == []


def test_nobody_is_told_where_the_token_does_not_hold(home: Home, hook: Server) -> None:
    with served(home):
        assert drift(home, hook, FLEETCTL_TOKEN="bct_expired").code == 1
    assert hook.received == []


def test_nobody_is_told_where_drift_could_not_be_looked_for(home: Home, hook: Server) -> None:
    home.write("fleet.yaml", "")
    assert drift(home, hook).code == 1
    assert hook.received == []


FAILURES: dict[str, Any] = {
    "refused": reply(403, b"no"),
    "gone": reply(410, b""),
    "lost": reply(404, b""),
    "failing": reply(500, b""),
    "elsewhere": reply(302, b"", Location="http://127.0.0.1:1/hunter2"),
    "broken": lambda handler: handler.connection.close(),
}


@pytest.mark.parametrize("how", FAILURES)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_notice_that_nobody_got_is_an_error_and_the_report_is_printed(
    home: Home, hook: Server, how: str, form: str, tmp_path: Path
) -> None:
    hook.script = [FAILURES[how]]
    out = tmp_path / "drift.json"
    ran = drift(home, hook, "--format", form, "--out", out, FLEETCTL_DEBUG="1")
    assert ran.code == 1
    assert "fra1-a" in ran.out
    assert "The notice of --notify could not be sent: " in ran.err
    assert "hunter2" not in out.read_text()
    assert len(hook.received) == 1


def test_drift_of_a_snapshot_notifies_too(home: Home, hook: Server) -> None:
    file = home.directory.parent / "snapshot.json"
    assert home.run("snapshot", "--out", file).code == 0
    assert drift(home, hook, "--snapshot", file).code == 2
    assert hook.received[0].body["report"]["snapshot"] is True


def test_a_large_report_is_left_out_and_that_is_told(home: Home, hook: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetctl.notify.MOST", 1000)
    ran = drift(home, hook)
    assert ran.code == 2
    assert "The report has " in ran.err
    [got] = hook.received
    assert got.body["report"] is None
    assert got.body["text"].endswith(" The report is too large for this notice.")


@pytest.mark.parametrize(
    ("url", "environ", "code"),
    [
        ("http://hooks.example/s3cr3t", {}, 64),
        ("https://u:s3cr3t@hooks.example", {}, 64),
        ("s3cr3t", {}, 64),
        ("https://hooks.example/s3cr3t", {"FLEETCTL_NOTIFY_SECRET": "whsec_s3cr3t"}, 1),
        ("https://hooks.example/s3cr3t", {"HTTPS_PROXY": "http://u:s3cr3t/x@proxy"}, 1),
    ],
)
def test_what_cannot_be_used_ends_the_run_before_anything_is_asked(
    home: Home, url: str, environ: dict[str, str], code: int
) -> None:
    home.write("fleet.yaml", "")
    ran = home.run("drift", "--notify", url, FLEETCTL_DEBUG="1", **environ)
    assert (ran.code, ran.out) == (code, "")
    assert "s3cr3t" not in ran.err
    assert "fleet.yaml" not in ran.err
