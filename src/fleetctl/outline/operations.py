"""The operations of a plan in words: the dangerous first, equal ones together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from better_compute.domain.escape import escape
from fleetctl.outline import moved, values
from fleetctl.outline.problems import place, places
from fleetctl.outline.shape import Item, Section, Tone, Words
from fleetctl.words import LISTED, count, listed

if TYPE_CHECKING:
    from fleetctl.report.forms import DriftedOperation, Operation, Outcome, StandingOperation

_DANGER = {"irreversible": 0, "withdraws": 1, "lowers": 2, "safe": 3}
_DESTRUCTIVE = ("irreversible", "withdraws")
_UNDER = {"irreversible": "Destructive operations", "withdraws": "Destructive operations", "lowers": "Cuts"}
_TONES: dict[str, Tone] = {"+": "good", "~": "notice", "-": "bad"}
_VERBS = {
    "create": "create",
    "update": "update",
    "offer": "offer",
    "setQuota": "quota",
    "unoffer": "withdraw",
    "archive": "archive",
}
_PREPOSITIONS = {"offer": "to", "setQuota": "of", "unoffer": "from"}
_ALONE = 2
"""So many equal operations still stand by themselves."""
_OF_EACH = ("gpuModel", "siteId")
"""What is told of each of several new pools that are equal otherwise."""
_LONGEST_POLICY = 240
"""Characters of a new pool's policy that are shown: who approves it should see most policies whole."""


@dataclass(frozen=True, slots=True)
class Row:
    """What is said of an operation. Rows that are equal may stand in one: `exact` tells those apart whose values are
    equal only as far as they are shown."""

    mark: str
    verb: str
    whom: str
    details: tuple[str, ...]
    effects: tuple[str, ...]
    reason: str
    causes: tuple[str, ...]
    hand: str
    severity: str
    exact: str


def section(operations: Sequence[Operation], drift: Mapping[int, DriftedOperation], *, verbose: bool) -> Section:
    """The dangerous first; in each degree of danger what waits for nothing comes first, and in each such level pools by
    their keys. It is no order to run them in: that is the plan's. `drift` are those that are not of the change."""
    groups: dict[Row, list[Operation]] = {}
    for operation in _in_order(operations):
        groups.setdefault(_row(operation, drift.get(operation["n"]), verbose), []).append(operation)
    items = tuple(_item(row, part, drift, verbose) for row, equal in groups.items() for part in _parts(equal))
    return Section(title="Operations", items=items, in_columns=True)


def _in_order(operations: Sequence[Operation]) -> list[Operation]:
    """`operations` are in an order to run them in, so each follows those it waits for."""
    levels: dict[int, int] = {}
    for one in operations:
        levels[one["n"]] = max((levels.get(n, 0) + 1 for n in one["dependsOn"]), default=0)
    return sorted(operations, key=lambda o: (_DANGER[o["severity"]], levels[o["n"]], name(o), o["n"]))


def kind(operation: Operation) -> str:
    """Its action; of quota whether it is a `cut` or a `raise`, of offers also whether it is a `newOffer`."""
    if operation["action"] not in ("offer", "setQuota"):
        return operation["action"]
    if operation["severity"] == "lowers":
        return "cut"
    if operation["before"] is None:
        return "newOffer"
    is_quota = any(change["path"].startswith(("quota.", "ownerQuota.")) for change in operation["changes"])
    return "raise" if is_quota else "terms"


def is_destructive(operation: Operation) -> bool:
    """Whether it takes something away that an opposite operation does not simply bring back."""
    return operation["severity"] in _DESTRUCTIVE


def named(operation: Operation | Outcome | StandingOperation) -> str:
    """`offer fra1-h100 to acme`."""
    return " ".join(filter(None, (verb(operation), name(operation), whom(operation))))


def verb(operation: Operation | Outcome | StandingOperation) -> str:
    return _VERBS[operation["action"]]


