"""The operations of a plan in words: the dangerous first, equal ones together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from better_compute.domain.escape import escape
from fleetctl.outline import values
from fleetctl.outline.problems import place
from fleetctl.outline.shape import Item, Section, Tone, Words
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import Operation, Outcome

_DANGER = {"irreversible": 0, "withdraws": 1, "lowers": 2, "safe": 3}
_DESTRUCTIVE = ("irreversible", "withdraws")
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
    reason: tuple[str, str]
    causes: str
    severity: str
    exact: str


def section(operations: Sequence[Operation], *, verbose: bool) -> Section:
    """The dangerous first; in each degree of danger the plan's order."""
    groups: dict[Row, list[Operation]] = {}
    for operation in sorted(operations, key=lambda o: _DANGER[o["severity"]]):
        groups.setdefault(_row(operation, verbose), []).append(operation)
    items = tuple(_item(row, part, verbose) for row, equal in groups.items() for part in _parts(equal))
    return Section(title="Operations", alarm_title="Destructive operations", items=items, in_columns=True)


def is_destructive(operation: Operation) -> bool:
    """Whether it takes something away that an opposite operation does not simply bring back."""
    return operation["severity"] in _DESTRUCTIVE


def named(operation: Operation | Outcome) -> str:
    """`offer fra1-h100 to acme`."""
    return f"{_VERBS[operation['action']]} {name(operation)}{_whom(operation)}"


def name(operation: Operation | Outcome) -> str:
    return escape(operation["key"] or operation["poolId"])


def details(operation: Operation, *, whole: bool) -> tuple[str, ...]:
    """What the operation does: before and after. Long values are cut unless `whole`."""
    return tuple(_details(operation, whole))


def _row(operation: Operation, verbose: bool) -> Row:
    return Row(
        mark=_mark(operation),
        verb=_VERBS[operation["action"]],
        whom=_whom(operation),
        details=details(operation, whole=verbose),
        effects=tuple(escape(effect) for effect in operation["effects"]),
        reason=(escape(operation["reason"]["code"]), escape(operation["reason"]["sentence"])),
        causes=" and ".join(operation["causes"]),
        severity=operation["severity"],
        exact=repr(operation["changes"] or (operation["before"], operation["after"])),
    )


def _whom(operation: Operation | Outcome) -> str:
    tenant = operation["toTenantId"]
    return "" if tenant is None else f" {_PREPOSITIONS.get(operation['action'], 'of')} {escape(tenant)}"


def _parts(equal: list[Operation]) -> list[list[Operation]]:
    in_files = sorted(equal, key=lambda one: (one["source"]["file"], one["source"]["line"]))
    return [[one] for one in in_files] if len(equal) <= _ALONE else [in_files]


def _mark(operation: Operation) -> str:
    if operation["action"] in ("unoffer", "archive"):
        return "-"
    return "+" if operation["before"] is None else "~"


def _item(row: Row, part: Sequence[Operation], verbose: bool) -> Item:
    takes_away = row.severity in _DESTRUCTIVE
    alarm: Tone = "bad" if takes_away else "notice"
    notes = [Words(f"! {effect}", alarm, foreign=True) for effect in row.effects]
    if takes_away or verbose:
        notes.append(Words(f"because {row.reason[1]}", "quiet", foreign=True))
    is_listed = len(part) > 1 and (takes_away or verbose)
    return Item(
        mark=row.mark,
        tone=_TONES[row.mark],
        verb=row.verb,
        subject=(name(part[0]) if len(part) == 1 else count(len(part), "pool")) + row.whom,
        details=row.details,
        where="({})".format(", ".join(filter(None, (row.reason[0], row.causes, _places(part))))),
        notes=tuple(notes),
        names=tuple((name(one), place(one["source"])) for one in part) if is_listed else (),
        alarm=takes_away,
    )


def _places(part: Sequence[Operation]) -> str:
    more = f" and {len(part) - 1:,} more" if len(part) > 1 else ""
    return place(part[0]["source"]) + more


def _details(operation: Operation, whole: bool) -> Iterator[str]:
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
            mixed = len(operation["causes"]) > 1
            for change in operation["changes"]:
                cause = f" ({change['cause']})" if mixed and "cause" in change else ""
                yield values.change(change, whole=whole) + cause


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
