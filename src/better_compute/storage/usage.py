"""What reservations used: one row for each stretch of time in which one was metered."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from sqlalchemy import Select, bindparam, case, func, literal, null, or_, select, tuple_

from better_compute.domain.devices import WHOLE
from better_compute.domain.usage import HOUR, Stretch
from better_compute.service.ports import UsageQuery, Used
from better_compute.storage import tables as t
from better_compute.storage.rows import Kept, Rows

_STRETCHES = Kept(t.usage, Stretch)
_U = t.usage.c
_GOES_ON = _U.ended_at.is_(None)
_NOW: Any = bindparam("now")
# What was metered for no time is as if it had not been: its start may be taken again.
_FORGET = t.usage.delete().where(_GOES_ON, _U.started_at >= _NOW)
_END = t.usage.update().where(_GOES_ON).values(ended_at=_NOW)
_OF_ONE = _U.reservation_id == bindparam("of_reservation")
_ACTIVE = select(t.reservations.c.id).where(
    t.reservations.c.pool_id == bindparam("of_pool"), t.reservations.c.state == "active"
)
_OF_POOL = _U.reservation_id.in_(_ACTIVE)
_SHARE = select(func.coalesce(func.sum(t.node_devices.c.share), 0)).where(
    t.node_devices.c.reservation_id == bindparam("holder")
)
_RUNNING = _STRETCHES.columns.where(_OF_POOL, _GOES_ON)


class UsageTx(Rows):
    """The part of `Tx` about usage."""

    def share(self, reservation_id: str) -> int:
        [(share,)] = self._all(_SHARE, holder=reservation_id)
        return int(share)

    def meter_from(self, stretch: Stretch) -> None:
        self._add(_STRETCHES, stretch)

    def meter_until(self, reservation_id: str, now: int) -> None:
        given = {"of_reservation": reservation_id, "now": now}
        for statement in (_FORGET, _END):
            self._write(statement.where(_OF_ONE), given)

    def meter_anew(self, pool_id: str, meter: str, now: int) -> None:
        running = self._all(_RUNNING, of_pool=pool_id)
        for statement in (_FORGET, _END):
            self._write(statement.where(_OF_POOL), {"of_pool": pool_id, "now": now})
        anew = [{**row._mapping, "started_at": now, "meter": meter} for row in running]
        self._write_many(t.usage.insert(), anew)

    def usage(self, query: UsageQuery) -> list[Used]:
        if query.end <= query.start:
            return []
        pool_id, tenant_id, meter = (*query.after, "", "", "")[:3]
        given = {"seer": query.tenant_id, "from": query.start, "to": query.end, "size": query.limit}
        given |= {"pool_id": pool_id, "tenant_id": tenant_id, "after_meter": meter, "meter": query.meter}
        one = query.meter is not None
        found = [row for statement in _statements(one) for row in self._all(statement, **given)]
        return sorted(_used(*row) for row in found)[: query.limit]


def _used(pool_id: str, tenant_id: str, meter: str, hours: int, millions: int, rest: int) -> Used:
    """On PostgreSQL sums are decimal numbers."""
    return Used(pool_id, tenant_id, meter, int(hours) * HOUR + int(millions) * WHOLE + int(rest))


def _parts() -> tuple[Any, Any, Any]:
    """What was used, in parts: one sum could be more than 64 bits hold."""
    begin = case((_U.started_at < bindparam("from"), bindparam("from")), else_=_U.started_at)
    end = case((or_(_GOES_ON, _U.ended_at > bindparam("to")), bindparam("to")), else_=_U.ended_at)
    time = end - begin
    rest = _U.share * (time % literal(HOUR))
    hours = _U.share * (time // literal(HOUR))
    return func.sum(hours), func.sum(rest // literal(WHOLE)), func.sum(rest % literal(WHOLE))


@lru_cache
def _statements(one: bool) -> tuple[Select[Any], ...]:
    """Of pools that the tenant owns: the rest of the pool that the page before ended in, and the pools after it; and
    its own in pools of others, from where the page before ended."""
    seen = t.authz.alias()
    mine = (seen.c.tenant_id == bindparam("seer"), seen.c.owned)
    pool: Any = bindparam("pool_id")
    after = tuple_(bindparam("tenant_id"), bindparam("after_meter"))
    of_owner = _sums(one, seen.c.pool_id).join(seen, seen.c.pool_id == _U.pool_id).where(*mine)
    begun = of_owner.where(seen.c.pool_id == pool, tuple_(_U.tenant_id, _U.meter) > after)
    others = of_owner.where(seen.c.pool_id > pool)
    is_owner = select(null()).where(*mine, seen.c.pool_id == _U.pool_id).exists()
    own = _sums(one, _U.pool_id).where(_U.tenant_id == bindparam("seer"), ~is_owner)
    key = tuple_(_U.pool_id, _U.tenant_id, _U.meter)
    own = own.where(key > tuple_(pool, bindparam("tenant_id"), bindparam("after_meter")))
    return begun, others, own


def _sums(one: bool, pool_id: Any) -> Select[Any]:
    key = (pool_id, _U.tenant_id, _U.meter)
    sums = select(*key, *_parts()).where(
        _U.started_at < bindparam("to"), or_(_GOES_ON, _U.ended_at > bindparam("from"))
    )
    if one:
        sums = sums.where(_U.meter == bindparam("meter"))
    return sums.group_by(*key).order_by(*key).limit(bindparam("size"))
