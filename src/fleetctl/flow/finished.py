"""How a command ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fleetctl.report.forms import Report


@dataclass(frozen=True, slots=True)
class Finished:
    """A command that ended with a report: that, its exit code, and what people should know besides."""

    report: Report
    exit_code: int
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileText:
    """A command that ended well, and whose result is a file: its text, which is empty where files were written instead,
    and what people should know besides."""

    text: str
    remark: str
