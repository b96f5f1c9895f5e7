"""Fleet tests: the plan of each, made without a server, and held against what the test expects."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from better_compute.domain.problems import ComputeError
from fleetctl import snapshot
from fleetctl.desired import Desired
from fleetctl.desired.load import load
from fleetctl.errors import EXIT_BLOCKED, EXIT_ERROR, EXIT_OK, Stop
from fleetctl.files import FilesError
from fleetctl.files.walk import SUFFIXES
from fleetctl.fleet_tests import Case, Made, Mismatch, cases, mismatches, standing
from fleetctl.flow.finished import Finished
from fleetctl.flow.judge import judged
from fleetctl.flow.told import plan_report
from fleetctl.history import History
from fleetctl.report.of_tests import of_tests
from fleetctl.report.problems import problem
from fleetctl.request import Request
from fleetctl.session import target
from fleetctl.session.opening import offline
from fleetctl.snapshot import Saved

_CALLER = "caller"
"""Stands in where neither files nor environment name one: ids of a test are nobody's."""


def test(request: Request) -> Finished:
    """Run every fleet test at the request's path. Raises FilesError where one cannot be read, or there is none."""
    results = [(case, list(_run(case, request))) for case in cases(request.path)]
    failed = any(found for _, found in results)
    return Finished(of_tests(results), EXIT_ERROR if failed else EXIT_OK)


def _run(case: Case, request: Request) -> Iterator[Mismatch]:
    try:
        # 1. Read the files.
        wished = load(case.fleet, caller=request.caller or _CALLER)
    except FilesError as error:
        yield from mismatches(case, Made(EXIT_ERROR, (), [problem(p) for p in error.problems]))
        return
    try:
        # 2. The live state that is given.
        given = _live(case, wished, request)
    except (FilesError, ComputeError) as error:
        for each in error.problems:
            place = f"{each.source}: " if each.source else ""
            yield Mismatch(f"the live state cannot be had: {place}{each.message}", ("live",))
        return
    if given.live.tenant_id != wished.tenant_id:
        yield Mismatch(f"the live state is of {given.live.tenant_id}, and the fleet of {wished.tenant_id}", ("live",))
        return
    try:
        # 3. Make the plan; 4. judge it by rules and guards.
        made = _made(case, wished, given, request)
    except (Stop, ComputeError) as error:
        yield Mismatch(f"no plan can be made: {error}")
        return
    # 5. Hold it against what is expected.
    yield from mismatches(case, made)


def _made(case: Case, wished: Desired, given: Saved, request: Request) -> Made:
    """The plan as its report has it."""
    url = given.live.instance.url
    chosen = target.Target(server=url, overridden=False, token=None, server_from="", token_from="")
    session = offline(replace(request, path=case.fleet), wished, given.live, given.history.among, chosen)
    found = judged(session)
    shown = plan_report(session, found)
    return Made(EXIT_BLOCKED if found.plan.blocked else EXIT_OK, shown["operations"], shown["findings"])


def _live(case: Case, wished: Desired, request: Request) -> Saved:
    """Of what files stand for nobody knows who made it. Raises FilesError and ComputeError."""
    if case.live is None:
        return Saved(standing(None, wished, case.now or 0), History({}))
    if _is_snapshot(case.live):
        saved = snapshot.read(case.live)
        instance = saved.live.instance if case.now is None else replace(saved.live.instance, now=case.now)
        return replace(saved, live=replace(saved.live, instance=instance))
    files = load(case.live, caller=request.caller or _CALLER, empty_ok=True)
    return Saved(standing(files, wished, case.now or 0), History({}))


def _is_snapshot(path: Path) -> bool:
    """Whether a file is meant as one; fleet files may be JSON too. What is no file is for them to refuse."""
    if path.suffix in SUFFIXES or (path.exists() and not path.is_file()):
        return False
    try:
        document: Any = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return True
    return not (isinstance(document, Mapping) and "apiVersion" in document)
