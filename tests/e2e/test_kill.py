"""An apply of 500 operations in which fleetctl or its server is killed: the same command again converges.

Each request has three boundaries, and there are three modes of killing: in every mode each request is struck once, and
over the three modes once at each boundary. That is 1,500 points. A test strikes five requests of one mode that lie a
hundred apart, one after the other in the same apply; or the first few in one apply and the rest in another, so that
over all tests the command after any of the five is one that is left alone.

The long run may go in thirty parts of fifty points, `-m long -k yes-0` to `-k server-9`; a test of it is `-k plan-37`.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from tests import postgres
from tests.e2e.conftest import Server, serving
from tests.e2e.homes import Home
from tests.e2e.killing import ALLOWED, BOUNDARIES, MODES, UNIT, Ground, Point, Story, Strike, check, ground
from tests.e2e.proxy import Exchange

OPERATIONS, APART = 500, 100
QUICK = {("yes", 0), ("plan", 0), ("server", 0), ("yes", 41), ("plan", 62), ("yes", 99), ("plan", 99), ("server", 99)}


def points(mode: str, first: int) -> list[Point]:
    turn = MODES.index(mode)
    return [Point(k, BOUNDARIES[(turn + k) % 3]) for k in range(first + 1, OPERATIONS + 1, APART)]


def applies(mode: str, first: int) -> list[list[Point]]:
    """The points, in one apply or in two."""
    cut = first % (OPERATIONS // APART)
    both = points(mode, first)
    return [part for part in (both[:cut], both[cut:]) if part]


CHOICES = [(mode, first) for mode in MODES for first in range(APART)]
SWEEP = [
    pytest.param(*choice, marks=() if choice in QUICK else pytest.mark.long, id=f"{choice[0]}-{choice[1]:02}")
    for choice in CHOICES
]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return ground(Home(tmp_path_factory.mktemp("kill")))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return ground(Home(tmp_path_factory.mktemp("kill")), units=1)


def story(home: Home, mode: str, begun: Ground, *arguments: str, **how: Any) -> Story:
    approved = ("--plan", begun.plan) if mode == "plan" else ("--yes",)
    return Story(home, [*approved, *arguments], mode == "server", **how)


def strike(home: Home, mode: str, begun: Ground, those: list[Point]) -> None:
    story(home, mode, begun).play(those)
    check(home, begun.planned, begun.planned["digest"] if mode == "plan" else None)


@pytest.mark.parametrize(("mode", "first"), SWEEP)
def test_the_same_command_again_converges(large: Ground, tmp_path: Path, mode: str, first: int) -> None:
    for n, those in enumerate(applies(mode, first)):
        strike(large.copy(tmp_path / str(n)), mode, large, those)


@pytest.mark.long
def test_on_postgresql_too(postgres_server: postgres.Server, tmp_path: Path) -> None:
    with postgres_server.database() as url:
        home = Home(tmp_path / "begun")
        home.move(url)
        begun = ground(home)
        for mode in MODES:
            with postgres_server.database(like=url) as copy:
                strike(begun.copy(tmp_path / mode, copy), mode, begun, points(mode, 49))


def test_every_request_is_struck_at_each_boundary_and_in_each_mode() -> None:
    struck = [(point, mode) for mode, first in CHOICES for part in applies(mode, first) for point in part]
    requests = range(1, OPERATIONS + 1)
    assert sorted((p.request, p.boundary) for p, _ in struck) == [(k, b) for k in requests for b in sorted(BOUNDARIES)]
    assert sorted((p.request, mode) for p, mode in struck) == [(k, mode) for k in requests for mode in sorted(MODES)]
    assert len([p for mode, first in QUICK for p in points(mode, first)]) == 40


def test_what_a_killed_apply_left_half_made_and_nobody_looks_at_breaks_the_law(
    small: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = small.copy(tmp_path / "home")
    monkeypatch.setattr("fleetctl.diff.pools._offer_diffs", lambda *_: ())
    played = story(home, "yes", small, last=lambda: home.run("apply", *ALLOWED, "--yes"))
    played.play([Point(20, "held")])
    with pytest.raises(AssertionError, match=r"too often: \{\}; missing: .*pool\.offered"):
        check(home, small.planned)


def test_a_resume_that_takes_its_own_events_for_somebody_elses_breaks_the_law(
    small: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = small.copy(tmp_path / "home")
    monkeypatch.setattr("fleetctl.apply.staleness._is_done", lambda *_: False)
    played = story(home, "plan", small, last=lambda: home.run("apply", *ALLOWED, "--plan", small.plan))
    with pytest.raises(AssertionError, match="the plan is stale"):
        played.play([Point(20, "held")])


def test_a_server_that_forgets_what_it_answered_breaks_the_law(small: Ground, tmp_path: Path) -> None:
    home = small.copy(tmp_path / "home")

    def serve(url: str) -> AbstractContextManager[Server]:
        small.put_back(home)
        return serving(url)

    # One at a time: nothing else is under way that would fail for what was forgotten.
    played = story(home, "server", small, "--parallelism", "1", serve=serve)
    with pytest.raises(AssertionError, match="the next plan is not empty"):
        played.play([Point(UNIT, "passed")])


class Keyless(Strike):
    """A server that does not know the key of a create that is asked for again."""

    def __init__(self) -> None:
        super().__init__()
        self._made: set[str] = set()

    def __call__(self, exchange: Exchange) -> None:
        key = exchange.body.get("idempotencyKey")
        if key in self._made:
            del exchange.body["idempotencyKey"]
        elif key:
            self._made.add(key)
        super().__call__(exchange)


def test_a_create_that_is_done_again_breaks_the_law(small: Ground, tmp_path: Path) -> None:
    home = small.copy(tmp_path / "home")
    free = [o["action"] for o in small.planned["operations"] if not o["dependsOn"]]
    played = story(home, "server", small, "--parallelism", "1", strike=Keyless())
    played.play([Point(free.index("create") + 1, "held")])
    with pytest.raises(AssertionError, match=r"too often: .*pool\.created"):
        check(home, small.planned)
