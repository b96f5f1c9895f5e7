"""vps.hosts and capacity.hosts: rows and devices follow inventories and policies, and nothing is written in vain."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from better_compute.domain import hosts as rules
from better_compute.domain.hosts import Host
from better_compute.domain.nodes import count_node
from better_compute.domain.state import Pool
from better_compute.reconcilers import hosts
from better_compute.reconcilers.hosts import Keeper
from better_compute.service.ports import Tx
from better_compute.service.ports.machines import HostLook
from better_compute.storage.store import SqlTx
from tests.better_compute.plane import CARD, Plane
from tests.builders import an_event
from tests.statements import counted


def joined(plane: Plane, pool_id: str, *gpus: str, **inventory: Any) -> str:
    """The id of a host of 100 vcpu and 100 GiB."""
    token = plane.ask("sa_fleet", "nodes/createJoinToken", poolId=pool_id).data["joinToken"]
    holds = {"gpus": list(gpus), "vcpu": 100, "memoryGiB": 100, "diskGiB": 1000, **inventory}
    found = plane.ask("sa_fleet", "nodes/join", poolId=pool_id, joinToken=token, inventory=holds).data
    return str(found["id"])


def policy(plane: Plane, pool_id: str, **fields: Any) -> None:
    assert plane.ask("sa_fleet", "pools/update", poolId=pool_id, policy=fields).code == "OK"


def rows(plane: Plane, node_id: str) -> dict[str, tuple[int, str]]:
    """Total and ratio of each row."""
    found = plane.ask("sa_fleet", "nodes/get", nodeId=node_id).data["resources"]
    return {resource: (row["total"], row["ratio"]) for resource, row in found.items()}


def kept(plane: Plane, keeper: Keeper | None = None) -> tuple[int, int]:
    """How many hosts each of the two changed; by a keeper that knows nothing yet unless one is given."""
    keeper = keeper or Keeper(plane.service)
    return keeper.vps_hosts(), keeper.capacity_hosts()


class TestAChangeOfThePolicy:
    def test_reaches_the_rows_of_vps_hosts(self, either: Plane) -> None:
        pool_id = either.pool(**{"class": "vps-host"})
        node_id = joined(either, pool_id, hugepages1Gi=20)
        before = rows(either, node_id)
        policy(either, pool_id, overcommit={"vcpu": 4, "diskGiB": 1.5}, hostReserve={"vcpu": 50})
        assert rows(either, node_id) == before  # until the next round
        assert kept(either) == (1, 0)
        assert rows(either, node_id) == {
            "vcpu": (400, "4"),
            "memoryGiB": (80, "1"),
            "diskGiB": (1500, "1.5"),
            "hugepages2Mi": (0, "1"),
            "hugepages1Gi": (20, "1"),
        }

    def test_reaches_the_rows_of_every_other_host(self, either: Plane) -> None:
        pool_id = either.pool()
        node_id = joined(either, pool_id, hugepages2Mi=5120)
        policy(either, pool_id, overcommit=2, hostReserve={"vcpu": 4, "memoryGiB": 8})
        assert kept(either) == (0, 1)
        assert rows(either, node_id) == {
            "vcpu": (192, "2"),
            "memoryGiB": (164, "2"),
            "hugepages2Mi": (5120, "1"),
            "hugepages1Gi": (0, "1"),
        }

    @pytest.mark.parametrize(("stated", "ratio", "total"), [(0.01, "0.1", 10), (1000, "100", 10_000)])
    def test_is_clamped(self, plane: Plane, stated: float, ratio: str, total: int) -> None:
        pool_id = plane.pool()
        node_id = joined(plane, pool_id)
        policy(plane, pool_id, overcommit=stated)
        kept(plane)
        assert rows(plane, node_id)["vcpu"] == (total, ratio)

    def test_never_shrinks_a_row_below_what_is_allocated(self, either: Plane) -> None:
        pool_id = either.pool(policy={"overcommit": 2}, ownerQuota={"gpu": 8, "vcpu": 1000})
        node_id = joined(either, pool_id, CARD)
        reservation = either.book(pool_id, "sa_fleet", gpu=1, vcpu=150)
        policy(either, pool_id, overcommit=1)
        kept(either)
        assert rows(either, node_id)["vcpu"] == (150, "1")
        either.ask("sa_fleet", "reservations/end", reservationId=reservation)
        kept(either)
        assert rows(either, node_id)["vcpu"] == (100, "1")

    def test_splits_the_gpus_anew_and_keeps_what_is_booked(self, either: Plane) -> None:
        pool_id = either.pool(sharing="timeslice", policy={"gpu": {"slots": 4}}, ownerQuota={"gpu.slot": 100})
        node_id = joined(either, pool_id, CARD)
        reservation = either.book(pool_id, "sa_fleet", **{"gpu.slot": 3})
        policy(either, pool_id, gpu={"slots": 2})
        kept(either)
        shown = either.ask("sa_fleet", "nodes/get", nodeId=node_id).data
        assert shown["devices"] == {"total": 2, "booked": 3}
        assert either.get(pool_id)["rollup"]["atoms"] == {"total": 2, "booked": 3}
        either.ask("sa_fleet", "reservations/end", reservationId=reservation)
        assert either.ask("sa_fleet", "nodes/get", nodeId=node_id).data["devices"] == {"total": 2, "booked": 0}
        assert free(either, node_id) == 2
        policy(either, pool_id, gpu={"slots": 8})
        assert either.get(pool_id)["rollup"]["atoms"]["total"] == 2, "of the devices that there are"
        kept(either)
        assert either.get(pool_id)["rollup"]["atoms"]["total"] == 8
        assert free(either, node_id) == 8

    def test_of_one_pool_touches_no_other(self, plane: Plane) -> None:
        changed, other = plane.pool(), plane.pool()
        joined(plane, changed)
        node_id = joined(plane, other)
        policy(plane, changed, overcommit=3)
        assert kept(plane) == (0, 1)
        assert rows(plane, node_id)["vcpu"] == (100, "1")


def free(plane: Plane, node_id: str) -> int:
    """How many devices of a host are free by the count that the placer reads."""

    def work(tx: Tx) -> int:
        from sqlalchemy import text

        found = tx._connection.execute(text("SELECT free FROM nodes WHERE id = :i"), {"i": node_id})  # type: ignore[attr-defined]
        return int(found.scalar_one())

    return plane.store.view(work)


def update(plane: Plane, sql: str) -> None:
    plane.store.transact(lambda tx: tx._connection.execute(text(sql)))  # type: ignore[attr-defined]


class TestARowThatIsTooLarge:
    """More is booked of a host than it provides by now; each test ends that, with no round of upkeep after it."""

    def test_is_not_filled_again_when_the_inventory_shrank(self, either: Plane) -> None:
        pool_id = either.pool(ownerQuota={"gpu": 8, "vcpu": 1000})
        node_id = joined(either, pool_id, CARD, CARD, vcpu=192)
        reservation = either.book(pool_id, "sa_fleet", gpu=1, vcpu=100)
        smaller = {"gpus": [CARD, CARD], "vcpu": 10, "memoryGiB": 100, "diskGiB": 1000}
        assert either.ask("sa_fleet", "nodes/report", nodeId=node_id, inventory=smaller).code == "OK"
        self.filled(either, pool_id, node_id, reservation, booked=100, provided=10)

    def test_is_not_filled_again_when_the_ratio_fell(self, either: Plane) -> None:
        pool_id = either.pool(policy={"overcommit": 2}, ownerQuota={"gpu": 8, "vcpu": 1000})
        node_id = joined(either, pool_id, CARD, CARD)
        reservation = either.book(pool_id, "sa_fleet", gpu=1, vcpu=180)
        policy(either, pool_id, overcommit=1)
        kept(either)
        self.filled(either, pool_id, node_id, reservation, booked=180, provided=100)

    def filled(self, plane: Plane, pool_id: str, node_id: str, reservation: str, *, booked: int, provided: int) -> None:
        assert rows(plane, node_id)["vcpu"] == (booked, "1")
        assert plane.get(pool_id)["rollup"]["resources"]["vcpu"] == {"total": booked, "booked": booked}
        assert plane.ask("sa_fleet", "reservations/end", reservationId=reservation).code == "OK"
        assert rows(plane, node_id)["vcpu"] == (provided, "1")
        assert plane.get(pool_id)["rollup"]["resources"]["vcpu"] == {"total": provided, "booked": 0}
        more = {"gpu": 1, "vcpu": provided + 1}
        asked = plane.ask("sa_fleet", "reservations/create", poolId=pool_id, resources=more).data
        assert (asked["state"], asked["reason"]) == ("pending", "no-capacity")
        plane.book(pool_id, "sa_fleet", gpu=1, vcpu=provided)


class TestAModelOfWhatIsBookedAlone:
    @pytest.mark.parametrize("gpus", [[], ["Quux 9"]], ids=["no GPU", "one that is not understood"])
    def test_is_gone_when_the_booking_is(self, either: Plane, gpus: list[str]) -> None:
        pool_id = either.pool(ownerQuota={"gpu": 8})
        node_id = joined(either, pool_id, CARD)
        reservation = either.book(pool_id, "sa_fleet", gpu=1)
        has = {"gpus": gpus, "vcpu": 100, "memoryGiB": 100, "diskGiB": 1000}
        assert either.ask("sa_fleet", "nodes/report", nodeId=node_id, inventory=has).code == "OK"
        kept(either)
        assert either.get(pool_id)["rollup"]["models"] == {"H100": 1}
        other = {"poolId": pool_id, "gpuModel": "H200"}
        assert either.ask("sa_fleet", "pools/update", other).code == "INVALID_STATE"
        either.ask("sa_fleet", "reservations/end", reservationId=reservation)
        assert kept(either) == (0, 1)
        assert either.get(pool_id)["rollup"]["models"] == {}
        assert "gpuModel" not in either.ask("sa_fleet", "nodes/get", nodeId=node_id).data
        event = either.events()[-1]
        assert (event["type"], event["actorId"]) == ("node.updated", "hosts")
        assert kept(either) == (0, 0)
        assert either.ask("sa_fleet", "pools/update", other).code == "OK"


class TestNothingToChange:
    def test_is_no_statement_that_writes(self, either: Plane) -> None:
        for body in ({"class": "vps-host"}, {"policy": {"overcommit": 1.1, "hostReserve": {"vcpu": 1}}}):
            pool_id = either.pool(**body)
            for _ in range(3):
                joined(either, pool_id, CARD, hugepages2Mi=1)
        with counted() as statements:
            assert kept(either) == (0, 0)
        assert statements
        assert {statement.split()[0] for statement in statements} - {"BEGIN"} == {"SELECT"}
        assert not any("IMMEDIATE" in statement for statement in statements)

    def test_costs_the_same_for_many_hosts_and_pools_as_for_one(self, plane: Plane) -> None:
        joined(plane, plane.pool(policy={"a": 1}), CARD)
        with counted() as few:
            kept(plane)
        for n in range(3):
            pool_id = plane.pool(policy={"of": n})
            for _ in range(4):
                joined(plane, pool_id, CARD)
        with counted() as many:
            kept(plane)
        assert len(many) == len(few)

    def test_is_seen_without_reading_what_a_host_has_once_it_was_judged(self, either: Plane) -> None:
        keeper = Keeper(either.service)
        for n in range(3):
            joined(either, either.pool(policy={"of": n}), CARD)
        with counted() as first:
            assert kept(either, keeper) == (0, 0)
        with counted() as again:
            assert kept(either, keeper) == (0, 0)
        assert len(again) < len(first)
        assert not any("FROM pools" in statement for statement in again)

    def test_is_not_believed_of_a_host_that_changed(self, either: Plane) -> None:
        pool_id = either.pool(ownerQuota={"gpu": 8, "vcpu": 1000})
        node_id = joined(either, pool_id, CARD, CARD)
        before, keeper = rows(either, node_id), Keeper(either.service)
        assert kept(either, keeper) == (0, 0)
        either.book(pool_id, "sa_fleet", gpu=1, vcpu=10)
        assert kept(either, keeper) == (0, 0)
        update(either, "UPDATE node_resources SET provided = 7 WHERE resource = 'vcpu'")
        assert kept(either, keeper) == (0, 1)
        assert rows(either, node_id) == before
        update(either, "UPDATE node_devices SET vram_gib = 7 WHERE position = 1")
        assert kept(either, keeper) == (0, 1)
        assert kept(either, keeper) == (0, 0)

    def test_is_not_believed_because_another_mended_it_while_it_was_looked_at(
        self, either: Plane, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What it looked like before is what it looks like again when the policy comes and goes once more."""
        node_id = joined(either, pool_id := either.pool())
        policy(either, pool_id, overcommit=2)
        look = SqlTx.host_looks

        def meanwhile(self: SqlTx, *given: Any) -> list[HostLook]:
            found = look(self, *given)
            monkeypatch.undo()
            with ThreadPoolExecutor(1) as another:
                assert another.submit(kept, either).result() == (0, 1)
            return found

        keeper = Keeper(either.service)
        monkeypatch.setattr(SqlTx, "host_looks", meanwhile)
        assert keeper.capacity_hosts() == 0
        for ratio, total in ((1, 100), (2, 200)):
            policy(either, pool_id, overcommit=ratio)
            assert keeper.capacity_hosts() == 1
            assert rows(either, node_id)["vcpu"] == (total, str(ratio))

    def test_is_remembered_of_so_many_kinds_of_hosts(self, plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(hosts, "_MOST", 3)
        for n in range(5):
            joined(plane, plane.pool(policy={"of": n}), CARD)
        keeper = Keeper(plane.service)
        for _ in range(2):
            assert keeper.capacity_hosts() == 0
            assert 0 < len(keeper._fine) <= 3

    def test_leaves_the_rows_of_other_hosts_as_they_are(self, plane: Plane) -> None:
        pool_id = plane.pool()
        booked, unbooked = joined(plane, pool_id, CARD), joined(plane, pool_id)
        plane.store.transact(lambda tx: tx.save_hosts([(h, Host(node=h.node)) for h in tx.hosts_of([booked])]))
        with counted() as statements:
            assert kept(plane) == (0, 1)
        assert rows(plane, booked) == rows(plane, unbooked)
        assert len([s for s in statements if s.startswith("INSERT INTO node_resources")]) == 1


class TestHostsThatWereThereBefore:
    def test_get_what_they_provide(self, either: Plane) -> None:
        """As after the migration that made the tables."""
        pool_id = either.pool()
        node_id = joined(either, pool_id, CARD)
        before = either.ask("sa_fleet", "nodes/get", nodeId=node_id).data
        either.store.transact(lambda tx: tx.save_hosts([(h, Host(node=h.node)) for h in tx.hosts_of([node_id])]))
        assert either.ask("sa_fleet", "nodes/get", nodeId=node_id).data["resources"] == {}
        assert kept(either) == (0, 1)
        assert either.ask("sa_fleet", "nodes/get", nodeId=node_id).data == before
        assert free(either, node_id) == 1


class TestWhoGetsNone:
    def test_is_a_machine_that_a_tenant_controls(self, plane: Plane) -> None:
        pool_id = plane.pool()
        node_id = joined(plane, pool_id, CARD)
        plane.ask("sa_fleet", "nodes/setControl", nodeId=node_id, control="tenant")
        policy(plane, pool_id, overcommit=2)
        assert kept(plane) == (0, 0)
        assert rows(plane, node_id) == {}

    def test_is_a_machine_that_is_quarantined(self, plane: Plane) -> None:
        pool_id = plane.pool()
        node_id = joined(plane, pool_id, "Quux 9")
        assert kept(plane) == (0, 0)
        assert rows(plane, node_id) == {}

    def test_is_a_machine_that_is_no_host(self, plane: Plane) -> None:
        pool_id = plane.pool(**{"class": "infra"})
        node_id = joined(plane, pool_id, CARD)
        assert kept(plane) == (0, 0)
        assert rows(plane, node_id) == {}


def test_every_page_of_hosts_is_kept(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "PAGE", 2)
    for _ in range(2):
        pool_id = plane.pool()
        for _ in range(3):
            joined(plane, pool_id, CARD)
        policy(plane, pool_id, overcommit=2)
    assert kept(plane) == (0, 6)
    assert kept(plane) == (0, 0)


def test_all_hosts_are_kept_where_a_page_has_no_room_for_them(plane: Plane, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "ROOM", 1)
    pools = [plane.pool() for _ in range(2)]
    for pool_id in pools * 3:
        joined(plane, pool_id, CARD)
    for pool_id in pools:
        policy(plane, pool_id, overcommit=2)
    keeper = Keeper(plane.service)
    assert kept(plane, keeper) == (0, 6)
    assert kept(plane, keeper) == (0, 0)


def test_all_hosts_of_some_pools_are_kept_and_those_of_others_not_looked_at(
    either: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "PAGE", 2)
    pools = sorted(either.pool(**{"class": "vps-host"}) for _ in range(4))
    nodes = {pool_id: [joined(either, pool_id) for _ in range(5)] for pool_id in pools}
    for pool_id in pools:
        policy(either, pool_id, overcommit=2)
    looked: list[HostLook] = []
    look = SqlTx.host_looks

    def noted(self: SqlTx, *given: Any) -> list[HostLook]:
        looked.extend(found := look(self, *given))
        return found

    monkeypatch.setattr(SqlTx, "host_looks", noted)
    some = pools[1:3]
    assert Keeper(either.service).in_pools(some) == 10
    assert sorted(look.node_id for look in looked) == sorted(node_id for pool_id in some for node_id in nodes[pool_id])
    totals = {pool_id: {rows(either, node_id)["vcpu"][0] for node_id in nodes[pool_id]} for pool_id in pools}
    assert totals == {pool_id: {200 if pool_id in some else 100} for pool_id in pools}


def test_a_transaction_changes_no_more_devices_than_others_can_wait_for(
    plane: Plane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hosts, "DEVICES", 100)
    pool_id = plane.pool(sharing="timeslice", policy={"gpu": {"slots": 2}}, ownerQuota={"gpu.slot": 100})
    for _ in range(9):
        joined(plane, pool_id, CARD, CARD)
    policy(plane, pool_id, gpu={"slots": 10})
    with counted() as statements:
        assert kept(plane) == (0, 9)
    # Four devices a host before, and twenty after: the first alone, then four, and four.
    assert len([s for s in statements if s.startswith("BEGIN IMMEDIATE")]) == 3
    assert plane.get(pool_id)["rollup"]["atoms"]["total"] == 180
    monkeypatch.setattr(hosts, "DEVICES", 1)
    policy(plane, pool_id, gpu={"slots": 3})
    with counted() as statements:
        assert kept(plane) == (0, 9)
    assert len([s for s in statements if s.startswith("BEGIN IMMEDIATE")]) == 9


def test_one_pool_that_fails_keeps_no_other_from_it(
    plane: Plane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pools = [plane.pool() for _ in range(3)]
    for pool_id in pools:
        joined(plane, pool_id)
        policy(plane, pool_id, overcommit=2)
    keep = rules.capacity_hosts

    def failing(pool: Pool, host: Host) -> Host:
        if pool.id == sorted(pools)[1]:
            raise RecursionError("no more")
        return keep(pool, host)

    monkeypatch.setattr(rules, "capacity_hosts", failing)
    with caplog.at_level(logging.ERROR):
        assert Keeper(plane.service).capacity_hosts() == 2
    assert sorted(pools)[1] in caplog.text


def test_the_placer_goes_by_the_ratio_of_the_row(plane: Plane) -> None:
    pool_id = plane.pool(ownerQuota={"gpu": 8, "vcpu": 1000})
    joined(plane, pool_id, CARD, CARD)
    policy(plane, pool_id, overcommit=2)
    asked = {"poolId": pool_id, "resources": {"gpu": 1, "vcpu": 150}}
    assert plane.ask("sa_fleet", "reservations/create", asked).data["state"] == "pending"
    kept(plane)
    assert plane.ask("sa_fleet", "reservations/create", asked).data["state"] == "placed"


def test_of_hosts_that_are_alike_the_one_that_lost_a_row_is_mended(either: Plane) -> None:
    pool_id = either.pool()
    nodes = sorted(joined(either, pool_id, CARD) for _ in range(3))
    before = rows(either, nodes[1])

    def lose(tx: Tx) -> None:
        gone = text("DELETE FROM node_resources WHERE node_id = :n AND resource = 'vcpu'")
        tx._connection.execute(gone, {"n": nodes[1]})  # type: ignore[attr-defined]

    either.store.transact(lose)
    assert kept(either) == (0, 1)
    assert rows(either, nodes[1]) == before
    assert kept(either) == (0, 0)


QUUX = """quarantined = 'Quux', inventory = replace(inventory, '"gpus":[]', '"gpus":["Quux"]')"""


@pytest.mark.parametrize("told", ["control = 'tenant'", QUUX, "role = 'infra'"])
def test_a_host_is_not_fine_because_one_is_that_needs_nothing(plane: Plane, told: str) -> None:
    """Both have no row: this is right for the one that cannot be booked."""
    pool_id = plane.pool()
    first, second = sorted(joined(plane, pool_id) for _ in range(2))
    before = rows(plane, second)

    def change(tx: Tx) -> None:
        tx.save_hosts([(host, Host(node=host.node)) for host in tx.hosts_of([first, second])])
        update = text(f"UPDATE nodes SET {told} WHERE id = :n")
        tx._connection.execute(update, {"n": first})  # type: ignore[attr-defined]

    plane.store.transact(change)
    Keeper(plane.service).capacity_hosts()
    assert (rows(plane, first), rows(plane, second)) == ({}, before)


def test_a_machine_of_an_older_database_is_judged_as_if_it_reported_today(either: Plane) -> None:
    """It joined while no rule looked at instances: nothing of it is booked before it is judged."""
    pool_id = either.pool(ownerQuota={"gpu": 8})
    right, wrong = joined(either, pool_id, CARD), joined(either, pool_id, "Quux")
    instance = f"{CARD} MIG 1g.10gb"

    def change(tx: Tx) -> None:
        host, state = tx.host(wrong), tx.pool_state(pool_id, [])
        assert host is not None
        inventory = replace(host.node.inventory, gpus=(instance, instance))
        then = replace(host.node, inventory=inventory, quarantined=None, gpu_model="H100")
        state.rollup = count_node(count_node(state.rollup, host.node, -1), then)
        event = an_event("evt_then", pool_id=pool_id)
        tx.save_hosts([(host, replace(host, node=then))], state, [event])

    either.store.transact(change)
    assert kept(either) == (0, 1)
    assert kept(either) == (0, 0)
    shown = [either.ask("sa_fleet", "nodes/get", nodeId=node_id).data for node_id in (right, wrong)]
    assert [node.get("quarantined") for node in shown] == [None, instance]
    assert either.events()[-1]["type"] == "node.quarantined"
    assert [node["devices"]["total"] for node in shown] == [1, 0]
    rollup = either.get(pool_id)["rollup"]
    assert (rollup["hostNodes"], rollup["gpus"], rollup["instances"], rollup["models"]) == (1, 1, 0, {"H100": 1})
