"""What a report says where nothing is to be done: the one place that knows when all is as the files say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fleetctl.outline.head import files, outside
from fleetctl.outline.shape import Sentence, Tone, Words
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import ApplyReport, DriftReport, PlanReport


def is_whole(report: PlanReport | ApplyReport | DriftReport) -> bool:
    """Whether nothing is left that is not as the files say, in a report in which nothing differs: all of the fleet was
    looked at, no pool of it is in no file, and none that is replaced is still kept."""
    summary = report["summary"]
    return not (report["selection"] or summary["removed"] or summary["waiting"])


def tone(report: PlanReport | ApplyReport | DriftReport) -> Tone:
    """Of the sentence that nothing differs."""
    return "good" if is_whole(report) else "notice"


def no_changes(report: PlanReport | ApplyReport) -> Words:
    """`No changes. 4 pools, 2 offers as wished.`: of a part of a fleet nobody says that all is."""
    summary, part = report["summary"], report["selection"]
    said = f"{files(summary['unchanged'], summary['offers'])} as wished"
    if part:
        return Words(f"No changes in the selection. {said}; {outside(part)}.", tone(report))
    return Words(f"No changes. {said}.", tone(report))


def left(report: PlanReport | ApplyReport) -> Iterator[Sentence]:
    """The pools that no operation makes as the files say."""
    if removed := len(report["summary"]["removed"]):
        said = "is in no file, and is left as it is" if removed == 1 else "are in no file, and are left as they are"
        yield (Words(f"{count(removed, 'pool')} of this fleet {said}."),)
    yield from waiting(report)


def waiting(report: PlanReport | ApplyReport | DriftReport) -> Iterator[Sentence]:
    """The pools that are to go and are not empty yet."""
    if kept := len(report["summary"]["waiting"]):
        said = "is replaced, and is kept while it is" if kept == 1 else "are replaced, and are kept while they are"
        yield (Words(f"{count(kept, 'pool')} {said} in use."),)
