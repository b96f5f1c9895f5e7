"""Rules of a pool's life: create, update, archive."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from better_compute.domain.atoms import AGENTS, ATOMS, CLASSES, DEFAULT_AGENT, DEFAULT_OWNER_QUOTA
from better_compute.domain.bounds import NO_HOSTS
from better_compute.domain.commands import ArchivePool, CreatePool, UpdatePool
from better_compute.domain.decision import UNCHANGED, Decision, conflict, version_conflict
from better_compute.domain.events import PoolArchived, PoolCreated, PoolUpdated
from better_compute.domain.facts import Facts, check_account, check_site
from better_compute.domain.families import check_model, is_family_name
from better_compute.domain.ids import is_key
from better_compute.domain.policy import check_policy
from better_compute.domain.problems import INVALID_INPUT, INVALID_STATE, Problem, Refused, did_you_mean, errors
from better_compute.domain.quotas import check_atoms, check_quota, freeze_rows
from better_compute.domain.state import Delta, Pool, PoolState, QuotaRow
from better_compute.domain.values import same_value


def check_create(command: CreatePool, attestors: frozenset[str] | None) -> list[Problem]:
    """Every rule about a new pool that the command alone can break; needs no state. What stands on a word or a row that
    is itself refused is not judged: it would say the same again, and perhaps wrongly."""
    problems = _check_word("class", command.class_, CLASSES)
    problems += _check_word("sharing", command.sharing, ATOMS)
    problems += _check_provider(command)
    if command.agent is not None:
        problems += _check_word("agent", command.agent, AGENTS)
    problems += check_model(command.gpu_model)
    problems += _check_new_policy(command, attestors)
    of_quota = check_quota(command.owner_quota or {})
    problems += [replace(p, path=_owner_path(p.path)) for p in of_quota]
    if command.sharing in ATOMS and not errors(of_quota):
        problems += _check_owner_atoms(command)
    return problems


def create(state: PoolState, command: CreatePool, facts: Facts) -> Decision | Refused:
    """pools.create. With a key whose pool is there already: that pool, unchanged (rule pool.key), also where a new pool
    could not be made so any more."""
    if state.pool is not None:
        return _create_again(state.pool, command)
    problems = check_create(command, facts.attestors)
    if refusing := errors(problems):
        return Refused(refusing)
    problems += check_site(command.site_id, command.tenant_id, facts)
    if command.provider_account_id is not None:
        problems += check_account(command.provider_account_id, command.tenant_id, facts)
    if refusing := errors(problems):
        return Refused(refusing)
    pool = _new_pool(command, facts)
    owner_quota = dict(DEFAULT_OWNER_QUOTA if command.owner_quota is None else command.owner_quota)
    rows = {resource: QuotaRow(limit) for resource, limit in owner_quota.items()}
    return Decision(
        Delta(pool=pool, created=True, quotas={pool.owner_id: rows}),
        PoolCreated(owner_id=pool.owner_id, pool_id=pool.id, after=pool, owner_quota=owner_quota),
        tuple(problems),
    )


def update(
    state: PoolState, pool: Pool, command: UpdatePool, facts: Facts, found: Sequence[Problem]
) -> Decision | Refused:
    """pools.update: a new policy, replaced whole, or a new GPU model, or both. `found` is what `check_update` warns."""
    changes_policy = command.policy is not None and not same_value(command.policy, pool.policy)
    problems = [*found]
    if command.policy is not None and changes_policy:
        problems += check_policy(
            dict(command.policy),
            sharing=pool.sharing,
            class_=pool.class_,
            attestors=facts.attestors,
            model=command.gpu_model or pool.gpu_model,
            agent=pool.agent,
            bounds=state.bounds if state.rollup.host_nodes else NO_HOSTS,
            before=pool.policy,
        )
    if refusing := errors(problems):
        return Refused(refusing)
    if command.expected_version not in (None, pool.version):
        return version_conflict("pool", command.expected_version, pool.version)
    after = replace(
        pool,
        policy=command.policy if command.policy is not None and changes_policy else pool.policy,
        gpu_model=command.gpu_model or pool.gpu_model,
        version=pool.version + 1,
    )
    if not changes_policy and after.gpu_model == pool.gpu_model:
        return UNCHANGED
    if refusing := tuple(_check_updated(state, pool, after)):
        return Refused(refusing)
    event = PoolUpdated(owner_id=pool.owner_id, pool_id=pool.id, before=pool, after=after)
    return Decision(Delta(pool=after), event, tuple(problems))


def check_update(command: UpdatePool) -> list[Problem]:
    """Every rule about an update that the command alone can break. Its policy is judged with the pool, and only when it
    changes: a stricter release does not lock a pool's other fields."""
    if command.policy is None and command.gpu_model is None:
        return [Problem(INVALID_INPUT, "pool.update", "give a policy, a gpuModel, or both")]
    return [] if command.gpu_model is None else check_model(command.gpu_model)


def archive(state: PoolState, pool: Pool, command: ArchivePool, facts: Facts) -> Decision | Refused:
    """pools.archive: every offer goes, each offered tenant keeps what is in use. Idempotent."""
    if pool.archived:
        return UNCHANGED
    if command.expected_version not in (None, pool.version):
        return version_conflict("pool", command.expected_version, pool.version)
    if command.expected_offers_version not in (None, pool.offers_version):
        expected, found = command.expected_offers_version, pool.offers_version
        return version_conflict("offers", expected, found, "expectedOffersVersion")
    after = replace(pool, archived_at=facts.now, version=pool.version + 1)
    unoffered = {t: terms for t in state.offers if t != pool.owner_id and (terms := state.terms(t))}
    frozen = {t: rows for t in unoffered if (rows := freeze_rows(state.rows(t)))}
    return Decision(
        Delta(pool=after, offers=dict.fromkeys(state.offers), quotas=frozen),
        PoolArchived(owner_id=pool.owner_id, pool_id=pool.id, before=pool, after=after, unoffered=unoffered),
    )


