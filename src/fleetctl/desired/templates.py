"""`forEach`: one entry of each combination, as if each were written out.

What comes out is a document like any other, whose values stand where the template's do: whoever reads on knows nothing
of templates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from better_compute.domain.policy import SENSITIVE, is_sensitive_name, mask
from better_compute.domain.policy.urls import mask_cut
from fleetctl.desired.faults import Fault, variables
from fleetctl.desired.locate import Step
from fleetctl.desired.says import near
from fleetctl.files import Document, Map, Seq, offsets

FIELD = "forEach"
RULE = "fleet.forEach"
"""The rule of values that make no entries."""
VARIABLE = "fleet.variable"
"""The rule of `${…}` in an entry with forEach."""
MOST = 1000
"""Entries that one template may make."""
MOST_VALUES = 5_000_000
"""Values that all templates of a fleet may make: a few lines must not fill the memory."""

_OPEN = "${"
_USE = re.compile(r"\$\$\{|\$\{([^{}]*)(\}?)")
_LONGEST = 64
_SHOWN = 4


class Made(Map):
    """An entry that a `template` made, `filled` in with these texts by variable."""

    __slots__ = ("filled", "template")

    filled: Mapping[str, str]
    template: Map

    def written(self, path: Sequence[Step]) -> Any:
        """What the template holds at a way into the entry; None where there is nothing."""
        value: Any = self.template
        for step in path:
            if isinstance(value, Map):
                value = value.get(str(step))
            else:
                value = value[step] if isinstance(value, Seq) and isinstance(step, int) and step < len(value) else None
        return value


def hint(root: Map, path: Sequence[Step]) -> str:
    """What is to be known of a value that forEach wrote; an empty text of any other."""
    entry = _made(root, path)
    written = entry.written(path[2:]) if entry else None
    if entry is None or not isinstance(written, str) or _OPEN not in written:
        return ""
    used = [name for name in entry.filled if _use(name) in written][:_SHOWN]
    filled = {name: mask_cut(str(mask(entry.filled[name], name)), _LONGEST) for name in used}
    return f"forEach writes text here, with {', '.join(f'{name}: {text}' for name, text in filled.items())}"


def twice(root: Map, path: Sequence[Step]) -> str:
    """How what a template makes twice can be told apart: the variables that it does not use there."""
    entry = _made(root, path)
    if entry is None:
        return ""
    written = entry.written(path[2:])
    many = [name for name, values in entry.template[FIELD].items() if len(values) > 1]
    uses = [_use(name) for name in many if _use(name) not in str(written)]
    return f"write {' and '.join(uses)} into it" if uses else ""


def _made(root: Map, path: Sequence[Step]) -> Made | None:
    """The entry that a way leads into, where forEach made it."""
    pools = root.get("pools")
    if path[:1] != ("pools",) or len(path) < 3 or not isinstance(pools, Seq):
        return None
    entry = pools[int(path[1])]
    return entry if isinstance(entry, Made) else None


def _use(name: str) -> str:
    return f"{_OPEN}{name}}}"


@dataclass(slots=True)
class Templates:
    """The templates of one fleet; `left`: values that they may still make."""

    left: int = MOST_VALUES

    def expand(self, document: Document) -> tuple[Document, list[Fault]]:
        """The document with each template written out, and what is wrong with those that cannot be: they are left
        out."""
        pools = document.root.get("pools")
        if not isinstance(pools, Seq) or not any(_is_template(item) for item in pools):
            return document, []
        wrong: list[Fault] = []
        items = Seq()
        items.lines, items.start, items.at = pools.lines, pools.start, offsets()
        for index, item in enumerate(pools):
            entries = [item]
            if _is_template(item):
                faults = self._faults(item, ("pools", index))
                wrong += faults
                entries = [] if faults else [*_entries(item)]
            items += entries
            items.at += offsets(pools.at[index]) * len(entries)
        return Document(document.file, document.root.having("pools", items), document.line), wrong

    def _faults(self, item: Map, way: tuple[Step, ...]) -> list[Fault]:
        there = (*way, FIELD)
        if faults := variables(item[FIELD], there):
            return faults
        faults = [*_doubles(item[FIELD], there)]
        count = prod(len(values) for values in item[FIELD].values())
        if count > MOST:
            message = f"this makes {count} entries, and the most is {MOST}"
            return [*faults, Fault(RULE, message, "write several entries, each with a part of the values", there)]
        texts = [*_texts(item, way)]
        self.left -= count * len(texts)
        if self.left < 0:
            message = f"the entries with forEach make more than {MOST_VALUES} values in this fleet"
            return [*faults, Fault(RULE, message, "use fewer values, or smaller entries", there)]
        known = tuple(item[FIELD])
        return [*faults, *(fault for path, text, of_name in texts for fault in _misused(text, path, of_name, known))]


def _is_template(item: object) -> bool:
    return isinstance(item, Map) and FIELD in item


def _doubles(lists: Mapping[str, Sequence[Any]], way: tuple[Step, ...]) -> Iterator[Fault]:
    """Values that stand twice, as text."""
    for name, values in lists.items():
        first: dict[str, int] = {}
        for index, value in enumerate(values):
            if first.setdefault(str(value), index) != index:
                message = f"this value stands twice, as item {first[str(value)] + 1} and as item {index + 1}"
                yield Fault(RULE, message, "keep one of them", (*way, name, index))


def _texts(value: Any, way: tuple[Step, ...]) -> Iterator[tuple[tuple[Step, ...], Any, bool]]:
    """Every name and every scalar of a template but for its forEach: the way, what stands there, whether it is a
    name."""
    if isinstance(value, Map):
        for name, inner in value.items():
            if name != FIELD or len(way) > 2:
                yield (*way, name), name, True
                yield from _texts(inner, (*way, name))
    elif isinstance(value, Seq):
        for index, inner in enumerate(value):
            yield from _texts(inner, (*way, index))
    else:
        yield way, value, False


def _misused(text: Any, way: tuple[Step, ...], of_name: bool, known: tuple[str, ...]) -> Iterator[Fault]:
    """What is wrong with the `${…}` of a text."""
    if not isinstance(text, str) or _OPEN not in text:
        return
    if of_name:
        yield Fault(VARIABLE, "values alone take a variable, and names none", "write the entries out", way, name=True)
        return
    for use in _USE.finditer(text):
        name, end = use[1], use[2]
        if name is None or (end and name in known):
            continue
        if not end:
            yield Fault(VARIABLE, "this ${ has no } after a name", "write $${ where ${ itself is meant", way)
            return
        hidden = any(is_sensitive_name(step) for step in way if isinstance(step, str))
        shown = SENSITIVE if hidden else mask_cut(name, _LONGEST)
        message = f"forEach has no variable {shown}; it has {', '.join(known)}"
        meant = "" if hidden else near(name.strip(), known)
        yield Fault(VARIABLE, message, meant or "write $${ where ${ itself is meant", way)


def _entries(template: Map) -> Iterator[Made]:
    lists = template[FIELD]
    at = offsets(*(offset for name in template if name != FIELD for offset in _offsets(template, name)))
    for combination in product(*([str(value) for value in values] for values in lists.values())):
        filled = dict(zip(lists, combination, strict=True))
        memo: dict[int, Any] = {}
        entry = Made((name, _fill(value, filled, memo)) for name, value in template.items() if name != FIELD)
        entry.lines, entry.start, entry.at = template.lines, template.start, at
        entry.template, entry.filled = template, filled
        yield entry


def _offsets(template: Map, name: str) -> tuple[int, int]:
    return template.offset(name, of_key=True), template.offset(name)


def _fill(value: Any, filled: Mapping[str, str], memo: dict[int, Any]) -> Any:
    """A value with its variables filled in; the same object where it has none."""
    if isinstance(value, str):
        return _USE.sub(lambda use: filled[use[1]] if use[1] is not None else _OPEN, value) if _OPEN in value else value
    if not isinstance(value, Map | Seq):
        return value
    if id(value) not in memo:
        memo[id(value)] = _filled(value, filled, memo)
    return memo[id(value)]


def _filled(value: Map | Seq, filled: Mapping[str, str], memo: dict[int, Any]) -> Map | Seq:
    old = [*value.values()] if isinstance(value, Map) else value
    new = [_fill(item, filled, memo) for item in old]
    if all(one is other for one, other in zip(old, new, strict=True)):
        return value
    made = Map(zip(value, new, strict=True)) if isinstance(value, Map) else Seq(new)
    made.lines, made.start, made.at = value.lines, value.start, value.at
    return made
