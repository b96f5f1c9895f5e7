"""The JSON Schema of world files, for editors: made from the models that reading follows.

It says what a file may hold by itself; that ids stand once, and that what they name is there, only reading says.
"""

from __future__ import annotations

from typing import Any

from better_compute.bootstrap.world_file import Content

Schema = dict[str, Any]


def schema() -> Schema:
    """JSON Schema 2020-12 of a world file."""
    made: Schema = tidy(Content.model_json_schema())
    return {"title": "World file (v1)", **made}


def tidy(part: Any) -> Any:
    """A schema as pydantic makes it, without titles, which repeat names, and without defaults of null, which no field
    takes; a map of names that match a pattern holds no others."""
    if isinstance(part, dict):
        closed = {"additionalProperties": False} if "patternProperties" in part else {}
        kept = {k: tidy(v) for k, v in part.items() if not (k == "title" and isinstance(v, str))}
        return {k: v for k, v in kept.items() if (k, v) != ("default", None)} | closed
    return [tidy(item) for item in part] if isinstance(part, list) else part
