"""Sections of an outline as blocks of markdown: fences, tables and lists, folded where nobody needs them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import inert
from fleetctl.outline.shape import width
from fleetctl.render.markdown.fit import Block, Unit
from fleetctl.render.markdown.inline import cell, code, cut, fence, own

if TYPE_CHECKING:
    from fleetctl.outline.shape import Fact, Finding, Item, Section, Table, Words

DESTRUCTIVE, ALARM, WRONG, TABLE, REST, FACTS = range(6)
"""What is kept first."""
_ON_ONE_LINE = 64

More = tuple["Words", tuple["Finding", ...]]
"""What says that findings were left out, and these."""


def of_section(section: Section) -> Iterator[Block]:
    """What is alarming by itself and open, the rest folded."""
    groups: dict[tuple[bool, str], list[Item]] = {}
    for item in sorted(section.items, key=lambda item: not item.alarm):
        groups.setdefault((item.alarm, item.under), []).append(item)
    if section.table is not None:
        yield _table(section.title, section.table, section.more)
    for number, items in enumerate(groups.values(), 1):
        yield _fenced(section, items, section.more if number == len(groups) else ())
    yield from _of_findings(section)


def _of_findings(section: Section) -> Iterator[Block]:
    """Errors, then the rest, which is folded where there are errors."""
    is_folded = False
    for is_wrong in (True, False):
        found = [finding for finding in section.findings if (finding.severity == "error") is is_wrong]
        behind = zip(section.more, section.hidden, strict=False)
        more = [(words, hidden) for words, hidden in behind if (hidden[0].severity == "error") is is_wrong]
        if found:
            yield _findings(section.title, found, more, is_folded=is_folded)
            is_folded = True


def facts(found: Iterable[Fact]) -> Block:
    """What the report is of."""
    rows = [Unit(f"| {fact.name} | {cell(fact.text)} |\n") for fact in found]
    return Block(title="About", start="| | |\n| --- | --- |\n", units=rows, rank=FACTS, is_folded=True)


def _title(title: str, number: int) -> str:
    return f"{own(title or 'All')} ({number:,})" if number > 1 else own(title)


def _fenced(section: Section, items: Sequence[Item], more: Sequence[Words]) -> Block:
    """Of items that are equally alarming. Losers, who may be many, do not take the room of what is destroyed."""
    first, title = items[0], items[0].under or section.title
    is_open = first.alarm or section.is_open
    rank = REST if not is_open else DESTRUCTIVE if first.under and first.tone == "bad" else ALARM
    column = width([item.subject for item in items]) if section.in_columns else 0
    units = [unit for item in items for unit in _units(item, column)]
    units += [Unit(f"{inert(f'  {words.text}')}\n") for words in more]
    ticks = fence([text for unit in units for text in (unit.text, *unit.wider)])
    return Block(
        title=_title(title, len(items)),
        start=f"{ticks}diff\n",
        end=f"{ticks}\n",
        units=units,
        rank=rank,
        must=first.alarm,
        is_folded=not is_open,
    )


def _units(item: Item, column: int) -> Iterator[Unit]:
    """An item and what stands below it, then each of its names: where only some fit, those do. What can be told at more
    length is one, with its names."""
    lines = "".join(_lines(item, column))
    short = "  ".join((_lead(item) + cut(item.subject), *map(cut, (item.where,) if item.where else ())))
    if item.whole is not None:
        text = f"{lines}{''.join(_name(item, *each) for each in item.names)}"
        yield Unit(text, f"{inert(short)}\n", tuple(_wider(item, item.whole, column)))
        return
    yield Unit(lines, f"{inert(short)}\n")
    yield from (Unit(_name(item, *each), _name(item, cut(each[0]))) for each in item.names)


def _wider(item: Item, whole: Item, column: int) -> Iterator[str]:
    """With each name and its place; then, where these tell nothing else, with the names alone."""
    lines = "".join(_lines(whole, column))
    yield f"{lines}{''.join(_name(item, *each) for each in whole.names)}"
    if whole.names and not item.names:
        yield f"{lines}{''.join(_name(item, name) for name, _ in whole.names)}"


def _lead(item: Item) -> str:
    return f"{item.mark or ' '} {f'{item.verb:<9} ' if item.verb else ''}"


def _lines(item: Item, column: int) -> Iterator[str]:
    """All but the names."""
    where, inline = (item.where,) if item.where else (), ", ".join(item.details)
    fits = not item.verb or len(inline) <= _ON_ONE_LINE
    subject = f"{item.subject:<{column}}" if fits else item.subject
    lines = [
        "  ".join((f"{_lead(item)}{subject}{item.aside}", *((inline,) if fits and inline else ()), *where)),
        *(() if fits else (f"    {detail}" for detail in item.details)),
        *(f"    {path}  {text}" for path, text in item.changes),
        *(_note(note.text) for note in item.notes),
        *(f"    {line}" for line in (_problem(item.problem) if item.problem else ())),
    ]
    return (f"{inert(line)}\n" for line in lines)


def _name(item: Item, name: str, place: str = "") -> str:
    text = f"{(item.mark or ' ') if item.alarm else ' '}     {name}{f'  {place}' if place else ''}"
    return f"{inert(text)}\n"


def _note(text: str) -> str:
    """An alarming one is coloured where a line's first character says so."""
    return f"!   {text[1:].lstrip()}" if text.startswith("!") else f"    {text}"


def _problem(finding: Finding) -> Iterator[str]:
    yield f"{finding.head}{finding.text}{f' [{finding.rule}]' if finding.rule else ''}"
    if finding.hint:
        yield f"Hint: {finding.hint}"


def _findings(title: str, findings: Sequence[Finding], more: Sequence[More], *, is_folded: bool) -> Block:
    units = [Unit("".join(_finding(finding)), next(_finding(finding))) for finding in findings]
    for words, hidden in more:
        units.append(Unit(f"- {code(words.text)}\n", wider=("".join("".join(_finding(one)) for one in hidden),)))
    rank = WRONG if findings[0].severity == "error" else REST
    return Block(title=_title(title, len(findings)), units=units, rank=rank, is_folded=is_folded)


def _finding(finding: Finding) -> Iterator[str]:
    where = f" {code(finding.place or finding.lead)}" if finding.place or finding.lead else ""
    rule = f" {code(finding.rule)}" if finding.rule else ""
    yield f"- **{finding.severity}**{where} {code(finding.text)}{rule}\n"
    if finding.hint:
        yield f"  <br>Hint: {code(finding.hint)}\n"


def _table(title: str, table: Table, more: Sequence[Words]) -> Block:
    marked = any(table.marks)
    titles = [own(column.title) for column in table.columns] + [" "] * marked
    rules = ["---:" if column.is_number else "---" for column in table.columns] + ["---"] * marked
    units = []
    for row, mark in zip(table.rows, table.marks, strict=True):
        cells = [text if column.is_number else cell(text) for text, column in zip(row, table.columns, strict=True)]
        cells += [f"**{mark}**" if mark else " "] * marked
        units.append(Unit(f"| {' | '.join(cells)} |\n"))
    start = f"| {' | '.join(titles)} |\n| {' | '.join(rules)} |\n"
    end = "".join(f"\n{own(words.text)}\n" for words in more)
    return Block(title=own(title), start=start, end=end, units=units, rank=TABLE)
