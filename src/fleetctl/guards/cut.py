"""The guard of files that were cut short: what is missing in them may have been lost, and not meant to go."""

from __future__ import annotations

from better_compute.domain.problems import INVALID_STATE, Problem, Source
from fleetctl.guards.tally import Case


def check(case: Case) -> list[Problem]:
    """Files that end inside a line, rule `files.cut`: harmless in itself, but a plan that takes anything away does not
    stand on them."""
    if case.taking is None:
        return []
    entries = case.desired.entries.values()
    places = [place for entry in entries for place in (entry.place, *entry.offer_places.values())]
    documents = {place.document.file: place.document for place in (*places, *case.desired.places.values())}
    message = "the file ends inside a line, as one that was cut short does, and this plan takes something away"
    hint = "end its last line, if it is whole"
    return [
        Problem(INVALID_STATE, "files.cut", message, hint=hint, source=Source(file, text.count("\n") + 1))
        for file, document in sorted(documents.items())
        if document.is_cut
        for text in (document.root.lines.text,)
    ]
