"""What hosts provide, kept as their inventories and the policies of their pools say it.

They stand on what is stored alone, so they may run at any time, as often as one likes, in several processes at once.
Where nothing is to change nothing is written, and no lock is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from itertools import groupby

from better_compute.domain import hosts as rules
from better_compute.domain.events import NodeUpdated
from better_compute.domain.hosts import Host, Upkeep
from better_compute.domain.nodes import count_node
from better_compute.domain.state import Pool
from better_compute.service.actions import HOSTS, ROOT
from better_compute.service.core import Service, attempt, known
from better_compute.service.ports import Caller, Tx

ACTOR = Caller(identity_id=HOSTS, tenant_id=ROOT)

PAGE = 500
"""So many machines are read at once, and written in one transaction: others wait for its lock."""


def vps_hosts(service: Service) -> int:
    """`vps.hosts`: vcpu, memoryGiB and diskGiB of the hosts of vps-host pools. How many hosts changed."""
    return _keep(service, rules.vps_hosts, "vps-host")


def capacity_hosts(service: Service) -> int:
    """`capacity.hosts`: devices and huge pages of all hosts, vcpu and memoryGiB of those that `vps_hosts` leaves. How
    many hosts changed."""
    return _keep(service, rules.capacity_hosts)


def hosts_in(service: Service, pools: Iterable[str]) -> int:
    """Both, of these pools alone. How many hosts changed."""
    count = 0
    for pool_id in pools:
        count += attempt(partial(_keep_in, service, pool_id), _failure(pool_id)) or 0
    return count


def _keep_in(service: Service, pool_id: str) -> int:
    count, after = 0, (pool_id, "")
    while page := [pair for pair in service.store.view(partial(_page, after, None)) if pair[0].id == pool_id]:
        count += _mend(service, rules.fitted, pool_id, page)
        after = (pool_id, page[-1][1].node.id)
    return count


def _keep(service: Service, upkeep: Upkeep, class_: str | None = None) -> int:
    """Bring every host to what it should be. What goes wrong in one pool is logged, and keeps no other from it."""
    count = 0
    after = ("", "")
    while page := service.store.view(partial(_page, after, class_)):
        for pool_id, found in groupby(page, key=lambda pair: pair[0].id):
            count += attempt(partial(_mend, service, upkeep, pool_id, list(found)), _failure(pool_id)) or 0
        last = page[-1][1].node
        after = (last.pool_id, last.id)
    return count


def _failure(pool_id: str) -> str:
    return f"what the hosts of pool {pool_id} provide was not all brought up to date"


def _page(after: tuple[str, str], class_: str | None, tx: Tx) -> list[tuple[Pool, Host]]:
    return tx.all_hosts(PAGE, after, class_)


def _mend(service: Service, upkeep: Upkeep, pool_id: str, found: Iterable[tuple[Pool, Host]]) -> int:
    """Those of a pool's hosts that are not as they should be, judged again under the lock of the pool's row."""
    fine: set[object] = set()
    due = []
    for pool, host in found:
        # Most hosts of a pool are alike: what is fine on one is fine on all of its kind.
        kind = _kind(host)
        if kind in fine:
            continue
        if upkeep(pool, host) is host:
            fine.add(kind)
        else:
            due.append(host.node.id)
    return service.store.transact(partial(_write, service, upkeep, pool_id, due)) if due else 0


def _kind(host: Host) -> object:
    """What a rule can tell a host from others of its pool by. Inventories are shared: equal ones are one object."""
    node, rows = host.node, sorted(host.rows.items())
    told = node.role, node.control, node.quarantined, node.gpu_model, node.owner_tenant_id
    return id(node.inventory), told, host.devices, tuple(rows)


def _write(service: Service, upkeep: Upkeep, pool_id: str, due: Collection[str], tx: Tx) -> int:
    state = tx.pool_state(pool_id, [])
    pool = known(state)
    changes = [(host, after) for host in tx.hosts_of(due) if (after := upkeep(pool, host)) is not host]
    events = []
    for before, now in ((host.node, kept.node) for host, kept in changes if host.node != kept.node):
        state.rollup = count_node(count_node(state.rollup, before, -1), now)
        event = NodeUpdated(owner_id=pool.owner_id, pool_id=pool_id, before=before, after=now)
        events.append(service.record(ACTOR, event, service.clock()))
    tx.save_hosts(changes, state, events)
    return len(changes)
