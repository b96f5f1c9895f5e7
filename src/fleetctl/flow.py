"""The main flow: each command as numbered steps, from files to report."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

from better_compute.domain.ids import KEY, derive, is_key
from better_compute.domain.policy.urls import mask_text
from better_compute.domain.problems import Problem, Source
from fleetctl import apply as applying
from fleetctl import approval, guards, machine, outputs, preflight, report, target
from fleetctl import drift as drifting
from fleetctl import plan as planning
from fleetctl.desired import declared
from fleetctl.desired.check import check
from fleetctl.desired.load import load
from fleetctl.diff import compare
from fleetctl.errors import (
    EXIT_BLOCKED,
    EXIT_CHANGES,
    EXIT_ERROR,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_PARTIAL,
    EXIT_STALE,
    EXIT_USAGE,
    Stop,
)
from fleetctl.files import FilesError
from fleetctl.journal import Journal, Outcome, Stream, opened_journal
from fleetctl.plan import Plan
from fleetctl.session import Request, Session, caller_of, connected, opened, read
from fleetctl.signals import interruptible


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended: its report, its exit code, and what people should know besides."""

    report: report.Report
    exit_code: int
    remark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class How:
    """How an apply is approved and run, and what is kept of it: a plan file or a digest that stand for it, or else whom
    to ask; who hears of each operation; how many calls at a time."""

    plan_file: Path | None
    expect: str | None
    approve: Callable[[report.PlanReport], bool]
    progress: Callable[[Outcome], None]
    parallelism: int
    journal: Path | None
    report_file: Path | None

    @property
    def approved_by(self) -> report.ApprovedBy:
        return "digest" if self.expect else "plan" if self.plan_file else "hand"


def validate(request: Request) -> Finished:
    """Offline: the files, and every rule that needs no live state. What is wrong is the result, whatever it is."""
    # 1. Read the files.
    try:
        wished = load(request.path, caller=request.caller)
    except FilesError as error:
        return Finished(report.of_validate(error.problems, None), EXIT_ERROR)
    # 2. Judge them by the rules.
    problems = sorted([*declared.check(wished), *check(wished)], key=_in_files)
    wrong = any(problem.severity == "error" for problem in problems)
    return Finished(report.of_validate(problems, wished), EXIT_ERROR if wrong else EXIT_OK)


def plan(request: Request, *, out: Path | None = None, lifetime: int | None = None, detailed: bool = False) -> Finished:
    """What an apply would do. The plan file may be applied for `lifetime` milliseconds of the server's clock, None: for
    ever. `detailed`: exit 2 when there is something to do."""
    # 1. Read the files; see that the plan can be kept beside them.
    wished = read(request)
    outputs.check(wished, request.base, saved=out)
    # 2. Choose the target; 3. read the live state.
    with opened(request, wished) as session:
        # 4. Make the plan; 5. judge it by rules and guards.
        made = _judged(session)
        # 6. Say it, and keep it.
        document = session.shown(made, None if lifetime is None else session.live.instance.now + lifetime)
    if out is not None:
        machine.save(out, report.file_bytes(document))
    code = EXIT_BLOCKED if made.blocked else EXIT_CHANGES if detailed and made.operations else EXIT_OK
    return Finished(document, code, f"The plan is in {out}" if out else "")


def apply(request: Request, how: How) -> Finished:
    """Make the plan again, have it approved, run it, and say what became of every operation. Once the files are read, a
    report that is kept is this run's, or there is none."""
    # 1. Read the files, and the plan that was approved; an earlier run's report says nothing of this one.
    wished = read(request)
    outputs.check(wished, request.base, saved=how.report_file, journal=how.journal)
    if how.report_file is not None:
        machine.remove(how.report_file)
    saved = None if how.plan_file is None else report.saved_plan(how.plan_file)
    # 2. Choose the target; 3. read the live state.
    with opened(request, wished) as session:
        _check_caller(session)
        # 4. Make the plan; 5. judge it by rules and guards.
        made = _judged(session)
        # 6. Is it the one that was approved? Nothing is written before.
        digest = _approved(saved, how.expect, made, session)
        document = session.shown(made)
        if made.blocked:
            return Finished(document, EXIT_BLOCKED)
        if (made.operations or made.findings) and not how.approve(document):
            raise Stop(EXIT_ERROR, "not approved: nothing was written")
        made, stop = replace(made, digest=digest), Event()
        with opened_journal(how.journal) as stream, interruptible(stop) as caught:
            # 7. Run it.
            outcomes = _run(made, session, how, stream, stop)
            # 8. Say what was done and what was not: also to whoever interrupts.
            finished = report.of_apply(made, outcomes, session.header(), how.approved_by, caught.name)
            remark = "" if how.report_file is None else _keep(how.report_file, finished)
    return Finished(finished, _exit_code(outcomes, caught.name), remark)


