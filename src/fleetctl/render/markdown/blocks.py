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


def of_section(section: Section) -> Iterator[Block]:
    """What is alarming by itself and open, the rest folded."""
    groups: dict[tuple[bool, str], list[Item]] = {}
    for item in sorted(section.items, key=lambda item: not item.alarm):
        groups.setdefault((item.alarm, item.under), []).append(item)
    if section.table is not None:
        yield _table(section.title, section.table, section.more)
    for number, items in enumerate(groups.values(), 1):
        yield _fenced(section, items, section.more if number == len(groups) else ())
    more = section.more
    wrong = [finding for finding in section.findings if finding.severity == "error"]
    mild = [finding for finding in section.findings if finding.severity != "error"]
    if wrong:
        yield _findings(section.title, wrong, () if mild else more)
    if mild:
        yield _findings(section.title, mild, more, is_folded=bool(wrong))


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
    ticks = fence([unit.text for unit in units])
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
    """An item and what stands below it, then each of its names: where only some fit, those do."""
    lead = f"{item.mark or ' '} {f'{item.verb:<9} ' if item.verb else ''}"
    where, inline = (item.where,) if item.where else (), ", ".join(item.details)
    fits = not item.verb or len(inline) <= _ON_ONE_LINE
    subject = f"{item.subject:<{column}}" if fits else item.subject
    lines = [
        "  ".join((f"{lead}{subject}{item.aside}", *((inline,) if fits and inline else ()), *where)),
        *(() if fits else (f"    {detail}" for detail in item.details)),
        *(f"    {path}  {text}" for path, text in item.changes),
        *(_note(note.text) for note in item.notes),
        *(f"    {line}" for line in (_problem(item.problem) if item.problem else ())),
    ]
    short = "  ".join((lead + cut(item.subject), *map(cut, where)))
    yield Unit("".join(f"{inert(line)}\n" for line in lines), f"{inert(short)}\n")
    sign = lead[0] if item.alarm else " "
    for name, place in item.names:
        yield Unit(f"{inert(f'{sign}     {name}  {place}')}\n", f"{inert(f'{sign}     {cut(name)}')}\n")


def _note(text: str) -> str:
    """An alarming one is coloured where a line's first character says so."""
    return f"!   {text[1:].lstrip()}" if text.startswith("!") else f"    {text}"


def _problem(finding: Finding) -> Iterator[str]:
    yield f"{finding.head}{finding.text}{f' [{finding.rule}]' if finding.rule else ''}"
    if finding.hint:
        yield f"Hint: {finding.hint}"


def _findings(title: str, findings: Sequence[Finding], more: Sequence[Words], *, is_folded: bool = False) -> Block:
    units = [Unit("".join(_finding(finding)), next(_finding(finding))) for finding in findings]
    units += [Unit(f"- {code(words.text)}\n") for words in more]
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
