"""The atoms of a host: what its inventory and the pool's policy make, and how they follow a change."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.devices import Device, devices_of, follow
from better_compute.domain.inventory import Inventory
from better_compute.domain.state import Pool
from tests.builders import a_node, a_pool

H100 = "NVIDIA H100 80GB HBM3"


def made(pool: Pool, *gpus: str, **node: Any) -> list[Device]:
    inventory = Inventory(gpus=gpus, attributes=node.pop("attributes", {}))
    return devices_of(pool, a_node(inventory=inventory, **node))


def mig(**devices: int) -> Pool:
    profiles = {name.replace("_", "."): count for name, count in devices.items()}
    return a_pool(sharing="mig", policy={"gpu": {"mig": {"devices": profiles}}} if devices else {})


class TestWhatAMachineMakes:
    def test_is_a_device_of_each_whole_gpu(self) -> None:
        first, second = made(a_pool(), H100, H100)
        assert first == Device(position=0, product=H100, vram_gib=80, share=1, whole=1)
        assert (second.position, second.free) == (1, True)

    @pytest.mark.parametrize("sharing", ["timeslice", "mps"])
    def test_is_as_many_slots_of_each_gpu_as_the_policy_says(self, sharing: str) -> None:
        slots = made(a_pool(sharing=sharing, policy={"gpu": {"slots": 3}}), H100, H100)
        assert [slot.position for slot in slots] == list(range(6))
        assert {(slot.share, slot.whole, slot.vram_gib) for slot in slots} == {(1, 3, 80)}

    @pytest.mark.parametrize("policy", [{}, {"gpu": None}, {"gpu": {}}, {"gpu": {"slots": "4"}}, {"gpu": {"slots": 0}}])
    def test_is_nothing_where_the_policy_does_not_split(self, policy: dict[str, Any]) -> None:
        assert made(a_pool(sharing="mps", policy=policy), H100) == []
        assert made(a_pool(sharing="mig", policy=policy), H100) == []

    def test_is_what_the_policy_cuts_a_gpu_into(self) -> None:
        devices = made(mig(**{"3g_40gb": 1, "1g_10gb": 2}), H100, H100)
        assert [(d.profile, d.vram_gib, (d.share, d.whole)) for d in devices[:3]] == [
            ("3g.40gb", 40, (3, 7)),
            ("1g.10gb", 10, (1, 7)),
            ("1g.10gb", 10, (1, 7)),
        ]
        assert (len(devices), {d.product for d in devices}) == (6, {H100})

    def test_is_the_instances_that_it_names_and_not_the_gpus_that_are_cut(self) -> None:
        devices = made(mig(**{"1g_10gb": 7}), H100, f"{H100} MIG 3g.40gb", f"{H100} MIG 4g.40gb")
        assert [(d.product, d.profile) for d in devices] == [(H100, "3g.40gb"), (H100, "4g.40gb")]

    @pytest.mark.parametrize(
        ("model", "name", "share", "vram"),
        [
            ("H100", f"{H100} MIG 7g.80gb", (7, 7), 80),
            ("H100", f"{H100} MIG 1c.3g.40gb", (1, 7), 40),
            ("H100", f"{H100} MIG 1g.10gb+me", (1, 7), 10),
            ("A100", "A100-SXM4-40GB-MIG-3g.20gb", (3, 7), 20),
            ("A30", "NVIDIA A30 MIG 2g.12gb", (2, 4), 12),
            ("RTXPRO6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition MIG 1g.24gb+gfx", (1, 4), 24),
        ],
    )
    def test_has_the_share_of_its_compute_slices(
        self, model: str, name: str, share: tuple[int, int], vram: int
    ) -> None:
        [device] = made(a_pool(sharing="mig", gpu_model=model), name, gpu_model=model)
        assert ((device.share, device.whole), device.vram_gib) == (share, vram)

    @pytest.mark.parametrize(
        ("name", "attributes", "vram"),
        [
            (H100, {}, 80),
            ("NVIDIA A100-SXM4-40GB", {}, 40),
            ("Tesla V100-SXM2-32GB-LS", {}, 32),
            ("NVIDIA H100 NVL", {}, None),
            ("NVIDIA H100 NVL", {"vramGiB": 94}, 94),
            (H100, {"vramGiB": 79}, 79),
            ("NVIDIA A10G", {}, None),
            ("NVIDIA L40S", {}, None),
        ],
    )
    def test_has_the_memory_that_the_machine_says_or_else_its_name(
        self, name: str, attributes: dict[str, Any], vram: int | None
    ) -> None:
        assert [d.vram_gib for d in made(a_pool(), name, attributes=attributes)] == [vram]

    @pytest.mark.parametrize(
        "node", [{"role": "infra"}, {"quarantined": "Quux"}, {"control": "tenant"}], ids=lambda node: next(iter(node))
    )
    def test_is_nothing_where_it_cannot_be_booked(self, node: dict[str, Any]) -> None:
        assert made(a_pool(), H100, **node) == []


def a_device(position: int, kind: str = H100, holder: str | None = None, **fields: Any) -> Device:
    return Device(position=position, product=kind, reservation_id=holder, **fields)


class TestFollowing:
    def test_keeps_what_is_wanted_where_it_is(self) -> None:
        held = [a_device(0), a_device(3, holder="rsv_1")]
        assert follow(held, [a_device(0), a_device(1)]) == held

    def test_lets_free_ones_go_before_booked_ones(self) -> None:
        held = [a_device(0), a_device(1, holder="rsv_1"), a_device(2)]
        assert follow(held, [a_device(0)]) == [a_device(1, holder="rsv_1")]

    def test_keeps_what_is_booked_as_leaving(self) -> None:
        held = [a_device(0, holder="rsv_1"), a_device(1, holder="rsv_2")]
        [first, second] = follow(held, [a_device(0)])
        assert (first.leaving, second.leaving) == (False, True)
        assert not second.free

    def test_takes_back_one_that_was_leaving(self) -> None:
        [device] = follow([a_device(4, holder="rsv_1", leaving=True)], [a_device(0)])
        assert device == a_device(4, holder="rsv_1")

    def test_gives_new_ones_the_lowest_positions_that_are_not_in_use(self) -> None:
        held = [a_device(1, "B", holder="rsv_1"), a_device(0, "A")]
        after = follow(held, [a_device(n, "C") for n in range(3)])
        assert [(d.position, d.product, d.leaving) for d in after] == [
            (0, "C", False),
            (1, "B", True),
            (2, "C", False),
        ]

    def test_books_no_card_twice_that_comes_back_under_another_name(self) -> None:
        held = [a_device(n, "A", holder="rsv_1" if n < 3 else None) for n in range(8)]
        after = follow(held, [a_device(n, "B") for n in range(8)])
        assert [d.leaving for d in after] == [True] * 3 + [False] * 5
        ended = [device for device in after if not device.leaving]
        assert [d.product for d in follow(ended, [a_device(n, "B") for n in range(8)])] == ["B"] * 8

    def test_tells_the_instances_of_a_card_apart(self) -> None:
        """What runs on the old instance holds its card until it ends."""
        held = [a_device(0, profile="3g.40gb", share=3, whole=7, holder="rsv_1")]
        wanted = [a_device(n, profile="1g.10gb", share=1, whole=7) for n in range(14)]
        assert [(d.profile, d.leaving) for d in follow(held, wanted[:7])] == [("3g.40gb", True)]
        assert [d.profile for d in follow(held, wanted) if not d.leaving] == ["1g.10gb"] * 7, "of the other card"

    def test_splits_no_gpu_anew_under_the_bookings_of_its_slots(self) -> None:
        """What is booked is metered as it was booked, and what it holds is not sold again in smaller parts."""
        wanted = [a_device(n, share=1, whole=64) for n in range(64)]
        both = [a_device(n, holder=f"rsv_{n}", share=1, whole=2) for n in range(2)]
        assert follow(both, wanted) == both
        [first, *others] = follow([both[0], a_device(1, share=1, whole=2)], wanted)
        assert first == both[0]
        assert [d.whole for d in others] == [64] * 32

    def test_learns_the_memory_and_the_share_of_what_stays(self) -> None:
        held = [a_device(0), a_device(1, holder="rsv_1")]
        assert follow(held, [a_device(n, vram_gib=94, share=1, whole=4) for n in range(2)]) == [
            a_device(0, vram_gib=94, share=1, whole=4),
            a_device(1, vram_gib=94, holder="rsv_1"),
        ]

    @given(
        st.lists(st.tuples(st.sampled_from("AB"), st.booleans(), st.booleans()), max_size=8),
        st.lists(st.sampled_from("ABC"), max_size=8),
    )
    def test_ends_with_what_is_wanted_and_every_booking(
        self, had: list[tuple[str, bool, bool]], kinds: list[str]
    ) -> None:
        held = [
            a_device(n, kind, holder=f"rsv_{n}" if booked else None, leaving=booked and leaving)
            for n, (kind, booked, leaving) in enumerate(had)
        ]
        wanted = [a_device(n, kind) for n, kind in enumerate(kinds)]
        after = follow(held, wanted)
        there = [d for d in after if not d.leaving]
        assert Counter(d.product for d in there) <= Counter(kinds)
        new = {(d.position, d.product) for d in there} - {(d.position, d.product) for d in held}
        assert not new or len(after) == len(kinds), "nothing new beside what is booked of the same hardware"
        assert sorted(d.product for d in follow(there, wanted)) == sorted(kinds), "when what is leaving has gone"
        bookings = {(d.position, d.product, d.reservation_id) for d in held if d.reservation_id}
        assert {(d.position, d.product, d.reservation_id) for d in after if d.reservation_id} == bookings
        assert len({d.position for d in after}) == len(after)
        assert follow(after, wanted) == after
