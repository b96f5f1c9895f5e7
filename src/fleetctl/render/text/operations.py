"""The operations of a plan: the dangerous first, one line each, equal ones together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from better_compute.domain.escape import escape
from fleetctl.render.text import values
from fleetctl.render.text.problems import place
from fleetctl.render.text.style import Style, width
from fleetctl.words import count

if TYPE_CHECKING:
    from fleetctl.report.forms import Operation, Outcome

_DANGER = ("irreversible", "withdraws", "lowers", "safe")
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
_ON_ONE_LINE = 64
_INDENT = " " * 13
_LONGEST_POLICY = 240
"""Characters of a new pool's policy that are shown: who approves it should see most policies whole."""


@dataclass(frozen=True, slots=True)
class Row:
    """An operation, or equal ones, in words. Rows that are equal may stand in one: `exact` tells those apart whose
    values are equal only as far as they are shown."""

    symbol: str
    verb: str
    whom: str
    details: tuple[str, ...]
    effects: tuple[str, ...]
    reason: tuple[str, str]
    severity: str
    exact: str


def block(operations: Sequence[Operation], style: Style) -> Iterator[str]:
    """The dangerous first; in each degree of danger the plan's order."""
    groups: dict[Row, list[Operation]] = {}
    for operation in sorted(operations, key=lambda o: _DANGER.index(o["severity"])):
        groups.setdefault(row(operation, style), []).append(operation)
    shown = [(r, part) for r, equal in groups.items() for part in _parts(equal)]
    column = width([_subject(r, part) for r, part in shown])
    for r, part in shown:
        yield from _lines(r, part, column, style)


def row(operation: Operation, style: Style) -> Row:
    return Row(
        symbol=_symbol(operation),
        verb=_VERBS[operation["action"]],
        whom=whom(operation),
        details=tuple(_details(operation, style)),
        effects=tuple(escape(effect) for effect in operation["effects"]),
        reason=(escape(operation["reason"]["code"]), escape(operation["reason"]["sentence"])),
        severity=operation["severity"],
        exact=repr(operation["changes"] or (operation["before"], operation["after"])),
    )


def named(operation: Operation | Outcome) -> str:
    """`offer fra1-h100 to acme`."""
    return f"{_VERBS[operation['action']]} {name(operation)}{whom(operation)}"


def name(operation: Operation | Outcome) -> str:
    return escape(operation["key"] or operation["poolId"])


def whom(operation: Operation | Outcome) -> str:
    tenant = operation["toTenantId"]
    return "" if tenant is None else f" {_PREPOSITIONS.get(operation['action'], 'of')} {escape(tenant)}"


def _parts(equal: list[Operation]) -> list[list[Operation]]:
    in_files = sorted(equal, key=lambda one: (one["source"]["file"], one["source"]["line"]))
    return [[one] for one in in_files] if len(equal) <= _ALONE else [in_files]


def _symbol(operation: Operation) -> str:
    if operation["action"] in ("unoffer", "archive"):
        return "-"
    return "+" if operation["before"] is None else "~"


def _subject(r: Row, part: Sequence[Operation]) -> str:
    return (name(part[0]) if len(part) == 1 else count(len(part), "pool")) + r.whom


def _lines(r: Row, part: Sequence[Operation], column: int, style: Style) -> Iterator[str]:
    colour = {"+": style.green, "~": style.yellow, "-": style.red}[r.symbol]
    takes_away = r.severity in ("irreversible", "withdraws")
    inline = ", ".join(r.details)
    fits = len(inline) <= _ON_ONE_LINE
    subject = f"{_subject(r, part):<{column}}" if fits else _subject(r, part)
    where = style.dim(f"({r.reason[0]}, {_places(part)})")
    yield f"  {colour(f'{r.symbol} {r.verb:<9} {subject}')}  {inline + '  ' if fits else ''}{where}"
    if not fits:
        yield from (f"{_INDENT}{detail}" for detail in r.details)
    alarm = style.red if takes_away else style.yellow
    yield from (f"{_INDENT}{alarm('! ' + effect)}" for effect in r.effects)
    if takes_away or style.verbose:
        yield f"{_INDENT}{style.dim('because ' + r.reason[1])}"
    # What takes something away is never hidden behind a number.
    if len(part) > 1 and (takes_away or style.verbose):
        names = width([name(one) for one in part])
        yield from (f"{_INDENT}  {name(one):<{names}}  {style.dim(place(one['source']))}" for one in part)


def _places(part: Sequence[Operation]) -> str:
    more = f" and {len(part) - 1:,} more" if len(part) > 1 else ""
    return place(part[0]["source"]) + more


def _details(operation: Operation, style: Style) -> Iterator[str]:
    before, after, atom = operation["before"], operation["after"], operation["atom"]
    match operation["action"]:
        case "create":
            yield from _created(after, atom, style)
        case "archive":
            yield "live -> archived"
        case "unoffer":
            yield f"{values.quota(before['quota'], atom)} -> no offer"
        case "offer" if before is None:
            yield from _offered(after, atom)
        case _:
            yield from (values.change(change, whole=style.verbose) for change in operation["changes"])


def _created(after: Any, atom: str | None, style: Style) -> Iterator[str]:
    kind, site, agent = values.value(after["class"]), values.value(after["siteId"]), values.value(after["agent"])
    yield f"{values.value(after['gpuModel'])} {values.value(after['sharing'])}, {kind} at {site}, agent {agent}"
    if "providerAccountId" in after:
        yield f"provider account {values.value(after['providerAccountId'])}"
    yield f"owner quota {values.quota(after['ownerQuota'], atom)}"
    if after["policy"]:
        policy = values.value(after["policy"])
        short = (
            policy if style.verbose or len(policy) <= _LONGEST_POLICY else f"{policy[:_LONGEST_POLICY]}... (--verbose)"
        )
        yield f"policy {short}"


def _offered(after: Any, atom: str | None) -> Iterator[str]:
    yield values.quota(after["quota"], atom)
    if after["priority"]:
        yield f"priority {after['priority']}"
    if after["includeDescendants"]:
        yield "with descendants"
