"""Kind i: what a pipeline sees of a run: no secret, the right exit code, and letters that no stream refuses."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from fleetctl.cli.streams import FORMATS
from tests.e2e.conftest import command, environment
from tests.e2e.homes import Home, Ran, entry, fleetctl, fleetctl_process, pool_id, served
from tests.e2e.proxy import Exchange

SECRETS = ("hunter2-example", "pw-example", "tok-example")


# K078: a comment of any plan.


@pytest.fixture
def archiving(home: Home) -> Home:
    """300 pools with two offers each are wished, and three that are live are to be archived."""
    middle = [entry(f"fra1-old-{n}", {"acme": 8}) for n in range(3)]
    home.wish(*middle)
    home.apply()
    pools = [entry(f"fra1-{n:03}", {"acme": 1 + n, "globex": 2 + n}, policy={"note": str(n)}) for n in range(300)]
    gone = [{"idempotencyKey": f"fra1-old-{n}", "archived": True} for n in range(3)]
    home.wish(*pools[:150], *gone, *pools[150:], guards={"maxArchives": 3, "maxArchivePercent": 100})
    return home


def test_k078_a_comment_keeps_its_size_its_counts_and_all_that_is_destructive(archiving: Home, tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    ran = archiving.run("plan", "--format", "markdown", "--out", plan)
    assert ran.code == 0, ran.err
    assert 10_000 < len(ran.out.encode()) <= 65_000
    head, _, rest = ran.out.partition("### ")
    assert "3 to archive, 300 to create, 600 new offers" in head
    lines = rest.splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("+ create"))
    assert [key for key in ("fra1-old-0", "fra1-old-1", "fra1-old-2") if key in "\n".join(lines[:first])] == [
        "fra1-old-0",
        "fra1-old-1",
        "fra1-old-2",
    ]
    assert re.search(r"\*\*[0-9,]+ lines are left out\.\*\* The whole: `fleetctl show plan\.json`", lines[-1])
    whole = fleetctl("show", plan).out
    assert all(f"fra1-{n:03}" in whole for n in range(300))


# K080: secrets.


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


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "prometheus"])
def test_k080_no_format_shows_a_secret_and_those_that_show_values_mark_where_one_changed(
    name: str, home: Home, tmp_path: Path
) -> None:
    home.wish(with_secrets())
    plan, report = tmp_path / "plan.json", tmp_path / "report.json"
    check_silent(home.run("validate", "--format", name).said)
    check_silent(home.run("plan", "--format", name, "--verbose", "--out", plan).said)
    check_silent(fleetctl("show", plan, "--format", name).said)
    check_silent(home.run("apply", "--yes", "--format", name, "--report", report).said)
    check_silent(fleetctl("show", report, "--format", name).said)
    home.wish(with_secrets(password="hunter2-example-2"))
    for command_ in ("plan", "drift"):
        ran = home.run(command_, "--format", name)
        check_silent(ran.said)
        # A safe update is no annotation, and no result of a scan.
        if command_ == "drift" or name not in ("github", "sarif"):
            assert "policy.registry.password" in ran.out
            assert "(sensitive)" in ran.out
            assert (
                '"sensitive": true' in ran.out if name == "json" else "(changed)" in ran.out or "(differs)" in ran.out
            )


@pytest.mark.parametrize("name", FORMATS)
def test_k080_an_error_that_repeats_the_token_does_not_print_it_in_any_format(name: str, home: Home) -> None:
    home.wish(entry("fra1-a", []))
    with served(home) as (_, proxy):
        token = home.environ["FLEETCTL_TOKEN"]
        proxy.reset(lambda e: e.refuse(401, "UNAUTHENTICATED", f"{e.headers['authorization']} does not count"))
        ran = home.run("drift", "--format", name)
        assert ran.code == 1
        assert token not in ran.said


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


# K081: names that forge.


def test_k081_a_key_that_is_no_plain_name_is_refused(home: Home) -> None:
    for key in ("pool-`x`\n@ops-team", "a b", "@ops-team", "</details>"):
        home.wish(entry(key, []))
        ran = home.run("plan", "--format", "markdown")
        assert ran.code == 1
        assert "@ops-team" not in outside_code(ran.out)


def test_k081_a_note_neither_closes_its_fence_nor_mentions_anybody_nor_adds_a_line(home: Home) -> None:
    note = "```\n</details> **0 to archive** @ops-team\n````\n# 0 to archive"
    home.wish(entry("fra1-a", [], policy={"note": note}))
    for report in (home.run("plan", "--format", "markdown", "--verbose"), home.run("drift", "--format", "markdown")):
        assert not any(line.startswith(("0 to archive", "# 0", "</details> *")) for line in report.out.splitlines())
        outside = outside_code(report.out)
        assert "@ops-team" not in outside
        assert "0 to archive" not in outside
    planned = home.run("plan", "--format", "markdown", "--verbose").out
    assert r"```\n</details> **0 to archive** @ops-team\n````\n# 0 to archive" in planned
    assert "\n`````diff\n" in planned


def outside_code(comment: str) -> str:
    """What of a comment is not in code: all that a host acts on."""
    words = []
    for token in MarkdownIt("commonmark").enable("table").parse(comment):
        words += [child.content for child in token.children or () if child.type != "code_inline"]
        words += [token.content] if token.type == "html_block" else []
    return "\n".join(words)


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
    for flags in (("--no-such-flag",), ("--timeout", "soon"), ("--format", "prometheus"), ("--allow", "archives=1")):
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


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "text"])
def test_k084_every_format_goes_into_a_stream_of_few_letters(name: str, home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 1}, policy={"note": "zażółć → \U0001f680"}))
    ran = fleetctl_process("drift", home.directory, "--format", name, PYTHONIOENCODING="ascii:strict")
    assert (ran.code, ran.err) == (2, "")
    assert ran.out.isascii()
    assert name in ("sarif", "prometheus") or "fra1-a" in ran.out


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
