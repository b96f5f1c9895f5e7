"""Export: what is live, as files of a fleet."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from better_compute.domain.values import Json
from fleetctl import export as exporting
from fleetctl import snapshot
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_USAGE, Stop
from fleetctl.files.text import MAX_BYTES
from fleetctl.flow.finished import FileText
from fleetctl.flow.rooted import rooted
from fleetctl.request import Request
from fleetctl.session.opening import opened
from fleetctl.spelling import in_ascii
from fleetctl.words import count


def export(request: Request, out: Path | None, schema: str, *, as_json: bool = False) -> FileText:
    """A fleet whose plan is empty, as YAML or as one JSON document; the files stand in `out` where that is given, with
    the `schema` that they lead to."""
    # 1. Read the root fields; see that what is written is none of the fleet's.
    wished = rooted(request)
    if out is not None:
        _check_apart(wished, request, out)
    # 2. Choose the target; 3. read the live state.
    with opened(request, wished) as session:
        root = exporting.root_fields(wished, session.target.server, Path(os.path.abspath(out or request.directory)))
        found = exporting.entries(session.live, wished)
    root, hiding = exporting.fitted(root, found)
    if hiding:
        request.tell(f"Left out of exclude, which would hide files of the export: {', '.join(hiding)}")
    # 4. Write it, and say what it holds.
    if out is None:
        return FileText(_text(request, root, found, as_json=as_json), f"The export {snapshot.IN_CLEAR}")
    files = exporting.by_file(root, found)
    exporting.save(out, {**files, exporting.SCHEMA: schema})
    pools, where = count(len(found), "pool"), f"{count(len(files), 'file')} in {out}"
    return FileText("", f"{pools} in {where}, beside their schema; the export {snapshot.IN_CLEAR}")


def _text(
    request: Request, root: Mapping[str, Json], found: list[tuple[str, dict[str, Json]]], *, as_json: bool
) -> str:
    if as_json:
        return in_ascii(json.dumps(exporting.one_document(root, found), indent=2)) + "\n"
    text = exporting.one_text(root, found)
    if len(text.encode()) > MAX_BYTES:
        request.tell("One file may have 16 MiB, and this is more: --out DIR writes several")
    return text


def _check_apart(wished: Desired, request: Request, out: Path) -> None:
    """A fleet is read with all below its directory: there, the export would be part of it. Raises Stop."""
    real = Path(os.path.realpath(out))
    if wished.places and request.path.is_dir() and real.is_relative_to(os.path.realpath(request.directory)):
        message = f"{out} is in the fleet's directory, and would be read as part of it: nothing was written"
        raise Stop(EXIT_USAGE, message, hint="choose a directory elsewhere", rule="export.out")
