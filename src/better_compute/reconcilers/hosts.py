"""What hosts provide, kept as their inventories and the policies of their pools say it.

They stand on what is stored alone, so they may run at any time, as often as one likes, in several processes at once.
Where nothing is to change nothing is written, and no lock is asked for.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter

from better_compute.domain import hosts as rules
from better_compute.domain.events import NodeUpdated
from better_compute.domain.hosts import Host, Upkeep
from better_compute.domain.nodes import count_node
from better_compute.domain.state import Pool
from better_compute.service.actions import HOSTS, ROOT
from better_compute.service.core import Service, attempt, known
from better_compute.service.ports import Caller, Tx
from better_compute.service.ports.machines import HostLook

ACTOR = Caller(identity_id=HOSTS, tenant_id=ROOT)

PAGE = 500
"""So many machines are read at once, and written in one transaction: others wait for its lock."""

_pool_of = attrgetter("pool_id")

_Kind = tuple[Upkeep, bytes]
"""What a rule is asked, and a digest of all that it can tell a machine by."""

_fine: set[_Kind] = set()
"""What is known to be as it should be. The rules know nothing else, so it stays true: from round to round a machine is
looked at, and is read and judged when something of it or of its pool changed."""

_MOST = 200_000
"""So many are remembered."""


def vps_hosts(service: Service) -> int:
    """`vps.hosts`: vcpu, memoryGiB and diskGiB of the hosts of vps-host pools. How many hosts changed."""
    return _keep(service, rules.vps_hosts, "vps-host")


def capacity_hosts(service: Service) -> int:
    """`capacity.hosts`: devices and huge pages of all hosts, vcpu and memoryGiB of those that `vps_hosts` leaves. How
    many hosts changed."""
    return _keep(service, rules.capacity_hosts)


def hosts_in(service: Service, pools: Iterable[str]) -> int:
    """Both, of these pools alone. How many hosts changed."""
    return sum(attempt(partial(_keep_in, service, pool_id), _failure(pool_id)) or 0 for pool_id in pools)


def _keep_in(service: Service, pool_id: str) -> int:
    count, after = 0, (pool_id, "")
    while page := [look for look in service.store.view(partial(_page, after, None)) if look.pool_id == pool_id]:
        count += _mend(service, rules.fitted, page)
        after = page[-1][:2]
    return count


def _keep(service: Service, upkeep: Upkeep, class_: str | None = None) -> int:
    """Bring every host to what it should be. What goes wrong in one pool is logged, and keeps no other from it."""
    count, after = 0, ("", "")
    while page := service.store.view(partial(_page, after, class_)):
        count += _mend(service, upkeep, page)
        after = page[-1][:2]
    return count


def _failure(pool_id: str) -> str:
    return f"what the hosts of pool {pool_id} provide was not all brought up to date"


def _page(after: tuple[str, str], class_: str | None, tx: Tx) -> list[HostLook]:
    return tx.host_looks(PAGE, after, class_)


def _mend(service: Service, upkeep: Upkeep, page: Iterable[HostLook]) -> int:
    """Those of these machines that are not as they should be, judged again under the lock of their pool's row."""
    alike: dict[_Kind, list[HostLook]] = {}
    for look in page:
        if (kind := _kind(upkeep, look)) not in _fine:
            alike.setdefault(kind, []).append(look)
    if not alike:
        return 0
    kinds = {looks[0].node_id: kind for kind, looks in alike.items()}
    due: list[HostLook] = []
    for pool, host in service.store.view(lambda tx: tx.hosts_in_pools(kinds)):
        kind = kinds[host.node.id]
        if attempt(partial(_is_fine, upkeep, pool, host), _failure(pool.id)):
            _remember(kind)
        else:
            due += alike[kind]
    count = 0
    for pool_id, of_pool in groupby(sorted(due, key=_pool_of), key=_pool_of):
        write = partial(_write, service, upkeep, pool_id, [look.node_id for look in of_pool])
        count += attempt(partial(service.store.transact, write), _failure(pool_id)) or 0
    return count


def _kind(upkeep: Upkeep, look: HostLook) -> _Kind:
    return upkeep, blake2b(repr(look.told).encode(), digest_size=16).digest()


def _is_fine(upkeep: Upkeep, pool: Pool, host: Host) -> bool:
    return upkeep(pool, host) is host


def _remember(kind: _Kind) -> None:
    if len(_fine) >= _MOST:
        _fine.clear()
    _fine.add(kind)


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
