"""Fleet files: from a path to parsed documents that know file, line and column of each value.

YAML and the file system are known here; what a fleet means is not. `read_fleet` reads a path, `read_text` the bytes
of one file; both raise `FilesError` with every problem found. `beside` finds what one file alone leaves out.
"""

from fleetctl.files.beside import UNNAMED, beside, is_like_document
from fleetctl.files.document import Document, FilesError, Lines, Map, Seq
from fleetctl.files.fleet import read_fleet
from fleetctl.files.reader import read_text

__all__ = [
    "UNNAMED",
    "Document",
    "FilesError",
    "Lines",
    "Map",
    "Seq",
    "beside",
    "is_like_document",
    "read_fleet",
    "read_text",
]
