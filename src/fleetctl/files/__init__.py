"""Fleet files: from a path to parsed documents that know file, line and column of each value.

YAML and the file system are known here; of what a fleet means, only which files it says are none of it. `read_fleet`
reads a path, `read_text` the bytes of one file; both raise `FilesError` with every problem found. `fleet_files` are the
files that a path is read from.
"""

from fleetctl.errors import FilesError
from fleetctl.files.document import Document, Documents, Lines, Map, Merged, Seq, offsets
from fleetctl.files.fleet import fleet_files, read_fleet
from fleetctl.files.reader import read_text

__all__ = [
    "Document",
    "Documents",
    "FilesError",
    "Lines",
    "Map",
    "Merged",
    "Seq",
    "fleet_files",
    "offsets",
    "read_fleet",
    "read_text",
]