def drift(request: Request) -> Finished:
    """What differs from the files, since when, and by whom."""
    # 1. Read the files; 2. choose the target; 3. read the live state.
    with opened(request, read(request)) as session:
        # 4. Compare; 5. ask the events who did it.
        found = drifting.find(session.desired, compare(session.desired, session.live.pools), session.client)
        document = report.of_drift(found, session.header(), session.desired)
    return Finished(document, EXIT_CHANGES if found else EXIT_OK)


def whoami(request: Request) -> Finished:
    """Who asks whom, and whether that is who the files say."""
    wished = load(request.path, caller=request.caller)
    chosen = target.choose(wished, request.environ, request.server, request.token_file, request.base)
    with connected(wished, chosen, request) as connection:
        now = machine.clock()
        info, me = connection.client.system.info(), connection.client.identities.whoami()
    url = target.shown(chosen.server, request.base)
    document = report.of_whoami(info, me, wished, url, overridden=chosen.overridden, now=now)
    return Finished(document, EXIT_OK)


def derived_id(request: Request, key: str, tenant: str | None, caller: str | None) -> Finished:
    """The pool id that a key derives; with tenant and caller given no fleet is read. It is the same on every server, so
    that none is asked for and the environment may name any."""
    for what, name in (("key", key), ("tenant", tenant), ("caller", caller)):
        if name is not None and not is_key(name):
            raise Stop(EXIT_USAGE, f"a {what} is {KEY.pattern}: no pool has this one")
    if tenant is None or caller is None:
        wished = load(request.path, caller=caller or request.caller)
        asked = {name for name, given in ((target.TENANT, tenant), (target.CALLER, caller)) if given is None}
        target.check_pins(wished, request.environ, request.base, asked)
        own = tenant in (None, wished.tenant_id) and caller in (None, wished.caller)
        if own and (remark := wished.remark_on(key)):
            request.tell(remark)
        tenant, caller = tenant or wished.tenant_id, caller or caller_of(wished)
    return Finished(report.of_id(derive("pool", tenant, caller, key), key, tenant, caller), EXIT_OK)


def _judged(session: Session) -> Plan:
    made = planning.make(session.desired, session.live)
    caller = session.desired.places.get("caller")
    found = preflight.check(made, session.live, session.client, caller, session.declared.hint)
    if any(problem.severity == "error" for problem in found):
        born = {operation.pool_id for operation in made.operations if operation.action == "create"}
        found = preflight.joined(found, check(session.desired, born))
    placed = replace(made, findings=tuple(sorted([*made.findings, *found], key=_in_files)))
    return placed.with_findings(guards.check(made, session.live, session.request.override))


def _in_files(problem: Problem) -> tuple[bool, str, int, int, str]:
    """The order of files, lines and columns; what stands in no file comes last, by name."""
    place = problem.source or Source("", 0, 0)
    return problem.source is None, place.file, place.line, place.column, problem.path


def _check_caller(session: Session) -> None:
    """Pool ids derive from the files' caller, so nobody else may apply them."""
    if session.live.reader_id != session.desired.caller:
        message = f"apply needs the token of {session.desired.caller}, and this is {session.live.reader_id}'s"
        raise Stop(EXIT_STALE, message)


def _keep(path: Path, document: report.ApplyReport) -> str:
    """Keep a report. What was done is done and is said, also where there is no room for the file: that is a remark."""
    try:
        machine.save(path, report.file_bytes(document))
    except OSError as error:
        return f"The report could not be written to {path}: {error.strerror or error}"
    return ""


def _approved(saved: approval.SavedPlan | None, expect: str | None, made: Plan, session: Session) -> str:
    """The digest that events will name: a plan file's also for the rest of it. Raises Stop when it is another plan."""
    if expect is not None:
        approval.by_digest(expect, made)
    if saved is None:
        return made.digest
    approval.by_file(saved, made, session.live, session.client, session.commit)
    return saved.digest


def _run(made: Plan, session: Session, how: How, stream: Stream | None, stop: Event) -> tuple[Outcome, ...]:
    with ThreadPoolExecutor(how.parallelism) as executor:
        writer = applying.Writer(
            client=session.client,
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
