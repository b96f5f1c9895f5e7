"""Apply: the plan made again, approved, run, and told."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

from better_compute.domain.policy.urls import mask_text
from better_compute.domain.problems import ComputeError
from fleetctl.apply import approval
from fleetctl.apply.journal import Journal, Outcome, opened_journal
from fleetctl.apply.saved import SavedPlan
from fleetctl.apply.writer import Writer, run
from fleetctl.base import git
from fleetctl.desired import Desired
from fleetctl.errors import (
    EXIT_BLOCKED,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PARTIAL,
    EXIT_STALE,
    EXIT_USAGE,
    Stop,
)
from fleetctl.flow.finished import Finished
from fleetctl.flow.judge import Judged, judged
from fleetctl.flow.told import header, plan_report
from fleetctl.live import Live
from fleetctl.machine import clock
from fleetctl.machine.signals import interruptible
from fleetctl.outputs import Kept
from fleetctl.plan import Plan
from fleetctl.report.forms import ApprovedBy, PlanReport
from fleetctl.report.of_apply import of_apply
from fleetctl.report.plan_file import saved_plan
from fleetctl.report.saved import file_bytes
from fleetctl.request import Frame, Request
from fleetctl.session.opening import Session, opened, read, read_again
from fleetctl.undo import Back
from fleetctl.words import short

BLOCKED_SINCE = "What blocks this plan is new since it was asked about: nothing was written"


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How an apply is approved and run, and what is kept of it: a plan file or a digest that stand for it, or else whom
    to ask (`asks`: they are, and may take their time); who hears of each operation; how many calls at a time."""

    plan_file: Path | None
    expect: str | None
    approve: Callable[[PlanReport], bool]
    asks: bool
    progress: Callable[[Outcome], None]
    parallelism: int
    journal: Path | None
    report_file: Path | None

    @property
    def approved_by(self) -> ApprovedBy:
        return "digest" if self.expect else "plan" if self.plan_file else "hand"


def apply(request: Request, how: How) -> Finished:
    """Make the plan again, have it approved, run it, and say what became of every operation. A report that is kept is
    this run's, or there is none."""
    # 1. Read the files, and the plan that was approved; an earlier run's report says nothing of this one.
    kept = Kept(how.report_file, "report", how.journal)
    kept.begin(request)
    wished = read(request)
    saved = None if how.plan_file is None else saved_plan(how.plan_file)
    kept.check(request, wished)

    # 2. Choose the target; 3. read the live state, and then what a plan file asks for.
    with opened(request, wished, is_planned=saved is not None) as session:
        if saved is not None:
            request = _agreed(request, saved, wished, session.live)
            kept.check(request, wished)  # its base is read too
            session = session.asking(request)
        check_caller(session)
        # 4. Make the plan; 5. judge it by rules and guards.
        found = judged(session)
        report = plan_report(session, found)
        # 6. Is it the one that was approved? Nothing is written before.
        digest = _approved(saved, how.expect, found.plan, session, report)
        if found.plan.blocked:
            return Finished(report, EXIT_BLOCKED, _why_blocked(saved, found.plan, session) if saved else ())
        # 7. Ask; what somebody approves is judged once more, as it is by then.
        session, found = answered(session, found, report, how)
        if found.plan.blocked:
            return Finished(plan_report(session, found), EXIT_BLOCKED, (BLOCKED_SINCE,))
        return carried_out(replace(found.plan, digest=digest), session, how, kept)


def answered(
    session: Session,
    shown: Judged,
    report: PlanReport,
    how: How,
    again: Callable[[Session], Session] = read_again,
) -> tuple[Session, Judged]:
    """The plan as it is once it was approved, of a session that is read `again`. While a question stands the live state
    moves, and bookings, which guards judge, change no precondition. Raises Stop where it is not approved, or is another
    plan by then."""
    if (shown.plan.operations or shown.plan.findings) and not how.approve(report):
        raise Stop(EXIT_ERROR, "not approved: nothing was written")
    if not (how.asks and shown.plan.operations):
        return session, shown
    try:
        session = again(session)
        found = judged(session)
        approval.by_hand(shown.plan, found.plan, session.plane)
    except ComputeError as error:
        if (stop := approval.elsewhere(error)) is None:
            raise
        raise stop from error
    return session, found


def carried_out(made: Plan, session: Session, how: How, kept: Kept, back: Back | None = None) -> Finished:
    """The plan, run and told; `back`: what it takes back."""
    stop = Event()
    journaled = opened_journal(how.journal, clock.now, made.digest)
    with journaled as journal, interruptible(stop) as caught:
        # 8. Run it.
        outcomes = _run(made, session, how, journal, stop)
        # 9. Say what was done and what was not: also to whoever interrupts.
        finished = of_apply(made, outcomes, header(session), how.approved_by, caught.name, back)
        remarks, is_kept = kept.write_done(lambda: file_bytes(finished))
    remarks += (journal.remark,) if journal.remark else ()
    code = _exit_code(outcomes, caught.name)
    return Finished(finished, code if (is_kept and not journal.remark) or code else EXIT_ERROR, remarks)


