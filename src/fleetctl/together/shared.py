"""What the merged files say beyond what each entry wishes: policies, defaults and other parts that entries share, and
claims of names, reach what others wrote."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any

from better_compute.domain.problems import BLOCKED, CONFLICT, UNCHECKED, Problem, Source
from fleetctl.desired import PoolEntry
from fleetctl.errors import FilesError
from fleetctl.files import Document, read_text
from fleetctl.spelling import canonical_json
from fleetctl.together import fields as parts
from fleetctl.together.joint import Joint, Party, at_hand, plain
from fleetctl.together.merging import Merging
from fleetctl.together.union import Side, Union
from fleetctl.words import joined, listed

_RULE = "together.shared"
_TWICE = "fleet.twice"
_OWN = frozenset({"apiVersion", "pools", "offers", "guards", "checks"})
"""Root fields that are put together one by one, so that a change of one reaches nothing that another side wrote."""
_ALIAS = re.compile(rb"(?m)(?:^|[\s\[{,])\*\S")
_FIRST = "merge one of them first, and plan again with the rest"
_Places = dict[str | None, Source | None]


def shared(union: Union, merging: Merging, is_selected: Callable[[str], bool]) -> list[Joint]:
    """What is wrong with the merged files, or what they make of entries, or that neither is known. `merging` has the
    same sides put together by entries; of these the selected ones are looked at, by id."""
    if union.clash:
        return [*_claimed(merging, union), *_unknown(union)]
    if union.desired is None:
        is_told = any(clash.twice for clash in merging.clashes.values())
        return [_invalid(each, union) for each in union.problems if not (is_told and _is_entry(each))]
    clashing = {clash.entry.pool_id for clash in merging.clashes.values()}
    merged, wished = union.desired.entries, merging.desired.entries
    turned: dict[tuple[tuple[str, ...], tuple[str | None, ...]], list[PoolEntry]] = {}
    for pool_id in sorted(merged.keys() | wished.keys()):
        one, other = wished.get(pool_id), merged.get(pool_id)
        if pool_id in clashing or not is_selected(pool_id) or parts.same(one, other):
            continue
        entry = one or other
        assert entry is not None
        wishing = tuple(_wishing(pool_id, one or other, union))
        turned.setdefault((_becomes(one, other), wishing), []).append(entry)
    return [_turned(entries, what, wishing, union) for (what, wishing), entries in turned.items()]


def _claimed(merging: Merging, union: Union) -> list[Joint]:
    """Old keys that two entries name, each of which may have one heir: however the lines are merged."""
    heirs: dict[str, list[PoolEntry]] = {}
    for entry in merging.desired.entries.values():
        for key in {entry.previously, entry.replaces} - {None}:
            heirs.setdefault(key or "", []).append(entry)
    return [_twice(key, entries, union) for key, entries in sorted(heirs.items()) if len(entries) > 1]


def _twice(key: str, entries: list[PoolEntry], union: Union) -> Joint:
    found: _Places = {}
    for entry in entries:
        for ref in _wishing(entry.pool_id, entry, union):
            found.setdefault(ref, plain(entry.place.source(), ref))
    names = sorted(entry.key or entry.pool_id for entry in entries)
    parties = _parties(found)
    message = f"{joined(names)} name the same old key, {key}, and it is that of one pool"
    problem = Problem(CONFLICT, _RULE, message, f"pools[{names[0]}]", "agree on one of them", source=at_hand(parties))
    return Joint(problem, parties)


def _unknown(union: Union) -> list[Joint]:
    """That the files cannot be merged here, where a side changed what entries share: what was not looked at is told."""
    changed = {side.ref: [*_changes(side, may_alias=True)] for side in union.sides if side.desired}
    if not any(changed.values()):
        return []
    wrote = {side.ref: {entry.key or entry.pool_id for entry in side.wrote()} for side in union.sides}
    reached = {ref: sorted(set[str]().union(*(wrote[other] for other in wrote if other != ref))) for ref in changed}
    missed = [_missed(ref, names, reached[ref]) for ref, names in changed.items() if names and reached[ref]]
    missed = missed or [_missed(ref, names, []) for ref, names in changed.items() if names]
    files = listed(list(union.clash), "file")
    message = (
        f"{files} cannot be merged line by line, so that the merged files were not read: entries were put together"
        f" field by field, and not looked at is {joined(missed)}"
    )
    found: _Places = {side.ref: _place(side) for side in union.sides if side.changed()}
    parties = _parties(found)
    return [Joint(Problem(UNCHECKED, _RULE, message, "", _FIRST, "unchecked", at_hand(parties)), parties)]


def _missed(ref: str | None, names: Sequence[str], reached: Sequence[str]) -> str:
    """`what policies.standard of more-h100 makes of fra1-a`."""
    makes, of = "makes" if len(names) == 1 else "make", "these files" if ref is None else ref
    what = f"what {listed(names, 'name')} of {of} {makes}"
    return f"{what} of {listed(reached, 'pool')}" if reached else f"{what} of what others share"


def _is_entry(problem: Problem) -> bool:
    """Whether it is that a pool, or an offer, stands twice, which is told of the entry already."""
    return problem.rule == _TWICE and problem.path.startswith(("pools", "offers"))


def _invalid(problem: Problem, union: Union) -> Joint:
    """What is wrong with the merged files, and with those of no side: the line is told in the files of those who wrote
    it, and of the others what they changed."""
    found: _Places = {}
    if source := problem.source:
        lines = {side.ref: _line(source, union, side) for side in union.sides if source.file in side.changed()}
        found = {ref: line for ref, line in lines.items() if line}
    if len(found) < 2:
        found = {side.ref: _place(side) for side in union.sides if side.changed()} | found
    parties = _parties(found)
    return Joint(replace(problem, hint=problem.hint or _FIRST, source=at_hand(parties)), parties)


def _turned(entries: list[PoolEntry], what: tuple[str, ...], wishing: Iterable[str | None], union: Union) -> Joint:
    """That the merged files make something else of entries than those wish who wrote them."""
    pool_id, names = entries[0].pool_id, [entry.key or entry.pool_id for entry in entries]
    found: _Places = {side.ref: _place(side) for side in union.sides if _changes(side)}
    for side in union.sides:
        if side.ref in wishing and side.desired:
            found[side.ref] = plain(side.desired.entries[pool_id].place.source(), side.ref)
    parties = _parties(found)
    message = f"merged, {listed(names, 'pool')} will not be what is wished: {'; '.join(what)}"
    hint = "write what is meant in the entry itself, or agree on what is shared"
    problem = Problem(BLOCKED, _RULE, message, f"pools[{names[0]}]", hint, "warning", at_hand(parties))
    return Joint(problem, parties)


def _becomes(wished: PoolEntry | None, merged: PoolEntry | None) -> tuple[str, ...]:
    if wished is None or merged is None:
        return ("no file that is read has it" if merged is None else "it is read, and was left out",)
    one, other = parts.fields(wished), parts.fields(merged)
    differ = [name for name in (one | other) if canonical_json(one.get(name)) != canonical_json(other.get(name))]
    return (f"{joined(differ)} {'differs' if len(differ) == 1 else 'differ'}",)


def _wishing(pool_id: str, entry: PoolEntry | None, union: Union) -> Iterable[str | None]:
    """Those whose own files wish the entry as it is."""
    fleets = ((side.ref, side.desired.entries) for side in union.sides if side.desired)
    return (ref for ref, entries in fleets if pool_id in entries and parts.same(entries[pool_id], entry))


def _parties(found: _Places) -> tuple[Party, ...]:
    return tuple(Party(ref, found[ref]) for ref in sorted(found, key=lambda ref: ref or ""))


def _place(side: Side) -> Source | None:
    """Where a side changed what entries share; else its first line that is new, of files that are new where it has
    some."""
    if changes := _changes(side):
        return next(filter(None, changes.values()), None)
    for file in sorted(side.changed(), key=lambda file: any(file in had for had in side.had)):
        was = {line for had in side.had for line in had.get(file, b"").split(b"\n")}
        lines = side.files.get(file, b"").split(b"\n")
        for number, line in enumerate(lines, 1):
            if line not in was:
                return Source(file, number)
    return None


def _changes(side: Side, *, may_alias: bool = False) -> dict[str, Source | None]:
    """What a side changed and entries share, with the places of its root fields: `policies.standard`, `exclude`, and
    `forEach of p-${site}`; where files are not merged, also what stands for an alias may be changed."""
    found: dict[str, Source | None] = {}
    for file in side.changed():
        now, was = _roots(side.files.get(file, b""), file), [_roots(had.get(file, b""), file) for had in side.had]
        for name in dict.fromkeys((*now, *(name for each in was for name in each))):
            if all(now.get(name, (None,))[0] != each.get(name, (None,))[0] for each in was):
                found.setdefault(name, now[name][1] if name in now else None)
        if may_alias and _ALIAS.search(side.files.get(file, b"")):
            found.setdefault("anchors", Source(file, 1))
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


def _line(source: Source, union: Union, side: Side) -> Source | None:
    """Where a line of the merged files stands in those of a side; None where it has no such line."""
    merged, own = (files.get(source.file, b"") for files in (union.files, side.files))
    if merged == own:
        return source
    one, other = merged.split(b"\n"), own.split(b"\n")
    for at, to, size in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        if at < source.line <= at + size:
            return replace(source, line=source.line - at + to)
    return None
