"""Rules of offers and quotas: offer, unoffer, set quota."""

from __future__ import annotations

from dataclasses import replace

from better_compute.domain.atoms import ISOLATING
from better_compute.domain.commands import OfferPool, SetQuota, UnofferPool
from better_compute.domain.decision import UNCHANGED, Decision, version_conflict
from better_compute.domain.events import PoolOffered, PoolUnoffered, QuotaUpdated
from better_compute.domain.facts import Facts, check_tenant
from better_compute.domain.problems import INVALID_INPUT, INVALID_STATE, NOT_FOUND, Problem, Refused, errors
from better_compute.domain.quotas import check_atoms, check_quota, check_rows, freeze_rows, limits, set_rows
from better_compute.domain.state import Delta, Offer, Pool, PoolState, QuotaRow, Terms

PRIORITIES = range(-1000, 1001)


def check_offer(command: OfferPool) -> list[Problem]:
    """Every rule about an offer that the command alone can break: offer.priority and quota.value."""
    problems = check_quota(command.quota)
    priority = command.priority
    if priority is not None and (type(priority) is not int or priority not in PRIORITIES):
        message = "a priority is a whole number from -1000 to 1000"
        problems.append(Problem(INVALID_INPUT, "offer.priority", message, "priority"))
    return problems


def offer(state: PoolState, pool: Pool, command: OfferPool, facts: Facts) -> Decision | Refused:
    """pools.offer: the first sets the tenant's rows whole, the next ones set the named rows (rule offer.again).

    The owner has rows from the pool's creation on, so an offer to itself never sets them whole.
    """
    tenant_id = command.to_tenant_id
    held = state.offers.get(tenant_id)
    if command.expected_version not in (None, held.version if held else 0):
        return version_conflict("offer", command.expected_version, held.version if held else 0)
    after = _offered(held, command, pool.offers_version + 1)
    rows = state.rows(tenant_id)
    changed = set_rows(rows, command.quota, whole=held is None and tenant_id != pool.owner_id)
    if held is None:
        # A first offer leaves a row for every named resource, also for a limit of 0: it tells "0" from "no row".
        changed = {r: QuotaRow(0) for r in command.quota if r not in rows} | changed
    terms = Terms(limits(rows, changed), after.priority, after.include_descendants)
    problems = [
        *check_tenant(tenant_id, facts),
        *check_offerable(state, pool, after),
        *check_rows(rows, command.quota),
        *check_atoms(command.quota if held is None else terms.quota, pool.sharing),
    ]
    if refusing := errors(problems):
        return Refused(refusing)
    if held and not changed and held == replace(after, version=held.version):
        return UNCHANGED
    return Decision(
        Delta(pool=_written(pool, tenant_id), offers={tenant_id: after}, quotas={tenant_id: changed}),
        PoolOffered(
            owner_id=pool.owner_id,
            pool_id=pool.id,
            to_tenant_id=tenant_id,
            before=state.terms(tenant_id),
            after=terms,
        ),
        tuple(problems),
    )


def check_offerable(state: PoolState, pool: Pool, offer: Offer) -> list[Problem]:
    """The offering rules: offer.archived, offer.sharing, offer.tenantOwned, offer.single."""
    problems = []
    if pool.archived:
        problems.append(Problem(INVALID_STATE, "offer.archived", "an archived pool cannot be offered"))
    if offer.tenant_id == pool.owner_id:
        return problems
    if pool.sharing not in ISOLATING:
        message = f"{pool.sharing} does not keep tenants apart: such a pool is offered to its owner only"
        problems.append(Problem(INVALID_STATE, "offer.sharing", message, "toTenantId"))
    if state.rollup.tenant_owned_nodes:
        message = "the pool holds machines that a tenant owns: it is offered to its owner only"
        problems.append(Problem(INVALID_STATE, "offer.tenantOwned", message, "toTenantId"))
    if pool.policy.get("singleTenant") is True:
        if state.others - (offer.tenant_id in state.offers):
            message = "a singleTenant pool is offered to one tenant besides its owner, and another one holds it"
            problems.append(Problem(INVALID_STATE, "offer.single", message, "toTenantId"))
        if offer.include_descendants:
            message = "a singleTenant pool is never offered with includeDescendants"
            problems.append(Problem(INVALID_STATE, "offer.single", message, "includeDescendants"))
    return problems


