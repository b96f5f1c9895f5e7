"""How a command ended."""

from __future__ import annotations

from dataclasses import dataclass

from fleetctl import report


@dataclass(frozen=True, slots=True)
class Finished:
    """How a command ended: its report, its exit code, and what people should know besides."""

    report: report.Report
    exit_code: int
    remark: str = ""
