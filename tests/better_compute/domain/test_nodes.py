"""Machines by the rules: who may join, what is quarantined, what a report and a change of hands come to, the sums."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain import nodes
from better_compute.domain.inventory import Inventory
from better_compute.domain.nodes import Machine, Node, count_node, schedulable_atoms
from better_compute.domain.problems import Problem, Refused
from better_compute.domain.state import Pool, PoolState, Rollup
from tests.builders import NOW, a_node, a_pool

H100 = "NVIDIA H100 80GB HBM3"
MIG = f"{H100} MIG 3g.40gb"


def of(*gpus: str, **attributes: Any) -> Inventory:
    return Inventory(gpus=gpus, attributes=attributes)


def joined(pool: Pool, inventory: Inventory, *, others: int = 0, **machine: Any) -> Node | Refused:
    state = PoolState(pool=pool, others=others)
    return nodes.join(state, pool, Machine(inventory=inventory, **machine), "node_1", NOW)


def node(found: Node | Refused) -> Node:
    assert isinstance(found, Node), found
    return found


def problem(found: Node | Refused) -> Problem:
    assert isinstance(found, Refused), found
    return found.problems[0]


class TestJoining:
    @pytest.mark.parametrize(
        ("class_", "role", "is_host"),
        [("metal-host", "host", True), ("vps-host", "host", True), ("infra", "infra", False)],
    )
    def test_the_class_gives_the_role(self, class_: str, role: str, is_host: bool) -> None:
        found = node(joined(a_pool(class_=class_), of(H100)))
        assert (found.role, found.is_host, found.gpu_model) == (role, is_host, "H100")

    @pytest.mark.parametrize("sharing", ["exclusive", "timeslice", "mps"])
    def test_an_instance_is_not_understood_where_gpus_are_not_cut(self, sharing: str) -> None:
        assert node(joined(a_pool(sharing=sharing), of(H100, MIG))).quarantined == MIG

    def test_instances_and_whole_gpus_are_understood_where_gpus_are_cut(self) -> None:
        assert node(joined(a_pool(sharing="mig"), of(H100, MIG))).quarantined is None

    @pytest.mark.parametrize(
        "name",
        [
            f"{H100} MIG 8g.80gb",
            f"{H100} MIG 0g.5gb",
            f"{H100} MIG 9c.3g.40gb",
            f"{H100} MIG 7c.1g.10gb",
            f"{H100} MIG 0c.1g.10gb",
            f"{H100} MIG 3g.999gb",
            f"{H100} MIG 03g.40gb",
            f"{H100} MIG 5g.40gb",
            f"{H100} MIG 1g.99999999999999999999gb",
            f"{H100} MIG 3g.47gb",  # of a card with 94 GB
        ],
    )
    def test_an_instance_that_its_card_does_not_make_is_not_understood(self, name: str) -> None:
        assert node(joined(a_pool(sharing="mig"), of(name))).quarantined == name

    def test_a_machine_that_a_tenant_runs_is_a_host_that_cannot_be_booked(self) -> None:
        found = node(joined(a_pool(), of(H100), control="tenant", owner_tenant_id="acme"))
        assert (found.is_host, found.is_schedulable, found.owner_tenant_id) == (True, False, "acme")

    @pytest.mark.parametrize("vram", ["80", "80 GiB"])
    def test_memory_is_a_whole_number(self, vram: str) -> None:
        found = problem(joined(a_pool(), of(H100, vramGiB=vram)))
        assert (found.code, found.rule, found.path) == (
            "INVALID_INPUT",
            "node.inventory",
            "inventory.attributes.vramGiB",
        )

    def test_a_machine_holds_so_many_gpus_at_most(self) -> None:
        assert node(joined(a_pool(sharing="mig"), of(*[MIG] * 128))).quarantined is None
        for refused in (
            joined(a_pool(), of(*[H100] * 129)),
            nodes.report(a_pool(), a_node(), of(*["x"] * 129), booked=True),
        ):
            found = problem(refused)
            assert (found.code, found.rule, found.path) == ("INVALID_INPUT", "node.inventory", "inventory.gpus")
            assert found.message == "a machine has at most 128 GPUs or MIG instances, and this one names 129"

    def test_another_model_is_refused_by_name(self) -> None:
        found = problem(joined(a_pool(), of(H100, "NVIDIA H200", "NVIDIA L40S")))
        assert (found.rule, found.message) == ("node.model", "the pool holds H100, and this machine has H200, L40S")

    def test_what_a_tenant_owns_does_not_join_an_offered_pool(self) -> None:
        assert problem(joined(a_pool(), of(H100), others=1, owner_tenant_id="acme")).rule == "offer.tenantOwned"


class TestAReport:
    def test_of_a_name_that_is_not_understood_quarantines(self) -> None:
        after = node(nodes.report(a_pool(), a_node(), of("Quux"), booked=False))
        assert (after.quarantined, after.gpu_model, after.inventory) == ("Quux", None, of("Quux"))

    def test_keeps_the_model_of_a_machine_that_is_booked(self) -> None:
        for inventory in (of("Quux"), of()):
            assert node(nodes.report(a_pool(), a_node(), inventory, booked=True)).gpu_model == "H100"

    def test_that_is_understood_ends_the_quarantine(self) -> None:
        before = a_node(quarantined="Quux", gpu_model=None)
        after = node(nodes.report(a_pool(), before, of(H100), booked=False))
        assert (after.quarantined, after.gpu_model) == (None, "H100")

    def test_of_another_model_is_refused(self) -> None:
        assert problem(nodes.report(a_pool(), a_node(), of("NVIDIA H200"), booked=False)).rule == "node.model"

    def test_of_the_same_changes_nothing(self) -> None:
        before = a_node()
        assert nodes.report(a_pool(), before, before.inventory, booked=False) == before


class TestAMachineThatIsJudgedAnew:
    """It joined by the rules of then."""

    CUT = a_pool(sharing="mig", policy={"gpu": {"mig": {"devices": {"1g.10gb": 7}}}})

    @pytest.mark.parametrize(
        ("pool", "gpus", "by"),
        [
            (CUT, (MIG, f"{H100} MIG 9g.99gb"), f"{H100} MIG 9g.99gb"),
            (a_pool(), (H100, MIG), MIG),
            (a_pool(), (H100, "Quux", "NVIDIA H200"), "Quux"),
            (a_pool(), (H100, "NVIDIA H200"), "NVIDIA H200"),
        ],
        ids=["no card makes it", "no pool for it", "not understood", "of another model"],
    )
    def test_is_quarantined_by_what_no_rule_of_today_takes(self, pool: Pool, gpus: tuple[str, ...], by: str) -> None:
        before = a_node(inventory=of(*gpus))
        after = nodes.judged(pool, before, booked=False)
        assert after == replace(before, quarantined=by, gpu_model=None)
        assert nodes.judged(pool, after, booked=False) is after
        assert nodes.judged(pool, before, booked=True) == replace(before, quarantined=by), "it is booked as what it was"

    def test_is_understood_by_now(self) -> None:
        before = a_node(quarantined="NVIDIA H100 80GB HBM3", gpu_model=None)
        assert nodes.judged(a_pool(), before, booked=False) == a_node()

    def test_is_left_as_it_is_where_that_is_right(self) -> None:
        for there in (a_node(), a_node(inventory=of(), gpu_model=None), a_node(inventory=of(H100, vramGiB="lots"))):
            assert nodes.judged(a_pool(), there, booked=False) is there

    def test_loses_the_model_that_it_had_as_what_was_booked_alone(self) -> None:
        before = a_node(inventory=of())
        assert nodes.judged(a_pool(), before, booked=True) is before
        assert nodes.judged(a_pool(), before, booked=False) == replace(before, gpu_model=None)

    def test_is_nobodys_capacity_where_it_is_no_host(self) -> None:
        infra = a_node(role="infra", inventory=of("NVIDIA H200"))
        assert nodes.judged(a_pool(), infra, booked=False) is infra


class TestAChangeOfHands:
    def changed(self, before: Node, *, others: int = 0, booked: bool = False, **after: Any) -> Node | Refused:
        stated = {"control": before.control, "owner_tenant_id": before.owner_tenant_id, **after}
        return nodes.set_control(PoolState(pool=a_pool(), others=others), before, booked=booked, **stated)

    def test_gives_a_machine_to_a_tenant_and_back(self) -> None:
        acmes = node(self.changed(a_node(), control="tenant", owner_tenant_id="acme"))
        assert (acmes.control, acmes.owner_tenant_id) == ("tenant", "acme")
        assert node(self.changed(acmes, control="platform", owner_tenant_id=None)) == a_node()

    def test_is_refused_in_an_offered_pool(self) -> None:
        found = problem(self.changed(a_node(), others=1, owner_tenant_id="acme"))
        assert (found.code, found.rule) == ("INVALID_STATE", "offer.tenantOwned")

    def test_takes_a_machine_back_in_an_offered_pool(self) -> None:
        owned = a_node(owner_tenant_id="acme")
        assert node(self.changed(owned, others=1, owner_tenant_id=None)).owner_tenant_id is None
        assert self.changed(owned, others=1) == owned

    def test_leaves_what_is_booked_to_the_platform(self) -> None:
        assert problem(self.changed(a_node(), booked=True, control="tenant")).rule == "node.busy"
        assert node(self.changed(a_node(), booked=True, owner_tenant_id="acme")).owner_tenant_id == "acme"
        assert node(self.changed(a_node(control="tenant"), booked=True, control="platform")).control == "platform"


def test_a_booked_machine_does_not_leave() -> None:
    assert [p.rule for p in nodes.check_remove(booked=True)] == ["node.busy"]
    assert nodes.check_remove(booked=False) == []


@pytest.mark.parametrize(
    ("listed", "refused"),
    [
        ({}, ["site"]),
        ({"joinAttestors": ["site"]}, ["join-token"]),
        ({"joinAttestors": ["join-token", "site"]}, []),
        ({"joinAttestors": []}, ["join-token", "site"]),
    ],
    ids=str,
)
def test_a_policy_says_who_may_speak_for_machines(listed: dict[str, Any], refused: list[str]) -> None:
    found = [name for name in ("join-token", "site") if nodes.check_attestor(a_pool(policy=listed), name)]
    assert found == refused


class TestTheSums:
    def test_count_hosts_that_can_be_booked(self) -> None:
        rollup = Rollup()
        for machine in (
            a_node(),
            a_node(control="tenant", owner_tenant_id="acme"),
            a_node(quarantined="Quux", gpu_model=None),
            a_node(role="infra"),
        ):
            rollup = count_node(rollup, machine)
        assert rollup == Rollup(nodes=4, host_nodes=2, tenant_owned_nodes=1, models={"H100": 2}, gpus=8)

    def test_count_the_model_of_a_booked_machine_that_is_quarantined(self) -> None:
        rollup = count_node(Rollup(), a_node(quarantined="Quux"))
        assert (rollup.models, rollup.host_nodes, rollup.gpus) == ({"H100": 1}, 0, 0)

    def test_count_instances_or_the_gpus_that_are_not_cut(self) -> None:
        pool = a_pool(sharing="mig", policy={"gpu": {"mig": {"devices": {"1g.10gb": 7}}}})
        rollup = count_node(Rollup(), a_node(inventory=of(H100, MIG, MIG)))
        assert (rollup.gpus, rollup.instances, schedulable_atoms(pool, rollup)) == (0, 2, 2)
        rollup = count_node(rollup, a_node(inventory=of(H100)))
        assert (rollup.gpus, rollup.instances, schedulable_atoms(pool, rollup)) == (1, 2, 9)

    @given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=30))
    def test_kept_by_differences_equal_a_recount(self, moves: list[tuple[int, bool]]) -> None:
        kinds = [
            a_node(),
            a_node(inventory=of(MIG), owner_tenant_id="acme"),
            a_node(quarantined="Quux"),
            a_node(control="tenant"),
            a_node(role="infra", gpu_model=None),
            replace(a_node(), gpu_model=None, inventory=of()),
        ]
        there: list[Node] = []
        kept = Rollup()
        for kind, leaves in moves:
            if leaves and kinds[kind] in there:
                there.remove(kinds[kind])
                kept = count_node(kept, kinds[kind], -1)
            elif not leaves:
                there.append(kinds[kind])
                kept = count_node(kept, kinds[kind])
        recount = Rollup()
        for machine in there:
            recount = count_node(recount, machine)
        assert kept == recount
