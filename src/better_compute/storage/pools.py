"""Pools with their offers, quota rows and authz projection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import takewhile
from typing import Any

from sqlalchemy import Select, and_, bindparam, case, func, select

from better_compute.domain.state import Delta, Offer, Pool, PoolState, QuotaRow, Rollup
from better_compute.service.ports import EventRecord, PoolQuery
from better_compute.storage import tables as t
from better_compute.storage.events import RAISE, EventTx
from better_compute.storage.rows import BARE, AnyRow, Kept, from_json, machines_json, to_json, upsert

POOLS = Kept(t.pools, Pool)
_POOL = POOLS.columns.add_columns(t.pools.c.rollup)
_ONE = _POOL.where(t.pools.c.id == bindparam("pool_id"))
_BY_KEY = POOLS.columns.where(t.pools.c.idempotency_key.in_(bindparam("keys", expanding=True)))
_SEEN = (
    _POOL.join(t.authz, t.authz.c.pool_id == t.pools.c.id)
    .where(t.authz.c.tenant_id == bindparam("tenant_id"), t.authz.c.pool_id > bindparam("after"))
    .order_by(t.authz.c.pool_id)
    .limit(bindparam("size"))
)
_SEES = select(t.authz.c.pool_id).where(
    t.authz.c.tenant_id == bindparam("tenant_id"), t.authz.c.pool_id == bindparam("pool_id")
)
_OWNS = _SEES.where(t.authz.c.owned)
_ALL = 2**31
"""More rows than any pool has."""


def _of_pools(statement: Select[Any], table: Any) -> Select[Any]:
    return statement.where(table.c.pool_id.in_(bindparam("pool_ids", expanding=True)))


_OFFERS = _of_pools(select(t.pool_offers), t.pool_offers)
_OFFERS = _OFFERS.order_by(t.pool_offers.c.pool_id, t.pool_offers.c.tenant_id)
_QUOTAS = _of_pools(select(t.pool_quotas), t.pool_quotas)
_QUOTAS = _QUOTAS.order_by(t.pool_quotas.c.pool_id, t.pool_quotas.c.tenant_id, t.pool_quotas.c.resource)
_OFFERS, _QUOTAS = _OFFERS.limit(bindparam("most")), _QUOTAS.limit(bindparam("most"))
_OFFERS_OF = _OFFERS.where(t.pool_offers.c.tenant_id.in_(bindparam("tenants", expanding=True)))
_QUOTAS_OF = _QUOTAS.where(t.pool_quotas.c.tenant_id.in_(bindparam("tenants", expanding=True)))
_OTHERS = _of_pools(
    select(
        t.pool_offers.c.pool_id,
        func.count(),
        func.sum(case((t.pool_offers.c.include_descendants, 1), else_=0)),
    ).join(t.pools, and_(t.pools.c.id == t.pool_offers.c.pool_id, t.pools.c.owner_id != t.pool_offers.c.tenant_id)),
    t.pool_offers,
).group_by(t.pool_offers.c.pool_id)

_UPDATE = RAISE.values(
    {name: bindparam(f"new_{name}") for name in ("gpu_model", "policy", "archived_at", "version")}
    | {name: bindparam(f"new_{name}") for name in ("offers_version", "owner_quota_version")}
)
_UNOFFER = t.pool_offers.delete().where(
    t.pool_offers.c.pool_id == bindparam("of_pool"), t.pool_offers.c.tenant_id == bindparam("of_tenant")
)
_REVOKE = t.authz.delete().where(
    t.authz.c.pool_id == bindparam("of_pool"), t.authz.c.tenant_id == bindparam("of_tenant")
)
_REFRESH = (
    t.authz.update()
    .where(t.authz.c.pool_id == bindparam("of_pool"), t.authz.c.gpu_model != bindparam("new_model"))
    .values(gpu_model=bindparam("new_model"))
)


class PoolTx(EventTx):
    """The part of `Tx` about pools."""

    def pool(self, pool_id: str) -> PoolState:
        row = self._first(self._lock(_ONE), pool_id=pool_id)
        return PoolState() if row is None else _state(row)

    def pool_state(self, pool_id: str, tenants: Collection[str] | None) -> PoolState:
        # The rest is asked for after the lock is held, in statements of its own: each sees what is committed by then.
        state = self.pool(pool_id)
        if state.pool is None:
            return state
        states = {pool_id: state}
        if tenants is None:
            self._load_all(states)
        else:
            self._load_some(states, {*tenants, state.pool.owner_id})
        return states[pool_id]

    def pool_states(self, query: PoolQuery) -> list[PoolState]:
        page, given = _seen(query)
        states = {row.id: _state(row) for row in self._fitting(page, _weigh, query.limit, **given)}
        owned = {i: s for i, s in states.items() if query.offers and s.pool and s.pool.owner_id == query.tenant_id}
        others = {i: s for i, s in states.items() if i not in owned}
        self._load_all(owned)
        self._load_some(others, {query.tenant_id})
        loaded = owned.keys() | others.keys()
        return list(takewhile(lambda state: state.pool and state.pool.id in loaded, states.values()))

    def sees(self, tenant_id: str, pool_id: str, *, owned: bool = False) -> bool:
        return self._first(_OWNS if owned else _SEES, tenant_id=tenant_id, pool_id=pool_id) is not None

    def pools_by_key(self, keys: Collection[str]) -> list[Pool]:
        return [pool_of(row) for row in self._all(_BY_KEY, keys=list(keys))]

    def save(self, state: PoolState, delta: Delta, event: EventRecord) -> None:
        pool = state.pool
        if pool is None:
            raise ValueError("the state to save holds no pool")
        revision = self._insert_pool(pool, state.rollup) if delta.created else self._update_pool(pool)
        self._save_offers(pool, delta.offers)
        self._save_quotas(pool.id, delta.quotas)
        self._save_authz(pool, delta)
        self._append([event], revision)

    def _load_all(self, states: dict[str, PoolState]) -> None:
        """Every offer and every row."""
        if not states:
            return
        _add_offers(states, self._held(states, _OFFERS))
        _add_quotas(states, self._held(states, _QUOTAS))
        for state in states.values():
            assert state.pool is not None
            whole = PoolState.whole(state.pool, state.offers, state.quotas, state.rollup)
            state.others, state.wide = whole.others, whole.wide

    def _load_some(self, states: dict[str, PoolState], tenants: Collection[str]) -> None:
        """The offers and rows of some tenants, and how many offers there are."""
        if not states:
            return
        wanted = list(tenants)
        _add_offers(states, self._held(states, _OFFERS_OF, tenants=wanted))
        _add_quotas(states, self._held(states, _QUOTAS_OF, tenants=wanted))
        for pool_id, others, wide in self._all(_OTHERS, pool_ids=list(states)):
            states[pool_id].others, states[pool_id].wide = others, int(wide)

    def _held(self, states: dict[str, PoolState], statement: Select[Any], **given: Any) -> Sequence[AnyRow]:
        """Offers or rows of the pools. The pools at the end that there is no room for are taken out: those behind the
        first that has any, since that one is shown however many it has."""
        most = _ALL if self.room is None or len(states) == 1 else self.room // BARE
        rows = self._all(statement, pool_ids=list(states), most=most + 1, **given)
        if len(rows) <= most:
            return rows
        first, broken = rows[0].pool_id, rows[-1].pool_id
        for pool_id in [i for i in states if i >= broken and i != first]:
            del states[pool_id]
            self.cut = True
        if broken == first:
            return self._all(statement, pool_ids=[first], most=_ALL, **given)
        return [row for row in rows if row.pool_id != broken]

    def _insert_pool(self, pool: Pool, rollup: Rollup) -> int:
        row = POOLS.values(pool) | {"policy": to_json(pool.policy), "rollup": machines_json(rollup), "revision": 1}
        self._write(t.pools.insert(), row)
        return 1

    def _update_pool(self, pool: Pool) -> int:
        changed = {
            "of_pool": pool.id,
            "changes": 1,
            "new_gpu_model": pool.gpu_model,
            "new_policy": to_json(pool.policy),
            "new_archived_at": pool.archived_at,
            "new_version": pool.version,
            "new_offers_version": pool.offers_version,
            "new_owner_quota_version": pool.owner_quota_version,
        }
        revision: int = self._write(_UPDATE, changed).scalar_one()
        return revision

    def _save_offers(self, pool: Pool, offers: Mapping[str, Offer | None]) -> None:
        held = [{"pool_id": pool.id, **asdict(offer)} for offer in offers.values() if offer is not None]
        gone = [{"of_pool": pool.id, "of_tenant": tenant} for tenant, offer in offers.items() if offer is None]
        self._write_many(upsert(t.pool_offers, self._dialect), held)
        self._write_many(_UNOFFER, gone)

    def _save_quotas(self, pool_id: str, quotas: Mapping[str, Mapping[str, QuotaRow]]) -> None:
        rows = [
            {"pool_id": pool_id, "tenant_id": tenant, "resource": resource, "max": row.max, "used": row.used}
            for tenant, changed in quotas.items()
            for resource, row in changed.items()
        ]
        self._write_many(upsert(t.pool_quotas, self._dialect), rows)

    def _save_authz(self, pool: Pool, delta: Delta) -> None:
        """The projection: a row for the owner from the creation on, and one for each tenant with an offer."""
        others = {tenant: offer for tenant, offer in delta.offers.items() if tenant != pool.owner_id}
        seeing = [tenant for tenant, offer in others.items() if offer is not None]
        blind = [{"of_pool": pool.id, "of_tenant": tenant} for tenant, offer in others.items() if offer is None]
        rows = [_authz(pool, tenant) for tenant in (*seeing, *([pool.owner_id] if delta.created else []))]
        self._write_many(upsert(t.authz, self._dialect), rows)
        self._write_many(_REVOKE, blind)
        if not (delta.created or delta.offers or delta.quotas):
            self._write(_REFRESH, {"of_pool": pool.id, "new_model": pool.gpu_model})


def _seen(query: PoolQuery) -> tuple[Select[Any], dict[str, Any]]:
    """The statement of a page, and its parameters."""
    page = _SEEN
    given: dict[str, Any] = {"tenant_id": query.tenant_id, "after": query.after or ""}
    if query.ids is not None:
        page = page.where(t.authz.c.pool_id.in_(bindparam("ids", expanding=True)))
        given["ids"] = list(query.ids)
    if query.owned is not None:
        page = page.where(t.authz.c.owned == query.owned)
    if query.archived is not None:
        archived = t.pools.c.archived_at
        page = page.where(archived.is_not(None) if query.archived else archived.is_(None))
    return page, given


def _weigh(row: AnyRow) -> int:
    return len(row.policy)


def _state(row: AnyRow) -> PoolState:
    return PoolState(pool=pool_of(row), rollup=_rollup(row[-1]))


def pool_of(row: AnyRow) -> Pool:
    """The pool in a row of POOLS."""
    fields = dict(zip(POOLS.names, row, strict=False))  # the rollup may come after them
    fields["policy"] = from_json(fields["policy"])
    return Pool(**fields)


@lru_cache
def _rollup(text: str) -> Rollup:
    """Shared: most pools of a page have the same machines, or none yet."""
    return Rollup(**from_json(text))


def _add_offers(states: Mapping[str, PoolState], rows: Iterable[AnyRow]) -> None:
    for pool_id, tenant_id, priority, include_descendants, version in rows:
        states[pool_id].offers[tenant_id] = Offer(tenant_id, priority, include_descendants, version)


def _add_quotas(states: Mapping[str, PoolState], rows: Iterable[AnyRow]) -> None:
    for pool_id, tenant_id, resource, limit, used in rows:
        states[pool_id].quotas.setdefault(tenant_id, {})[resource] = QuotaRow(limit, used)


def _authz(pool: Pool, tenant_id: str) -> dict[str, Any]:
    return {
        "tenant_id": tenant_id,
        "pool_id": pool.id,
        "gpu_model": pool.gpu_model,
        "class_": pool.class_,
        "sharing": pool.sharing,
        "region": pool.region,
        "owned": tenant_id == pool.owner_id,
    }
