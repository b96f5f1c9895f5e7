"""What a report tells of an apply that is taken back."""

from __future__ import annotations

from better_compute.domain.policy.secrets import mask_text
from fleetctl.report import forms, problems
from fleetctl.undo import Back, Done


def of_undo(back: Back) -> forms.Undo:
    return {
        "digest": back.applied.digest,
        "commit": back.applied.commit,
        "again": back.applied.is_undo,
        "already": len(back.already),
        "left": [{**_standing(one), "code": why.code, "why": mask_text(why.sentence)} for one, why in back.left],
        "outside": [_standing(one) for one in back.outside],
    }


def _standing(one: Done) -> forms.StandingOperation:
    return {
        "n": one.n,
        "action": one.action,
        "poolId": one.pool_id,
        "key": one.key,
        "toTenantId": one.to_tenant_id,
        "source": problems.source(one.source),
    }
