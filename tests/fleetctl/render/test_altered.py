"""A saved report that somebody altered, under a right checksum: it is refused, or said soundly in every format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from better_compute.domain.problems import ComputeError
from fleetctl.outline import MODULES
from fleetctl.report import forms
from fleetctl.report.saved import file_bytes, read_report
from fleetctl.spelling import checksum
from tests.altered import leaves, parts, with_value, without
from tests.builders import NOW
from tests.fleetctl.render.checks import CHECKS
from tests.fleetctl.render.formats import NAMES, rendered
from tests.fleetctl.render.reports import HEAD, OPERATIONS, a_plan, an_undo, every_kind, source

HOSTILE = "\x1b[31m\r\n::error::x\n##[error]y\u202e`</details><script>|**[a](http://e.example)@team"
ODD: tuple[Any, ...] = (None, True, -1, 10**18, 1.5, "x", [], {}, [""])
"""A value of every type, of which any may stand in any place."""

DERIVED = {"derivation": "fleetctl/v1", "kind": "pool", "tenantId": "root", "caller": "sa_fleet", "key": "fra1-a"}


def a_pool() -> Any:
    """A pool in the files, live, and in events."""
    live = {
        "pool": {"siteId": "site_fra1", "gpuModel": "H100"},
        "policy": {"maxPending": "6h"},
        "key": "fra1-a",
        "createdBy": "sa_fleet",
        "createdAt": NOW,
        "archivedAt": NOW,
        "version": 3,
        "atom": "gpu",
        "machines": {
            "nodes": 2,
            "hostNodes": 1,
            "tenantOwnedNodes": 1,
            "models": {"H100": 2},
            "gpus": 16,
            "schedulable": 16,
        },
        "tenants": [
            {
                "tenantId": "acme",
                "offered": True,
                "priority": 3,
                "includeDescendants": True,
                "rows": [{"resource": "gpu", "max": 8, "used": 4}],
                "pending": 1,
                "placed": 1,
                "active": 1,
            }
        ],
    }
    entry = {
        "source": source(),
        "says": ["archived: true"],
        "pool": {"siteId": "site_fra1"},
        "policy": [{"name": "maxPending", "value": "6h", "source": source()}],
        "ownerQuota": {"gpu": 8},
        "offersAre": "unstated",
        "offers": [
            {"toTenantId": "acme", "quota": {"gpu": 8}, "priority": 1, "includeDescendants": True, "source": source()}
        ],
    }
    event = {"type": "pool.updated", "toTenantId": "acme", "time": NOW, "actorId": "sa_fleet", "sequence": 9}
    via = {"fleet": "f", "commit": "abc", "reason": "why"}
    pool = {"poolId": "pool_1", "key": "fra1-a", "server": "https://c", "entry": entry, "live": live}
    events = [{**event, "via": via}, {**event, "via": None}]
    return {
        "formatVersion": 1,
        "kind": "explanation",
        "what": "fra1-a",
        "topic": None,
        "pool": {**pool, "events": events},
    }


PLAN = a_plan(OPERATIONS[:8])
REPORTS: dict[str, Any] = {
    **every_kind(),
    "undo": an_undo(),
    "plan": PLAN,
    "blocked plan": a_plan(operations=[], findings=every_kind()["plan"]["findings"]),
    "explanation of a pool": a_pool(),
    "id": {
        "formatVersion": 1,
        "kind": "id",
        "id": "pool_1",
        "derivedFrom": DERIVED,
        "others": [{"id": "pool_2", "derivedFrom": DERIVED}],
    },
    "whoami": {
        "formatVersion": 1,
        "kind": "whoami",
        "server": HEAD["server"],
        "identity": {"id": "sa_ci", "tenantId": "root"},
        "pins": {"server": "https://c", "tenantId": "root", "caller": "sa_fleet"},
        "missing": {"plan": ["pools/list"], "apply": ["pools/create"]},
        "clockOffsetMs": 5,
    },
}


def read(document: dict[str, Any]) -> forms.Report | None:
    """The report of a file that holds it; None where it is refused."""
    try:
        is_sealed = document.get("kind") in ("plan", "apply")
        whole = {**document, "checksum": checksum(document)} if is_sealed else document
        return read_report(file_bytes(whole))  # type: ignore[arg-type]
    except ComputeError:
        return None


def test_a_report_of_every_kind_is_read() -> None:
    assert {report["kind"] for report in REPORTS.values()} == set(MODULES)
    assert [name for name, report in REPORTS.items() if read(report) is None] == []


def poisoned(report: dict[str, Any], poison: str) -> dict[str, Any]:
    """Every text and every name that may be another is the hostile one."""
    for path, value in leaves(report):
        if isinstance(value, str) and read(altered := with_value(report, path, poison)) is not None:
            report = altered
    for path in sorted(parts(report), key=len, reverse=True):
        name = path[-1]
        if isinstance(name, str):
            renamed = with_value(without(report, path), (*path[:-1], name + poison), _at(report, path))
            report = renamed if read(renamed) is not None else report
    return report


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


@pytest.mark.parametrize("name", REPORTS)
def test_no_text_of_a_file_acts_anywhere(name: str) -> None:
    report = poisoned(REPORTS[name], HOSTILE)
    assert HOSTILE in [value for _, value in leaves(report)]
    said = read(report)
    for form in NAMES:
        for verbose in (False, True):
            CHECKS[form](rendered(form, said, verbose=verbose))


def check_alterations(report: dict[str, Any], odd: int) -> None:
    """One part at a time is left out, or is so many of the odd values, in turn."""
    for n, path in enumerate(parts(report)):
        others = [ODD[(n + k) % len(ODD)] for k in range(odd)]
        for altered in (without(report, path), *(with_value(report, path, other) for other in others)):
            if (said := read(altered)) is not None:
                assert all(rendered(form, said) is not None for form in NAMES)


@pytest.mark.parametrize("name", REPORTS)
def test_what_is_left_out_or_of_another_type_is_refused_or_said(name: str) -> None:
    check_alterations(REPORTS[name], 1)


@pytest.mark.long
@pytest.mark.parametrize("name", REPORTS)
def test_whatever_is_of_any_other_type_is_refused_or_said(name: str) -> None:
    check_alterations(REPORTS[name], len(ODD))


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (without(PLAN, ("operations", 0, "after", "siteId")), "required field `siteId` - at `$.operations[0].after`"),
        (without(PLAN, ("operations", 1, "after", "priority")), "field `priority` - at `$.operations[1].after`"),
        (with_value(PLAN, ("operations", 0, "after", "ownerQuota"), 3), "got `int` - at `$.operations[0].after.ownerQ"),
        (with_value(PLAN, ("operations", 3, "after"), "x"), "got `str` - at `$.operations[3].after`"),
        (with_value(PLAN, ("operations", 6, "before", "x"), 1), "no archive does - at `$.operations[6].before`"),
    ],
)
def test_an_operation_that_is_none_is_refused_with_the_place(plan: Any, said: str) -> None:
    with pytest.raises(ComputeError) as refused:
        read_report(json.dumps(plan).encode())
    assert said in refused.value.problems[0].message
