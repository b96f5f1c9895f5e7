"""Two applies at once, over the network: each object is as one of them wished it, none in part; what one did the other
does not undo; whoever lost says so; and the same command again converges."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from better_compute.client import Client
from fleetctl.apply.attempts import Attempts, Task, Tried
from fleetctl.apply.journal import Outcome
from fleetctl.live import read
from tests import warm
from tests.e2e.conftest import environment, serving
from tests.e2e.homes import Home, entry, pool_id
from tests.e2e.proxy import Exchange, Proxy, Rule, proxied

TENANTS = ("acme", "globex", "initech")
KEYS = tuple(f"kept-{n}" for n in range(2))
POLICIES: tuple[dict[str, Any], ...] = ({}, {"maxPending": "6h"}, {"maxPending": "12h"}, {"overcommit": 2})
ALIKE_EVERY, FREE_EVERY, CONVERGE_EVERY = 5, 7, 2
"""Every so many rounds both have the same files; every so many neither waits until the other has planned; after every
so many the same command is given again."""

Values = dict[tuple[str, str | None], Any]
"""Of each object, a pool or a pair of pool and tenant, what it is; None where there is no offer."""


@dataclass(frozen=True)
class Wish:
    policy: Mapping[str, Any] = field(default_factory=dict)
    owner: int = 64
    offers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """GPUs and priority by tenant."""
    archived: bool = False

    def entry(self, key: str) -> dict[str, Any]:
        if self.archived:
            return {"idempotencyKey": key, "archived": True}
        offers = [{"toTenantId": t, "quota": {"gpu": gpu}, "priority": p} for t, (gpu, p) in self.offers.items()]
        return entry(key, offers, policy=dict(self.policy), ownerQuota={"gpu": self.owner})

    def values(self, key: str) -> Values:
        if self.archived:
            return {(key, None): "archived", **{(key, tenant): None for tenant in TENANTS}}
        held: Values = {(key, tenant): self.offers.get(tenant) for tenant in TENANTS}
        return {(key, None): dict(self.policy), (key, "root"): self.owner, **held}


Wishes = dict[str, Wish]


def values(wishes: Wishes) -> Values:
    return {subject: value for key, wish in wishes.items() for subject, value in wish.values(key).items()}


def wished(rng: Random, number: int, alive: list[str], *, archives: bool) -> Wishes:
    """Some fleet of the same pools, and one that is new."""

    def wish() -> Wish:
        some = rng.sample(TENANTS, rng.randint(1, 3))
        return Wish(
            rng.choice(POLICIES), rng.choice((32, 64)), {t: (rng.choice((1, 2, 4)), rng.randint(0, 1)) for t in some}
        )

    fleet = {key: wish() for key in (*KEYS, *alive, f"round-{number}")}
    gone = {key: Wish(archived=True) for key in alive if archives and rng.random() < 0.9}
    return fleet | gone


@dataclass
class Contender:
    """A fleet's files and the network between them and the server."""

    home: Home
    proxy: Proxy
    wishes: Wishes = field(default_factory=dict)

    @property
    def report(self) -> Path:
        return self.home.directory.parent / "report.json"

    def wish(self, wishes: Wishes) -> None:
        self.wishes = wishes
        guards = {"maxArchives": 99, "maxArchivePercent": 100, "maxWithdrawals": 999}
        self.home.wish(*(wish.entry(key) for key, wish in wishes.items()), guards=guards)

    def arguments(self, parallelism: int) -> list[str]:
        return ["--yes", "--format", "json", "--parallelism", str(parallelism), "--report", str(self.report)]

    def start(self) -> warm.Process:
        self.report.unlink(missing_ok=True)
        line = self.home.line("apply", *self.arguments(4))
        return warm.Process(["fleetctl", *map(str, line)], environment(**self.home.environ))


@dataclass(frozen=True)
class Ended:
    """How a run ended. `done` are the objects that it says are as it wished."""

    code: int
    report: dict[str, Any]
    said: str


