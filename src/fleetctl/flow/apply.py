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
from fleetctl import apply as applying
from fleetctl import approval, git, machine
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
from fleetctl.flow.judge import judged
from fleetctl.flow.told import header, plan_report
from fleetctl.journal import Journal, Outcome, Stream, opened_journal
from fleetctl.outputs import Kept
from fleetctl.plan import Plan
from fleetctl.report.forms import ApprovedBy, PlanReport
from fleetctl.report.of_apply import of_apply
from fleetctl.report.plan_file import saved_plan
from fleetctl.report.saved import file_bytes
from fleetctl.request import Request
from fleetctl.session import Session, opened, read
from fleetctl.signals import interruptible


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How an apply is approved and run, and what is kept of it: a plan file or a digest that stand for it, or else whom
    to ask; who hears of each operation; how many calls at a time."""

    plan_file: Path | None
    expect: str | None
    approve: Callable[[PlanReport], bool]
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
    kept = Kept(how.report_file, "report")
    kept.begin()
    wished = read(request)
    saved = None
    if how.plan_file is not None:
        saved = saved_plan(how.plan_file)
        request = _as_planned(request, saved)
    kept.check(request, wished, how.journal)
    # 2. Choose the target; 3. read the live state.
    with opened(request, wished) as session:
        _check_caller(session)
        # 4. Make the plan; 5. judge it by rules and guards.
        made, does = judged(session)
        document = plan_report(session, made, does)
        # 6. Is it the one that was approved? Nothing is written before.
        digest = _approved(saved, how.expect, made, session, document)
        if made.blocked:
            lost = approval.not_repeated(saved, made, request.override) if saved else ""
            return Finished(document, EXIT_BLOCKED, (lost,) if lost else ())
        if (made.operations or made.findings) and not how.approve(document):
            raise Stop(EXIT_ERROR, "not approved: nothing was written")
        made, stop = replace(made, digest=digest), Event()
        with opened_journal(how.journal) as stream, interruptible(stop) as caught:
            # 7. Run it.
            outcomes = _run(made, session, how, stream, stop)
            # 8. Say what was done and what was not: also to whoever interrupts.
            finished = of_apply(made, outcomes, header(session), how.approved_by, caught.name)
            remarks = kept.write(lambda: file_bytes(finished), done=True)
    return Finished(finished, _exit_code(outcomes, caught.name), remarks)


def _as_planned(request: Request, saved: approval.SavedPlan) -> Request:
    """The request with the base and the part of the fleet that the plan file was made with. Raises Stop where flags
    say otherwise."""
    planned: dict[str, tuple[str, Any]] = {
        "base_ref": ("--base", saved.base_ref),
        "base_dir": ("--base-dir", None if saved.base_dir is None else request.directory / saved.base_dir),
        "prune": ("--prune", saved.prune),
        "only": ("--only", saved.only),
        "exclude": ("--except", saved.exclude),
    }
    if request.base_ref is not None and saved.base_ref is not None:
        request = replace(request, base_ref=git.merge_base(request.directory, request.base_ref))
    for name, (flag, value) in planned.items():
        given = getattr(request, name)
        if given and not _is_same(given, value):
            message = f"{flag} says otherwise than the plan file does"
            raise Stop(EXIT_USAGE, message, hint="leave it out: it comes from the plan file")
    return replace(request, **{name: value for name, (_, value) in planned.items()})


def _is_same(given: Any, planned: Any) -> bool:
    """Whether a flag says what the plan file does; two paths may lead to one directory."""
    if isinstance(given, Path) and isinstance(planned, Path):
        return os.path.realpath(given) == os.path.realpath(planned)
    return bool(given == planned)


def _check_caller(session: Session) -> None:
    """Pool ids derive from the files' caller, so nobody else may apply them."""
    if session.live.reader_id != session.desired.caller:
        message = f"apply needs the token of {session.desired.caller}, and this is {session.live.reader_id}'s"
        raise Stop(EXIT_STALE, message)


def _approved(
    saved: approval.SavedPlan | None, expect: str | None, made: Plan, session: Session, document: PlanReport
) -> str:
    """The digest that events will name: a plan file's also for the rest of it. Raises Stop when it is another plan."""
    if expect is not None:
        approval.by_digest(expect, made)
    if saved is None:
        return made.digest
    approval.by_file(saved, made, session.live, session.plane, session.commit, document)
    return saved.digest


def _run(made: Plan, session: Session, how: How, stream: Stream | None, stop: Event) -> tuple[Outcome, ...]:
    with ThreadPoolExecutor(how.parallelism) as executor:
        writer = applying.Writer(
            client=session.plane,
            executor=executor,
            parallelism=how.parallelism,
            change=_change(made, session),
            journal=Journal(stream, machine.clock, made.digest),
            progress=how.progress,
            stop=stop,
        )
        return applying.run(made, writer)


def _change(made: Plan, session: Session) -> dict[str, Any]:
    """What every call names, and events keep as `via`."""
    override = session.request.override
    change: dict[str, Any] = {"fleet": made.scope.fleet, "digest": made.digest, "commit": session.commit}
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
