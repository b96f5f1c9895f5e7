"""Runs of the command in a world whose network is faulty, and what must hold of them.

A wish is applied by the same command again and again until it ends well, `MOST_RUNS` times at most. That this suffices
is a law, and not luck: no call fails more often in a row than its client tries again, and what a client does not try
again (`network.ENDING`) does not happen in the last run. Whatever else the network does it goes on doing in every run,
between them, and after them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from better_compute.domain.problems import OTHER_INSTANCE, ComputeError
from fleetctl import preflight
from fleetctl.apply import approval
from fleetctl.apply.journal import Outcome
from fleetctl.apply.saved import SavedPlan
from fleetctl.consequences import Consequences
from fleetctl.desired import Desired
from fleetctl.desired.load import assemble
from fleetctl.files import read_text
from fleetctl.live import Live, read
from fleetctl.plan import Plan, make
from fleetctl.report.forms import PlanReport
from fleetctl.report.of_plan import of_plan
from fleetctl.report.parts import Header
from fleetctl.report.plan_file import saved_plan
from fleetctl.report.saved import file_bytes
from tests.e2e.edge import apply_by
from tests.simulation.fleets import Entries, fleet
from tests.simulation.network import LATE, Line
from tests.simulation.scheduler import SimulatedEvent, Workers
from tests.simulation.world import SharedPlane, World

MOST_RUNS = 3
FLEETS = 10
"""So many different ones."""

_URL = "https://compute.example.com"
_ROOT = {"apiVersion": "fleet/v1", "fleet": "simulated", "tenantId": "root", "caller": "sa_fleet"}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A fleet whose first state is live, in a database kept at `path`, and its two wishes: what the files say, as data
    and as they are read."""

    path: Path
    live: Live
    wishes: tuple[tuple[Entries, Desired], tuple[Entries, Desired]]

    @property
    def plan(self) -> Plan:
        """That of the first wish."""
        return make(self.wishes[0][1], self.live)


