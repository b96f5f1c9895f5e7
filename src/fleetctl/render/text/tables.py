"""Tables on a terminal; where the window is too narrow for one, a line for each row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fleetctl.outline.shape import width
from fleetctl.render.text.style import Style

if TYPE_CHECKING:
    from fleetctl.outline.shape import Table

_NUMBER = 9
_INDENT = 2


def lines(table: Table, style: Style) -> Iterator[str]:
    widths = [_width(table, index) for index in range(len(table.columns))]
    if style.window is not None and sum(widths) + 2 * len(widths) > style.window:
        yield from _narrow(table, style)
        return
    titles = [_cell(column.title, size, column.is_number) for column, size in zip(table.columns, widths, strict=True)]
    titles[0] = f"{titles[0]}{' ' * _INDENT}"
    yield style.toned("strong", "  ".join(titles).rstrip())
    for row, mark in zip(table.rows, table.marks, strict=True):
        cells = (
            _cell(cell, size, column.is_number) for cell, size, column in zip(row, widths, table.columns, strict=True)
        )
        yield f"{' ' * _INDENT}{'  '.join(cells)}{style.toned('bad', f'  {mark}' if mark else '')}"


def _narrow(table: Table, style: Style) -> Iterator[str]:
    """`H100, acme: before 32, after 24, in use 20`."""
    names = [column for column in table.columns if not column.is_number]
    yield style.toned("strong", ", ".join(column.title for column in names))
    for row, mark in zip(table.rows, table.marks, strict=True):
        numbers = [f"{c.title} {cell}" for c, cell in zip(table.columns, row, strict=True) if c.is_number]
        end = style.toned("bad", f"  {mark}" if mark else "")
        yield f"{' ' * _INDENT}{', '.join(row[: len(names)])}: {', '.join(numbers)}{end}"


def _width(table: Table, index: int) -> int:
    column, cells = table.columns[index], [row[index] for row in table.rows]
    if column.is_number:
        return max(_NUMBER, len(column.title), *map(len, cells))
    return width([column.title, *cells])


def _cell(text: str, size: int, is_number: bool) -> str:
    return f"{text:>{size}}" if is_number else f"{text:<{size}}"
