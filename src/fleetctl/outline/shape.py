"""The shape of an outline: a report in words, before anybody lays it out.

Every text stands on one line and every character of it is seen as itself: names from files and servers are escaped when
an outline is made. None of it is markup: a renderer still escapes what its own format reads as that.

Every command says something, so what each has to load at its start is light: named tuples are made in a seventh of the
time of data classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from better_compute.domain.escape import escape

_WIDEST = 48

Tone = Literal["plain", "strong", "quiet", "good", "notice", "bad"]


class Words(NamedTuple):
    """A part of a sentence. `foreign`: files or servers had a part in it."""

    text: str
    tone: Tone = "plain"
    foreign: bool = False


Sentence = tuple[Words, ...]
"""Its parts follow each other without a blank."""


class Fact(NamedTuple):
    """One line of what a report is of; `text` is foreign."""

    name: str
    text: str
    tone: Tone = "plain"


class Finding(NamedTuple):
    """One thing that is wrong. `place` is `file:line:column`, or empty; `lead` is what stands for it then."""

    severity: Literal["error", "warning", "unchecked"]
    place: str
    lead: str
    text: str
    rule: str
    hint: str

    @property
    def tone(self) -> Tone:
        return "bad" if self.severity == "error" else "notice"

    @property
    def head(self) -> str:
        """What comes before the text: where, and that it is no error."""
        where = f"{self.place or self.lead}: " if self.place or self.lead else ""
        return where if self.severity == "error" else f"{where}{self.severity}: "


class Item(NamedTuple):
    """One thing that is told, or equal ones together: a line and what stands below it.

    `mark` is `+`, `~`, `-`, `!` or nothing; `details` stand on the line where they fit. Below stand `changes` (of what,
    how), `notes`, what went wrong, and the `names` of equal things with the place of each. `alarm`: dangerous, so that
    it comes first and is never left out while there is room; `under`: the title that it has where such are kept apart
    from the rest of their section. `whole` is the same with nothing left out, for pages, whose readers can ask for
    nothing more; None where it is that already.
    """

    subject: str
    tone: Tone = "plain"
    mark: str = ""
    verb: str = ""
    aside: str = ""
    details: tuple[str, ...] = ()
    where: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    notes: tuple[Words, ...] = ()
    problem: Finding | None = None
    names: tuple[tuple[str, str], ...] = ()
    alarm: bool = False
    under: str = ""
    whole: Item | None = None


class Column(NamedTuple):
    """Numbers stand to the right."""

    title: str
    is_number: bool = False


class Table(NamedTuple):
    """Each row has a cell for every column; its mark, where it has one, says what is wrong with it."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    marks: tuple[str, ...]


class Section(NamedTuple):
    """A title and what stands under it, of one of three kinds. `more` says what was left out, and `hidden` has the
    findings behind each line of it, for pages. `in_columns`: the items are short and many, so that their parts stand
    below each other. `is_open`: to be seen at once, though nothing in it is alarming."""

    title: str
    items: tuple[Item, ...] = ()
    findings: tuple[Finding, ...] = ()
    table: Table | None = None
    more: tuple[Words, ...] = ()
    hidden: tuple[tuple[Finding, ...], ...] = ()
    in_columns: bool = False
    is_open: bool = False


class Outline(NamedTuple):
    """A report in words. `fleet` is as the report has it, not escaped. `opening` comes before all else and is alarming;
    `closing` are the sums, and what to do."""

    kind: str
    fleet: str | None = None
    title: Sentence = ()
    facts: tuple[Fact, ...] = ()
    opening: tuple[Sentence, ...] = ()
    sections: tuple[Section, ...] = ()
    closing: tuple[Sentence, ...] = ()

    @property
    def sums(self) -> tuple[Sentence, ...]:
        """The closing where it opens a page: what is bad comes first."""
        return tuple(sorted(self.closing, key=lambda sentence: sentence[0].tone != "bad"))

    @property
    def heading(self) -> Sentence:
        """The title, or what stands for it where a page needs one."""
        if self.title or self.fleet is None:
            return self.title or (Words(f"fleetctl {self.kind}"),)
        return Words(f"{self.kind.capitalize()} of fleet "), Words(escape(self.fleet), foreign=True)


def width(texts: Iterable[str]) -> int:
    """The width of a column; one long text does not push everything aside."""
    return max((len(text) for text in texts if len(text) <= _WIDEST), default=0)


def plain(sentence: Sentence) -> str:
    """A sentence without tones."""
    return "".join(words.text for words in sentence)


def filled(*sections: Section | None) -> tuple[Section, ...]:
    """Those sections that hold something."""
    return tuple(_filled(sections))


def _filled(sections: tuple[Section | None, ...]) -> Iterator[Section]:
    for section in sections:
        if section is not None and (section.items or section.findings or (section.table and section.table.rows)):
            yield section
