"""Documents that are none of a fleet, such as charts, manifests and plans: each file is one finding, where each of its
fields would be one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from better_compute.domain.words import slip_of
from fleetctl.desired.faults import IGNORED
from fleetctl.desired.found import Found
from fleetctl.desired.place import Place
from fleetctl.desired.shape import DOCUMENT_FIELDS
from fleetctl.files import Document

RULE = "fleet.document"

_VERSION = "apiVersion"
_COMMON = frozenset({"server", "defaults", "exclude", "policies", "checks", "prices", "expected"})
"""Fields that files of other tools have too."""
_REPORT = frozenset({"formatVersion", "kind"})
"""Fields of every report of `fleetctl`, plans included, and of no fleet document."""


def is_foreign(root: Mapping[str, Any]) -> bool:
    """Whether a document shares no field with those of a fleet, not even by a slip, but for the `apiVersion` of
    something else, and a few common ones among more of its own; or is a report."""
    if root.keys() >= _REPORT:
        return True
    shared = DOCUMENT_FIELDS & root.keys() - {_VERSION}
    if shared - _COMMON or "fleet" in str(root.get(_VERSION, "")):
        return False
    own = [name for name in root if name not in DOCUMENT_FIELDS and not name.startswith(IGNORED)]
    return len(own) > len(shared) and not any(slip_of(name, DOCUMENT_FIELDS - root.keys()) for name in own)


def judge(documents: Sequence[Document], found: Found) -> None:
    """Find each file of such documents, once."""
    for document in {document.file: document for document in reversed(documents)}.values():
        file, root = document.file, document.root
        message = "this is no fleet document"
        hint = f"move it out of the fleet, or write its name under exclude: [{file}]"
        if root.keys() >= _REPORT:
            message = "this is a report of fleetctl, and no fleet document"
        if root.keys() >= _REPORT and root["kind"] == "plan":
            message = "this is a plan file, and no fleet document"
            hint = f"did you mean --plan {file}? If not, {hint}"
        found.add(RULE, message, Place(document), hint=hint)
