"""The lines of an outline on a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fleetctl.outline.shape import width
from fleetctl.render.text import tables
from fleetctl.render.text.style import Style

if TYPE_CHECKING:
    from fleetctl.outline.shape import Finding, Item, Outline, Section

_ON_ONE_LINE = 64
_BELOW_VERB, _BELOW = " " * 13, " " * 4


def lines(outline: Outline, style: Style) -> Iterator[str]:
    """What the report is of, its sections and its sums, with a blank line between them."""
    yield from _head(outline, style)
    if outline.title:
        yield ""
    yield from (style.sentence(sentence) for sentence in outline.opening)
    if outline.title and outline.opening:
        yield ""
    for section in outline.sections:
        yield from section_lines(section, style)
        if section.title:
            yield ""
    yield from (style.sentence(sentence) for sentence in outline.closing)


def _head(outline: Outline, style: Style) -> Iterator[str]:
    indent, column = ("  ", 8) if outline.title else ("", 9)
    if outline.title:
        yield style.toned("strong", "".join(words.text for words in outline.title))
    for fact in outline.facts:
        yield f"{indent}{style.toned('quiet', f'{fact.name:<{column}}')} {style.toned(fact.tone, fact.text)}"


def section_lines(section: Section, style: Style) -> Iterator[str]:
    if section.table is not None:
        yield from tables.lines(section.table, style)
    elif section.title:
        yield style.toned("strong", section.title)
    column = width([item.subject for item in section.items]) if section.in_columns else 0
    for item in section.items:
        yield from _item(item, column, style)
    for finding in section.findings:
        yield from _finding(finding, style)
    indent = "" if section.findings else "  "
    yield from (f"{indent}{style.toned(words.tone, words.text)}" for words in section.more)


def _item(item: Item, column: int, style: Style) -> Iterator[str]:
    inline, lead = ", ".join(item.details), f"{item.mark} {item.verb:<9} " if item.verb else ""
    fits = not item.verb or (len(inline) <= _ON_ONE_LINE and _fits(item, lead, inline, column, style))
    subject = f"{item.subject:<{column}}" if fits else item.subject
    details = (inline,) if fits and inline else ()
    head = style.toned(item.tone, lead + subject) + style.toned("plain" if item.tone == "bad" else "quiet", item.aside)
    where = (style.toned("quiet", item.where),) if item.where else ()
    yield "  " + "  ".join((head, *details, *where))
    indent = _BELOW_VERB if item.verb else _BELOW
    if not fits:
        yield from (f"{indent}{detail}" for detail in item.details)
    paths = width([path for path, _ in item.changes])
    yield from (f"{indent}{path:<{paths}}  {text}" for path, text in item.changes)
    yield from (f"{indent}{style.toned(note.tone, note.text)}" for note in item.notes)
    if item.problem is not None:
        yield from (f"{indent}{line}" for line in _finding(item.problem, style))
    names = width([name for name, _ in item.names])
    yield from (f"{indent}  {name:<{names}}  {style.toned('quiet', place)}" for name, place in item.names)


def _fits(item: Item, lead: str, inline: str, column: int, style: Style) -> bool:
    """Whether the whole line does: in a narrow window details stand below."""
    if style.window is None:
        return True
    return 2 + len(lead) + max(len(item.subject), column) + 2 + len(inline) + 2 + len(item.where) <= style.window


def _finding(finding: Finding, style: Style) -> Iterator[str]:
    """`file:line:column: message [rule]`, as compilers write it: editors and people find it. Then its hint."""
    rule = style.toned("quiet", f" [{finding.rule}]") if finding.rule else ""
    yield f"{style.toned(finding.tone, finding.head)}{finding.text}{rule}"
    if finding.hint:
        yield f"  Hint: {finding.hint}"
