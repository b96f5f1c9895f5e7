"""One file: bytes in, documents out."""

from __future__ import annotations

from contextlib import suppress

from yaml.error import YAMLError

from fleetctl.errors import FilesError
from fleetctl.files.builder import documents
from fleetctl.files.document import Documents
from fleetctl.files.reading import Reading, UnreadableError
from fleetctl.files.scalars import Scalars
from fleetctl.files.syntax import refusal
from fleetctl.files.text import as_yaml, to_text


def read_text(data: bytes, file: str, scalars: Scalars | None = None) -> Documents:
    """The documents of a file's bytes; none when it holds only comments. `file` is its name in messages.

    Pass one `scalars` to all files of a fleet. Raises FilesError with every problem that could be found, each with
    its place.
    """
    text = as_yaml(to_text(data, file))
    reading = Reading(text, file, Scalars() if scalars is None else scalars)
    found = Documents()
    with suppress(UnreadableError):
        failure = None
        try:
            found.extend(documents(reading))
        except YAMLError as error:
            failure = error
        if fault := refusal(text, failure, in_secret=reading.in_secret):
            reading.trail.clear()
            reading.report(*fault)
    if problems := reading.problems:
        raise FilesError(problems)
    if reading.empty or not found:
        found.blank = {file: reading.empty or 1}
    return found
