"""Explain: a code, a rule, a word of reports, a check, or a pool from all sides."""

from __future__ import annotations

from fleetctl.catalogue import CODES, REPORTED, rules
from fleetctl.catalogue.told import told
from fleetctl.errors import EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.report.of_topic import of_topic
from fleetctl.request import Request


def explain(request: Request, what: str, *, offline: bool = False) -> Finished:
    """What a name means: one that a message told, or that message itself as it was printed; else the key or id of a
    pool. `offline`: no server is asked about it. Raises FilesError, ComputeError, and Stop for what is nothing here."""
    # 1. What the project itself tells needs neither files nor server.
    name = told(what)
    if name in CODES:
        return Finished(of_topic(what, "code", name, CODES[name]), EXIT_OK)
    if name in rules():
        return Finished(of_topic(what, "rule", name, rules()[name]), EXIT_OK)
    # 2. The rest is the fleet's, but for words that are no key of its own.
    from fleetctl.flow.explain_fleet import explain_fleet, has_entry  # not at the top: it reads files and asks servers

    if name in REPORTED and not has_entry(request, name):
        return Finished(of_topic(what, "word", name, REPORTED[name]), EXIT_OK)
    return Finished(explain_fleet(request, what, name, offline=offline), EXIT_OK)
