"""A run: what a session wishes planned, judged, approved, run and told, of files as of what takes an apply back."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

from better_compute.domain.policy.urls import mask_text
from better_compute.domain.problems import BLOCKED, ComputeError, Problem
from fleetctl.apply import approval
from fleetctl.apply.journal import Journal, Outcome, opened_journal
from fleetctl.apply.saved import SavedPlan
from fleetctl.apply.staleness import done_before
from fleetctl.apply.writer import Writer, run
from fleetctl.errors import (
    ENDED,
    EXIT_BLOCKED,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PARTIAL,
    EXIT_STALE,
    Stop,
)
from fleetctl.flow.finished import Finished
from fleetctl.flow.judge import Judged, judged
from fleetctl.flow.told import header, plan_report
from fleetctl.machine import clock
from fleetctl.machine.signals import interruptible
from fleetctl.outputs import Kept
from fleetctl.plan import Plan
from fleetctl.report.forms import ApprovedBy, PlanReport
from fleetctl.report.of_apply import of_apply, of_refused
from fleetctl.report.saved import file_bytes
from fleetctl.session.opening import Session, read_again
from fleetctl.undo import Back
from fleetctl.words import short

_BLOCKED = Problem(BLOCKED, "plan.blocked", "what is left to be done is blocked by a rule, a guard or a check")
_BLOCKED_SINCE = "What blocks this plan is new since it was asked about: nothing was written"


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


@dataclass(frozen=True, slots=True)
class Made:
    """What was made of a session: the plan of what it wishes, judged, and what that takes `back`, if it is an undo."""

    session: Session
    judged: Judged
    back: Back | None = None

    @property
    def plan(self) -> Plan:
        return self.judged.plan

    def report(self, saved: SavedPlan | None = None) -> PlanReport:
        """`saved` is the plan file that this is to be, or the rest of. Raises ComputeError."""
        rest_of = saved.digest if saved and saved.digest != self.plan.digest else None
        return plan_report(self.session, self.judged, back=self.back, rest_of=rest_of)


Make = Callable[[Session], Made]
"""What is made of a session whose live state was read just now. Raises ComputeError and Stop."""


def of_files(session: Session) -> Made:
    """What the files wish."""
    return Made(session, judged(session))


def carried_out(
    session: Session, how: How, kept: Kept, make: Make = of_files, saved: SavedPlan | None = None
) -> Finished:
    """The plan that `make` makes, run once it is approved: by hand, by a digest, or by the plan file that was `saved`.
    Raises ComputeError and Stop."""
    # 4. Make the plan; 5. judge it by rules and guards.
    made = make(session)
    report = made.report(saved)
    # 6. Is it the one that was approved? Nothing is written before.
    try:
        digest = _approved(saved, how.expect, made, report)
    except Stop as stop:
        for remark in _kept_earlier(
            saved, made, kept, Problem(ENDED[EXIT_STALE], stop.rule, stop.message, hint=stop.hint)
        ):
            session.request.tell(remark)
        raise
    if made.plan.blocked:
        remarks = _kept_earlier(saved, made, kept, _BLOCKED)
        return Finished(report, EXIT_BLOCKED, (*(_why_blocked(saved, made) if saved else ()), *remarks))
    # 7. Ask; what somebody approves is judged once more, as it is by then.
    made = _answered(made, report, how, make)
    if made.plan.blocked:
        return Finished(made.report(), EXIT_BLOCKED, (_BLOCKED_SINCE,))
    return _run_and_told(replace(made.plan, digest=digest), made, how, kept, saved)


def check_caller(session: Session) -> None:
    """Pool ids derive from the files' caller, so nobody else may apply them."""
    if session.live.reader_id != session.desired.caller:
        message = f"apply needs the token of {session.desired.caller}, and this is {session.live.reader_id}'s"
        raise Stop(EXIT_STALE, message)


def _approved(saved: SavedPlan | None, expect: str | None, made: Made, report: PlanReport) -> str:
    """The digest that events will name: a plan file's also for the rest of it. Raises Stop when it is another plan."""
    if expect is not None:
        approval.by_digest(expect, made.plan)
    if saved is None:
        return made.plan.digest
    session = made.session
    approval.by_file(saved, made.plan, session.live, session.plane, session.commit, report)
    return saved.digest


