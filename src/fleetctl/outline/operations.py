"""The operations of a plan in words: the dangerous first, equal ones together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from better_compute.domain.escape import escape
from fleetctl.outline import moved, values
from fleetctl.outline.problems import place, places
from fleetctl.outline.shape import Item, Section, Tone, Words
from fleetctl.words import count, listed

if TYPE_CHECKING:
    from fleetctl.report.forms import DriftedOperation, LeftOperation, Operation, Outcome

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
    """The dangerous first; in each degree of danger the plan's order. `drift` are those that are not of the change."""
    groups: dict[Row, list[Operation]] = {}
    for operation in sorted(operations, key=lambda o: _DANGER[o["severity"]]):
        groups.setdefault(_row(operation, drift.get(operation["n"]), verbose), []).append(operation)
    items = tuple(_item(row, part, drift, verbose) for row, equal in groups.items() for part in _parts(equal))
    return Section(title="Operations", items=items, in_columns=True)


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


def named(operation: Operation | Outcome | LeftOperation) -> str:
    """`offer fra1-h100 to acme`."""
    return " ".join(filter(None, (verb(operation), name(operation), whom(operation))))


def verb(operation: Operation | Outcome | LeftOperation) -> str:
    return _VERBS[operation["action"]]


def name(operation: Operation | Outcome | LeftOperation) -> str:
    return escape(operation["key"] or operation["poolId"])


def whom(operation: Operation | Outcome | LeftOperation) -> str:
    """`to acme`; an empty text where it is about no tenant."""
    tenant = operation["toTenantId"]
    return "" if tenant is None else f"{_PREPOSITIONS.get(operation['action'], 'of')} {escape(tenant)}"


def details(operation: Operation, *, whole: bool) -> tuple[str, ...]:
    """What the operation does: before and after. Long values are cut unless `whole`."""
    return tuple(_details(operation, whole, "drift"))


def _row(operation: Operation, other: DriftedOperation | None, verbose: bool) -> Row:
    return Row(
        mark=_mark(operation),
        verb=verb(operation),
        whom=whom(operation),
        details=tuple(_details(operation, verbose, moved.word(other))),
        effects=tuple(escape(effect) for effect in operation["effects"]),
        reason=escape(operation["reason"]["sentence"]),
        causes=tuple(operation["causes"]),
        hand=moved.hand(other),
        severity=operation["severity"],
        exact=repr(operation["changes"] or (operation["before"], operation["after"])),
    )


def _parts(equal: list[Operation]) -> list[list[Operation]]:
    in_files = sorted(equal, key=lambda one: (one["source"]["file"], one["source"]["line"]))
    return [[one] for one in in_files] if len(equal) <= _ALONE else [in_files]


def _mark(operation: Operation) -> str:
    if operation["action"] in ("unoffer", "archive"):
        return "-"
    return "+" if operation["before"] is None else "~"


def _item(row: Row, part: Sequence[Operation], drift: Mapping[int, DriftedOperation], verbose: bool) -> Item:
    takes_away = row.severity in _DESTRUCTIVE
    alarm: Tone = "bad" if takes_away else "notice"
    where = *_numbers(part, verbose), *_causes(row, part, drift), places(one["source"] for one in part)
    notes = [Words(f"! {effect}", alarm, foreign=True) for effect in row.effects]
    if takes_away or verbose:
        notes.append(Words(f"because {row.reason}", "quiet", foreign=True))
    is_listed = len(part) > 1 and (takes_away or verbose)
    if len(part) > 1 and not is_listed:
        notes.append(Words(f"{listed([name(one) for one in part], 'pool')} (--verbose: all)", "quiet", foreign=True))
    return Item(
        mark=row.mark,
        tone=_TONES[row.mark],
        verb=row.verb,
        subject=" ".join(filter(None, (name(part[0]) if len(part) == 1 else count(len(part), "pool"), row.whom))),
        details=row.details,
        where=f"({', '.join(where)})",
        notes=tuple(notes),
        names=tuple((name(one), _place(one, verbose)) for one in part) if is_listed else (),
        alarm=row.severity in _UNDER,
        under=_UNDER.get(row.severity, ""),
    )


def _numbers(part: Sequence[Operation], verbose: bool) -> Iterator[str]:
    """Its number in the plan's order; of several each has its own below."""
    if verbose and len(part) == 1:
        yield f"#{part[0]['n']}"


def _place(operation: Operation, verbose: bool) -> str:
    return f"#{operation['n']}, {place(operation['source'])}" if verbose else place(operation["source"])


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
    kind, site, agent = values.value(after["class"]), values.value(after["siteId"]), values.value(after["agent"])
    yield f"{values.value(after['gpuModel'])} {values.value(after['sharing'])}, {kind} at {site}, agent {agent}"
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
