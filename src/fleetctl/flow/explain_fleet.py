"""Explain what a fleet has: a check of its own, or a pool from all sides."""

from __future__ import annotations

from contextlib import suppress

from better_compute.domain.policy.urls import mask_cut, mask_message
from better_compute.domain.problems import did_you_mean
from fleetctl import explain as explaining
from fleetctl.catalogue import Entry
from fleetctl.catalogue.told import may_be_pool, near
from fleetctl.desired import Desired
from fleetctl.desired.load import load
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.files import FilesError
from fleetctl.report.forms import ExplanationReport
from fleetctl.report.of_explain import of_explained
from fleetctl.report.of_topic import of_topic
from fleetctl.request import Request
from fleetctl.session import target
from fleetctl.session.opening import connected, read

_CHECK = "check."
_SHOWN = 200
_NAMES = "name a pool's key or id, a rule, a code, or a message as it was printed"
_ELSEWHERE = f"{_NAMES}; for what a fleet has, its directory too: --fleet PATH"


def explain_fleet(request: Request, what: str, name: str, *, offline: bool) -> ExplanationReport:
    """What the `name` in `what` means in the fleet. Raises FilesError, ComputeError, and Stop for what is nothing."""
    # 1. Read the files.
    wished = _read(request, name)
    if name.startswith(_CHECK):
        return _check(wished, what, name.removeprefix(_CHECK))
    # 2. Find the entry; a check may go without its family.
    if explaining.find_entry(wished, name) is None and any(check.name == name for check in wished.checks):
        return _check(wished, what, name)
    if explaining.find_entry(wished, name) is None and (offline or not may_be_pool(name)):
        raise _unknown(name, wished, "in these files")
    found = explaining.of_files(wished, name)
    # 3. Ask what is live of it.
    if not offline:
        found = _asked(request, wished, name, found)
    return of_explained(what, found)


def has_entry(request: Request, name: str) -> bool:
    """Whether the files, where they can be read, have an entry of this key or id."""
    with suppress(FilesError):
        return explaining.find_entry(load(request.path, caller=request.caller, empty_ok=True), name) is not None
    return False


def _asked(request: Request, wished: Desired, name: str, found: explaining.Explained) -> explaining.Explained:
    target.check_caller(wished)
    chosen = target.choose(wished, request.environ, request.server, request.token_file, request.directory)
    with connected(wished, chosen, request) as connection:
        url = target.shown(chosen.server, request.directory)
        asked = explaining.with_live(found, wished, name, connection.client, url)
    if asked.entry is None and asked.state is None:
        raise _unknown(name, wished, f"in these files, nor at {url}")
    return asked


def _read(request: Request, name: str) -> Desired:
    """The files. Where they cannot be read, what is meant by a name that is no pool's is told first. Raises FilesError,
    Stop."""
    try:
        return read(request)
    except FilesError as error:
        if all(problem.rule == "files.empty" for problem in error.problems):
            raise _unknown(name, None, "here, and there is no fleet", _ELSEWHERE) from error
        if not may_be_pool(name) or near(name, ()):
            raise _unknown(name, None, f"here, and the fleet cannot be read: {_first(error)}", _ELSEWHERE) from error
        raise


def _first(error: FilesError) -> str:
    problem = error.problems[0]
    return mask_message(f"{problem.source}: {problem.message}" if problem.source else problem.message)


def _check(wished: Desired, what: str, name: str) -> ExplanationReport:
    found = next((check for check in wished.checks if check.name == name), None)
    if found is None:
        hint = did_you_mean(name, [check.name for check in wished.checks])
        raise Stop(EXIT_ERROR, f"this fleet has no check {name}", hint=hint)
    each = f" of each {found.each}" if found.each else ""
    does = "blocks a plan" if found.severity == "deny" else "warns"
    entry = Entry(found.message, f"It {does}{each} unless this holds: {found.expr}", "Change what it is about, or it.")
    return of_topic(what, "check", f"{_CHECK}{name}", entry, found.place.source())


def _unknown(name: str, wished: Desired | None, where: str, advice: str = _NAMES) -> Stop:
    keys = [entry.key or entry.pool_id for entry in wished.entries.values()] if wished else []
    checks = [check.name for check in wished.checks] if wished else []
    hint = near(name[:_SHOWN], [*keys, *checks]) or advice
    message = f"there is nothing called {mask_cut(name, _SHOWN)} {where}"
    return Stop(EXIT_ERROR, message, hint=hint, rule="explain.unknown")
