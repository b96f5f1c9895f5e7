"""What hosts provide, kept as their inventories and the policies of their pools say it.

They stand on what is stored alone, so they may run at any time, as often as one likes, in several processes at once.
Where nothing is to change nothing is written, and no lock is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter

from better_compute.domain import hosts as rules
from better_compute.domain.events import changed_machine
from better_compute.domain.hosts import Host, Upkeep
from better_compute.domain.nodes import count_node
from better_compute.domain.state import Pool
from better_compute.service.actions import HOSTS, ROOT
from better_compute.service.core import Service, attempt, known
from better_compute.service.ports import Caller, Tx
from better_compute.service.ports.machines import HostLook

ACTOR = Caller(identity_id=HOSTS, tenant_id=ROOT)

PAGE = 500
"""So many machines are read at once."""

ROOM = 4 * 1024 * 1024
"""So many characters of JSON they may hold: most are a page of 500, and one may say a megabyte of itself."""

DEVICES = 2000
"""So many devices are about to change in one transaction, or those of one machine: others wait for its lock."""

_MOST = 200_000
"""So many kinds are remembered."""

_pool_of = attrgetter("pool_id")

_Kind = tuple[Upkeep, bytes]
"""What a rule is asked, and a digest of all that it can tell a machine by."""


@dataclass(frozen=True, slots=True)
class _Page:
    """How far one has come, None at the end; and those that are not as they should be."""

    last: tuple[str, str] | None
    due: Sequence[HostLook]


class Keeper:
    """Keeps the hosts of one service, and remembers what was as it should be: from round to round a machine is looked
    at, and is read and judged where something of it or of its pool changed."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._fine: set[_Kind] = set()  # the rules know nothing else, so it stays true

    def vps_hosts(self) -> int:
        """`vps.hosts`: vcpu, memoryGiB and diskGiB of the hosts of vps-host pools. How many hosts changed."""
        return self._keep(rules.vps_hosts, class_="vps-host")

    def capacity_hosts(self) -> int:
        """`capacity.hosts`: devices and huge pages of all hosts, vcpu and memoryGiB of those that `vps_hosts` leaves.
        How many hosts changed."""
        return self._keep(rules.capacity_hosts)

    def in_pools(self, pools: Iterable[str]) -> int:
        """Both, of these pools alone. How many hosts changed."""
        keep = partial(self._keep, rules.fitted)
        return sum(attempt(partial(keep, pool_id=pool_id), _failure(pool_id)) or 0 for pool_id in pools)

    def _keep(self, upkeep: Upkeep, class_: str | None = None, pool_id: str | None = None) -> int:
        """Bring every host to what it should be. What goes wrong in one pool is logged, and keeps no other from it."""
        count, after = 0, ("", "")
        while True:
            page = self._service.store.view(partial(self._look, upkeep, after, class_, pool_id))
            count += self._mend(upkeep, page.due)
            if page.last is None:
                return count
            after = page.last

    def _look(self, upkeep: Upkeep, after: tuple[str, str], class_: str | None, pool_id: str | None, tx: Tx) -> _Page:
        """The next machines. One of each kind that is not known is judged, on the snapshot that it was looked at on:
        mended by another meanwhile, it would be of another kind."""
        tx.room = ROOM
        looks = tx.host_looks(PAGE, after, class_, pool_id)
        alike: dict[_Kind, list[HostLook]] = {}
        for look in looks:
            if (kind := _kind(upkeep, look)) not in self._fine:
                alike.setdefault(kind, []).append(look)
        kinds = {of_kind[0].node_id: kind for kind, of_kind in alike.items()}
        due: list[HostLook] = []
        for pool, host in tx.hosts_in_pools(kinds) if kinds else ():
            kind = kinds[host.node.id]
            if attempt(partial(_is_fine, upkeep, pool, host), _failure(pool.id)):
                self._remember(kind)
            else:
                due += alike[kind]
        return _Page(looks[-1][:2] if tx.cut or len(looks) == PAGE else None, due)

    def _remember(self, kind: _Kind) -> None:
        if len(self._fine) >= _MOST:
            self._fine.clear()
        self._fine.add(kind)

    def _mend(self, upkeep: Upkeep, due: Iterable[HostLook]) -> int:
        """Those of these machines that are not as they should be, judged again under the lock of their pool's row."""
        count = 0
        for pool_id, of_pool in groupby(sorted(due, key=_pool_of), key=_pool_of):
            mend = partial(self._mend_in, upkeep, pool_id, [look.node_id for look in of_pool])
            count += attempt(mend, _failure(pool_id)) or 0
        return count

    def _mend_in(self, upkeep: Upkeep, pool_id: str, due: Sequence[str]) -> int:
        """Those of one pool. The first tells how many go into one transaction: mostly they are alike."""
        count, begin, size = 0, 0, 1
        while some := due[begin : begin + size]:
            changes = self._service.store.transact(partial(_write, self._service, upkeep, pool_id, some))
            count += len(changes)
            begin += size
            devices = sum(len(before.devices) + len(after.devices) for before, after in changes)
            size = min(max(DEVICES * len(some) // max(devices, 1), 1), PAGE)
        return count


def _failure(pool_id: str) -> str:
    return f"what the hosts of pool {pool_id} provide was not all brought up to date"


def _kind(upkeep: Upkeep, look: HostLook) -> _Kind:
    return upkeep, blake2b(repr(look.told).encode(), digest_size=16).digest()


def _is_fine(upkeep: Upkeep, pool: Pool, host: Host) -> bool:
    return upkeep(pool, host) is host


def _write(service: Service, upkeep: Upkeep, pool_id: str, due: Sequence[str], tx: Tx) -> list[tuple[Host, Host]]:
    """Those that changed, before and after."""
    state = tx.pool_state(pool_id, [])
    pool = known(state)
    changes = [(host, after) for host in tx.hosts_of(due) if (after := upkeep(pool, host)) is not host]
    events = []
    for before, now in ((host.node, kept.node) for host, kept in changes if host.node != kept.node):
        state.rollup = count_node(count_node(state.rollup, before, -1), now)
        events.append(service.record(ACTOR, changed_machine(pool, before, now), service.clock()))
    tx.save_hosts(changes, state, events)
    return changes
