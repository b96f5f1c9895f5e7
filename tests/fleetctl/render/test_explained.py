"""Explanations on a terminal: every text of files and servers stays text."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.domain.state import PoolState, QuotaRow, Rollup, Work
from better_compute.wire.views import EventView
from fleetctl.catalogue import Entry
from fleetctl.explain import Explained
from fleetctl.look import Look
from fleetctl.render import text
from fleetctl.report.of_explain import of_explained
from fleetctl.report.of_topic import of_topic
from tests.builders import NOW, a_pool, an_offer
from tests.fleetctl.report.world import wished

NASTY = ("\x1b[2Jx", "a\rb", "a\nb", "\u202ex", "a\u200bb", "\x9b31m")
ENTRY = "  - {idempotencyKey: fra1-a, policy: {note: %s}, offers: [{toTenantId: acme, quota: {gpu: 8}}]}\n"


def an_event(**fields: Any) -> EventView:
    common: dict[str, Any] = {"id": "evt_1", "type": "pool.updated", "tenant_id": "root", "actor_id": "sa_fleet"}
    return EventView(**{**common, "pool_id": "pool_1", "time": NOW, "sequence": 1, "data": {}, **fields})


def explained(name: str) -> Explained:
    """A pool with this name wherever a server could bring one in."""
    fields: dict[str, Any] = {
        "gpu_model": name,
        "site_id": name,
        "agent": name,
        "policy": {name: name},
        "created_by": name,
    }
    pool = a_pool(**fields, idempotency_key=name)
    state = PoolState.whole(
        pool,
        {name: an_offer(name, priority=5, include_descendants=True)},
        {name: {"gpu": QuotaRow(8, 4), name: QuotaRow(1)}},
        Rollup(
            nodes=2, host_nodes=2, tenant_owned_nodes=1, models={name: 2}, gpus=16, work={name: Work(1, 2, 3, 8, 4)}
        ),
    )
    via = {"fleet": name, "commit": name, "reason": name}
    event = an_event(type=name, actor_id=name, to_tenant_id=name, via=via)
    return Explained(pool_id=name, key=name, entry=None, server=name, state=state, events=[event])


@pytest.mark.parametrize("name", NASTY)
def test_a_pool_with_hostile_names_acts_on_no_terminal(name: str) -> None:
    shown = text.render(of_explained(name, explained(name)), Look(verbose=True))
    assert name not in shown
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


@pytest.mark.parametrize("name", NASTY)
def test_a_check_with_a_hostile_message_acts_on_no_terminal(name: str) -> None:
    shown = text.render(of_topic(name, "check", f"check.{name}", Entry(name, name, name)))
    assert all(letter.isprintable() or letter == "\n" for letter in shown)
    assert len(shown.splitlines()) == 5


def test_a_pool_is_told_with_its_work_machines_and_what_a_tenant_has() -> None:
    lines = text.render(of_explained("a", explained("a"))).splitlines()
    assert "  machines  2 machines, 2 hosts, 2 with a, 16 gpu, 1 owned by tenants" in lines
    assert "  a     a 0 of 1, gpu 4 of 8, priority 5, with descendants, 1 pending, 2 placed, 3 active" in lines
    assert "  2026-11-30 00:53:20 UTC  a a by a, fleet a, commit a, reason: a" in lines


def test_many_changes_are_told_to_those_who_ask_for_them() -> None:
    found = explained("a")
    events = [an_event(sequence=n, via={}) for n in range(9)]
    report = of_explained(
        "a", Explained(pool_id="a", key="a", entry=None, server="s", state=found.state, events=events)
    )
    short, whole = (text.render(report, Look(verbose=verbose)) for verbose in (False, True))
    assert (short.count("by hand"), whole.count("by hand")) == (5, 9)
    assert "and 4 more (--verbose)" in short


def test_a_long_value_is_cut_unless_all_is_asked_for() -> None:
    (entry,) = wished(ENTRY % ("x" * 500)).entries.values()
    report = of_explained("fra1-a", Explained(pool_id=entry.pool_id, key=entry.key, entry=entry))
    assert "x" * 100 not in text.render(report)
    assert "x" * 500 in text.render(report, Look(verbose=True))
    assert "nobody was asked" in text.render(report)
