"""Where each side says what the merged files say: the lines that it changed, and what entries share among these."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from better_compute.domain.problems import Source
from fleetctl.errors import FilesError
from fleetctl.files import Document, read_text
from fleetctl.spelling import canonical_json
from fleetctl.together.union import Side, Union

_OWN = frozenset({"apiVersion", "pools", "offers", "guards", "checks"})
"""Root fields that are put together one by one, so that a change of one reaches nothing that another side wrote."""
_ALIAS = re.compile(rb"(?m)(?:^|[\s\[{,])\*\S")


@dataclass(frozen=True, slots=True)
class Places:
    """Of each side, by its name. No file is read, nor compared, a second time, however much is asked."""

    union: Union
    _changed: dict[str | None, list[str]] = field(default_factory=dict)
    _changes: dict[str | None, dict[str, Source | None]] = field(default_factory=dict)
    _first: dict[str | None, Source | None] = field(default_factory=dict)
    _lines: dict[tuple[str | None, str], Mapping[int, int]] = field(default_factory=dict)

    def of_changes(self) -> dict[str | None, Source | None]:
        """Where each side that has files of its own changed what entries share, else its first line that is new."""
        return {side.ref: self._place(side) for side in self.union.sides if self._files(side)}

    def of_shared(self) -> dict[str | None, Source | None]:
        """The same of those that changed what entries share."""
        return {side.ref: self._place(side) for side in self.union.sides if self.changes(side)}

    def of_line(self, merged: Source) -> dict[str | None, Source | None]:
        """Where a line of the merged files stands in those of the sides that changed its file, and have it."""
        lines = {side.ref: self._line(merged, side) for side in self.union.sides if merged.file in self._files(side)}
        return {ref: line for ref, line in lines.items() if line}

    def changes(self, side: Side, *, may_alias: bool = False) -> Mapping[str, Source | None]:
        """What a side changed and entries share, with the places of its root fields: `policies.standard`, `exclude`,
        and `forEach of p-${site}`; where files are not merged, also what stands for an alias may be changed."""
        if side.ref not in self._changes:
            self._changes[side.ref] = _changes(side, self._files(side))
        aliased = (file for file in self._files(side) if _ALIAS.search(side.files.get(file, b"")))
        if may_alias and (file := next(aliased, None)):
            return self._changes[side.ref] | {"anchors": Source(file, 1)}
        return self._changes[side.ref]

    def _files(self, side: Side) -> list[str]:
        if side.ref not in self._changed:
            self._changed[side.ref] = side.changed()
        return self._changed[side.ref]

    def _place(self, side: Side) -> Source | None:
        if changes := self.changes(side):
            return next(filter(None, changes.values()), None)
        if side.ref not in self._first:
            self._first[side.ref] = _first_line(side, self._files(side))
        return self._first[side.ref]

    def _line(self, merged: Source, side: Side) -> Source | None:
        """Where a line of the merged files stands in those of a side; None where it has no such line."""
        key = side.ref, merged.file
        if key not in self._lines:
            one, other = (files.get(merged.file, b"").split(b"\n") for files in (self.union.files, side.files))
            self._lines[key] = same_lines(one, other)
        line = self._lines[key].get(merged.line - 1)
        return None if line is None else replace(merged, line=line + 1)


def same_lines(one: Sequence[bytes], other: Sequence[bytes]) -> Mapping[int, int]:
    """Which lines of one text are which of another, counted from 0, in linear time: those that each of them has once,
    and around these whatever is alike."""
    count, at = Counter(one), {line: number for number, line in enumerate(other)}
    twice = {line for line, times in Counter(other).items() if times > 1}
    found = {n: at[line] for n, line in enumerate(one) if count[line] == 1 and line in at and line not in twice}
    taken = set(found.values())
    for step, last in ((1, -1), (-1, len(other))):
        for n in range(len(one))[::step]:
            near = last + step
            if n not in found and near not in taken and 0 <= near < len(other) and one[n] == other[near]:
                found[n] = near
                taken.add(near)
            last = found.get(n, -len(other) - 2)
    return found


def _first_line(side: Side, changed: Iterable[str]) -> Source | None:
    """The first line that is new, of files that are new where there are some."""
    for file in sorted(changed, key=lambda file: any(file in had for had in side.had)):
        was = {line for had in side.had for line in had.get(file, b"").split(b"\n")}
        for number, line in enumerate(side.files.get(file, b"").split(b"\n"), 1):
            if line not in was:
                return Source(file, number)
    return None


def _changes(side: Side, changed: Iterable[str]) -> dict[str, Source | None]:
    found: dict[str, Source | None] = {}
    for file in changed:
        now, was = _roots(side.files.get(file, b""), file), [_roots(had.get(file, b""), file) for had in side.had]
        for name in dict.fromkeys((*now, *(name for each in was for name in each))):
            if all(now.get(name, (None,))[0] != each.get(name, (None,))[0] for each in was):
                found.setdefault(name, now[name][1] if name in now else None)
    return found


def _roots(data: bytes, file: str) -> Mapping[str, tuple[str, Source]]:
    """The spelling of all that entries share, and the place of the root field that it is in."""
    try:
        documents: Iterable[Document] = read_text(data, file)
    except FilesError:
        return {}
    found: dict[str, tuple[str, Source]] = {}
    for document in documents:
        for name, value, source in _said(document):
            before = found.get(name)
            text = (before[0] if before else "") + str(canonical_json(value))
            found[name] = text, before[1] if before else source
    return dict(sorted(found.items()))


def _said(document: Document) -> Iterator[tuple[str, Any, Source]]:
    """What entries share, in parts: of a map each name by itself."""
    for name in document.root.keys() - _OWN:
        value, source = document.root[name], document.source((name,), key=True)
        if isinstance(value, dict) and value:
            yield from ((f"{name}.{each}", one, source) for each, one in value.items())
        else:
            yield name, value, source
    pools = document.root.get("pools")
    for number, entry in enumerate(pools if isinstance(pools, list) else ()):
        if isinstance(entry, dict) and "forEach" in entry:
            yield f"forEach of {entry.get('idempotencyKey')}", entry, document.source(("pools", number))
