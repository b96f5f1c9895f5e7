"""Pages of what pools hold: offers and quota rows, found by their keys, so that a page costs what it shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import Select, Table, and_, bindparam, or_, select, tuple_

from better_compute.domain.state import Offer, QuotaRow
from better_compute.service.ports import HeldOffer, HeldRow, PartQuery
from better_compute.storage import tables as t
from better_compute.storage.rows import BARE, AnyRow, Rows, Weigh

_Key = tuple[str, ...]


@lru_cache
def _parts(table: Table, begun: bool, *, owned: bool, of_one: bool) -> Select[Any]:
    """Of pools that a tenant owns, or is offered, perhaps one tenant's alone: the rest of the pool that the page before
    ended in (`begun`), or the pools after it."""
    seen, keys = t.authz.c, list(table.primary_key)[1:]
    parts = select(table).join(t.authz, seen.pool_id == table.c.pool_id)
    parts = parts.where(seen.tenant_id == bindparam("seer"), seen.owned == owned)
    after: list[Any] = [bindparam(f"after_{key.name}") for key in keys]
    if not begun:
        parts = parts.where(seen.pool_id > bindparam("pool_id"))
    elif of_one:
        # Not as a tuple: SQLite would look for rows after the key, and not for the few of the tenant.
        rest = or_(keys[0] > after[0], and_(keys[0] == after[0], keys[1] > after[1]))
        parts = parts.where(seen.pool_id == bindparam("pool_id"), rest)
    else:
        parts = parts.where(seen.pool_id == bindparam("pool_id"), tuple_(*keys) > tuple_(*after))
    if of_one:
        parts = parts.where(keys[0] == bindparam("of"))
    return parts.order_by(seen.pool_id, *keys).limit(bindparam("size"))


@lru_cache
def _offers(dialect: str, begun: bool) -> Select[Any]:
    """Offers, each as often as its tenant has rows, once without any; the rows of one stand together."""
    held, rows = _parts(t.pool_offers, begun, owned=True, of_one=False).subquery(), t.pool_quotas.c
    of_offer = and_(rows.pool_id == held.c.pool_id, rows.tenant_id == held.c.tenant_id)
    joined = select(held, rows.resource, rows.max, rows.used).outerjoin(t.pool_quotas, of_offer)
    if dialect == "sqlite":
        return joined  # it goes through the offers in their order, as its plan says, and would sort them once more
    return joined.order_by(held.c.pool_id, held.c.tenant_id)


class PartTx(Rows):
    """The part of `Tx` about pages of what pools hold."""

    def offers(self, query: PartQuery) -> list[HeldOffer]:
        found = self._walk(query, partial(_offers, self._dialect), 2, lambda _: BARE)
        return [_offer(rows) for _, rows in sorted(found.items())]

    def quota_rows(self, query: PartQuery) -> list[HeldRow]:
        found = self._rows(query, owned=True, of=query.of)
        if query.of in (None, query.tenant_id):
            found += self._rows(query, owned=False, of=query.tenant_id)
        return sorted(found)[: query.limit]

    def _rows(self, query: PartQuery, *, owned: bool, of: str | None) -> list[HeldRow]:
        statement = partial(_parts, t.pool_quotas, owned=owned, of_one=of is not None)
        found = self._walk(query, statement, 3, lambda _: 0, of=of)
        return [(*row[:3], QuotaRow(*row[3:])) for [row] in found.values()]

    def _walk(
        self, query: PartQuery, statement: Callable[[bool], Select[Any]], parts: int, weigh: Weigh, **given: Any
    ) -> dict[_Key, list[AnyRow]]:
        """Rows by their keys of so many parts, `query.limit` keys at most, while there is room for them."""
        one = query.pool_id
        after = max(query.after, (one or "",))
        pool_id, tenant_id, resource = (*after, "", "")[:3]
        if one is not None and pool_id != one:
            return {}
        given |= {"seer": query.tenant_id, "pool_id": pool_id, "after_tenant_id": tenant_id, "after_resource": resource}
        found: dict[_Key, list[AnyRow]] = {}
        for begun in (True,) if one is not None else (True, False) if pool_id else (False,):
            if (size := query.limit - len(found)) and not self.cut:
                for row in self._fitting(statement(begun), weigh, size, parts, **given):
                    found.setdefault(tuple(row[:parts]), []).append(row)
        return found


def _offer(rows: list[AnyRow]) -> HeldOffer:
    """Where the tenant has no quota row, there is one of nulls."""
    pool_id, *offer = rows[0][:5]
    quota = {resource: QuotaRow(limit, used) for *_, resource, limit, used in rows if resource is not None}
    return HeldOffer(pool_id, Offer(*offer), quota)
