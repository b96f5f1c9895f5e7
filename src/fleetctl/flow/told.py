"""What reports tell of a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleetctl.drift import drifted
from fleetctl.flow.judge import Judged
from fleetctl.report.of_plan import of_plan
from fleetctl.report.parts import Header
from fleetctl.session.opening import Session

if TYPE_CHECKING:
    from fleetctl.report.forms import PlanReport
    from fleetctl.together.joint import Together
    from fleetctl.undo import Back


def header(session: Session, expires_at: int | None = None) -> Header:
    """What stands at the head of every report of a session."""
    live, override = session.live, session.request.override
    return Header(
        fleet=session.desired.fleet,
        tenant_id=session.desired.tenant_id,
        caller=session.desired.caller or "",
        reader=live.reader_id,
        server_url=live.instance.url,
        instance_id=live.instance.id,
        derivation=live.instance.derivation,
        server_overridden=session.target.overridden,
        created_at=live.instance.now,
        digest_key=live.instance.digest_key,
        commit=session.commit,
        allow=override.numbers,
        reason=override.reason,
        expires_at=expires_at,
        snapshot=session.client is None,
    )


def plan_report(
    session: Session,
    judged: Judged,
    expires_at: int | None = None,
    joint: Together | None = None,
    back: Back | None = None,
    rest_of: str | None = None,
) -> PlanReport:
    """A plan made in this session, with what it does to tenants, what it breaks together with others, the apply that it
    takes `back`, and the plan file that it is the rest of. Raises ComputeError: events are read where a base tells that
    live state moved."""
    moved = drifted(judged.plan, session.read_history)
    return of_plan(judged.plan, header(session, expires_at), judged.does, judged.taken, moved, joint, back, rest_of)
