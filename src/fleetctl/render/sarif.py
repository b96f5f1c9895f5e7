"""SARIF 2.1.0, for code scanning: what failed, what people should see, and what nobody knows, each by its rule."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from fleetctl import __version__
from fleetctl.look import PLAIN, Look
from fleetctl.outline.results import results
from fleetctl.spelling import in_ascii

if TYPE_CHECKING:
    from fleetctl.outline.results import Result
    from fleetctl.report.forms import Report

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"failed": "error", "warned": "warning", "skipped": "note"}
"""What passed is no result."""


def render(report: Report, look: Look = PLAIN) -> str:
    """One run. ASCII. Files are named from the top of the repository."""
    found = [one for one in results(report) if one.status in _LEVELS]
    rules = {rule: index for index, rule in enumerate(dict.fromkeys(one.rule for one in found))}
    driver = {"name": "fleetctl", "version": __version__, "rules": [{"id": rule} for rule in rules]}
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": report["kind"] != "error"}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(one, rules[one.rule], look.under) for one in found],
    }
    return in_ascii(json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)) + "\n"


def _result(one: Result, rule_index: int, under: str) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [{"name": one.name}]}
    if one.source is not None and (file := one.file(under)) is not None:
        location["physicalLocation"] = {
            "artifactLocation": {"uri": _uri(file)},
            "region": {"startLine": max(1, one.source["line"]), "startColumn": max(1, one.source["column"])},
        }
    return {
        "ruleId": one.rule,
        "ruleIndex": rule_index,
        "level": _LEVELS[one.status],
        "message": {"text": one.whole},
        "locations": [location],
    }


def _uri(path: str) -> str:
    """A file as a reference that names no host and no scheme."""
    return quote(f"/{path.lstrip('/')}" if path.startswith("/") else path, errors="backslashreplace")
