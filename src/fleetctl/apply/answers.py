"""What a control plane answers to an operation's call, or shows, held against what the operation wishes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from better_compute.domain.commands import (
    ArchivePool,
    Command,
    CreatePool,
    OfferPool,
    SetQuota,
    UnofferPool,
    UpdatePool,
)
from better_compute.domain.problems import CONFLICT, Problem
from better_compute.domain.state import Pool, PoolState, QuotaRow, Terms
from fleetctl.apply.journal import Outcome
from fleetctl.diff import Change, offer_changes, owner_changes, policy_changes
from fleetctl.plan import Operation

if TYPE_CHECKING:
    from better_compute.client import Client, Created

ANOTHER = "apply.answer"
"""The rule of an operation whose answer is another than was wished."""


def send(operation: Operation, client: Client) -> Outcome:
    """Make the call and hold its answer against the wish: a server that answers with something else did not do it.

    Raises ComputeError.
    """
    match operation.command:
        case CreatePool() as command:
            return _judged(operation, _created(client.pools.create(command), command))
        case UpdatePool() as command:
            return _judged(operation, _updated(client.pools.update(command), command))
        case OfferPool() as command:
            granted = client.pools.offer(command)
            terms = Terms(_limits(granted.rows), granted.offer.priority, granted.offer.include_descendants)
            return _judged(operation, _offered(terms, command))
        case UnofferPool() as command:
            return Outcome(operation, "done", found=not client.pools.unoffer(command))
        case SetQuota() as command:
            return _judged(operation, _granted(_limits(client.quotas.set(command)), command))
        case ArchivePool() as command:
            return _judged(operation, "" if client.pools.archive(command).archived else "the pool is not archived")
    raise TypeError(f"no call does {operation.action}")


def _judged(operation: Operation, difference: str) -> Outcome:
    if not difference:
        return Outcome(operation, "done")
    hint = "plan again: what is there now is not what this plan was made for"
    return Outcome(operation, "failed", problem=Problem(CONFLICT, ANOTHER, difference, hint=hint))


def _created(created: Created, wish: CreatePool) -> str:
    """A create answers the pool of its key, whoever made it and however (rule pool.key)."""
    pool = created.pool
    if pool.id != wish.pool_id:
        return f"the server made {pool.id} where {wish.pool_id} was planned"
    if pool.archived:
        return "the pool of this key was archived meanwhile"
    quota = _another("pool", owner_changes(wish, _limits(created.rows)))
    return quota or _as_updated(pool, wish.gpu_model, wish.policy)


def _updated(pool: Pool, wish: UpdatePool) -> str:
    return _as_updated(pool, wish.gpu_model, wish.policy)


def _as_updated(pool: Pool, model: str | None, policy: Mapping[str, Any] | None) -> str:
    if model is not None and pool.gpu_model != model:
        return f"the pool is there with gpuModel {pool.gpu_model}, not {model}"
    return _another("pool", policy_changes(pool.policy, policy) if policy is not None else ())


def _offered(terms: Terms | None, wish: OfferPool) -> str:
    if terms is None:
        return "the offer is not there"
    return _another("offer", offer_changes(terms, _wished_terms(wish)))


def _another(what: str, changes: Sequence[Change]) -> str:
    return f"the {what} is there with another {', '.join(change.path for change in changes)}" if changes else ""


def _granted(limits: Mapping[str, int], wish: SetQuota) -> str:
    """The owner's quota, once written, is kept exact: a row that nobody wished is as wrong as another limit."""
    wrong = sorted(r for r in {**limits, **wish.quota} if limits.get(r, 0) != wish.quota.get(r, 0))
    return f"the quota is there with another {', '.join(wrong)}" if wrong else ""


def _limits(rows: Mapping[str, QuotaRow]) -> dict[str, int]:
    return {resource: row.max for resource, row in rows.items()}


def _wished_terms(wish: OfferPool) -> Terms:
    return Terms(wish.quota, wish.priority or 0, bool(wish.include_descendants))


def is_as_wished(command: Command, state: PoolState) -> bool:
    """Whether the object already is what the command would make of it. A pool that was archived meanwhile is not,
    whatever it holds: nobody can change it any more."""
    pool = state.pool
    if pool is None:
        return False
    match command:
        case UpdatePool():
            return not pool.archived and not _updated(pool, command)
        case OfferPool():
            return not _offered(state.terms(command.to_tenant_id), command)
        case UnofferPool():
            return command.to_tenant_id not in state.offers
        case SetQuota():
            return not pool.archived and not _granted(state.limits(command.to_tenant_id), command)
        case ArchivePool():
            return pool.archived
    return False