def name(operation: Operation | Outcome | StandingOperation) -> str:
    return escape(operation["key"] or operation["poolId"])


def whom(operation: Operation | Outcome | StandingOperation) -> str:
    """`to acme`; an empty text where it is about no tenant."""
    tenant = operation["toTenantId"]
    return "" if tenant is None else f"{_PREPOSITIONS.get(operation['action'], 'of')} {escape(tenant)}"


def details(operation: Operation, *, whole: bool) -> tuple[str, ...]:
    """What the operation does: before and after. Long values are cut unless `whole`."""
    return tuple(_details(operation, whole, "drift"))


def _row(operation: Operation, other: DriftedOperation | None, verbose: bool) -> Row:
    alike = _common(operation)
    return Row(
        mark=_mark(operation),
        verb=verb(operation),
        whom=whom(operation),
        details=tuple(_details(alike, verbose, moved.word(other))),
        effects=tuple(escape(effect) for effect in operation["effects"]),
        reason=escape(operation["reason"]["sentence"]),
        causes=tuple(operation["causes"]),
        hand=moved.hand(other),
        severity=operation["severity"],
        exact=repr(operation["changes"] or (operation["before"], alike["after"])),
    )


def _common(operation: Operation) -> Operation:
    """The operation without what is told of each of several: new pools that are alike but for their model and site
    stand together."""
    if operation["action"] != "create":
        return operation
    return {**operation, "after": {name: it for name, it in operation["after"].items() if name not in _OF_EACH}}


def _parts(equal: list[Operation]) -> list[list[Operation]]:
    in_files = sorted(equal, key=lambda one: (one["source"]["file"], one["source"]["line"]))
    return [[one] for one in in_files] if len(equal) <= _ALONE else [in_files]


def _mark(operation: Operation) -> str:
    if operation["action"] in ("unoffer", "archive"):
        return "-"
    return "+" if operation["before"] is None else "~"


def _item(row: Row, part: Sequence[Operation], drift: Mapping[int, DriftedOperation], verbose: bool) -> Item:
    """Where it leaves something out, with all of it for those who cannot ask for more."""
    takes_away = row.severity in _DESTRUCTIVE
    alarm: Tone = "bad" if takes_away else "notice"
    where = *_numbers(part, verbose), *_causes(row, part, drift), places(one["source"] for one in part)
    notes = [Words(f"! {effect}", alarm, foreign=True) for effect in row.effects]
    if takes_away or verbose:
        notes.append(Words(f"because {row.reason}", "quiet", foreign=True))
    kinds = _kinds(part)
    told, word = part[0] if len(kinds) == 1 else _common(part[0]), moved.word(drift.get(part[0]["n"]))
    details = row.details if told is not part[0] or row.verb != "create" else tuple(_details(told, verbose, word))
    item = Item(
        mark=row.mark,
        tone=_TONES[row.mark],
        verb=row.verb,
        subject=" ".join(filter(None, (name(part[0]) if len(part) == 1 else count(len(part), "pool"), row.whom))),
        details=details,
        where=f"({', '.join(where)})",
        notes=tuple(notes),
        names=tuple(_names(kinds, verbose)) if len(part) > 1 else (),
        alarm=row.severity in _UNDER,
        under=_UNDER.get(row.severity, ""),
    )
    if takes_away or verbose or not (item.names or any(values.CUT in detail for detail in details)):
        return item
    return _in_short(item._replace(details=tuple(_details(told, True, word))), details, kinds)


def _kinds(part: Sequence[Operation]) -> Mapping[str, Sequence[Operation]]:
    """Those that are equal by what is told of each: `H100 at site_fra1` of a new pool, nothing of the rest."""
    if len(part) == 1 or part[0]["action"] != "create":
        return {"": part}
    found: dict[str, list[Operation]] = {}
    for one in part:
        found.setdefault(_of_each(one), []).append(one)
    return found


