"""The report of what a name means that messages tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from better_compute.domain.policy.secrets import mask_text
from better_compute.domain.problems import Source
from fleetctl.catalogue import Entry
from fleetctl.report import problems
from fleetctl.spelling import FORMAT_VERSION

if TYPE_CHECKING:
    from fleetctl.report import forms


def of_topic(
    what: str, kind: Literal["code", "rule", "check", "word"], name: str, entry: Entry, source: Source | None = None
) -> forms.ExplanationReport:
    topic: forms.Topic = {
        "kind": kind,
        "name": name,
        "says": mask_text(entry.says),
        "why": mask_text(entry.why),
        "act": mask_text(entry.act),
        "source": None if source is None else problems.source(source),
    }
    return {"formatVersion": FORMAT_VERSION, "kind": "explanation", "what": what, "topic": topic, "pool": None}
