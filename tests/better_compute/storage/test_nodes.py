"""Machines as they are kept: what is shared of them, and what not."""

from __future__ import annotations

from dataclasses import asdict

from better_compute.domain.inventory import Inventory
from better_compute.storage.nodes import _SHORT, _shared, inventory_of
from better_compute.storage.rows import to_json


def said(length: int) -> str:
    """An inventory of so many characters."""
    empty = len(to_json(asdict(Inventory(attributes={"room": ""}))))
    return to_json(asdict(Inventory(attributes={"room": "x" * (length - empty)})))


def test_an_inventory_is_shared_where_it_is_short_and_not_kept_where_it_is_long() -> None:
    short, long = said(_SHORT), said(_SHORT + 1)
    assert (len(short), len(long)) == (_SHORT, _SHORT + 1)
    assert inventory_of(short) is inventory_of(short)
    kept = _shared.cache_info().currsize
    assert inventory_of(long) == inventory_of(long) != inventory_of(short)
    assert _shared.cache_info().currsize == kept
