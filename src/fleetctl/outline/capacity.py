"""Capacity in words: what tenants may book before and after a plan, and what there is of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.escape import escape
from fleetctl.outline.shape import Column, Section, Table, Words

if TYPE_CHECKING:
    from fleetctl.report.forms import Share, Stock

_ROWS = 20
_LIMITS = (Column("before", is_number=True), Column("after", is_number=True), Column("in use", is_number=True))
_COSTS = (Column("cost/h before", is_number=True), Column("after", is_number=True))
_OVERSELL = (
    Column("there", is_number=True),
    Column("oversell before", is_number=True),
    Column("after", is_number=True),
)


def shares(rows: Sequence[Share], *, verbose: bool) -> Section:
    """By model and tenant, over all sites."""
    groups: dict[tuple[str, str], list[Share]] = {}
    for row in rows:
        groups.setdefault((_model(row), escape(row["tenantId"])), []).append(row)
    priced = any(row["costBefore"] is not None or row["costAfter"] is not None for row in rows)
    shown = list(groups.items()) if verbose else list(groups.items())[:_ROWS]
    table = Table(
        columns=(Column("GPUs"), Column("tenant"), *_LIMITS, *(_COSTS if priced else ())),
        rows=tuple((*key, *_limits(group), *(_costs(group) if priced else ())) for key, group in shown),
        marks=tuple(_below_use(group) for _, group in shown),
    )
    return Section(title="Capacity by tenant", table=table, more=_more(len(groups) - len(shown)))


def stock(rows: Sequence[Stock], *, verbose: bool) -> Section:
    """By model and site: the sum of what tenants may book against the machines that joined. Where none did anywhere,
    there is nothing to compare."""
    if not verbose and all(row["schedulable"] is None and row["schedulableAfter"] is None for row in rows):
        rows = ()
    shown = rows if verbose else rows[:_ROWS]
    table = Table(
        columns=(Column("GPUs"), Column("site"), *_LIMITS, *_OVERSELL),
        rows=tuple(
            (_model(row), escape(row["siteId"]), *_limits([row]), _there(row), *_oversell(row)) for row in shown
        ),
        marks=tuple(_oversold(row) for row in shown),
    )
    return Section(title="Capacity by site", table=table, more=_more(len(rows) - len(shown)))


def _there(row: Stock) -> str:
    before, after = ("unknown" if it is None else f"{it:,}" for it in (row["schedulable"], row["schedulableAfter"]))
    return before if before == after else f"{before} -> {after}"


def _oversell(row: Stock) -> tuple[str, str]:
    before = _ratio(row["oversellBefore"], row["before"], row["schedulable"])
    return before, _ratio(row["oversellAfter"], row["after"], row["schedulableAfter"])


def _ratio(ratio: float | None, promised: int, there: int | None) -> str:
    if there == 0 and not promised:
        return "none"
    if ratio is not None:
        return f"{ratio:,.2f}x"
    return "unlimited" if there else "unknown"


def _oversold(row: Stock) -> str:
    """Whether more is promised than is there, and whether that is new."""
    if not _is_oversold(row["oversellAfter"], row["schedulableAfter"]):
        return ""
    return "oversold" if _is_oversold(row["oversellBefore"], row["schedulable"]) else "newly oversold"


def _is_oversold(ratio: float | None, there: int | None) -> bool:
    """What is unlimited, where something is there, is more than that."""
    return bool(there) if ratio is None else ratio > 1


def _model(row: Share | Stock) -> str:
    return escape(row["gpuModel"] if row["atom"] == "gpu" else f"{row['gpuModel']} {row['atom']}")


def _limits(rows: Sequence[Share] | Sequence[Stock]) -> tuple[str, str, str]:
    before, after = (sum(row[side] for row in rows) for side in ("before", "after"))
    return _limit(before), _limit(after), f"{sum(row['inUse'] for row in rows):,}"


def _limit(number: int) -> str:
    return "unlimited" if number >= UNLIMITED else f"{number:,}"


def _below_use(rows: Sequence[Share]) -> str:
    frozen = sum(row["frozen"] for row in rows)
    return f"below use, {frozen:,} frozen" if frozen else ""


def _costs(rows: Sequence[Share]) -> tuple[str, str]:
    """What has no price, or no limit, has no cost that could be added."""
    return _cost([row["costBefore"] for row in rows]), _cost([row["costAfter"] for row in rows])


def _cost(sides: Sequence[float | None]) -> str:
    known = [side for side in sides if side is not None]
    return f"{sum(known):,.2f}" if len(known) == len(sides) else "unknown"


def _more(left: int) -> tuple[Words, ...]:
    return (Words(f"and {left:,} more (--verbose)", "quiet"),) if left else ()
