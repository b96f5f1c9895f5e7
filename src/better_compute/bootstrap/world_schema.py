"""The JSON Schema of world files, for editors: made from the models that reading follows.

`python -m better_compute.bootstrap.world_schema > schemas/world.v1.json` writes it again. It says what a file may hold
by itself; that ids stand once, and that what they name is there, only reading says.
"""

from __future__ import annotations

import json
from typing import Any

from better_compute.bootstrap.world_file import Content

Schema = dict[str, Any]


def schema() -> Schema:
    """JSON Schema 2020-12 of a world file."""
    made: Schema = _tidy(Content.model_json_schema())
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "World file (v1)", **made}


def render() -> str:
    """The schema as the text of its file."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _tidy(part: Any) -> Any:
    """Without titles, which repeat names, and without defaults of null; a map of names that match a pattern holds no
    others."""
    if isinstance(part, dict):
        closed = {"additionalProperties": False} if "patternProperties" in part else {}
        kept = {k: _tidy(v) for k, v in part.items() if not (k == "title" and isinstance(v, str))}
        return {k: v for k, v in kept.items() if (k, v) != ("default", None)} | closed
    return [_tidy(item) for item in part] if isinstance(part, list) else part


if __name__ == "__main__":
    print(render(), end="")