@dataclass
class Arena:
    """Two contenders, and somebody who looks on from beside the network."""

    contenders: tuple[Contender, Contender]
    client: Client
    loosened: bool = False
    """The planted fault: writes arrive without what must still hold."""

    def live(self) -> Values:
        found: Values = {}
        for state in read(self.client, "", "root").pools.values():
            pool = state.pool
            if pool is None or pool.idempotency_key is None:
                continue
            key = pool.idempotency_key
            terms = {t: state.terms(t) for t in TENANTS}
            offers = {t: (held.quota["gpu"], held.priority) for t, held in terms.items() if held}
            owner = state.limits("root").get("gpu", 0)
            found |= Wish(pool.policy, owner, offers, pool.archived).values(key)
        return found

    def run_both(self, *, together: bool) -> tuple[Ended, Ended]:
        """Both at once. `together`: neither writes before both have planned."""
        begin = threading.Event()
        planned = threading.Barrier(2, begin.set, timeout=60)
        for contender in self.contenders:
            contender.proxy.reset(self._rule(planned, begin) if together else self._passed_on)
        one, other = [contender.start() for contender in self.contenders]
        return self._end(one, self.contenders[0]), self._end(other, self.contenders[1])

    def run_overtaken(self) -> tuple[Ended, Ended]:
        """The first one runs in this process, where a fault may be planted; between its plan and its first write the
        other runs, from its beginning to its end."""
        one, other = self.contenders
        meanwhile: list[Ended] = []

        def rule(exchange: Exchange) -> None:
            if exchange.write == 1:
                meanwhile.append(self._end(other.start(), other))
            exchange.pass_on()

        one.proxy.reset(rule)
        other.proxy.reset()
        ran = one.home.run("apply", *one.arguments(1))
        (overtaker,) = meanwhile
        return Ended(ran.code, ran.report, ran.err), overtaker

    def _rule(self, planned: threading.Barrier, begin: threading.Event) -> Rule:
        def rule(exchange: Exchange) -> None:
            if exchange.write == 1:
                planned.wait()
            if exchange.write:
                begin.wait(60)
            self._passed_on(exchange)

        return rule

    def _passed_on(self, exchange: Exchange) -> None:
        if self.loosened:
            exchange.body = {name: value for name, value in exchange.body.items() if not name.startswith("expected")}
        exchange.pass_on()

    def _end(self, process: warm.Process, contender: Contender) -> Ended:
        said = process.stderr.read()
        process.stderr.close()
        code = process.wait(60)
        assert "Traceback" not in said
        assert contender.report.exists(), (code, said)
        return Ended(code, json.loads(contender.report.read_text()), said)


@contextmanager
def arena(directory: Path, database: str | None = None) -> Iterator[Arena]:
    homes = [Home(directory / name) for name in ("one", "other")]
    if database is not None:
        homes[0].move(database)
    homes[1].url = homes[0].url
    with serving(homes[0].url) as server, ExitStack() as stack:
        contenders = [Contender(home, stack.enter_context(proxied(server.url))) for home in homes]
        for each in contenders:
            each.home.point(each.proxy.url, server.token("sa_fleet"))
        client = stack.enter_context(homes[0].hand())
        yield Arena((contenders[0], contenders[1]), client)


def subjects(outcomes: list[dict[str, Any]], wishes: Wishes) -> set[tuple[str, str | None]]:
    keys = {pool_id(key): key for key in wishes}
    return {(keys[o["poolId"]], o["toTenantId"]) for o in outcomes}


def check_ended(ended: Ended) -> None:
    """A run that did not do all that it set out to ends with another code than 0, and says what it did not do."""
    summary = ended.report["summary"]
    lost = summary["operations"] - summary["done"]
    code = 0 if not lost else 5 if summary["done"] else 1
    assert ended.code == code, f"it ends with {ended.code}, not {code}: {ended}"
    assert summary["notStarted"] == 0
    assert bool(ended.report["failed"]) == bool(lost)
    for outcome in ended.report["failed"]:
        assert outcome["problem"]["code"] in ("VERSION_CONFLICT", "CONFLICT", "INVALID_STATE"), outcome