def _why_blocked(saved: SavedPlan, made: Made) -> tuple[str, ...]:
    """Why a plan may be blocked here that was not where it was made."""
    session = made.session
    lost = approval.not_repeated(saved, made.plan, session.request.override)
    held = ", ".join(f"{base.ref} ({short(base.commit or '')})" for base in session.asked.held)
    beside = f"Guards of {held} hold here too, beside those of the plan's own base" if held else ""
    return tuple(filter(None, (lost, beside)))


def _kept_earlier(saved: SavedPlan | None, made: Made, kept: Kept, why: Problem) -> tuple[str, ...]:
    """A report of what earlier runs of the plan file did, kept where this one may not go on: theirs made room for one
    of this run, and what no report tells of cannot be taken back."""
    session = made.session
    if saved is None or kept.path is None or not saved.is_sealed(session.live.instance.digest_key):
        return ()
    with suppress(ComputeError):  # why it may not go on is to be said, whatever else fails
        if done := done_before(saved, session.plane):
            report = of_refused(saved, done, made.plan, header(session), why)
            return kept.write_done(lambda: file_bytes(report))[0]
    return ()


def _answered(shown: Made, report: PlanReport, how: How, make: Make) -> Made:
    """The plan as it is once it was approved. While a question stands the live state moves, and bookings, which
    guards judge, change no precondition. Raises Stop where it is not approved, or is another plan by then."""
    if (shown.plan.operations or shown.plan.findings) and not how.approve(report):
        raise Stop(EXIT_ERROR, "not approved: nothing was written")
    if not (how.asks and shown.plan.operations):
        return shown
    try:
        made = make(read_again(shown.session))
        approval.by_hand(shown.plan, made.plan, made.session.plane)
    except ComputeError as error:
        if (stop := approval.elsewhere(error)) is None:
            raise
        raise stop from error
    return made


def _run_and_told(plan: Plan, made: Made, how: How, kept: Kept, saved: SavedPlan | None) -> Finished:
    """`plan` is the one that was made, under the digest that was approved."""
    session, back, stop = made.session, made.back, Event()
    journaled = opened_journal(how.journal, clock.now, plan.digest)
    with journaled as journal, interruptible(stop) as caught:
        # 8. Run it.
        outcomes = _run(plan, session, how, journal, stop)
        # 9. Say what was done and what was not: also to whoever interrupts.
        finished = of_apply(plan, outcomes, header(session), how.approved_by, caught.name, back, saved)
        remarks, is_kept = kept.write_done(lambda: file_bytes(finished))
    remarks += (*_going_on(outcomes, kept, saved), *filter(None, (journal.remark,)))
    code = _exit_code(outcomes, caught.name, back)
    return Finished(finished, code if (is_kept and not journal.remark) or code else EXIT_ERROR, remarks)


def _going_on(outcomes: tuple[Outcome, ...], kept: Kept, saved: SavedPlan | None) -> tuple[str, ...]:
    """What is to be known of the report of a run that ended early. Only the rest of a plan file is known to be one."""
    done = sum(outcome.status == "done" for outcome in outcomes)
    if saved is not None or kept.path is None or not 0 < done < len(outcomes):
        return ()
    said = f"It tells of {done:,} of {len(outcomes):,} operations, and that of a run that goes on of the rest"
    return (f"{said}: to take back all, undo by each of the two, the later one first",)


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
        change["undoes"] = undoes
    if override.numbers:
        change["allow"] = dict(override.numbers)
    if override.reason is not None:
        change["reason"] = mask_text(override.reason)  # everybody who reads events sees it
    return change


def _exit_code(outcomes: tuple[Outcome, ...], signal_name: str | None, back: Back | None) -> int:
    """Where nothing can be taken back of what was done, that is an error; where other runs of the apply did more, all
    is not taken back."""
    if signal_name is not None:
        return EXIT_INTERRUPTED[signal_name]
    done = sum(outcome.status == "done" for outcome in outcomes)
    if done == len(outcomes):
        if back is None or not (back.is_in_vain or back.is_part):
            return EXIT_OK
        return EXIT_PARTIAL if done else EXIT_ERROR
    return EXIT_PARTIAL if done else EXIT_ERROR