def _check_new_policy(command: CreatePool, attestors: frozenset[str] | None) -> list[Problem]:
    """A word that is itself refused is not known to the policy's rules."""
    agent = command.agent or DEFAULT_AGENT
    return check_policy(
        dict(command.policy),
        sharing=command.sharing if command.sharing in ATOMS else None,
        class_=command.class_ if command.class_ in CLASSES else None,
        attestors=attestors,
        model=command.gpu_model if is_family_name(command.gpu_model) else None,
        agent=agent if agent in AGENTS else None,
    )


def _new_pool(command: CreatePool, facts: Facts) -> Pool:
    site = (facts.sites or {}).get(command.site_id)
    return Pool(
        id=command.pool_id,
        owner_id=command.tenant_id,
        site_id=command.site_id,
        class_=command.class_,
        gpu_model=command.gpu_model,
        sharing=command.sharing,
        agent=command.agent or DEFAULT_AGENT,
        provider_account_id=command.provider_account_id,
        policy=command.policy,
        region=site.region if site else "",
        idempotency_key=command.idempotency_key,
        created_by=facts.actor_id,
        created_at=facts.now,
    )


def _create_again(pool: Pool, command: CreatePool) -> Decision | Refused:
    """Rule pool.key: site, class, sharing, agent and account must be the first call's; the rest changes nothing."""
    pairs = {
        "siteId": (pool.site_id, command.site_id),
        "class": (pool.class_, command.class_),
        "sharing": (pool.sharing, command.sharing),
        "agent": (pool.agent, DEFAULT_AGENT if command.agent is None else command.agent),
        "providerAccountId": (pool.provider_account_id, command.provider_account_id),
    }
    clashes = [_clash(field, had, wants) for field, (had, wants) in pairs.items() if had != wants]
    if pool.owner_id != command.tenant_id:
        clashes.insert(0, conflict("pool.key", "this id is taken", "idempotencyKey"))
    return Refused(tuple(clashes)) if clashes else UNCHANGED


def _clash(field: str, had: str | None, wants: str | None) -> Problem:
    """Nothing has judged what is wanted: what no name may be, such as a very long one, is not repeated."""
    asked = ", not unset" if wants is None else f", not {wants}" if is_key(wants) else ""
    return conflict("pool.key", f"this key made a pool whose {field} is {had or 'not set'}{asked}", field)


def _check_updated(state: PoolState, pool: Pool, after: Pool) -> list[Problem]:
    """Rule pool.update: what the state of the pool does not allow."""
    problems = []
    if pool.archived:
        problems.append(Problem(INVALID_STATE, "pool.update", "an archived pool cannot be changed"))
    if after.gpu_model != pool.gpu_model and set(state.rollup.models) - {after.gpu_model}:
        there = ", ".join(sorted(state.rollup.models))
        message = f"the pool holds machines with {there}, so its model cannot become {after.gpu_model}"
        problems.append(Problem(INVALID_STATE, "pool.update", message, "gpuModel"))
    return problems + check_single(state, after)


def check_single(state: PoolState, pool: Pool) -> list[Problem]:
    """Rule offer.single for the offers there are: one tenant besides the owner at most, and no descendants."""
    if pool.policy.get("singleTenant") is not True:
        return []
    problems = []
    if state.others > 1:
        message = f"a singleTenant pool has one tenant besides its owner at most, and {state.others} hold an offer"
        problems.append(Problem(INVALID_STATE, "offer.single", message, "policy.singleTenant"))
    if state.wide:
        message = "a singleTenant pool is never offered with includeDescendants, and an offer has it"
        problems.append(Problem(INVALID_STATE, "offer.single", message, "policy.singleTenant"))
    return problems


def _check_word(field: str, word: str, allowed: Collection[str]) -> list[Problem]:
    """Rules pool.class, pool.sharing, pool.agent."""
    if word in allowed:
        return []
    message = f"{field} is one of {', '.join(allowed)}"
    return [Problem(INVALID_INPUT, f"pool.{field}", message, field, did_you_mean(word, allowed))]


def _check_provider(command: CreatePool) -> list[Problem]:
    """Rule pool.provider: an account and agent none said outright for a provider pool, no account for the others."""
    rule = "pool.provider"
    if command.class_ != "provider":
        if command.provider_account_id is None or command.class_ not in CLASSES:
            return []
        message = f"pools of class {command.class_} take no providerAccountId"
        return [Problem(INVALID_INPUT, rule, message, "providerAccountId", "leave it out, or use class provider")]
    problems = []
    if command.provider_account_id is None:
        problems.append(Problem(INVALID_INPUT, rule, "a provider pool needs a providerAccountId", "providerAccountId"))
    if command.agent in (None, DEFAULT_AGENT):
        problems.append(Problem(INVALID_INPUT, rule, "a provider pool needs agent: none, said outright", "agent"))
    return problems


def _check_owner_atoms(command: CreatePool) -> list[Problem]:
    """Rule pool.ownerQuota: warnings about the owner's own rows; the default row is never reported as a mismatch."""
    quota = DEFAULT_OWNER_QUOTA if command.owner_quota is None else command.owner_quota
    return [
        replace(p, rule="pool.ownerQuota", path=_owner_path(p.path))
        for p in check_atoms(quota, command.sharing)
        if p.path == "quota" or command.owner_quota is not None
    ]


def _owner_path(path: str) -> str:
    return "ownerQuota" + path.removeprefix("quota")
