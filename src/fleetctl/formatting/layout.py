"""The layout of a YAML text: its tokens as they are, and new blanks between them.

Two blanks a level, lists indented below their key, one blank behind a dash, a colon and a comma, none inside brackets,
comments at the level of what they stand at, at most one empty line in a row. A dash stands on the line of its item;
else lines are neither joined nor split. Comments behind values stand two blanks behind them; those that stand in one
column, with no empty line between, in one again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml
from yaml import tokens as t
from yaml.cyaml import CBaseLoader

from fleetctl.formatting import scalars

_STEP = 2
_OPENING = (t.FlowMappingStartToken, t.FlowSequenceStartToken)
_CLOSING = (t.FlowMappingEndToken, t.FlowSequenceEndToken)
_OF_DOCUMENT = (t.DocumentStartToken, t.DocumentEndToken, t.DirectiveToken)
_NAMED = (t.AliasToken, t.AnchorToken, t.TagToken)


@dataclass(slots=True)
class _Level:
    """A block map or list: the column that it is written at, and the one that it gets. `bare`: a list that is written
    at the column of its key, whose end no token tells."""

    written: int
    column: int
    is_list: bool
    bare: bool = False


def lay_out(text: str) -> str:
    """The text in canonical layout. It must be YAML that the parser reads, with line feeds alone. Raises YAMLError."""
    layout = _Layout(text)
    for token in yaml.scan(text, CBaseLoader):
        layout.take(token)
    return layout.finish()


class _Layout:
    def __init__(self, text: str) -> None:
        self._text = text
        self._out: list[str] = []
        self._line = 0  # the length of the line that is being written
        self._indent = 0  # and its indentation
        self._end = 0  # how far the text is written
        self._last: Any = None  # the last token that is written
        self._levels: list[_Level] = []
        self._left: list[_Level] = []  # those that ended since, innermost first
        self._brackets: list[int] = []  # the indentation that each open one closes at
        self._begins = False  # whether an entry of a block begins here
        self._breaks = 0  # line ends at the end of the output
        self._notes: dict[tuple[int, int], list[tuple[int, int]]] = {}  # see `_note`
        self._paragraph = 0

    def take(self, token: Any) -> None:
        self._follow(token)
        if token.end_mark.index > token.start_mark.index:
            self._gap(token, token.start_mark.index)
            self._write(token)

    def finish(self) -> str:
        self._gap(None, len(self._text))
        for notes in self._notes.values():
            column = max(length for _, length in notes) + _STEP
            for index, length in notes:
                self._out[index] = " " * (column - length)
        return "".join(self._out)

    def _follow(self, token: Any) -> None:
        """Keep track of the blocks that are open."""
        kind, column = type(token), token.start_mark.column
        if self._brackets or kind is t.StreamStartToken:
            return
        top = self._levels[-1] if self._levels else None
        if kind in (t.BlockMappingStartToken, t.BlockSequenceStartToken):
            self._open(column, is_list=kind is t.BlockSequenceStartToken)
        elif kind is t.BlockEntryToken:
            if top is None or not top.is_list:
                self._open(column, is_list=True, bare=True)
            self._begins = True
        elif kind in (t.KeyToken, t.BlockEndToken):
            if top is not None and top.bare:
                self._left.append(self._levels.pop())
            if kind is t.KeyToken:
                self._begins = True
            else:
                self._left.append(self._levels.pop())

    def _open(self, column: int, *, is_list: bool, bare: bool = False) -> None:
        self._levels.append(_Level(column, self._level() + _STEP if self._levels else 0, is_list, bare))

    def _level(self) -> int:
        return self._levels[-1].column if self._levels else 0

    def _inside(self) -> int:
        """The indentation of a line that goes on with a value."""
        return (self._brackets[-1] if self._brackets else self._level()) + _STEP

    def _target(self, token: Any) -> int:
        """The indentation of a line that this token begins."""
        if token is None or isinstance(token, _OF_DOCUMENT):
            return 0
        if self._brackets:
            return self._brackets[-1] if isinstance(token, _CLOSING) else self._inside()
        if self._begins or isinstance(token, t.ValueToken):
            return self._level()
        return self._inside() if self._levels else 0

    def _gap(self, token: Any, start: int) -> None:
        """What stands between the last token and this one, or the end of the text: blanks, line ends and comments."""
        first, *rest = self._text[self._end : start].split("\n")
        if self._text[self._end - 1 : self._end] in ("", "\n"):  # nothing on this line is written yet
            first, rest = "", [first, *rest]
        elif token is not None and (not rest or (_is_item(token, self._last) and not "".join((first, *rest)).strip())):
            self._put(_between(self._last, token))
            return
        if comment := first.strip():
            self._note(len(first) - len(first.lstrip()))
            self._put(comment)
        target = self._target(token)
        column = token.start_mark.column if token is not None else 0
        if token is not None:
            rest.pop()  # the indentation of its line
        while token is None and rest and not rest[-1].strip():
            rest.pop()
        for line in rest:
            self._comment(line, target, column)
        self._new_line(target)

    def _note(self, blanks: int) -> None:
        """Room before a comment behind a value, where so many blanks are written. How much is known at the end: it is
        kept by paragraph and written column, with the length of the line so far."""
        column = self._end - (self._text.rfind("\n", 0, self._end) + 1) + blanks
        self._notes.setdefault((self._paragraph, column), []).append((len(self._out), self._line))
        self._out.append("")

    def _comment(self, line: str, target: int, column: int) -> None:
        """A line of its own: empty, or with a comment. One that stands deeper than what follows it belongs to the block
        that ended before."""
        comment = line.strip()
        if not comment:
            self._paragraph += 1
            self._end_line()
            if self._out and self._breaks < 2:
                self._put("\n")
            return
        written = len(line) - len(line.lstrip())
        if written > column:
            target = next((level.column for level in self._left if level.written <= written), target)
        self._new_line(target)
        self._put(comment)

    def _write(self, token: Any) -> None:
        start, end = token.start_mark.index, token.end_mark.index
        if isinstance(token, t.ScalarToken):
            piece, end = scalars.written(token, self._text, self._inside(), self._base())
            self._put(piece)
        else:
            self._put(self._text[start:end].rstrip("\n"))
            if isinstance(token, _OPENING):
                self._brackets.append(self._closes())
            elif isinstance(token, _CLOSING):
                self._brackets.pop()
        self._end, self._last, self._begins = end, token, False
        self._left.clear()

    def _base(self) -> int:
        """The column of the text that the indentation of a block scalar is counted from."""
        return next((level.written for level in reversed(self._levels) if not level.bare), 0)

    def _closes(self) -> int:
        """The indentation of the bracket that closes one that opens here."""
        return max(self._brackets[-1], self._indent) if self._brackets else self._level()

    def _put(self, text: str) -> None:
        if not text:
            return
        self._out.append(text)
        kept = len(text.rstrip("\n"))
        self._breaks = len(text) - kept + (0 if kept else self._breaks)
        last = text.rfind("\n")
        self._line = len(text) - last - 1 + (self._line if last < 0 else 0)

    def _end_line(self) -> None:
        if self._out and self._line:
            self._put("\n")

    def _new_line(self, indent: int) -> None:
        self._end_line()
        self._put(" " * indent)
        self._indent = indent


def _is_item(token: Any, last: Any) -> bool:
    """Whether a token on a further line begins the item of the dash before it; a block scalar does at any column."""
    deeper = token.start_mark.column > last.start_mark.column if last else False
    return isinstance(last, t.BlockEntryToken) and bool(deeper or scalars.is_block(token))


def _between(last: Any, token: Any) -> str:
    """What stands between two tokens of one line."""
    if isinstance(last, _OPENING):
        return ""
    if isinstance(token, t.ValueToken):
        return " " if isinstance(last, (*_NAMED, t.FlowEntryToken, t.KeyToken)) else ""
    if isinstance(token, (*_CLOSING, t.FlowEntryToken)):
        return " " if isinstance(last, t.ValueToken) else ""
    return " "
