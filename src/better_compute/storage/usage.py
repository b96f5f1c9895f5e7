"""What reservations used: one row for each stretch of time in which one was metered."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sqlalchemy import Select, and_, bindparam, case, func, literal, null, or_, select, tuple_

from better_compute.domain.usage import HOUR, Stretch
from better_compute.service.ports import UsageQuery, Used
from better_compute.storage import tables as t
from better_compute.storage.rows import Rows

_U = t.usage.c
_GOES_ON = _U.ended_at.is_(None)
_NOW: Any = bindparam("now")
_NONE = Fraction(0)
_OF_ONE = _U.reservation_id == bindparam("of_reservation")
_FROM = select(_U.started_at).where(_OF_ONE, _GOES_ON)
# What was metered for no time is as if it had not been.
_FORGET = t.usage.delete().where(_GOES_ON, _U.started_at == _NOW)
_END = t.usage.update().where(_GOES_ON, _U.started_at < _NOW).values(ended_at=_NOW)
_RENAME = t.usage.update().where(_GOES_ON, _U.started_at >= _NOW).values(meter=bindparam("new_meter"))
_ACTIVE = select(t.reservations.c.id).where(
    t.reservations.c.pool_id == bindparam("of_pool"), t.reservations.c.state == "active"
)
_OF_POOL = _U.reservation_id.in_(_ACTIVE)
_D = t.node_devices.c
_SHARES = select(_D.whole, func.sum(_D.share)).where(_D.reservation_id == bindparam("holder")).group_by(_D.whole)
_RUNNING = select(t.usage).where(_OF_POOL, _GOES_ON, _U.started_at < _NOW)
_LAST = 2**63 - 1
"""Behind any `whole`."""


class UsageTx(Rows):
    """The part of `Tx` about usage."""

    def share(self, reservation_id: str) -> Fraction:
        return sum((Fraction(int(share), whole) for whole, share in self._all(_SHARES, holder=reservation_id)), _NONE)

    def meter_from(self, stretch: Stretch) -> None:
        held = {"share": stretch.share.numerator, "whole": stretch.share.denominator}
        self._write(t.usage.insert(), asdict(stretch) | held)

    def metered_from(self, reservation_id: str) -> int | None:
        row = self._first(_FROM, of_reservation=reservation_id)
        return None if row is None else int(row.started_at)

    def meter_until(self, reservation_id: str, now: int) -> None:
        given = {"of_reservation": reservation_id, "now": now}
        for statement in (_FORGET, _END):
            self._write(statement.where(_OF_ONE), given)

    def meter_anew(self, pool_id: str, meter: str, now: int) -> None:
        given = {"of_pool": pool_id, "now": now}
        running = self._all(_RUNNING, **given)
        self._write(_RENAME.where(_OF_POOL), given | {"new_meter": meter})
        self._write(_END.where(_OF_POOL), given)
        anew = [{**row._mapping, "started_at": now, "meter": meter} for row in running]
        self._write_many(t.usage.insert(), anew)

    def usage(self, query: UsageQuery) -> list[Used]:
        if query.end <= query.start:
            return []
        # One row more than is asked for: mostly each stands for an item, and the last one says that those are whole.
        size = query.limit + 1
        given = {"seer": query.tenant_id, "from": query.start, "to": query.end, "size": size, "meter": query.meter}
        until = min(query.end, query.now)
        given["until"] = until if until > query.start else 0  # nothing began before that
        after: tuple[Any, ...] = (*(*query.after, "", "", "")[:3], _LAST)
        found: dict[tuple[str, str, str], Fraction] = {}
        while True:
            given |= dict(zip(("pool_id", "tenant_id", "after_meter", "after_whole"), after, strict=True))
            statements = _statements(query.meter is not None)
            rows = sorted(tuple(row) for statement in statements for row in self._all(statement, **given))[:size]
            for *key, whole, hours, rest in rows:
                item = (key[0], key[1], key[2])
                # On PostgreSQL sums are decimal numbers.
                found[item] = found.get(item, _NONE) + Fraction(int(hours) * HOUR + int(rest), whole)
            if len(rows) < size or len(found) > query.limit:
                return [Used(*item, amount) for item, amount in found.items()][: query.limit]
            after = rows[-1][:4]


def _parts() -> tuple[Any, Any]:
    """What was used, in parts of a GPU: its hours, and the milliseconds beside them. One sum could be more than 64 bits
    hold."""
    begin = case((_U.started_at < bindparam("from"), bindparam("from")), else_=_U.started_at)
    end = case((_GOES_ON, bindparam("until")), (_U.ended_at > bindparam("to"), bindparam("to")), else_=_U.ended_at)
    time = end - begin
    return func.sum(_U.share * (time // literal(HOUR))), func.sum(_U.share * (time % literal(HOUR)))


@lru_cache
def _statements(one: bool) -> tuple[Select[Any], ...]:
    """Sums by key and `whole`. Of pools that the tenant owns: the rest of the pool that the page before ended in, and
    the pools after it; and its own in pools of others, from where the page before ended."""
    seen = t.authz.alias()
    mine = (seen.c.tenant_id == bindparam("seer"), seen.c.owned)
    pool: Any = bindparam("pool_id")
    after: tuple[Any, ...] = (bindparam("tenant_id"), bindparam("after_meter"), bindparam("after_whole"))
    of_owner = _sums(one, seen.c.pool_id).join(seen, seen.c.pool_id == _U.pool_id).where(*mine)
    begun = of_owner.where(seen.c.pool_id == pool, tuple_(_U.tenant_id, _U.meter, _U.whole) > tuple_(*after))
    others = of_owner.where(seen.c.pool_id > pool)
    is_owner = select(null()).where(*mine, seen.c.pool_id == _U.pool_id).exists()
    own = _sums(one, _U.pool_id).where(_U.tenant_id == bindparam("seer"), ~is_owner)
    own = own.where(tuple_(_U.pool_id, _U.tenant_id, _U.meter, _U.whole) > tuple_(pool, *after))
    return begun, others, own


def _sums(one: bool, pool_id: Any) -> Select[Any]:
    key = (pool_id, _U.tenant_id, _U.meter, _U.whole)
    runs = and_(_GOES_ON, _U.started_at < bindparam("until"))
    ran = and_(_U.ended_at > bindparam("from"), _U.started_at < bindparam("to"))
    sums = select(*key, *_parts()).where(or_(runs, ran))
    if one:
        # SQLite does not see that rows come in the order of the key where part of it is said to be equal to something.
        sums = sums.where(_U.meter >= bindparam("meter"), _U.meter <= bindparam("meter"))
    return sums.group_by(*key).order_by(*key).limit(bindparam("size"))
