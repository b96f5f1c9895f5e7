"""One file: bytes in, documents out."""

from __future__ import annotations

from contextlib import suppress

from yaml.error import YAMLError

from better_compute.domain.problems import INVALID_INPUT, Problem, Source
from fleetctl.files.builder import documents
from fleetctl.files.document import Document, FilesError
from fleetctl.files.reading import Reading, UnreadableError
from fleetctl.files.scalars import Scalars
from fleetctl.files.syntax import misplaced_tab, refusal
from fleetctl.files.text import TextError, paired, to_text


def read_text(data: bytes, file: str, scalars: Scalars | None = None) -> list[Document]:
    """The documents of a file's bytes; none when it holds only comments. `file` is its name in messages.

    Pass one `scalars` to all files of a fleet. Raises FilesError with every problem that could be found, each with
    its place.
    """
    try:
        text = paired(to_text(data))
    except TextError as error:
        source = Source(file, error.line, error.column)
        raise FilesError([Problem(INVALID_INPUT, error.rule, error.message, "", error.hint, source=source)]) from None
    reading = Reading(text, file, Scalars() if scalars is None else scalars)
    found: list[Document] = []
    with suppress(UnreadableError):
        try:
            found.extend(documents(reading))
            if tab := misplaced_tab(text):
                reading.report(*tab)
        except YAMLError as error:
            reading.report(*refusal(reading, error))
    if problems := reading.problems:
        raise FilesError(problems)
    return found