@dataclass(frozen=True, slots=True)
class Course:
    """What happened for one seed: how many runs each wish took, and every request."""

    runs: tuple[int, ...]
    trace: tuple[Line, ...]

    @property
    def digest(self) -> str:
        return sha256(repr(self.trace).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Simulation:
    """Runs the courses of seeds, one after the other on one control plane."""

    shared: SharedPlane
    fleets: tuple[Prepared, ...]

    def course(self, seed: int, *, spares: bool = True) -> Course:
        """Two wishes, one after the other; late requests of the first arrive during the second, and after it. Raises
        AssertionError for whatever does not hold, and Stop where an approved plan is refused; a note names the seed.

        `spares`: a first offer does not arrive again once the second wish withdraws it. Its precondition is that there
        is no offer, which is so then as it was before: it would be made again.
        """
        prepared = self.fleets[seed % FLEETS]
        try:
            with self.shared.world(seed, prepared.path) as made:
                return Course(_lived(made, prepared, approved=seed % 2 == 1, spares=spares), tuple(made.network.trace))
        except BaseException as error:
            error.add_note(f"in the course of seed {seed}")
            raise

    def digests(self, seeds: range) -> list[str]:
        """Of the courses of some seeds."""
        return [self.course(seed).digest for seed in seeds]


@contextmanager
def simulation() -> Iterator[Simulation]:
    with TemporaryDirectory() as name:
        directory = Path(name)
        shared = SharedPlane(directory)
        shared.save(directory / "empty.db")
        try:
            yield Simulation(shared, tuple(_prepared(shared, directory, number) for number in range(FLEETS)))
        finally:
            shared.plane.close()


def _prepared(shared: SharedPlane, directory: Path, number: int) -> Prepared:
    before, *wishes = fleet(number)
    path = directory / f"{number}.db"
    with shared.world(number, directory / "empty.db") as made, made.network.faultless():
        assert _command(made, _read(before), None)
        assert made.unlike(before) == []
        shared.save(path)
        first, second = ((entries, _read(entries)) for entries in wishes)
        return Prepared(path, _live(made), (first, second))


def _lived(made: World, prepared: Prepared, *, approved: bool, spares: bool) -> tuple[int, ...]:
    """How many runs each wish took; `approved`: by a plan file."""
    plans: list[Plan] = []
    runs: list[int] = []
    live = prepared.live
    for entries, wish in prepared.wishes:
        plans.append(make(wish, live))
        made.network.spared = _withdrawn(plans) if spares else ()
        runs.append(_settle(made, wish, _saved(made, plans[-1], live) if approved else None))
        live = _settled(made, wish, entries, plans)
    with made.network.faultless():
        made.network.deliver_again({operation.digest for operation in plans[0].operations})
    _settled(made, wish, entries, plans)
    assert made.broken() == []
    return tuple(runs)


def _withdrawn(plans: list[Plan]) -> set[str]:
    """The first offers that a later plan withdraws."""
    found: set[str] = set()
    for number, plan in enumerate(plans, 1):
        later = (operation for each in plans[number:] for operation in each.operations)
        gone = {operation.subject for operation in later if operation.action == "unoffer"}
        found |= {o.digest for o in plan.operations if o.precondition.get("offerVersion") == 0 and o.subject in gone}
    return found


def _read(entries: Entries) -> Desired:
    return assemble(read_text(json.dumps({**_ROOT, "pools": entries}).encode(), "fleet.yaml"), Path())


def _live(made: World) -> Live:
    with made.network.faultless():
        return read(made.client(), _URL, "root")


def _settle(made: World, wish: Desired, saved: SavedPlan | None) -> int:
    """The same command until it ends well: how many runs it took."""
    for number in range(1, MOST_RUNS + 1):
        made.network.ends = number < MOST_RUNS
        if _command(made, wish, saved):
            return number
        made.scheduler.sleep(made.scheduler.random.choice((0.0, 60.0, 600.0)))
    raise AssertionError(f"after {MOST_RUNS} runs it is not as wished")


def _command(made: World, wish: Desired, saved: SavedPlan | None) -> bool:
    """One run of the command, under a plan file where there is one; whether it ended well."""
    client = made.client()
    try:
        live = read(client, _URL, "root")
        plan = make(wish, live)
        found = [*plan.findings, *preflight.problems(plan, live, client)]
        blocking = [problem.message for problem in found if problem.severity == "error"]
        assert not blocking, blocking
        if saved is not None:
            approval.by_file(saved, plan, live, client, None, _report(plan, live))
    except ComputeError:
        return False
    return _applied(made, replace(plan, digest=saved.digest if saved else plan.digest))


def _applied(made: World, plan: Plan) -> bool:
    """Whether all of a plan was done. Holds of every apply: what is told to be done is, and so many calls were made as
    report and journal tell."""
    begin, stream = len(made.network.trace), BytesIO()
    outcomes = _run(made, plan, stream)
    done = made.carried_out()
    calls = Counter(line.change for line in made.network.trace[begin:] if line.fault != LATE)
    lines = map(json.loads, stream.getvalue().splitlines())
    told = Counter(line["operation"] for line in lines if line["event"] in ("attempt", "retry"))
    for outcome in outcomes:
        digest = outcome.operation.digest
        name = f"{outcome.operation.action} {outcome.operation.name}"
        assert outcome.status != "done" or done[digest], f"{name} is not done"
        # Where another control plane answers the last call may not have been sent.
        unsent = outcome.problem is not None and outcome.problem.rule == OTHER_INSTANCE
        assert calls[digest] in (outcome.attempts, outcome.attempts - unsent), (
            f"{name} was called {calls[digest]} times"
        )
        assert told[digest] == outcome.attempts, name
    return all(outcome.status == "done" for outcome in outcomes)


def _run(made: World, plan: Plan, journal: BytesIO) -> tuple[Outcome, ...]:
    scheduler = made.scheduler
    return apply_by(
        plan,
        made.client(),
        Workers(scheduler),
        clock=scheduler.clock,
        parallelism=scheduler.random.choice((1, 4, 10)),
        journal=journal,
        stop=SimulatedEvent(scheduler),
        wait=scheduler.wait,
        monotonic=scheduler.monotonic,
    )


def _settled(made: World, wish: Desired, entries: Entries, plans: list[Plan]) -> Live:
    """The live state: all that was planned so far was done once, and nothing else; it is as wished, and nothing is left
    to do."""
    operations = [operation for plan in plans for operation in plan.operations]
    done = made.carried_out()
    wrong = {f"{o.action} {o.name}": done[o.digest] for o in operations if done[o.digest] != 1}
    assert not wrong, f"not done once: {wrong}"
    assert done.total() == len(operations), "something else was done"
    unlike = made.unlike(entries)
    assert not unlike, unlike
    live = _live(made)
    assert not make(wish, live).operations, "something is left to do"
    return live


def _saved(made: World, plan: Plan, live: Live) -> SavedPlan:
    """The plan's file, as a run reads it."""
    made.file.write_bytes(file_bytes(_report(plan, live)))
    return saved_plan(made.file)


def _report(plan: Plan, live: Live) -> PlanReport:
    scope, instance = plan.scope, live.instance
    header = Header(
        fleet=scope.fleet,
        tenant_id=scope.tenant_id,
        caller=scope.caller,
        reader=live.reader_id,
        server_url=instance.url,
        instance_id=instance.id,
        derivation=instance.derivation,
        server_overridden=False,
        created_at=instance.now,
        digest_key=instance.digest_key,
    )
    return of_plan(plan, header, Consequences(plan, live))
