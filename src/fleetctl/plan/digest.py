"""What makes two plans the same: digests over canonical JSON."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from better_compute.domain.policy import canonical
from better_compute.domain.policy.secrets import conceal
from better_compute.domain.values import Json
from fleetctl.desired.inputs import without_zeros
from fleetctl.plan.operation import ACTIONS, Operation
from fleetctl.spelling import FORMAT_VERSION, canonical_json, sha256

_RANKS = {action: rank for rank, action in enumerate(ACTIONS.values())}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a plan is of: digests of another server, tenant, caller or fleet never meet."""

    derivation: str
    instance_id: str
    fleet: str
    tenant_id: str
    caller: str

    def json(self) -> dict[str, Json]:
        return {
            "formatVersion": FORMAT_VERSION,
            "derivation": self.derivation,
            "instanceId": self.instance_id,
            "fleet": self.fleet,
            "tenantId": self.tenant_id,
            "caller": self.caller,
        }

    def unlike(self, now: Scope, was: str) -> tuple[str, ...]:
        """What of the target is another now: `tenant: planned for acme, this is root`, where `was` is `planned for`."""
        names = {
            "server instance": "instance_id",
            "tenant": "tenant_id",
            "caller": "caller",
            "fleet": "fleet",
            "derivation": "derivation",
        }
        pairs = ((what, getattr(self, name), getattr(now, name)) for what, name in names.items())
        return tuple(f"{what}: {was} {then}, this is {is_}" for what, then, is_ in pairs if then != is_)


def content(operation: Operation, key: bytes) -> dict[str, Json]:
    """What an operation does and under which precondition, with nothing sensitive in clear: secrets enter as HMAC under
    the tenant's key. What is equal enters alike, however it is spelled. Not when, from which line or after which
    others: that is no part of what is approved."""

    def keyed(value: Any) -> Json:
        # No text of files or servers holds a NUL, so nothing in clear looks like what stands here for a secret.
        return "\0" + hmac.new(key, canonical_json(value), hashlib.sha256).hexdigest()

    return {
        "action": operation.action,
        "poolId": operation.pool_id,
        "toTenantId": operation.to_tenant_id,
        "after": conceal(canonical_after(operation.after), keyed),
        "precondition": dict(operation.precondition),
    }


def plan_digest(scope: Scope, contents: Sequence[Mapping[str, Json]]) -> str:
    """SHA-256 over the scope and the operations' contents: the same files against the same live state give the same
    digest on any machine. They enter in canonical order (by pool, action and tenant), not in the plan's: that one
    follows from the operations, and from live facts that none of them depends on."""
    return sha256({**scope.json(), "operations": sorted(contents, key=_place)})


def operation_digest(scope: Scope, content: Mapping[str, Json]) -> str:
    """The digest of one operation by itself, wherever it stands in a plan."""
    return sha256({**scope.json(), "operation": content})


def inputs_digest(canonical_inputs: Json, key: bytes) -> str:
    """HMAC of the whole desired state under the tenant's key: files hold secrets, and this must not be guessed at."""
    return hmac.new(key, canonical_json(canonical_inputs), hashlib.sha256).hexdigest()


def _place(content: Mapping[str, Json]) -> tuple[str, int, str]:
    return content["poolId"], _RANKS[content["action"]], content["toTenantId"] or ""


def canonical_after(after: Json) -> Json:
    """What an operation leaves, in one form: a policy by its canonical values. Rows of 0 are no rows: every operation
    names those that are to go, so what it does to the others follows from its precondition."""
    if not isinstance(after, dict):
        return after
    forms = {"policy": canonical, "quota": without_zeros, "ownerQuota": without_zeros}
    return {
        name: forms[name](value) if name in forms and isinstance(value, dict) else value
        for name, value in after.items()
    }