def check_objects(arena: Arena, before: Values, ended: tuple[Ended, Ended], *, together: bool) -> None:
    """Nothing is mixed, and nothing that a run did is lost."""
    after = arena.live()
    wishes = [values(contender.wishes) for contender in arena.contenders]
    for subject, value in after.items():
        known = [each[subject] for each in (before, *wishes) if subject in each]
        assert value in known, f"mixed: {subject} is {value}, and nobody wished that"
    if not together:
        return
    for contender, run, wish in zip(arena.contenders, ended, wishes, strict=True):
        for subject in subjects(run.report["done"], contender.wishes):
            assert after[subject] == wish[subject], f"told as done: {subject}, which is {after[subject]}"


def check_events(arena: Arena, after: int) -> None:
    """Whatever both did was done once."""
    events = arena.client.events.all(after=after, types=["pool.*", "quota.*"])
    assert set(Counter(event.via["operation"] for event in events if event.via).values()) <= {1}


def check_converges(arena: Arena, contender: Contender) -> None:
    """The same command again: everything is as it wishes. Where the other has archived a pool that it wants, its key is
    spent: that is told, and nothing is written."""
    contender.proxy.reset()
    live = arena.live()
    if any(live.get((key, None)) == "archived" and not wish.archived for key, wish in contender.wishes.items()):
        contender.home.apply(code=3)
        assert contender.proxy.writes == []
        return
    contender.home.apply()
    live = arena.live()
    wish = values(contender.wishes)
    assert {subject: live[subject] for subject in wish} == wish


def check_round(arena: Arena, *, together: bool) -> tuple[Ended, Ended]:
    return check_runs(arena, lambda: arena.run_both(together=together), together=together)


def check_runs(arena: Arena, run: Callable[[], tuple[Ended, Ended]], *, together: bool) -> tuple[Ended, Ended]:
    before, sequence = arena.live(), read(arena.client, "", "root").sequence
    ended = run()
    for each in ended:
        check_ended(each)
    check_objects(arena, before, ended, together=together)
    check_events(arena, sequence)
    return ended


def check_rounds(arena: Arena, rounds: int) -> Counter[bool]:
    """So many, each from where the one before it ended. How many runs lost something, and how many nothing."""
    rng, lost = Random(1), Counter[bool]()
    for number in range(rounds):
        is_alike, together = number % ALIKE_EVERY == 0, number % FREE_EVERY != 0
        pools = [key for (key, tenant), value in arena.live().items() if tenant is None and value != "archived"]
        alive, archiver = sorted({*pools} - {*KEYS}), rng.randrange(2)
        for at, contender in enumerate(arena.contenders):
            contender.wish(wished(rng, number, alive, archives=together and at == archiver))
        if is_alike:
            arena.contenders[1].wish(arena.contenders[0].wishes)
        ended = check_round(arena, together=together)
        if is_alike:
            assert [each.code for each in ended] == [0, 0]
        lost.update(bool(each.report["failed"]) for each in ended)
        if number % CONVERGE_EVERY == 0:
            check_converges(arena, rng.choice(arena.contenders))
    return lost


def test_fifty_rounds_leave_one_state_and_lose_nothing(tmp_path: Path) -> None:
    with arena(tmp_path) as both:
        lost = check_rounds(both, 50)
    assert lost[True] > 30
    assert lost[False] > 15


@pytest.mark.long
def test_two_hundred_rounds_leave_one_state_and_lose_nothing(tmp_path: Path) -> None:
    with arena(tmp_path) as both:
        lost = check_rounds(both, 200)
    assert lost[True] > 120


@pytest.mark.long
def test_on_postgresql_too(postgres_url: str, tmp_path: Path) -> None:
    with arena(tmp_path, postgres_url) as both:
        lost = check_rounds(both, 30)
    assert lost[True] > 15


