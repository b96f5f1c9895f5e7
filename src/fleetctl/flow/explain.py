"""Explain: a code, a rule, a check, or a pool from all sides."""

from __future__ import annotations

import re
from collections.abc import Iterable

from better_compute.domain.ids import is_key
from better_compute.domain.problems import did_you_mean
from fleetctl import explain as explaining
from fleetctl import target
from fleetctl.catalogue import CODES, Entry, rules
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_ERROR, EXIT_OK, Stop
from fleetctl.files import FilesError
from fleetctl.flow.finished import Finished
from fleetctl.report.forms import ExplanationReport
from fleetctl.report.of_explain import of_explained, of_topic
from fleetctl.session import Request, caller_of, connected, read

_IN_BRACKETS = re.compile(r".*\[([A-Za-z0-9._:-]+)\]", re.DOTALL)
_CODE = re.compile(r"([A-Z][A-Z_]+)(?::.*)?", re.DOTALL)
_CHECK = "check."
_SHOWN = 200


def explain(request: Request, what: str, *, offline: bool = False) -> Finished:
    """What a name means: one that a message told, or that message itself as it was printed; else the key or id of a
    pool. `offline`: no server is asked about it. Raises Stop for what is nothing here."""
    # 1. What the project itself tells needs neither files nor server.
    name = _told(what)
    if name in CODES:
        return Finished(of_topic(what, "code", name, CODES[name]), EXIT_OK)
    if name in rules():
        return Finished(of_topic(what, "rule", name, rules()[name]), EXIT_OK)
    # 2. Read the files.
    wished = _read(request, name)
    if name.startswith(_CHECK):
        return Finished(_check(wished, what, name.removeprefix(_CHECK)), EXIT_OK)
    # 3. Find the entry; 4. ask what is live of it.
    if explaining.find_entry(wished, name) is None and (offline or not _may_be_pool(name)):
        raise _unknown(name, wished, "in these files")
    found = explaining.of_files(wished, name)
    if not offline:
        found = _asked(request, wished, name, found)
    return Finished(of_explained(what, found), EXIT_OK)


def _asked(request: Request, wished: Desired, name: str, found: explaining.Explained) -> explaining.Explained:
    caller_of(wished)
    chosen = target.choose(wished, request.environ, request.server, request.token_file, request.directory)
    with connected(wished, chosen, request) as connection:
        url = target.shown(chosen.server, request.directory)
        asked = explaining.with_live(found, wished, name, connection.client, url)
    if asked.entry is None and asked.state is None:
        raise _unknown(name, wished, f"in these files, nor at {url}")
    return asked


def _told(what: str) -> str:
    """The name in what was printed: `fleet.yaml:8:5: message [rule]`, or `CODE: message`."""
    text = what.strip()
    if found := _IN_BRACKETS.fullmatch(text):
        return found[1]
    return code[1] if (code := _CODE.fullmatch(text)) and code[1] in CODES else text


def _read(request: Request, name: str) -> Desired:
    """The files. Where they cannot be read a slip in the name of a rule is told first. Raises FilesError, Stop."""
    try:
        return read(request)
    except FilesError as error:
        there_is_none = all(problem.rule == "files.empty" for problem in error.problems)
        if there_is_none or not _may_be_pool(name):
            raise _unknown(name, None, "here") from error
        raise


def _check(wished: Desired, what: str, name: str) -> ExplanationReport:
    found = next((check for check in wished.checks if check.name == name), None)
    if found is None:
        hint = did_you_mean(name, [check.name for check in wished.checks])
        raise Stop(EXIT_ERROR, f"this fleet has no check {name}", hint=hint)
    each = f" of each {found.each}" if found.each else ""
    does = "blocks a plan" if found.severity == "deny" else "warns"
    entry = Entry(found.message, f"It {does}{each} unless this holds: {found.expr}", "Change what it is about, or it.")
    return of_topic(what, "check", f"{_CHECK}{name}", entry, found.place.source())


def _may_be_pool(name: str) -> bool:
    """Whether it is a key, and not rather the name of a rule or a code with a slip in it."""
    families = {rule.partition(".")[0] for rule in rules()}
    family, dot, _ = name.partition(".")
    return is_key(name) and not (dot and family in families) and not re.fullmatch("[A-Z]+(_[A-Z]+)+", name)


def _unknown(name: str, wished: Desired | None, where: str) -> Stop:
    keys = [entry.key or entry.pool_id for entry in wished.entries.values()] if wished else []
    known: Iterable[str] = (*keys, *rules(), *CODES)
    hint = (
        did_you_mean(name[:_SHOWN], known) or "name a pool's key or id, a rule, a code, or a message as it was printed"
    )
    return Stop(EXIT_ERROR, f"there is nothing called {name[:_SHOWN]} {where}", hint=hint, rule="explain.unknown")