def _agreed(request: Request, saved: SavedPlan, wished: Desired, live: Live) -> Request:
    """The request that a plan file stands for. Raises Stop where flags say otherwise, and for a file that was altered;
    one that asks for no base and no part is left to `approval.by_file`, which knows what is altered."""
    if approval.is_sealed(saved, wished, live):
        return _as_planned(request, saved)
    if not (saved.frame or request.frame):
        return request
    message = "the plan file was altered since it was made, or the control plane's database was made anew"
    raise Stop(EXIT_STALE, message, hint="make a new plan", rule="plan.file")


def _as_planned(request: Request, saved: SavedPlan) -> Request:
    """The request with the base and the part of the fleet that the plan file was made with. Whoever plans chooses that
    base: unless the one who applies names it too, the guards of the commit before the files' hold as well. Raises Stop
    where flags say otherwise."""
    given, planned = request.frame, saved.frame
    if planned.base_dir is not None:
        planned = replace(planned, base_dir=Path(os.path.realpath(request.directory)) / planned.base_dir)
    if given.base_ref is not None and planned.base_ref is not None:
        given = replace(given, base_ref=git.merge_base(request.directory, given.base_ref))
    if flag := _contradicting(given, planned):
        message = f"{flag} says otherwise than the plan file does"
        raise Stop(EXIT_USAGE, message, hint="leave it out: it comes from the plan file")
    return replace(request, frame=planned, before=not given.has_base)


def _contradicting(given: Frame, planned: Frame) -> str:
    """The first flag that says otherwise than a plan file; empty: none does. Two paths may lead to one directory."""
    pairs: dict[str, tuple[object, object]] = {
        "--base": (given.base_ref, planned.base_ref),
        "--base-dir": (_real(given.base_dir), _real(planned.base_dir)),
        "--prune": (given.prune, planned.prune),
        "--only": (given.only, planned.only),
        "--except": (given.exclude, planned.exclude),
    }
    return next((flag for flag, (said, meant) in pairs.items() if said and said != meant), "")


def _real(path: Path | None) -> str:
    return "" if path is None else os.path.realpath(path)


def _why_blocked(saved: SavedPlan, made: Plan, session: Session) -> tuple[str, ...]:
    """Why a plan may be blocked here that was not where it was made."""
    lost = approval.not_repeated(saved, made, session.request.override)
    held = ", ".join(f"{base.ref} ({short(base.commit or '')})" for base in session.asked.held)
    beside = f"Guards of {held} hold here too, beside those of the plan's own base" if held else ""
    return tuple(filter(None, (lost, beside)))


def check_caller(session: Session) -> None:
    """Pool ids derive from the files' caller, so nobody else may apply them."""
    if session.live.reader_id != session.desired.caller:
        message = f"apply needs the token of {session.desired.caller}, and this is {session.live.reader_id}'s"
        raise Stop(EXIT_STALE, message)


def _approved(saved: SavedPlan | None, expect: str | None, made: Plan, session: Session, report: PlanReport) -> str:
    """The digest that events will name: a plan file's also for the rest of it. Raises Stop when it is another plan."""
    if expect is not None:
        approval.by_digest(expect, made)
    if saved is None:
        return made.digest
    approval.by_file(saved, made, session.live, session.plane, session.commit, report)
    return saved.digest


def _run(made: Plan, session: Session, how: How, journal: Journal, stop: Event) -> tuple[Outcome, ...]:
    with ThreadPoolExecutor(how.parallelism) as executor:
        writer = Writer(
            client=session.plane,
            executor=executor,
            parallelism=how.parallelism,
            change=_change(made, session),
            journal=journal,
            progress=how.progress,
            stop=stop,
        )
        return run(made, writer)


def _change(made: Plan, session: Session) -> dict[str, Any]:
    """What every call names, and events keep as `via`."""
    override = session.request.override
    change: dict[str, Any] = {"fleet": made.scope.fleet, "digest": made.digest, "commit": session.commit}
    if (undoes := made.comparison.asked.undoes) is not None:
        change["undoes"] = undoes.digest
    if override.numbers:
        change["allow"] = dict(override.numbers)
    if override.reason is not None:
        change["reason"] = mask_text(override.reason)  # everybody who reads events sees it
    return change


def _exit_code(outcomes: tuple[Outcome, ...], signal_name: str | None) -> int:
    if signal_name is not None:
        return EXIT_INTERRUPTED[signal_name]
    done = sum(outcome.status == "done" for outcome in outcomes)
    if done == len(outcomes):
        return EXIT_OK
    return EXIT_PARTIAL if done else EXIT_ERROR
