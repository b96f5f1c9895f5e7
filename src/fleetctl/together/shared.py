"""What the merged files say beyond what each entry wishes: policies, defaults and other parts that entries share, and
claims of names, reach what others wrote."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from better_compute.domain.problems import BLOCKED, CONFLICT, UNCHECKED, Problem, Source
from fleetctl.desired import PoolEntry
from fleetctl.spelling import canonical_json
from fleetctl.together import fields as parts
from fleetctl.together.joint import Joint, Party, at_hand, plain
from fleetctl.together.merging import Merging
from fleetctl.together.places import Places
from fleetctl.together.union import Union
from fleetctl.words import joined, listed

_RULE = "together.shared"
_TWICE = "fleet.twice"
_FIRST = "merge one of them first, and plan again with the rest"


def shared(union: Union, merging: Merging, is_selected: Callable[[str], bool]) -> list[Joint]:
    """What is wrong with the merged files, or what they make of entries, or that neither is known. `merging` has the
    same sides put together by entries; of these the selected ones are looked at, by id."""
    places = Places(union)
    if union.clash:
        return [*_claimed(merging, union), *_unknown(union, places)]
    if union.desired is None:
        is_told = any(clash.twice for clash in merging.clashes.values())
        return [_invalid(each, places) for each in union.problems if not (is_told and _is_entry(each))]
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
    return [_turned(entries, what, wishing, places) for (what, wishing), entries in turned.items()]


def _claimed(merging: Merging, union: Union) -> list[Joint]:
    """Old keys that two entries name, each of which may have one heir: however the lines are merged."""
    heirs: dict[str, list[PoolEntry]] = {}
    for entry in merging.desired.entries.values():
        for key in {entry.previously, entry.replaces} - {None}:
            heirs.setdefault(key or "", []).append(entry)
    return [_twice(key, entries, union) for key, entries in sorted(heirs.items()) if len(entries) > 1]


def _twice(key: str, entries: list[PoolEntry], union: Union) -> Joint:
    found: dict[str | None, Source | None] = {}
    for entry in entries:
        for ref in _wishing(entry.pool_id, entry, union):
            found.setdefault(ref, plain(entry.place.source(), ref))
    names = sorted(entry.key or entry.pool_id for entry in entries)
    parties = _parties(found)
    message = f"{joined(names)} name the same old key, {key}, and it is that of one pool"
    problem = Problem(CONFLICT, _RULE, message, f"pools[{names[0]}]", "agree on one of them", source=at_hand(parties))
    return Joint(problem, parties)


def _unknown(union: Union, places: Places) -> list[Joint]:
    """That the files cannot be merged here, where a side changed what entries share: what was not looked at is told."""
    changed = {side.ref: [*places.changes(side, may_alias=True)] for side in union.sides if side.desired}
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
    found = places.of_changes()
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


def _invalid(problem: Problem, places: Places) -> Joint:
    """What is wrong with the merged files, and with those of no side: the line is told in the files of those who wrote
    it, and of the others what they changed."""
    found = places.of_line(problem.source) if problem.source else {}
    if len(found) < 2:
        found = places.of_changes() | found
    parties = _parties(found)
    return Joint(replace(problem, hint=problem.hint or _FIRST, source=at_hand(parties)), parties)


def _turned(entries: list[PoolEntry], what: tuple[str, ...], wishing: Iterable[str | None], places: Places) -> Joint:
    """That the merged files make something else of entries than those wish who wrote them."""
    pool_id, names = entries[0].pool_id, [entry.key or entry.pool_id for entry in entries]
    found = places.of_shared()
    for side in places.union.sides:
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


def _parties(found: Mapping[str | None, Source | None]) -> tuple[Party, ...]:
    return tuple(Party(ref, found[ref]) for ref in sorted(found, key=lambda ref: ref or ""))