def _of_each(operation: Operation) -> str:
    after = operation["after"]
    return f"{values.value(after['gpuModel'])} at {values.value(after['siteId'])}"


def _names(kinds: Mapping[str, Sequence[Operation]], verbose: bool) -> Iterator[tuple[str, str]]:
    """Each with its place, and what is told of it where not all are of one kind."""
    for said, part in kinds.items():
        for one in part:
            number = f"#{one['n']}" if verbose else ""
            yield name(one), ", ".join(filter(None, (number, said if len(kinds) > 1 else "", place(one["source"]))))


def _in_short(whole: Item, details: tuple[str, ...], kinds: Mapping[str, Sequence[Operation]]) -> Item:
    """The item with long values cut, and of several operations a few names of each kind."""
    short = whole._replace(details=details, names=(), whole=whole)
    if not whole.names:
        return short
    if len(kinds) > 1:
        return short._replace(names=tuple((_listed(part), said) for said, part in kinds.items()))
    (part,) = kinds.values()
    return short._replace(notes=(*whole.notes, Words(_listed(part), "quiet", foreign=True)))


def _listed(part: Sequence[Operation]) -> str:
    more = " (--verbose: all)" if len(part) > LISTED else ""
    return listed([name(one) for one in part], "pool") + more


def _numbers(part: Sequence[Operation], verbose: bool) -> Iterator[str]:
    """Its number in the plan's order; of several each has its own below."""
    if verbose and len(part) == 1:
        yield f"#{part[0]['n']}"


def _causes(row: Row, part: Sequence[Operation], drift: Mapping[int, DriftedOperation]) -> Iterator[str]:
    """What moved since the base, where it is not the files alone."""
    others = [drift[one["n"]] for one in part if one["n"] in drift]
    if row.causes not in ((), ("intent",)):
        yield moved.why(row.causes, others)


def _details(operation: Operation, whole: bool, drift: str) -> Iterator[str]:
    """`drift` is what a change that is not of the files' own is called; each is marked where they are not all alike."""
    before, after, atom = operation["before"], operation["after"], operation["atom"]
    match operation["action"]:
        case "create":
            yield from _created(after, atom, whole)
        case "archive":
            yield "live -> archived"
        case "unoffer":
            yield f"{values.quota(before['quota'], atom)} -> no offer"
        case "offer" if before is None:
            yield from _offered(after, atom)
        case _:
            mixed = len({change.get("cause") for change in operation["changes"]}) > 1
            for change in operation["changes"]:
                cause = {"intent": moved.CHANGE, "drift": drift, "both": f"{moved.CHANGE} and {drift}"}.get(
                    change.get("cause", ""), ""
                )
                yield values.change(change, whole=whole) + (f" ({cause})" if mixed and cause else "")


def _created(after: Any, atom: str | None, whole: bool) -> Iterator[str]:
    sharing, kind, agent = (values.value(after[name]) for name in ("sharing", "class", "agent"))
    if "siteId" in after:
        yield f"{values.value(after['gpuModel'])} {sharing}, {kind} at {values.value(after['siteId'])}, agent {agent}"
    else:
        yield f"{sharing}, {kind}, agent {agent}"
    if "providerAccountId" in after:
        yield f"provider account {values.value(after['providerAccountId'])}"
    yield f"owner quota {values.quota(after['ownerQuota'], atom)}"
    if after["policy"]:
        policy = values.value(after["policy"])
        is_short = whole or len(policy) <= _LONGEST_POLICY
        yield f"policy {policy if is_short else f'{policy[:_LONGEST_POLICY]}... (--verbose)'}"


def _offered(after: Any, atom: str | None) -> Iterator[str]:
    yield values.quota(after["quota"], atom)
    if after["priority"]:
        yield f"priority {after['priority']}"
    if after["includeDescendants"]:
        yield "with descendants"
