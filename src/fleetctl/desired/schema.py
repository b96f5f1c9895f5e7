"""The JSON Schema of fleet files, for editors: made from the models that reading follows.

`python -m fleetctl.desired.schema > schemas/fleet.v1.json` writes it again. It says what a document may hold by
itself, with the words that the domain's rules allow. It cannot say what documents owe each other, nor that 8.0 is not
a whole number here.
"""

from __future__ import annotations

import json
from typing import Any

from better_compute.domain.policy import schemas
from better_compute.domain.policy.fields import MODULES
from fleetctl.desired.faults import IGNORED
from fleetctl.desired.shape import API_VERSION, Document

Schema = dict[str, Any]


def schema() -> Schema:
    """JSON Schema 2020-12 of one document of a fleet."""
    made: Schema = _tidy(Document.model_json_schema())
    defs = made.pop("$defs")
    defs["Pool"]["properties"]["policy"]["properties"] = {
        name: part for module in MODULES for name, part in schemas.schema(module)["properties"].items()
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Fleet file ({API_VERSION})",
        **made,
        "patternProperties": {f"^{IGNORED}": True},
        "$defs": defs,
    }


def render() -> str:
    """The schema as the text of its file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(part: Any) -> Any:
    """Without titles, which repeat names, and without defaults of null, which no field takes."""
    if isinstance(part, dict):
        return {k: _tidy(v) for k, v in part.items() if k != "title" and (k, v) != ("default", None)}
    return [_tidy(item) for item in part] if isinstance(part, list) else part


if __name__ == "__main__":
    print(render(), end="")
