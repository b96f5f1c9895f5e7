"""An apply that asks: on a terminal, with the plan before people's eyes."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from better_compute.domain.commands import OfferPool
from fleetctl import live
from tests.e2e.conftest import command, environment
from tests.e2e.homes import Home, entry, pool_id, served, unchanged
from tests.e2e.proxy import Exchange

PROMPT = b'Type "yes" to apply this plan: '
RACKED = pool_id("racked")
"""Four hosts of eight H100 stand by for it."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.wish(entry("fra1-a", {"acme": 8}))
    return home


@pytest.fixture
def racked(tmp_path: Path) -> Home:
    """A pool with machines, offered to acme."""
    home = Home(tmp_path)
    home.wish(entry("racked", {"acme": 8}))
    home.apply()
    return home


def ask(
    home: Home, answer: bytes | signal.Signals, *flags: str, meanwhile: Callable[[], object] = lambda: None
) -> tuple[int, str, bytes]:
    """Run an apply on a terminal and answer its question, or send it a signal, after what is done `meanwhile`; the exit
    code, stdout, and what the terminal showed."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("fleetctl", *map(str, home.line("apply", *flags))),
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(TERM="xterm", **home.environ),
    )
    os.close(theirs)
    killer = threading.Timer(60, process.kill)
    killer.start()
    shown = b""
    with suppress(OSError):  # what a terminal's end says once nobody has the other one open any more
        while data := os.read(ours, 4096):
            if PROMPT in (shown := shown + data) and answer:
                meanwhile()
                process.send_signal(answer) if isinstance(answer, signal.Signals) else os.write(ours, answer)
                answer = b""
    out, _ = process.communicate()
    killer.cancel()
    os.close(ours)
    return process.returncode, out, shown


def test_yes_applies_the_plan_that_was_shown(home: Home) -> None:
    code, out, terminal = ask(home, b"yes\n")
    assert code == 0
    assert out.index("+ create") < out.index("Applied: 2 operations done.")
    assert terminal.index(PROMPT) < terminal.index(b"[1/2]")
    assert home.is_settled()


@pytest.mark.parametrize("answer", [b"no\n", b"yes please\n", b"\x04"])
def test_anything_else_writes_nothing(home: Home, answer: bytes) -> None:
    with unchanged(home):
        code, out, terminal = ask(home, answer)
    assert code == 1
    assert "Applied" not in out
    assert b"\nSTOPPED: not approved: nothing was written" in terminal.replace(b"\r", b"")


def book(home: Home, gpus: int) -> None:
    with home.hand("sa_hand", "acme") as client:
        assert client.reservations.create(RACKED, {"gpu": gpus}).state == "placed"


def offered(home: Home) -> None:
    with home.hand("sa_other") as client:
        client.pools.offer(OfferPool(tenant_id="root", pool_id=RACKED, to_tenant_id="acme", quota={"gpu": 6}))


def written(home: Home) -> list[int]:
    """The events of what applies wrote."""
    return [event.sequence for event in home.events() if event.actor_id == "sa_fleet"]


@pytest.mark.parametrize(
    ("wish", "says"),
    [
        (entry("racked", {"acme": 2}), "1 quota row would drop below what is in use"),
        ({"idempotencyKey": "racked", "archived": True}, "1 pool would be archived in use"),
    ],
    ids=["below use", "in use"],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_what_is_booked_while_the_question_stands_is_judged(
    racked: Home, wish: dict[str, Any], says: str, form: str
) -> None:
    """A booking changes no version, so that nothing but the guards would hold."""
    racked.wish(wish)
    before = written(racked)
    code, out, terminal = ask(racked, b"yes\n", "--format", form, meanwhile=lambda: book(racked, 4))
    assert (code, written(racked)) == (3, before)
    shown = out if form == "text" else json.loads(out)["findings"][0]["message"]
    assert says in shown
    before_that, _, since = terminal.decode().partition(PROMPT.decode())
    assert says not in before_that
    assert "What blocks this plan is new since it was asked about: nothing was written" in since
    assert "Applied" not in out


def test_what_guards_still_let_pass_is_applied(racked: Home) -> None:
    racked.wish(entry("racked", {"acme": 4}))
    code, out, _ = ask(racked, b"yes\n", meanwhile=lambda: book(racked, 4))
    assert (code, "Applied: 1 operation done." in out) == (0, True)


def test_what_somebody_changes_while_the_question_stands_makes_it_another_plan(racked: Home) -> None:
    racked.wish(entry("racked", {"acme": 4}), entry("fra1-b", []))
    before = written(racked)
    code, out, terminal = ask(racked, b"yes\n", meanwhile=lambda: offered(racked))
    assert (code, "Applied" in out, written(racked)) == (4, False, before)
    said = terminal.decode().replace("\r", "").partition(PROMPT.decode())[2]
    assert (
        "MISMATCH: the plan is stale: the live state moved while it was asked about, and nothing was written"
        " [plan.stale]\n" in said
    )
    assert "  planned from another state: offer racked for acme\n" in said
    assert "  racked for acme: pool.offered by sa_other at " in said
    assert "fra1-b" not in said
    assert "Hint: apply again, and look at the new plan\n" in said


def test_what_is_done_by_others_while_the_question_stands_is_told_as_that(racked: Home) -> None:
    racked.wish(entry("racked", {"acme": 6}))
    code, _, terminal = ask(racked, b"yes\n", meanwhile=lambda: offered(racked))
    assert (code, b"  planned, and not to be done now: offer racked for acme\r\n" in terminal) == (4, True)


def test_a_replaced_pool_that_is_booked_by_then_is_told_with_what_keeps_it(racked: Home) -> None:
    racked.wish(entry("fra1-new", {"acme": 8}, replaces="racked"))
    before = written(racked)
    code, _, terminal = ask(racked, b"yes\n", meanwhile=lambda: book(racked, 4))
    said = terminal.decode().replace("\r", "").partition(PROMPT.decode())[2]
    assert (code, written(racked)) == (4, before)
    assert "  planned, and not to be done now: archive racked\n" in said
    assert re.search("  racked is replaced by fra1-new and has 1 (placed|active) reservation: it is kept\n", said)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_in_the_place_of_an_answer_is_told_to_have_written_nothing(
    home: Home, number: signal.Signals, code: int, form: str
) -> None:
    with unchanged(home):
        ended, out, terminal = ask(home, number, "--format", form)
    said = f"{number.name} came before an answer: nothing was written"
    assert (ended, f"STOPPED: {said}" in terminal.decode()) == (code, True)
    if form == "json":
        assert [problem["message"] for problem in json.loads(out)["problems"]] == [said]


@pytest.mark.parametrize("is_new", [True, False], ids=["made anew", "gone"])
def test_a_database_that_is_another_file_by_then_is_not_written_to(racked: Home, *, is_new: bool) -> None:
    """What holds the old one open reads on in it, and could write there."""
    racked.wish(entry("racked", {"acme": 4}))

    def meanwhile() -> None:
        data = racked.database.read_bytes()
        racked.database.unlink()
        if is_new:
            racked.database.write_bytes(data)

    code, out, terminal = ask(racked, b"yes\n", meanwhile=meanwhile)
    became = "was made anew" if is_new else "is gone"
    said = f"MISMATCH: the control plane's database ../plane.db {became} meanwhile: nothing was written"
    assert (code, "Applied" in out, said in terminal.decode()) == (4, False, True)


def test_another_control_plane_that_answers_by_then_is_not_written_to(racked: Home) -> None:
    racked.wish(entry("racked", {"acme": 4}))
    with served(racked) as (_, proxy):

        def another(exchange: Exchange) -> None:
            status, _, body = exchange.forward()
            exchange.answer(status, body, X_Better_Compute_Instance="inst_another")

        code, out, terminal = ask(racked, b"yes\n", meanwhile=lambda: proxy.reset(another))
        assert not proxy.writes
    said = terminal.decode()
    assert (code, "Applied" in out, "may have done" in said) == (4, False, False)
    assert "MISMATCH: another control plane answers behind the same URL: inst_another" in said
    assert "; nothing was written" in said


@pytest.mark.parametrize("flag", ["--yes", "--expect", "--plan"])
def test_what_is_approved_before_is_judged_once(racked: Home, flag: str, tmp_path: Path) -> None:
    """The live state is read once: whoever approved before does not think it over."""
    racked.wish(entry("racked", {"acme": 4}))
    plan = tmp_path / "plan.json"
    digest = racked.run("plan", "--format", "json", "--out", plan).report["digest"]
    values = {"--yes": (), "--expect": (digest,), "--plan": (str(plan),)}
    with patch("fleetctl.live.read", wraps=live.read) as reads:
        assert racked.run("apply", flag, *values[flag]).code == 0
    assert reads.call_count == 1


def test_nothing_to_do_asks_nothing(home: Home) -> None:
    home.apply()
    code, out, terminal = ask(home, b"")
    assert (code, PROMPT in terminal) == (0, False)
    assert "as the files say" in out
