"""On a real terminal: progress that passes by, windows that change, Ctrl-C, colours and none."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.e2e.conftest import command
from tests.e2e.homes import Home, entry, served
from tests.e2e.proxy import Exchange, Proxy
from tests.e2e.terminal import Terminal, is_coloured, terminal

SLOW_SECONDS = 0.15


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Twelve pools to make, each with an offer."""
    home = Home(tmp_path)
    home.wish(*(entry(f"fra1-pool-with-a-long-name-{n:02}", {"acme": 8}) for n in range(12)))
    return home


@pytest.fixture
def slow(home: Home) -> Iterator[Proxy]:
    """A server that takes its time for each write."""

    def rule(exchange: Exchange) -> None:
        if exchange.write is not None:
            time.sleep(SLOW_SECONDS)
        exchange.pass_on()

    with served(home) as (_, proxy):
        proxy.reset(rule)
        yield proxy


@pytest.fixture
def window() -> Iterator[Terminal]:
    with TemporaryDirectory() as folder, terminal(Path(folder)) as window:
        yield window


def line(home: Home, *arguments: str) -> list[str]:
    token = [f"{name}={value}" for name, value in home.environ.items()]
    return ["env", *token, *command("fleetctl", *map(str, home.line(*arguments)))]


@pytest.mark.usefixtures("slow")
def test_progress_passes_by_in_one_line_and_only_the_result_stays(home: Home, window: Terminal) -> None:
    window.run(*line(home, "apply", "--yes"))
    window.wait(lambda screen: bool(re.search(r"^\[ ?\d+/24\] done .*fra1-pool", screen, re.MULTILINE)))
    assert window.ended() == 0, window.screen()
    screen = window.screen()
    assert "/24]" not in screen
    assert "Applied: 24 operations done." in screen


@pytest.mark.usefixtures("slow")
def test_verbose_progress_stays(home: Home, window: Terminal) -> None:
    window.run(*line(home, "apply", "--yes", "--verbose"))
    assert window.ended() == 0, window.screen()
    assert len(re.findall(r"^\[[ \d]\d/24\] done", window.screen(), re.MULTILINE)) == 24


@pytest.mark.usefixtures("slow")
def test_a_window_made_narrow_meanwhile_breaks_no_line(home: Home, window: Terminal) -> None:
    window.run(*line(home, "apply", "--yes", "--parallelism", "1"))
    window.wait(lambda screen: "/24]" in screen)
    window.resize(40, 30)
    rows: set[str] = set()

    def ended(screen: str) -> bool:
        rows.update(row for row in screen.splitlines() if "/24]" in row)
        return "Applied" in screen

    window.wait(ended)
    numbers = {int(row[1:3]) for row in rows if len(row) < 40}
    assert len(numbers) > 3, rows  # as wide as the window is now
    assert len([row for row in window.screen().splitlines() if "/24]" in row]) <= 1  # the one that was there before
    assert window.ended() == 0, window.screen()


def test_ctrl_c_once_finishes_what_is_under_way_and_reports_it(home: Home, slow: Proxy, window: Terminal) -> None:
    window.run(*line(home, "apply", "--yes", "--parallelism", "1"))
    window.wait(lambda screen: "/24]" in screen)
    window.press("C-c")
    assert window.ended() == 130
    screen = window.screen()
    assert "Interrupted by SIGINT" in screen
    found = re.search(r"Applied in part: (\d+) of 24 operations done, (\d+) not started", screen)
    assert found is not None
    assert int(found[1]) == len(slow.writes)
    assert "Traceback" not in screen
    home.run("apply", "--yes")
    assert home.is_settled()


def test_a_plan_is_coloured_on_a_terminal_and_in_no_pipe(home: Home, window: Terminal) -> None:
    window.run(*line(home, "plan"))
    assert window.ended() == 0, window.screen()
    assert is_coloured(window.screen(colours=True))
    window.run(*line(home, "plan"), piped_to="cat")
    assert window.ended() == 0, window.screen()
    assert not is_coloured(window.screen(colours=True))


def test_no_color_and_a_dumb_terminal_are_believed(home: Home, window: Terminal) -> None:
    for variable in ("NO_COLOR=1", "TERM=dumb"):
        window.run("env", variable, *line(home, "plan"))
        assert window.ended() == 0, window.screen()
        assert not is_coloured(window.screen(colours=True))


def test_the_c_locale_gets_escapes_and_loses_nothing(home: Home, window: Terminal) -> None:
    home.wish(entry("fra1-a", {"acme": 8}, policy={"note": "zażółć → gęślą"}))
    window.run("env", "LC_ALL=C", "PYTHONIOENCODING=ascii", "PYTHONUTF8=0", *line(home, "apply", "--yes"))
    assert window.ended() == 0, window.screen()
    screen = window.screen().replace("\n", "")
    assert r"za\u017c\xf3\u0142\u0107 \u2192 g\u0119\u015bl\u0105" in screen
    assert home.is_settled()


def test_a_narrow_window_shows_the_whole_plan(home: Home) -> None:
    home.wish(*(entry(f"fra1-pool-with-a-long-name-{n:02}", {"acme": n + 1}) for n in range(12)))
    with TemporaryDirectory() as folder, terminal(Path(folder), columns=40, rows=20) as window:
        window.run(*line(home, "plan"))
        assert window.ended() == 0, window.screen()
        text = re.sub(r"\s+", "", window.screen())
    for n in range(12):
        assert f"fra1-pool-with-a-long-name-{n:02}" in text
    assert re.search(r"Digest:[0-9a-f]{64}", text)


def test_a_check_that_takes_for_ever_ends_with_the_first_signal(home: Home) -> None:
    """The engine of checks never comes back while it evaluates, so that no handler would be called."""
    ones = ",".join(["1"] * 600)
    slow = f"[[{ones}]].map(v,v.map(w,v)).map(u,u.map(w,u)).all(r," + "&&".join(["r==r"] * 60) + ")"
    check = {"name": "slow", "severity": "warn", "expr": slow, "message": "slow"}
    home.wish(entry("fra1-a", []), checks=[check])
    process = home.start("plan")
    time.sleep(4)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(20) in (-signal.SIGINT, 130)
    process.communicate()
