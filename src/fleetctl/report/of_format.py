"""The report of formatting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from better_compute.domain.policy.urls import mask_message
from fleetctl.formatting import FormattedFile
from fleetctl.spelling import FORMAT_VERSION

if TYPE_CHECKING:
    from fleetctl.report import forms


def of_format(files: Sequence[FormattedFile], *, check: bool) -> forms.FormatReport:
    counts = Counter(file.status for file in files)
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": "format",
        "check": check,
        "files": [
            {
                "file": mask_message(file.file),
                "line": file.line,
                "status": file.status,
                "why": mask_message(file.why),
            }
            for file in files
        ],
        "summary": {
            "formatted": counts["formatted"],
            "unformatted": counts["unformatted"],
            "unchanged": counts["unchanged"],
            "left": counts["left"],
        },
    }
