"""What the files of a fleet hold, before anything is read of it."""

from __future__ import annotations

from pathlib import Path

from fleetctl.files.walk import FoundFile, last_name, list_files, read_bytes


def contents(path: Path) -> dict[str, bytes]:
    """The bytes of every file below the directory `path` that its fleet may read, whatever its documents leave out, or
    of that one file; by name (relative to the fleet, forward slashes). Lines end as git keeps them. What cannot be read
    is left out: whoever reads the fleet says so."""
    if path.is_dir():
        found = list_files(str(path)).files
    else:
        found = {last_name(path): FoundFile(last_name(path), str(path.resolve()))}
    held = {file: read_bytes(each) for file, each in found.items()}
    return {file: data.replace(b"\r\n", b"\n") for file, data in held.items() if isinstance(data, bytes)}