def unoffer(state: PoolState, pool: Pool, command: UnofferPool) -> Decision | Refused:
    """pools.unoffer: the offer goes and its rows drop to what is in use (rule unoffer.quota)."""
    tenant_id = command.to_tenant_id
    held, before = state.offers.get(tenant_id), state.terms(tenant_id)
    if held is None or before is None:
        return UNCHANGED
    if command.expected_version not in (None, held.version):
        return version_conflict("offer", command.expected_version, held.version)
    rows = state.rows(tenant_id)
    frozen = freeze_rows(rows)
    kept = {resource: limit for resource, limit in limits(rows, frozen).items() if limit}
    return Decision(
        Delta(
            pool=replace(pool, offers_version=pool.offers_version + 1),
            offers={tenant_id: None},
            quotas={tenant_id: frozen},
        ),
        PoolUnoffered(owner_id=pool.owner_id, pool_id=pool.id, to_tenant_id=tenant_id, before=before, kept=kept),
    )


def set_quota(state: PoolState, pool: Pool, command: SetQuota) -> Decision | Refused:
    """quotas.set: the named rows of the owner, or of a tenant with an offer."""
    tenant_id = command.to_tenant_id
    held = state.offers.get(tenant_id)
    if held is None and tenant_id != pool.owner_id:
        return Refused((Problem(NOT_FOUND, "quota.set", "this tenant holds no offer of the pool", "toTenantId"),))
    version = pool.owner_quota_version if tenant_id == pool.owner_id else held.version if held else 0
    if command.expected_version not in (None, version):
        return version_conflict("quota", command.expected_version, version)
    if pool.archived:
        message = "the quotas of an archived pool cannot be set"
        return Refused((Problem(INVALID_STATE, "offer.archived", message),))
    rows = state.rows(tenant_id)
    if problems := check_rows(rows, command.quota):
        return Refused(tuple(problems))
    changed = set_rows(rows, command.quota, whole=False)
    if not changed:
        return UNCHANGED
    written = _written(pool, tenant_id)
    touched = {tenant_id: replace(held, version=written.offers_version)} if held else {}
    before = {resource: rows[resource].max if resource in rows else 0 for resource in changed}
    after = {resource: row.max for resource, row in changed.items()}
    return Decision(
        Delta(pool=written, offers=touched, quotas={tenant_id: changed}),
        QuotaUpdated(owner_id=pool.owner_id, pool_id=pool.id, to_tenant_id=tenant_id, before=before, after=after),
        tuple(p for p in check_atoms(after, pool.sharing) if p.path != "quota"),
    )


def check_unoffer(command: UnofferPool) -> list[Problem]:
    """Rule unoffer.owner: a pool cannot be unoffered from its owner, who acts."""
    if command.to_tenant_id != command.tenant_id:
        return []
    return [Problem(INVALID_INPUT, "unoffer.owner", "a pool cannot be unoffered from its owner", "toTenantId")]


def _offered(held: Offer | None, command: OfferPool, version: int) -> Offer:
    """The offer as it will be: what the command leaves open stays as it is, or is the default."""
    base = held or Offer(command.to_tenant_id, 0, False, 0)
    return Offer(
        command.to_tenant_id,
        base.priority if command.priority is None else command.priority,
        base.include_descendants if command.include_descendants is None else command.include_descendants,
        version,
    )


def _written(pool: Pool, tenant_id: str) -> Pool:
    """The pool after a write of a tenant's offer or rows; the owner's rows carry a version of their own."""
    version = pool.offers_version + 1
    owner_version = version if tenant_id == pool.owner_id else pool.owner_quota_version
    return replace(pool, offers_version=version, owner_quota_version=owner_version)
