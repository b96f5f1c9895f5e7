"""Capacity in words: what tenants may book before and after a plan, and what there is of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import TYPE_CHECKING

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.escape import escape
from fleetctl.outline.shape import Column, Section, Sentence, Table, Words
from fleetctl.words import unit

if TYPE_CHECKING:
    from fleetctl.report.forms import Share, Stock

_ROWS = 20
_NET = 5
_HELD = (Column("change", is_number=True), Column("in use", is_number=True))
_COST = (Column("cost/h", is_number=True),)
_WORSE = ("newly oversold", "more oversold")


def shares(rows: Sequence[Share], *, verbose: bool) -> Section:
    """By unit and tenant, over all sites: the largest loss first, then the largest gain."""
    groups: dict[tuple[str, str], list[Share]] = {}
    for row in rows:
        groups.setdefault((_unit(row), escape(row["tenantId"])), []).append(row)
    found = sorted(groups.items(), key=lambda pair: _order(pair[1]))
    is_priced = any(row["costBefore"] is not None or row["costAfter"] is not None for row in rows)
    shown = found if verbose else found[:_ROWS]
    table = Table(
        columns=(Column("unit"), Column("tenant"), Column("may book", is_number=True), *_HELD, *_COST * is_priced),
        rows=tuple((*key, *_limits(group), *(_costs(group),) * is_priced) for key, group in shown),
        marks=tuple(_below_use(group) for _, group in shown),
    )
    return Section(title="Capacity by tenant", table=table, more=_more(len(found) - len(shown)))


def stock(rows: Sequence[Stock], *, verbose: bool) -> Section:
    """By unit and site: the sum of what tenants may book against the machines that joined, what is oversold first.
    Where none did anywhere, there is nothing to compare."""
    if not verbose and all(row["schedulable"] is None and row["schedulableAfter"] is None for row in rows):
        rows = ()
    found = sorted(rows, key=lambda row: _WORSE.index(mark) if (mark := _oversold(row)) else len(_WORSE))
    shown = found if verbose else found[:_ROWS]
    table = Table(
        columns=(
            Column("unit"),
            Column("site"),
            Column("sold", is_number=True),
            *_HELD,
            Column("machines make", is_number=True),
            Column("oversell", is_number=True),
        ),
        rows=tuple((_unit(row), escape(row["siteId"]), *_limits([row]), _there(row), _oversell(row)) for row in shown),
        marks=tuple(_oversold(row) for row in shown),
    )
    return Section(title="Capacity by site", table=table, more=_more(len(found) - len(shown)))


def net(rows: Sequence[Share]) -> Iterator[Sentence]:
    """What all tenants together lose and gain, by unit, and what it costs where prices are given."""
    units: dict[str, list[Share]] = {}
    for row in rows:
        units.setdefault(_unit(row), []).append(row)
    if not units:
        return
    found = sorted(units.items(), key=lambda pair: _order(pair[1]))
    said = [f"{_change(group)} {name}" for name, group in found[:_NET]]
    said += [f"{len(found) - _NET:,} more"] if len(found) > _NET else []
    priced = [(row["costBefore"], row["costAfter"]) for row in rows]
    known = [(before, after) for before, after in priced if before is not None and after is not None]
    cost: tuple[Words, ...] = ()
    if known:
        before, after = (sum(side) for side in zip(*known, strict=True))
        part = "" if len(known) == len(priced) else ", where a price and a limit are known"
        cost = (Words(f"; cost/h {before:,.2f} before, {after:,.2f} after ({after - before:+,.2f}{part})"),)
    yield Words("Tenants, net:", "strong"), Words(" "), Words(", ".join(said), foreign=True), *cost, Words(".")


def _sides(before: str, after: str) -> str:
    """`40 -> 32`; once what stays."""
    return before if before == after else f"{before} -> {after}"


def _there(row: Stock) -> str:
    return _sides(*("unknown" if it is None else f"{it:,}" for it in (row["schedulable"], row["schedulableAfter"])))


def _oversell(row: Stock) -> str:
    before = _ratio(row["oversellBefore"], row["before"], row["schedulable"])
    return _sides(before, _ratio(row["oversellAfter"], row["after"], row["schedulableAfter"]))


def _ratio(ratio: float | None, promised: int, there: int | None) -> str:
    if there is not None and not promised:
        return "nothing sold"
    if ratio is not None:
        return f"{ratio:,.2f}x"
    return "unlimited" if there else "unknown"


def _oversold(row: Stock) -> str:
    """Whether the plan makes it so that more is promised than is there, or worse: what gets better is no news."""
    before = _excess(row["oversellBefore"], row["schedulable"])
    after = _excess(row["oversellAfter"], row["schedulableAfter"])
    if after <= max(before, 1):
        return ""
    return "more oversold" if before > 1 else "newly oversold"


def _excess(ratio: float | None, there: int | None) -> float:
    """What is unlimited, where something is there, is more than that."""
    return ratio if ratio is not None else inf if there else 0


def _unit(row: Share | Stock) -> str:
    return escape(unit(row["gpuModel"], row["atom"]))


def _limits(rows: Sequence[Share] | Sequence[Stock]) -> tuple[str, str, str]:
    before, after = (sum(row[side] for row in rows) for side in ("before", "after"))
    return _sides(_limit(before), _limit(after)), _change(rows), f"{sum(row['inUse'] for row in rows):,}"


def _limit(number: int) -> str:
    return "unlimited" if number >= UNLIMITED else f"{number:,}"


def _delta(rows: Sequence[Share] | Sequence[Stock]) -> int:
    return sum(row["after"] - row["before"] for row in rows)


def _order(rows: Sequence[Share]) -> tuple[bool, int]:
    """The largest loss first, then the largest gain."""
    delta = _delta(rows)
    return delta >= 0, -abs(delta)


def _change(rows: Sequence[Share] | Sequence[Stock]) -> str:
    """`+8`; of what has no limit on one side there is no number."""
    delta = _delta(rows)
    if any(row["before"] != row["after"] and UNLIMITED in (row["before"], row["after"]) for row in rows):
        return "more" if delta > 0 else "less"
    return f"{delta:+,}" if delta else "0"


def _below_use(rows: Sequence[Share]) -> str:
    frozen = sum(row["frozen"] for row in rows)
    return f"below use by {frozen:,}" if frozen else ""


def _costs(rows: Sequence[Share]) -> str:
    """What has no price, or no limit, has no cost that could be added."""
    return _sides(_cost([row["costBefore"] for row in rows]), _cost([row["costAfter"] for row in rows]))


def _cost(sides: Sequence[float | None]) -> str:
    known = [side for side in sides if side is not None]
    return f"{sum(known):,.2f}" if len(known) == len(sides) else "unknown"


def _more(left: int) -> tuple[Words, ...]:
    return (Words(f"and {left:,} more (--verbose)", "quiet"),) if left else ()
