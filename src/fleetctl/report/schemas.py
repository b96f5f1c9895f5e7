"""JSON Schemas of the reports, made from their forms: `fleetctl schema` prints them and `schemas/` holds them.

`python -m fleetctl.report.schemas DIRECTORY` writes the files again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Final

import msgspec

from fleetctl.report import forms

FORMS: Final[dict[str, type]] = {
    "plan.v1": forms.PlanReport,
    "report.v1": forms.ApplyReport,
    "drift.v1": forms.DriftReport,
    "diff.v1": forms.FleetDiffReport,
    "explanation.v1": forms.ExplanationReport,
    "format.v1": forms.FormatReport,
    "init.v1": forms.InitReport,
    "tests.v1": forms.FleetTestsReport,
    "validation.v1": forms.ValidationReport,
    "id.v1": forms.IdReport,
    "whoami.v1": forms.WhoamiReport,
    "error.v1": forms.ErrorReport,
}
"""Name of the schema -> the report it is of."""


def schema(name: str) -> dict[str, Any]:
    """JSON Schema 2020-12 of a report; nothing may stand in one that its schema does not name. Raises KeyError."""
    made = msgspec.json.schema(FORMS[name])
    for definition in made["$defs"].values():
        if "properties" in definition:
            definition["additionalProperties"] = False
            definition["description"] = " ".join(definition["description"].split())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def render(name: str) -> str:
    """The schema as the text of its file. Raises KeyError."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for each in FORMS:
        Path(sys.argv[1], f"{each}.json").write_text(render(each))
