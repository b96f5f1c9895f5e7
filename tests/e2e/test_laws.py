"""Plan after apply is empty, and apply twice writes nothing: over generated files, a real control plane, and hands."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from better_compute.client import Client
from better_compute.domain.commands import Command, OfferPool, SetQuota, UnofferPool, UpdatePool
from better_compute.domain.problems import ComputeError
from better_compute.wire import commands
from fleetctl import live
from fleetctl.diff import Change
from fleetctl.live import Live
from tests.e2e.homes import Home, entry, pool_id
from tests.fleetctl.plan.test_laws import hands, variants
from tests.fleets import CALLER, OWNER, Fleet, fleets, write

_PASS = {"gpusWithdrawn": 10**12} | dict.fromkeys(("archives", "withdrawals", "belowUse", "modelChange", "rename"), 99)
ALLOWED = (*(word for name, n in _PASS.items() for word in ("--allow", f"{name}={n}")), "--reason", "any")
"""The laws are of whatever is wished: no guard stands in their way."""
SLOW = list(HealthCheck)


def settle(home: Home, fleet: Fleet, random: Random, *flags: str | Path) -> bool:
    """Write the files and apply them; False where the rules refuse what is wished."""
    home.directory = home.database.parent / f"spelling-{len(list(home.database.parent.iterdir()))}"
    home.directory.mkdir()
    # An adopted pool would have to be there; here it is made under its key.
    pools = [{name: value for name, value in pool.items() if name != "id"} for pool in fleet.pools]
    write(Fleet({**fleet.root, "server": {"embedded": str(home.database)}}, pools), home.directory, random)
    ran = home.run("apply", "--yes", *ALLOWED, *flags)
    assert ran.code in (0, 3), ran.said
    return ran.code == 0


def check_settled(home: Home) -> None:
    """Nothing is left to do, whoever asks: no operation, no drift but of pools that left the files, no write."""
    plan = home.run("plan", "--detailed-exitcode", "--format", "json", *ALLOWED)
    assert not plan.report["operations"], f"something is left to do: {plan.said}"
    assert plan.code == 0, plan.said
    drift = home.run("drift", "--format", "json").report["drift"]
    assert {one["kind"] for one in drift} <= {"removed"}
    before = home.dump()
    again = home.apply(*ALLOWED).report
    assert again["summary"]["operations"] == 0
    assert home.dump() == before, "something was written"


def by_hand(home: Home, given: list[Command]) -> None:
    """What somebody does beside the fleet, as far as the rules let him."""
    with home.hand() as client:
        for command in given:
            operation, body = commands.encode(command)
            with suppress(ComputeError):
                client.call(operation, body)


@st.composite
def changes(draw: st.DrawFn) -> tuple[Fleet, list[Command], Fleet]:
    """What is applied first, what hands do then, and what is wished at last."""
    first = draw(fleets(max_pools=4))
    ids = [pool_id(pool["idempotencyKey"]) for pool in first.pools]
    return first, draw(st.lists(hands(ids), max_size=4)), draw(st.just(first) | fleets(max_pools=4) | variants(first))


def law(change: tuple[Fleet, list[Command], Fleet], random: Random) -> bool:
    """Whether there was something to hold: the rules may refuse what is wished."""
    first, given, last = change
    with TemporaryDirectory() as name:
        home = Home(Path(name))
        if not settle(home, first, random):
            return False
        by_hand(home, given)
        if not settle(home, last, random):
            return False
        check_settled(home)
        return True


@settings(max_examples=10, deadline=None, suppress_health_check=SLOW)
@given(changes(), st.randoms(use_true_random=True))
def test_plan_after_apply_is_empty_and_apply_twice_writes_nothing(
    change: tuple[Fleet, list[Command], Fleet], random: Random
) -> None:
    assume(law(change, random))


@pytest.mark.long
@settings(max_examples=500, deadline=None, suppress_health_check=SLOW)
@given(changes(), st.randoms(use_true_random=True))
def test_plan_after_apply_is_empty_over_hundreds_of_changes(
    change: tuple[Fleet, list[Command], Fleet], random: Random
) -> None:
    assume(law(change, random))


FLEET = Fleet(
    {"apiVersion": "fleet/v1", "tenantId": OWNER, "caller": CALLER},
    [entry("fra1-a", [{"toTenantId": "acme", "quota": {"gpu": 8, "vcpu": 0}}], policy={"maxPending": "360m"})],
)
BASE: dict[str, Any] = {"tenant_id": OWNER, "pool_id": pool_id("fra1-a")}
HAND: list[Command] = [
    UpdatePool(**BASE, policy={"maxPending": "1h"}),
    OfferPool(**BASE, to_tenant_id="acme", quota={"gpu": 9}, priority=5),
    OfferPool(**BASE, to_tenant_id="globex", quota={"gpu": 9}),
    SetQuota(**BASE, to_tenant_id=OWNER, quota={"gpu": 7}),
    UnofferPool(**BASE, to_tenant_id="initech"),
]


def test_the_law_holds_for_one_change_of_every_kind() -> None:
    assert law((FLEET, HAND, FLEET), Random(0))


def test_what_is_compared_but_never_sent_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: an update leaves out the policy, so that the next plan wants it again."""
    real = commands.encode

    def encode(command: Command) -> tuple[str, dict[str, Any]]:
        operation, body = real(command)
        return operation, {**body, "policy": {}} if operation == "pools/update" else body

    monkeypatch.setattr(commands, "encode", encode)
    monkeypatch.setattr("fleetctl.apply.answers._updated", lambda *_: "")
    with pytest.raises(AssertionError, match=r"policy\.maxPending"):
        law((FLEET, HAND[:1], FLEET), Random(0))


def test_values_compared_as_they_are_written_break_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: equal values in other words are written again and again."""
    monkeypatch.setattr("fleetctl.diff.pools.policy_changes", _always)
    with pytest.raises(AssertionError, match="something is left to do"):
        law((FLEET, [], FLEET), Random(0))


def _always(before: Any, after: Any) -> tuple[Change, ...]:
    return (Change(("policy",), before, after),)


def test_a_plan_that_writes_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: an apply of nothing that leaves a trace."""
    real = live.read

    def read(client: Client, *rest: Any) -> Live:
        client.call("nodes/createJoinToken", {"poolId": BASE["pool_id"]})
        return real(client, *rest)

    with TemporaryDirectory() as name:
        home = Home(Path(name))
        assert settle(home, FLEET, Random(0))
        check_settled(home)
        monkeypatch.setattr(live, "read", read)
        with pytest.raises(AssertionError, match="something was written"):
            check_settled(home)
