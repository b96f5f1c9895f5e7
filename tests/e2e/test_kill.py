"""An apply that is killed at any request is repaired by the same command, and nothing is done twice."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import Home, entry, served
from tests.e2e.proxy import Exchange, Proxy

EVENTS = {
    "create": "pool.created",
    "update": "pool.updated",
    "offer": "pool.offered",
    "unoffer": "pool.unoffered",
    "setQuota": "quota.updated",
    "archive": "pool.archived",
}
ALLOWED = ("--allow", "archives=10", "--allow", "withdrawals=20", "--reason", "the site is rebuilt")
BOUNDARIES = [(when, k) for k in (1, 11, 22, 33, 44, 56, 67, 78, 89, 100) for when in ("before", "after")]
QUICK = [("before", 1), ("after", 33), ("before", 67), ("after", 100)]


def boundaries(quick: list[tuple[str, int]]) -> list[Any]:
    """All of them, those that are not quick only in the long run."""
    return [pytest.param(*b, marks=() if b in quick else pytest.mark.long, id=f"{b[0]}-{b[1]}") for b in BOUNDARIES]


@dataclass
class Site:
    """A server that keeps what every test makes; each test has a fleet of its own in it."""

    home: Home
    proxy: Proxy
    fleets: int = 0

    def prepare(self) -> None:
        """A fleet of forty pools, and files that ask for a hundred operations of every kind."""
        self.fleets += 1
        self.proxy.reset()
        prefix = f"fleet-{self.fleets}-"
        self.wish(prefix, before(prefix))
        self.home.apply()
        self.wish(prefix, after(prefix))

    def wish(self, prefix: str, pools: list[dict[str, Any]]) -> None:
        self.home.wish(*pools, fleet=prefix.strip("-"), keyPrefix=prefix)


def before(prefix: str) -> list[dict[str, Any]]:
    return [
        *(entry(f"{prefix}change-{n}", {"acme": 8}, policy={"maxPending": "6h"}) for n in range(20)),
        *(entry(f"{prefix}leave-{n}", {"acme": 8, "globex": 8}) for n in range(10)),
        *(entry(f"{prefix}close-{n}", {"acme": 8}) for n in range(10)),
    ]


def after(prefix: str) -> list[dict[str, Any]]:
    new = {"maxPending": "7d", "hugepages": {"1Gi": 8}}
    return [
        *(
            entry(f"{prefix}change-{n}", {"acme": 9}, policy=new, **({"ownerQuota": {"gpu": 64}} if n % 2 else {}))
            for n in range(20)
        ),
        *(entry(f"{prefix}leave-{n}", {"acme": 8}) for n in range(10)),
        *({"idempotencyKey": f"{prefix}close-{n}", "archived": True} for n in range(10)),
        *(entry(f"{prefix}new-{n}", {"acme": 4, "globex": 4}) for n in range(10)),
    ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = Home(tmp_path_factory.mktemp("kill"))
    with served(home) as (_, proxy):
        yield Site(home, proxy)


def apply_killed(site: Site, when: str, k: int, *arguments: str | Path) -> None:
    """Start the apply, and kill it exactly before or after its k-th write is done."""
    process = site.home.start("apply", *ALLOWED, *arguments)

    def rule(exchange: Exchange) -> None:
        if exchange.write != k:
            exchange.pass_on()
            return
        if when == "after":
            exchange.forward()
        process.kill()
        exchange.drop()

    site.proxy.reset(rule)
    out, err = process.communicate(timeout=60)
    assert process.returncode == -9, out + err
    site.proxy.reset()


def check_converged(site: Site, planned: dict[str, Any], *arguments: str | Path, digest: str | None = None) -> None:
    """The same command again ends well, and each operation was done exactly once, whichever run did it."""
    again = site.home.run("apply", *ALLOWED, *arguments)
    assert again.code == 0, again.said
    assert site.home.is_settled()
    with site.home.hand() as client:
        events = client.events.all(after=planned["sequence"], types=["pool.*", "quota.*"])
        pools, _ = client.pools.all(owned=True)
    assert Counter((e.type, e.pool_id, e.to_tenant_id or None) for e in events) == Counter(
        # The events of an archive are the pool's, also for its offers.
        (EVENTS[o["action"]], o["poolId"], o["toTenantId"])
        for o in planned["operations"]
    )
    assert {e.via["operation"] for e in events if e.via} == {o["digest"] for o in planned["operations"]}
    keys = Counter(state.pool.idempotency_key for state in pools if state.pool)
    assert set(keys.values()) == {1}
    if digest is not None:
        assert {e.via["digest"] for e in events if e.via} == {digest}


def check_repaired(site: Site, when: str, k: int) -> None:
    site.prepare()
    planned = site.home.plan(*ALLOWED).report
    assert len(planned["operations"]) == 100
    apply_killed(site, when, k, "--yes")
    check_converged(site, planned, "--yes")


@pytest.mark.parametrize(("when", "k"), boundaries(QUICK))
def test_the_same_command_again_repairs_a_killed_apply(site: Site, when: str, k: int) -> None:
    check_repaired(site, when, k)


@pytest.mark.long
def test_on_postgresql_too(postgres_url: str, tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.move(postgres_url)
    with served(home) as (_, proxy):
        site = Site(home, proxy)
        for when, k in BOUNDARIES:
            check_repaired(site, when, k)


@pytest.mark.parametrize(("when", "k"), boundaries([("after", 44)]))
def test_a_plan_file_is_resumed_under_its_own_digest(site: Site, tmp_path: Path, when: str, k: int) -> None:
    site.prepare()
    file = tmp_path / "plan.json"
    site.home.plan(*ALLOWED, "--out", file)
    planned = json.loads(file.read_text())
    apply_killed(site, when, k, "--plan", file)
    check_converged(site, planned, "--plan", file, digest=planned["digest"])
    site.proxy.reset()
    done = site.home.apply(*ALLOWED, "--plan", file)
    assert (done.report["summary"]["operations"], site.proxy.writes) == (0, [])


def test_a_pool_that_is_there_and_taken_for_done_breaks_the_law(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what a killed apply left half made is never looked at again."""
    site.prepare()
    planned = site.home.plan(*ALLOWED).report
    apply_killed(site, "after", 20, "--yes")
    monkeypatch.setattr("fleetctl.diff.pools._offer_diffs", lambda *_: ())
    with pytest.raises(AssertionError, match="Counter"):
        check_converged(site, planned, "--yes")


def test_a_resume_that_does_not_know_its_own_events_breaks_the_law(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted fault: what this plan did is taken for somebody else's change."""
    site.prepare()
    file = tmp_path / "plan.json"
    planned = site.home.plan(*ALLOWED, "--out", file).report
    apply_killed(site, "after", 20, "--plan", file)
    monkeypatch.setattr("fleetctl.apply.staleness._is_done", lambda *_: False)
    with pytest.raises(AssertionError, match="the plan is stale"):
        check_converged(site, planned, "--plan", file, digest=planned["digest"])
