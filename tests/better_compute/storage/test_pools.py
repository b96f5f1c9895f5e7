"""Pools, offers, quota rows, machines and the authz projection: what was saved is what is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from better_compute.domain.inventory import Inventory
from better_compute.domain.state import Delta, Offer, PoolState, QuotaRow, Rollup
from better_compute.service.ports import Account, Tx
from better_compute.storage import SqlStore, tables
from tests.better_compute.storage.changes import carry_out, counted, join, new_event, pool_state, seen, seen_ids
from tests.builders import a_node
from tests.decisions import archive, create, offer, set_quota, unoffer, update

POLICY = {
    "acceptance": [{"kind": "diag.nvml"}],
    "overcommit": 1.0,
    "singleTenant": False,
    "unknown": {"b": None, "a": ["", 0, 0.1, 2**53 - 1, -0.0, "ä\u2028\ud7ff\U0001f600"]},
}


def projection(store: SqlStore, pool_id: str = "pool_1") -> list[tuple[object, ...]]:
    """The authz rows of a pool: tenant, model and whether it is owned."""
    authz = tables.authz.c
    rows = select(authz.tenant_id, authz.gpu_model, authz.owned).where(authz.pool_id == pool_id)
    return store._database.read(lambda c: [tuple(row) for row in c.execute(rows.order_by(authz.tenant_id))])


def test_an_absent_pool_is_an_empty_state(store: SqlStore) -> None:
    assert pool_state(store) == PoolState()


def test_a_pool_comes_back_as_it_was_decided(store: SqlStore) -> None:
    made = carry_out(store, create(policy=POLICY, owner_quota={"gpu": 5, "vcpu": 0}))
    found = pool_state(store)
    assert found == made
    assert found.pool is not None
    assert repr(found.pool.policy) == repr(POLICY), "1.0 is not 1, and keys keep their order"
    assert found.quotas == {"root": {"gpu": QuotaRow(5), "vcpu": QuotaRow(0)}}


def test_a_provider_pool_comes_back(store: SqlStore) -> None:
    store.transact(lambda tx: tx.add_account(Account(id="pa_north", tenant_id="root", name="North")))
    made = carry_out(store, create(class_="provider", agent="none", provider_account_id="pa_north"))
    assert pool_state(store) == made


def test_every_change_is_read_back(store: SqlStore) -> None:
    commands = [
        create(),
        offer("acme", {"gpu": 32, "vcpu": 4}, priority=-7),
        offer("globex", {"gpu": 8}, include_descendants=True),
        offer("acme", {"gpu": 16}),
        set_quota("root", {"gpu": 3}),
        set_quota("globex", {"gpu": 0, "memoryGiB": 9}),
        unoffer("acme"),
        update(policy=POLICY, gpu_model="H200"),
        archive(),
    ]
    for command in commands:
        assert carry_out(store, command) == pool_state(store), command


def test_a_command_that_changes_nothing_writes_nothing(store: SqlStore) -> None:
    before = [carry_out(store, create()), carry_out(store, offer())][1]
    carry_out(store, offer())
    assert pool_state(store) == before


def test_only_the_wanted_tenants_and_the_owner_are_loaded_and_all_are_counted(store: SqlStore) -> None:
    for command in (create(), offer("acme"), offer("globex", include_descendants=True), offer("root", {"gpu": 1})):
        carry_out(store, command)
    state = store.view(lambda tx: tx.pool_state("pool_1", ["acme", "initech"]))
    assert set(state.offers) == set(state.quotas) == {"acme", "root"}
    assert (state.others, state.wide) == (2, 1)
    alone = store.transact(lambda tx: tx.pool_state("pool_1", []))
    assert set(alone.quotas) == {"root"}
    assert (alone.others, alone.wide) == (2, 1)


def test_a_pool_alone_is_read_with_one_statement_that_locks_it(store: SqlStore) -> None:
    for command in (create(), offer("acme")):
        carry_out(store, command)
    whole = pool_state(store)
    for read in (store.view, store.transact):
        with counted(store) as statements:
            alone = read(lambda tx: tx.pool("pool_1"))
        assert alone == PoolState(pool=whole.pool, rollup=whole.rollup)
        [statement] = [s for s in statements if s.startswith("SELECT")]
        locks = read == store.transact and store._database.engine.dialect.name == "postgresql"
        assert ("FOR" in statement.split("WHERE")[1]) == locks
    assert store.view(lambda tx: tx.pool("pool_2")) == PoolState()


def test_used_may_pass_max_and_neither_may_be_negative(store: SqlStore) -> None:
    state = carry_out(store, create())
    pool = state.pool
    assert pool is not None

    def set_row(row: QuotaRow) -> None:
        delta = Delta(pool=replace(pool, offers_version=2), quotas={"root": {"gpu": row}})
        store.transact(lambda tx: tx.save(state, delta, new_event()))

    state.pool = replace(pool, offers_version=2)
    set_row(QuotaRow(3, 7))
    assert pool_state(store).quotas["root"]["gpu"] == QuotaRow(3, 7)
    for row in (QuotaRow(-1), QuotaRow(2**31), QuotaRow(0, -1)):
        with pytest.raises(IntegrityError):
            set_row(row)


def test_a_tenant_sees_what_it_owns_and_what_it_is_offered(store: SqlStore) -> None:
    for pool_id in ("pool_1", "pool_2", "pool_3"):
        carry_out(store, create(pool_id=pool_id))
    carry_out(store, offer("acme", pool_id="pool_2"))
    assert seen_ids(store, "root") == ["pool_1", "pool_2", "pool_3"]
    assert seen_ids(store, "acme") == ["pool_2"]
    assert seen_ids(store, "globex") == []
    sees = [store.view(lambda tx, t=t: tx.sees(t, "pool_2")) for t in ("root", "acme", "globex")]  # type: ignore[misc]
    assert sees == [True, True, False]


def test_pools_are_found_by_the_keys_that_made_them(store: SqlStore) -> None:
    for number, key in enumerate(("a", "b", "a", None)):
        carry_out(store, create(pool_id=f"pool_{number}", idempotency_key=key, policy=POLICY))
    found = store.view(lambda tx: tx.pools_by_key(["a", "none"]))
    assert sorted(found, key=lambda pool: pool.id) == [
        pool_state(store, pool_id).pool for pool_id in ("pool_0", "pool_2")
    ]
    assert store.view(lambda tx: tx.pools_by_key([])) == []


def test_lists_are_filtered_by_id_ownership_and_archive(store: SqlStore) -> None:
    for pool_id in ("pool_1", "pool_2", "pool_3"):
        carry_out(store, create(pool_id=pool_id))
        carry_out(store, offer("acme", pool_id=pool_id))
    carry_out(store, archive(pool_id="pool_3"))
    assert seen_ids(store, "root", archived=True) == ["pool_3"]
    assert seen_ids(store, "root", archived=False) == ["pool_1", "pool_2"]
    assert seen_ids(store, "acme") == ["pool_1", "pool_2"], "only the owner sees an archived pool"
    assert seen_ids(store, "acme", owned=True) == seen_ids(store, "root", owned=False) == []
    assert seen_ids(store, "root", ids=["pool_3", "pool_1", "pool_no"]) == ["pool_1", "pool_3"]
    assert seen_ids(store, "root", ids=[]) == []
    assert seen_ids(store, "root", after="pool_1", limit=1) == ["pool_2"]
    assert seen_ids(store, "root", ids=[f"pool_{n}" for n in range(1000)], archived=False) == ["pool_1", "pool_2"]


def test_a_page_shows_the_acting_tenants_rows_and_to_owners_who_ask_all_offers(store: SqlStore) -> None:
    carry_out(store, create())
    carry_out(store, offer("acme", {"gpu": 4}))
    carry_out(store, offer("globex", {"gpu": 8}, include_descendants=True))
    whole = pool_state(store)
    assert seen(store, "root", offers=True) == [whole]
    [plain] = seen(store, "root")
    assert (plain.quotas, plain.offers) == ({"root": whole.quotas["root"]}, {})
    assert (plain.others, plain.wide) == (2, 1)
    [theirs] = seen(store, "acme", offers=True)
    assert theirs.quotas == {"acme": {"gpu": QuotaRow(4)}}
    assert theirs.offers == {"acme": Offer("acme", 0, False, 2)}


def test_a_change_that_raises_no_version_is_saved(store: SqlStore) -> None:
    """As a booking is, also one in a pool that nobody has changed since it was made."""
    state = carry_out(store, create(owner_quota={"gpu": 8}))
    booked = Delta(quotas={"root": {"gpu": QuotaRow(8, 3)}})
    state.apply(booked)
    store.transact(lambda tx: tx.save(state, booked, new_event()))
    assert pool_state(store) == state
    assert projection(store) == [("root", "H100", True)]
    revisions = select(tables.events.c.revision).order_by(tables.events.c.revision)
    assert store._database.read(lambda c: list(c.execute(revisions).scalars())) == [1, 2]


def test_rows_in_use_stay_after_the_offer_goes(store: SqlStore) -> None:
    carry_out(store, create())
    state = carry_out(store, offer("acme", {"gpu": 8, "vcpu": 4}))
    assert state.pool is not None
    state.pool = replace(state.pool, offers_version=3)
    booked = Delta(pool=state.pool, quotas={"acme": {"gpu": QuotaRow(8, 3)}})
    state.apply(booked)
    store.transact(lambda tx: tx.save(state, booked, new_event()))
    carry_out(store, unoffer("acme"))
    after = pool_state(store)
    assert after.offers == {}
    assert after.quotas["acme"] == {"gpu": QuotaRow(3, 3), "vcpu": QuotaRow(0)}


def test_the_projection_follows_each_change(store: SqlStore) -> None:
    root, acme, globex = (("root", "H100", True), ("acme", "H100", False), ("globex", "H100", False))
    carry_out(store, create())
    assert projection(store) == [root]
    carry_out(store, offer("globex"))
    carry_out(store, offer("acme"))
    carry_out(store, offer("root", {"gpu": 1}))
    carry_out(store, offer("acme", {"gpu": 1}))
    assert projection(store) == [acme, globex, root]
    carry_out(store, update(gpu_model="H200"))
    assert projection(store) == [("acme", "H200", False), ("globex", "H200", False), ("root", "H200", True)]
    carry_out(store, unoffer("globex"))
    assert projection(store) == [("acme", "H200", False), ("root", "H200", True)]
    carry_out(store, archive())
    assert projection(store) == [("root", "H200", True)]


def test_an_update_leaves_the_projection_of_other_pools(store: SqlStore) -> None:
    carry_out(store, create())
    carry_out(store, create(pool_id="pool_2"))
    carry_out(store, update(gpu_model="H200"))
    assert projection(store, "pool_2") == [("root", "H100", True)]


def test_machines_come_back_with_their_pools_rollup(store: SqlStore) -> None:
    carry_out(store, create())
    inventory = Inventory(gpus=("A", "B"), vcpu=1, memory_gib=2, disk_gib=3, hugepages_2mi=4, hugepages_1gi=5)
    own = a_node("node_2", owner_tenant_id="root", inventory=replace(inventory, attributes={"rack": 7, "é": "x\u0000"}))
    odd = a_node("node_1", role="infra", gpu_model=None, quarantined="NVIDIA Q9000")
    join(store, own)
    join(store, odd)
    assert store.view(lambda tx: tx.nodes_there(["node_2", "node_9"])) == {"node_2"}
    assert store.view(lambda tx: tx.nodes("pool_1", 10, None)) == [odd, own]
    assert store.view(lambda tx: tx.nodes("pool_1", 10, "node_1")) == [own]
    assert store.view(lambda tx: tx.nodes("pool_2", 10, None)) == []
    assert pool_state(store).rollup == Rollup(2, 1, 1, {"H100": 1}, 2)
    assert seen(store, "root")[0].rollup == pool_state(store).rollup


def test_a_machine_of_no_pool_is_a_mistake(store: SqlStore) -> None:
    with pytest.raises(IntegrityError):
        join(store, a_node(pool_id="pool_9"))


def test_a_change_of_no_pool_is_a_mistake(store: SqlStore) -> None:
    made = carry_out(store, create())
    assert made.pool is not None
    lost = PoolState(pool=replace(made.pool, id="pool_9", version=2))

    def work(tx: Tx) -> None:
        tx.save(lost, Delta(pool=lost.pool), new_event(pool_id="pool_9"))

    with pytest.raises(Exception, match="No row was found"):
        store.transact(work)