def two_wishes(both: Arena) -> None:
    """One pool that is there, of which each contender wants something else."""
    one, other = both.contenders
    one.wish({"kept-0": Wish(offers={"acme": (4, 0), "globex": (4, 0)})})
    one.home.apply()
    one.wish({"kept-0": Wish({"maxPending": "12h"}, 32, {"acme": (1, 0), "globex": (1, 0)})})
    other.wish({"kept-0": Wish({"overcommit": 2}, 16, {"acme": (2, 1)})})


def test_k032_whoever_lost_says_what_and_to_whom(tmp_path: Path) -> None:
    with arena(tmp_path) as both:
        two_wishes(both)
        ended = check_round(both, together=True)
        failed = [outcome for each in ended for outcome in each.report["failed"]]
        blocked = sum(each.report["summary"]["blocked"] for each in ended)
        assert len(failed) + blocked >= 4, "the policy, the owner's rows and both offers are of one of them each"
        assert {outcome["problem"]["code"] for outcome in failed} == {"VERSION_CONFLICT"}
        digests = [each.report["digest"][:12] for each in ended]
        for each, winner in zip(ended, reversed(digests), strict=True):
            for outcome in each.report["failed"]:
                assert "by sa_fleet at 20" in outcome["problem"]["message"]
                assert f"digest {winner}" in outcome["problem"]["message"]


def test_writes_without_preconditions_break_the_law(tmp_path: Path) -> None:
    """The planted fault: the later of two writes is taken, whatever the object became since it was planned."""
    with arena(tmp_path) as both:
        two_wishes(both)
        both.loosened = True
        with pytest.raises(AssertionError, match=r"^told as done: \('kept-0', "):
            check_round(both, together=True)


def test_whoever_is_overtaken_loses_everything(tmp_path: Path) -> None:
    with arena(tmp_path) as both:
        two_wishes(both)
        loser, winner = check_runs(both, both.run_overtaken, together=True)
    assert (loser.code, winner.code) == (1, 0)
    assert loser.report["summary"]["done"] == 0


def test_the_loser_reads_once_whose_apply_it_was_and_is_sent_to_plan_again(tmp_path: Path) -> None:
    """The same command would take back at once what the other did."""
    with arena(tmp_path) as both:
        two_wishes(both)
        one, other = both.contenders
        winner: list[Ended] = []

        def rule(exchange: Exchange) -> None:
            if exchange.write == 1:
                winner.append(both._end(other.start(), other))
            exchange.pass_on()

        one.proxy.reset(rule)
        other.proxy.reset()
        ran = one.home.run("apply", "--yes", "--parallelism", "1")
    digest = winner[0].report["digest"][:12]
    whose = f"sa_fleet's apply {digest} (fleet default)"
    assert ran.code == 1
    assert f"    VERSION_CONFLICT: their objects were changed meanwhile by {whose} [version]" in ran.out.splitlines()
    assert (
        f"What failed was changed meanwhile by {whose}: plan again, and look at what that would take back." in ran.out
    )
    assert "Run the same command again" not in ran.said
    assert (ran.out.count(digest), ran.err.count(digest)) == (2, 0), "why is told once, and what to do"
    assert "failed  update kept-0: VERSION_CONFLICT\n" in ran.err


def test_a_run_that_loses_and_ends_well_breaks_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what failed is told, and the exit code knows nothing of it."""
    monkeypatch.setattr("fleetctl.flow.running._exit_code", lambda *_: 0)
    with arena(tmp_path) as both:
        two_wishes(both)
        with pytest.raises(AssertionError, match=r"^it ends with 0, not 1: "):
            check_runs(both, both.run_overtaken, together=True)


def test_a_conflict_that_counts_as_done_breaks_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a precondition that no longer holds counts as done, whatever is there."""

    def look(_: Attempts, task: Task, *__: Any) -> Tried:
        return Tried(outcome=Outcome(task.operation, "done"))

    monkeypatch.setattr(Attempts, "_look", look)
    with arena(tmp_path) as both:
        two_wishes(both)
        with pytest.raises(AssertionError, match=r"^told as done: \('kept-0', "):
            check_runs(both, both.run_overtaken, together=True)
