"""Drift as metrics in Prometheus' text format, for a file that a collector reads.

The number of series is fixed: objects are counted, never named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.look import PLAIN, Look

if TYPE_CHECKING:
    from fleetctl.report.forms import Coverage, DriftReport, Report

_LONGEST = 128


def render(report: Report, _look: Look = PLAIN) -> str:
    """The metrics of a drift; of another report (an error in its place) that there was no check."""
    lines = (
        _drift(report)
        if report["kind"] == "drift"
        else _metric("check_success", "Whether drift was looked for.", {"": 0})
    )
    return "".join(f"{line}\n" for line in lines)


def _drift(report: DriftReport) -> Iterator[str]:
    summary, part, coverage = report["summary"], report["selection"], report["coverage"]
    names = {"fleet": report["fleet"], "tenant": report["tenantId"], "instance_id": report["server"]["instanceId"]}
    fleet = ",".join(f'{name}="{_label(value)}"' for name, value in names.items())
    counts = {"changed": summary["changed"], "removed": summary["removed"], "pending": summary["pending"]}
    kinds = {f'{fleet},kind="{kind}"': number for kind, number in counts.items()}
    one: dict[str, tuple[str, int | str]] = {
        "expected_objects": ("Objects that differ as the files expect.", summary["expected"]),
        "checked_pools": ("Entries of the files that were compared.", summary["entries"]),
        "checked_offers": ("Offers of the files that were compared.", summary["offers"]),
        "partial": ("1 where only a part of the fleet was looked at.", int(part is not None)),
        "outside_objects": ("Objects that differ outside of that part.", part["outside"] if part else 0),
        "live_pools": ("Live pools of the tenant, whatever part was looked at.", coverage["livePools"]),
        "named_pools": ("Live pools that an entry of the files names.", coverage["namedPools"]),
        "live_atoms": ("GPU atoms of live pools.", coverage["liveAtoms"]),
        "named_atoms": ("GPU atoms of live pools that an entry of the files names.", coverage["namedAtoms"]),
        "coverage_ratio": ("Named pools to live pools; NaN where none is live.", _ratio(coverage)),
        "check_success": ("Whether drift was looked for.", 1),
    }
    yield from _metric("objects", "Pools and offers that are not as the files say, by kind.", kinds)
    for name, (said, value) in one.items():
        yield from _metric(name, said, {fleet: value})
    seconds = f"{report['createdAt'] / 1000:.3f}"
    yield from _metric(
        "last_check_timestamp_seconds", "When live state was read, by the server's clock.", {fleet: seconds}
    )


def _ratio(coverage: Coverage) -> str:
    """1 only where all are named."""
    live = coverage["livePools"]
    return repr(coverage["namedPools"] / live) if live else "NaN"


def _metric(name: str, said: str, values: Mapping[str, int | str]) -> Iterator[str]:
    yield f"# HELP fleetctl_drift_{name} {said}"
    yield f"# TYPE fleetctl_drift_{name} gauge"
    for labels, value in values.items():
        yield f"fleetctl_drift_{name}{f'{{{labels}}}' if labels else ''} {value}"


def _label(text: str) -> str:
    """On one line, bounded, and with what would end a label escaped."""
    shown = escape(text)
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 3]}..."
    return shown.replace("\\", "\\\\").replace('"', '\\"')
