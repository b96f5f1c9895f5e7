"""An apply over a network that drops, doubles, delays, reorders and cuts, at a control plane that has too much to do:
whatever happens, the same command again brings about what is wished, once. `tests/simulation` has how that is seen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest

from better_compute.client import Calls, calls
from better_compute.domain.problems import STRANGE_ANSWER, Problem
from fleetctl.apply import attempts
from fleetctl.apply.attempts import Task
from fleetctl.apply.journal import Outcome
from tests.simulation.network import FAULTS, LATE
from tests.simulation.runs import MOST_RUNS, Simulation, simulation

ROOT = Path(__file__).parents[3]
PART = 50
"""Seeds of a test, so that workers share them."""
SEEDS, ALL_SEEDS = 300, 10_000

Patch = pytest.MonkeyPatch
Body = dict[str, Any]


@pytest.fixture(scope="module")
def simulated() -> Iterator[Simulation]:
    """It is made before any fault is planted."""
    with simulation() as made:
        yield made


def parts() -> list[Any]:
    """The seeds, those beyond the first hundreds in the long run alone."""
    starts = range(0, ALL_SEEDS, PART)
    return [pytest.param(n, marks=() if n < SEEDS else pytest.mark.long, id=f"{n}-{n + PART - 1}") for n in starts]


@pytest.mark.parametrize("start", parts())
def test_the_same_command_again_brings_about_what_is_wished_once(simulated: Simulation, start: int) -> None:
    courses = [simulated.course(seed) for seed in range(start, start + PART)]
    runs = Counter(n for course in courses for n in course.runs)
    assert 1 < max(runs) <= MOST_RUNS
    met = {line.fault for course in courses for line in course.trace}
    assert met == {"", LATE, *FAULTS}


def test_a_wish_has_operations_of_every_kind_and_some_that_wait_for_others(simulated: Simulation) -> None:
    for prepared in simulated.fleets:
        operations = prepared.plan.operations
        assert {o.action for o in operations} == {"create", "update", "offer", "setQuota", "unoffer", "archive"}
        assert 12 <= len(operations) <= 20
        assert sum(bool(o.depends_on) for o in operations) > 2


# One course of events for each seed.

KNOWN = range(4)


def test_the_same_seed_gives_the_same_trace_and_another_one_another(simulated: Simulation) -> None:
    first, again = simulated.digests(KNOWN), simulated.digests(KNOWN)
    assert first == again
    assert len(set(first)) == len(KNOWN)


def test_the_trace_does_not_depend_on_the_process(simulated: Simulation) -> None:
    """Sets of texts have another order in each."""
    said = f"from tests.simulation.runs import simulation\nwith simulation() as it: print(it.digests({KNOWN}))"
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    ran = subprocess.run([sys.executable, "-c", said], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.stdout.strip() == str(simulated.digests(KNOWN)), ran.stderr


def test_chance_that_no_seed_knows_of_gives_another_trace(simulated: Simulation, monkeypatch: Patch) -> None:
    """The planted fault."""
    monkeypatch.setattr("tests.simulation.world.Random", lambda _: SystemRandom())
    assert simulated.course(0).trace != simulated.course(0).trace


# Planted faults.


def check_caught(simulated: Simulation, said: str = "not done once", **settings: Any) -> None:
    def some() -> None:
        for seed in range(20):
            simulated.course(seed, **settings)

    with pytest.raises(AssertionError, match=said):
        some()


def sent(monkeypatch: Patch, operation: str, bend: Callable[[Body], Body]) -> None:
    """Every call of the operation has another body, and is made again when its answer is lost, as those that may be."""
    send = Calls._send

    def bent(self: Calls, name: str, data: bytes) -> Any:
        return send(self, name, json.dumps(bend(json.loads(data))).encode() if name == operation else data)

    monkeypatch.setattr(Calls, "_send", bent)
    monkeypatch.setattr(calls, "repeatable", lambda *_: True)


def without(name: str) -> Callable[[Body], Body]:
    return lambda body: {field: value for field, value in body.items() if field != name}


@pytest.mark.parametrize("operation", ["pools/update", "pools/offer", "pools/unoffer", "quotas/set"])
def test_a_write_without_its_precondition_is_caught(simulated: Simulation, monkeypatch: Patch, operation: str) -> None:
    """A request that arrives late undoes what was wished since."""
    sent(monkeypatch, operation, without("expectedVersion"))
    check_caught(simulated)


def test_a_creation_without_its_key_is_caught(simulated: Simulation, monkeypatch: Patch) -> None:
    sent(monkeypatch, "pools/create", without("idempotencyKey"))
    check_caught(simulated, "it is not as wished")


def test_an_attempt_under_a_new_key_is_caught(simulated: Simulation, monkeypatch: Patch) -> None:
    send = Calls._send
    key = b'"idempotencyKey":"'

    def anew(self: Calls, operation: str, data: bytes) -> Any:
        return send(self, operation, data.replace(key, key + b"again-") if self.made else data)

    monkeypatch.setattr(Calls, "_send", anew)
    check_caught(simulated)


def test_half_an_answer_that_is_taken_for_success_is_caught(simulated: Simulation, monkeypatch: Patch) -> None:
    failed = attempts._failed

    def done(task: Task, problem: Problem) -> Outcome:
        return Outcome(task.operation, "done") if problem.rule == STRANGE_ANSWER else failed(task, problem)

    monkeypatch.setattr(attempts, "_failed", done)
    check_caught(simulated, "is not done")


def test_a_first_offer_that_arrives_after_its_withdrawal_is_made_again(simulated: Simulation) -> None:
    """The one thing that a precondition does not keep away: it says that there is no offer, and there is none."""
    check_caught(simulated, spares=False)
