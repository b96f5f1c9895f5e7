"""Apply: the plan made again, approved, run, and told."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from fleetctl.apply.saved import SavedPlan
from fleetctl.base import git
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_USAGE, Stop
from fleetctl.flow.finished import Finished
from fleetctl.flow.running import How, carried_out, check_caller
from fleetctl.live import Live
from fleetctl.outputs import Kept
from fleetctl.plan import scope_of
from fleetctl.report.plan_file import saved_plan
from fleetctl.request import Frame, Request
from fleetctl.session.opening import opened, read


def apply(request: Request, how: How) -> Finished:
    """Make the plan again, have it approved, run it, and say what became of every operation. A report that is kept is
    this run's, or there is none."""
    # 1. Read the files, and the plan that was approved; an earlier run's report makes room.
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
        # 4. to 9.: plan it, have it approved, run it, and say what was done.
        return carried_out(session, how, kept, saved=saved)


def _agreed(request: Request, saved: SavedPlan, wished: Desired, live: Live) -> Request:
    """The request that a plan file stands for. Raises Stop where flags say otherwise, and for a file that was altered;
    one that asks for no base and no part is left to `approval.by_file`, which knows what is altered."""
    saved.check_target(scope_of(wished, live))
    if saved.is_sealed(live.instance.digest_key):
        return _as_planned(request, saved)
    if not (saved.frame or request.frame):
        return request
    raise saved.unsealed()


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
