"""Kind i: what a pipeline sees of a run: no secret, the right exit code, and letters that no stream refuses."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import command, environment
from tests.e2e.homes import Home, Ran, entry, fleetctl, fleetctl_process, pool_id, served
from tests.e2e.proxy import Exchange

SECRETS = ("hunter2-example", "pw-example", "tok-example")


def with_secrets(password: str = SECRETS[0], note: str = "a") -> dict[str, Any]:
    policy = {
        "registry": {"user": "ci", "password": password},
        "webhook": f"https://u:{SECRETS[1]}@hooks.example.com/x",
        "upload": {"accessToken": SECRETS[2]},
        "note": note,
    }
    return entry("fra1-a", [], policy=policy)


def check_silent(*texts: str) -> None:
    for text in texts:
        assert not [secret for secret in SECRETS if secret in text], text


def test_k080_a_secret_is_in_no_output_and_no_file(home: Home, tmp_path: Path) -> None:
    plan, journal, report = (tmp_path / name for name in ("plan.json", "journal.jsonl", "report.json"))
    home.wish(with_secrets())
    planned = home.run("plan", "--out", plan, "--verbose")
    assert planned.code == 0
    assert "(sensitive)" in planned.out
    applied = home.run("apply", "--plan", plan, "--journal", journal, "--report", report, FLEETCTL_DEBUG="1")
    assert applied.code == 0, applied.said
    check_silent(planned.said, applied.said, *(file.read_text() for file in (plan, journal, report)))
    assert home.is_settled()
    home.wish(with_secrets(password="hunter2-example-2"))
    again = home.run("plan", "--format", "json")
    check_silent(again.said, home.run("drift").said, home.run("drift", "--format", "json").said)
    [change] = again.report["operations"][0]["changes"]
    assert change["path"] == "policy.registry.password"
    assert change["before"] == change["after"] == "(sensitive)"


def test_k080_a_changed_secret_is_another_change(home: Home) -> None:
    digests = set()
    for password in (SECRETS[0], "hunter2-example-2"):
        home.wish(with_secrets(password))
        digests.add(home.plan().report["digest"])
    assert len(digests) == 2


def test_k080_a_secret_that_stays_shows_no_mark(home: Home) -> None:
    home.wish(with_secrets())
    home.apply()
    home.wish(with_secrets(note="b"))
    [operation] = home.plan().report["operations"]
    assert [change["path"] for change in operation["changes"]] == ["policy.note"]


def test_k080_a_server_that_repeats_the_token_does_not_print_it(home: Home) -> None:
    home.wish(entry("fra1-a", []))
    with served(home) as (_, proxy):
        token = home.environ["FLEETCTL_TOKEN"]
        proxy.reset(lambda e: e.refuse(401, "UNAUTHENTICATED", f"{e.headers['authorization']} does not count"))
        for ran in (home.run("plan", FLEETCTL_DEBUG="1"), home.run("apply", "--yes", "--format", "json")):
            assert ran.code == 1
            assert "does not count" in ran.err
            assert token not in ran.said
        proxy.reset(lambda e: e.answer(302, b"", Location=f"https://evil.example.com/?t={token}"))
        ran = home.run("plan")
        assert ran.code == 1
        assert "redirect" in ran.err
        assert token not in ran.said


# K082: eight ways to end.


@pytest.fixture
def settled(home: Home, monkeypatch: pytest.MonkeyPatch) -> Home:
    """One pool that is as wished. In this process nobody waits between attempts."""
    monkeypatch.setattr("better_compute.client.retry.Retry.backoff", lambda *_: 0.01)
    home.wish(entry("fra1-a", {"acme": 8}), keyPrefix="fra1-")
    home.apply()
    return home


def ended(home: Home, *flags: str) -> tuple[int, int, int]:
    """The exit codes of plan, plan --detailed-exitcode and drift."""
    runs = (home.run("plan", *flags), home.run("plan", "--detailed-exitcode", *flags), home.run("drift", *flags))
    return runs[0].code, runs[1].code, runs[2].code


def test_k082_no_change(settled: Home) -> None:
    assert ended(settled) == (0, 0, 0)


def test_k082_changes(settled: Home) -> None:
    settled.wish(entry("fra1-a", {"acme": 9}), keyPrefix="fra1-")
    assert ended(settled) == (0, 2, 2)


def test_k082_pools_of_others_alone(settled: Home) -> None:
    with settled.hand() as client:
        client.call("pools/create", {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"})
    assert ended(settled) == (0, 0, 0)


def test_k082_pools_that_left_the_files_alone(settled: Home) -> None:
    settled.wish(keyPrefix="fra1-", allowEmpty=True)
    assert ended(settled) == (0, 0, 2)


def test_k082_files_that_cannot_be_read(settled: Home) -> None:
    settled.write("more.yaml", "pools: [")
    assert ended(settled) == (1, 1, 1)


def test_k082_a_guard(settled: Home) -> None:
    pools = [entry(f"fra1-{n}", {"acme": 8}) for n in range(11)]
    settled.wish(*pools, entry("fra1-a", {"acme": 8}), keyPrefix="fra1-")
    settled.apply()
    settled.wish(*({**pool, "offers": []} for pool in pools), entry("fra1-a", {"acme": 8}), keyPrefix="fra1-")
    assert ended(settled) == (3, 3, 2)


def test_k082_no_credential_and_no_answer(settled: Home) -> None:
    with served(settled) as (_, proxy):
        settled.environ = {"FLEETCTL_TOKEN": "bc_nobody"}
        assert ended(settled) == (1, 1, 1)
    # Nobody listens there any more.
    assert settled.run("plan", "--server", proxy.url, "--timeout", "5").code == 1


def test_k082_an_answer_that_does_not_come_in_time(settled: Home) -> None:
    """Differences that were found already do not make it a 2."""

    def slow(exchange: Exchange) -> None:
        if exchange.operation != "events/list":
            exchange.pass_on()

    settled.wish(entry("fra1-a", {"acme": 9}), keyPrefix="fra1-")
    with served(settled) as (_, proxy):
        proxy.reset(slow)
        ran = settled.run("drift", "--timeout", "0.2")
    assert (ran.code, ran.out) == (1, ""), ran.said


@pytest.mark.parametrize("name", ["plan", "drift"])
def test_k082_a_reader_that_goes_away(settled: Home, name: str) -> None:
    process = subprocess.Popen(
        command("fleetctl", name, str(settled.directory), "--detailed-exitcode" if name == "plan" else "--verbose"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), err) == (1, b"")


def test_k082_a_usage_that_is_none(settled: Home) -> None:
    for flags in (("--no-such-flag",), ("--timeout", "soon"), ("--format", "html"), ("--allow", "archives=1")):
        assert settled.run("plan", *flags).code == 64
    assert fleetctl("no-such-command").code == 64
    assert settled.run("apply").code == 64, "nobody to ask, and nothing that approves"


# K084: streams that have not every letter.


@pytest.mark.parametrize(
    "settings",
    [
        {"PYTHONIOENCODING": "cp1252"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii:strict"},
    ],
    ids=["cp1252", "C", "ascii"],
)
def test_k084_an_apply_ends_whatever_its_streams_can_print(home: Home, settings: dict[str, str]) -> None:
    policy = {"note": "zażółć gęślą jaźń → \U0001f680"}
    home.wish(entry("fra1-a", {"acme": 1, "globex": 1}, policy=policy), entry("fra1-b", {"acme": 1}))
    ran = fleetctl_process("apply", home.directory, "--yes", **settings)
    assert ran.code == 0, ran.said
    assert "Applied: 5 operations done." in ran.out
    with home.hand() as client:
        state = client.pools.get(pool_id("fra1-a"))
    assert state.pool is not None
    assert state.pool.policy == policy
    assert home.is_settled()


def test_output_that_nobody_can_take_does_not_stop_an_apply(home: Home) -> None:
    """A full disk behind both streams."""
    home.wish(*(entry(f"fra1-{n}", {"acme": 1}) for n in range(3)))
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no device that is always full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command("fleetctl", "apply", str(home.directory), "--yes"),
            stdout=full,
            stderr=full,
            env=environment(),
            timeout=60,
            check=False,
        )
    assert done.returncode in (0, 1)
    assert len(home.events()) in (0, 6), "all of it or nothing"


def test_a_report_of_an_apply_is_json_beside_the_conversation(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 1}))
    ran: Ran = home.run("apply", "--yes", "--format", "json")
    assert json.loads(ran.out)["kind"] == "apply"
    assert "Plan of fleet" in ran.err
