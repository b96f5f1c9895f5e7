"""What a machine looks like: whatever a rule that keeps hosts goes by changes it, and nothing else does."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from sqlalchemy import text

from better_compute.service.ports import Tx
from better_compute.service.ports.machines import HostLook
from better_compute.storage import tables as t
from tests.better_compute.plane import CARD, Plane
from tests.better_compute.storage.test_lists import explained
from tests.statements import counted

TOLD: dict[str, dict[str, Any]] = {
    "pools": {
        "class": "vps-host",
        "gpu_model": "H200",
        "sharing": "timeslice",
        "agent": "none",
        "policy": '{"overcommit":2}',
        "provider_account_id": "pa_north",
    },
    "nodes": {
        "role": "infra",
        "gpu_model": None,
        "inventory": '{"gpus":[]}',
        "owner_tenant_id": "acme",
        "quarantined": "Quux",
        "control": "tenant",
    },
    "node_devices": {
        "position": 9,
        "product": "Quux",
        "profile": "1g.10gb",
        "vram_gib": None,
        "share": 2,
        "whole": 2,
        "leaving": True,
        "reservation_id": None,
    },
    "node_resources": {"resource": "quux", "provided": 1, "ratio": "3", "allocated": 1},
}
NOT_TOLD: dict[str, dict[str, Any]] = {
    "pools": {"version": 7, "offers_version": 7, "owner_quota_version": 7, "created_at": 7, "rollup": "{}"},
    "nodes": {"joined_at": 7, "free": 1},
}
WHERE = {"node_devices": "position = 0", "node_resources": "resource = 'vcpu'"}
"""One row of each table."""


def cells(table: dict[str, dict[str, Any]]) -> list[Any]:
    return [pytest.param(name, *cell, id=f"{name}.{cell[0]}") for name, row in table.items() for cell in row.items()]


@pytest.fixture
def booked(either: Plane) -> Plane:
    """A host with two cards, of which one is booked."""
    pool_id = either.pool(ownerQuota={"gpu": 8})
    token = either.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id).data["joinToken"]
    inventory = {"gpus": [CARD, CARD], "vcpu": 100, "memoryGiB": 100, "diskGiB": 1000}
    either.ask("sa_fleet", "nodes/join", poolId=pool_id, joinToken=token, inventory=inventory)
    made = either.ask("sa_fleet", "reservations/create", poolId=pool_id, resources={"gpu": 1}).data
    assert made["state"] == "placed"
    return either


def look(plane: Plane) -> HostLook:
    [found] = plane.store.view(lambda tx: tx.host_looks(10, ("", "")))
    return found


def put(plane: Plane, table: str, column: str, value: Any) -> None:
    update = text(f"UPDATE {table} SET {column} = :value WHERE {WHERE.get(table, 'TRUE')}")
    plane.store.transact(lambda tx: tx._connection.execute(update, {"value": value}))  # type: ignore[attr-defined]


@pytest.mark.parametrize(("table", "column", "value"), cells(TOLD))
def test_it_is_another_when_this_is(booked: Plane, table: str, column: str, value: Any) -> None:
    before = look(booked)
    put(booked, table, column, value)
    after = look(booked)
    assert (after.pool_id, after.node_id) == (before.pool_id, before.node_id)
    assert after.told != before.told


@pytest.mark.parametrize(("table", "column", "value"), cells(NOT_TOLD))
def test_it_is_the_same_whatever_this_is(booked: Plane, table: str, column: str, value: Any) -> None:
    before = look(booked)
    put(booked, table, column, value)
    assert look(booked) == before


def test_who_has_booked_a_device_is_not_told(booked: Plane) -> None:
    [held] = booked.ask("sa_fleet", "reservations/list").data["items"]
    before = look(booked)
    booked.ask("sa_fleet", "reservations/end", reservationId=held["id"])
    assert look(booked).told != before.told
    booked.ask("sa_fleet", "reservations/create", poolId=held["poolId"], resources={"gpu": 1})
    assert look(booked).told == before.told


def test_every_column_of_these_tables_is_spoken_of_here() -> None:
    ids = {"id", "pool_id", "node_id", "owner_id", "site_id", "idempotency_key"}
    others = {"created_by", "archived_at", "region", "revision"}
    for table in (t.pools, t.nodes, t.node_devices, t.node_resources):
        spoken = {*TOLD[table.name], *NOT_TOLD.get(table.name, {})}
        assert {column.name for column in table.columns} - ids - others == spoken


def test_those_of_one_pool_are_found_by_it_page_by_page(either: Plane) -> None:
    pools = sorted(either.pool() for _ in range(3))
    nodes = {pool_id: sorted(either.join(pool_id, CARD)["id"] for _ in range(3)) for pool_id in pools}

    def found(limit: int, after: tuple[str, str], pool_id: str | None = None) -> list[str]:
        return [look.node_id for look in either.store.view(lambda tx: tx.host_looks(limit, after, None, pool_id))]

    first, second, third = nodes[pools[1]]
    assert found(2, ("", ""), pools[1]) == [first, second]
    assert found(2, (pools[1], second), pools[1]) == [third]
    assert found(2, (pools[1], third), pools[1]) == []
    assert found(9, (pools[1], second)) == [third, *nodes[pools[2]]]
    assert found(9, ("", ""), "pool_of_nobody") == []


@pytest.mark.parametrize(("room", "most"), [(1, 1), (25_000, 2), (4_000_000, 70)])
def test_a_page_ends_where_there_is_no_room_for_more(either: Plane, room: int, most: int) -> None:
    """And it never ends before its first machine, however much that says of itself."""
    pool_id = either.pool()
    nodes = sorted(either.join(pool_id)["id"] for _ in range(70))
    said = {f"a{n}": "x" * 200 for n in range(50)}
    for node_id in nodes:
        either.ask("sa_fleet", "nodes/report", nodeId=node_id, inventory={"attributes": said})

    def page(after: tuple[str, str], tx: Tx) -> tuple[list[tuple[str, str]], bool]:
        tx.room = room
        return [look[:2] for look in tx.host_looks(100, after)], tx.cut

    found, cut, pages = [("", "")], True, 0
    while cut:
        more, cut = either.store.view(partial(page, found[-1]))
        found += more
        pages += 1
    assert pages == 70 / most
    assert found[1:] == [(pool_id, node_id) for node_id in nodes]


@pytest.mark.parametrize("pool_id", [None, "pool_1"])
def test_where_a_page_begins_is_found_by_an_index(plane: Plane, pool_id: str | None) -> None:
    with counted() as statements:
        plane.store.view(lambda tx: tx.host_looks(10, ("pool_1", "node_1"), None, pool_id))
    [statement] = [s for s in statements if s.startswith("SELECT")]
    plan = plane.store._database.read(lambda connection: explained(connection, statement))  # type: ignore[attr-defined]
    by = "(pool_id,id)>(?,?)" if pool_id is None else "pool_id=? AND id>?"
    assert f"SEARCH nodes USING INDEX ix_nodes_pool_id_id ({by})" in plan


def test_text_that_looks_like_two_devices_is_not_told_as_two(booked: Plane) -> None:
    put(booked, "node_devices", "product", 'a",null,80]')
    one = look(booked).told
    put(booked, "node_devices", "product", "a")
    put(booked, "node_devices", "profile", ",80]")
    assert look(booked).told != one
