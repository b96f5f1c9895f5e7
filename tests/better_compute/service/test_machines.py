"""Machines: what can be booked on them, what they report, whose they are, who lets them in and how they leave."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from better_compute.api.handle import handler
from better_compute.bootstrap.attestors import LONGEST, KeyedAttestor
from better_compute.domain.state import Rollup
from better_compute.iam import Tokens
from better_compute.service.ports import Tx
from better_compute.wire.claims import claim_of
from better_compute.wire.inputs import NodesJoin
from better_compute.wire.reading import read
from tests.better_compute.plane import CARD, Answer, Plane
from tests.invariants import broken

MIG = f"{CARD} MIG 3g.40gb"
INVENTORY: dict[str, Any] = {"gpus": [CARD] * 8, "vcpu": 192, "memoryGiB": 2048}


def shown(plane: Plane, node_id: str, who: str = "sa_fleet") -> dict[str, Any]:
    found: dict[str, Any] = plane.ask(who, "nodes/get", nodeId=node_id).data
    return found


def report(plane: Plane, node_id: str, *gpus: str, who: str = "sa_fleet", **more: Any) -> Answer:
    inventory = {**INVENTORY, "gpus": list(gpus), **more}
    return plane.ask(who, "nodes/report", nodeId=node_id, inventory=inventory)


def last(plane: Plane) -> tuple[str, Any, Any]:
    event = plane.events()[-1]
    return event["type"], event["data"]["before"], event["data"]["after"]


def check_sums(plane: Plane, pool_id: str) -> None:
    """What is kept of a pool's machines is what a recount finds: the rollup, and the free devices of each host."""
    from sqlalchemy import text

    from better_compute.domain.nodes import count_node

    def work(tx: Tx) -> None:
        hosts = tx.hosts_of([node.id for node in tx.nodes(pool_id, 1000, None)])
        recount = Rollup()
        for host in hosts:
            recount = count_node(recount, host.node)
        kept = tx.pool_state(pool_id, []).rollup
        assert replace(kept, work={}, resources={}) == recount
        rows = tx._connection.execute(text("SELECT id, free FROM nodes"))  # type: ignore[attr-defined]
        assert {host.node.id: host.free for host in hosts}.items() <= {row.id: row.free for row in rows}.items()

    plane.store.view(work)


class TestWhatCanBeBooked:
    def test_is_shown_to_the_owner_of_the_pool(self, either: Plane) -> None:
        policy = {"gpu": {"slots": 4}, "overcommit": {"vcpu": 1.5}, "hostReserve": {"memoryGiB": 48}}
        pool_id = either.pool(sharing="mps", policy=policy)
        node = shown(either, either.join(pool_id, CARD, CARD)["id"])
        assert node["devices"] == {"total": 8, "booked": 0}
        assert node["resources"] == {
            "vcpu": {"total": 288, "ratio": "1.5", "booked": 0},
            "memoryGiB": {"total": 2000, "ratio": "1", "booked": 0},
            "hugepages2Mi": {"total": 0, "ratio": "1", "booked": 0},
            "hugepages1Gi": {"total": 0, "ratio": "1", "booked": 0},
        }
        assert node["configUnits"] == [
            {"name": "gpu", "value": {"slots": 4}},
            {"name": "sharing", "value": {"mode": "mps", "slots": 4}},
        ]
        check_sums(either, pool_id)

    def test_counts_what_is_booked(self, either: Plane) -> None:
        pool_id = either.pool(ownerQuota={"gpu": 8, "vcpu": 8})
        node_id = either.join(pool_id, CARD, CARD)["id"]
        reservation = either.book(pool_id, "sa_fleet", gpu=1, vcpu=8)
        node = shown(either, node_id)
        assert (node["devices"], node["resources"]["vcpu"]["booked"]) == ({"total": 2, "booked": 1}, 8)
        check_sums(either, pool_id)
        either.end(reservation, "sa_fleet")
        assert shown(either, node_id)["devices"]["booked"] == 0
        check_sums(either, pool_id)

    def test_is_not_shown_to_the_tenant_that_owns_the_machine(self, plane: Plane) -> None:
        pool_id = plane.pool()
        node_id = plane.join(pool_id, CARD, who="sa_acme", ownerTenantId="acme")["id"]
        assert not shown(plane, node_id, "sa_acme").keys() & {"devices", "resources", "configUnits"}
        assert "devices" not in plane.ask("sa_fleet", "nodes/list", poolId=pool_id).data["items"][0]

    def test_is_nothing_on_a_machine_that_a_tenant_controls(self, either: Plane) -> None:
        pool_id = either.pool()
        node = shown(either, either.join(pool_id, CARD, control="tenant")["id"])
        assert (node["control"], node["devices"], node["resources"]) == ("tenant", {"total": 0, "booked": 0}, {})
        rollup = either.get(pool_id)["rollup"]
        assert (rollup["hostNodes"], rollup["gpus"], rollup["atoms"]["total"]) == (1, 0, 0)

    def test_is_the_instances_that_machines_of_a_mig_pool_name(self, either: Plane) -> None:
        pool_id = either.pool(sharing="mig", policy={"gpu": {"mig": {"devices": {"1g.10gb": 7}}}})
        named, whole = either.join(pool_id, CARD, MIG, MIG)["id"], either.join(pool_id, CARD)["id"]
        assert (shown(either, named)["devices"]["total"], shown(either, whole)["devices"]["total"]) == (2, 7)
        rollup = either.get(pool_id)["rollup"]
        assert (rollup["gpus"], rollup["instances"], rollup["atoms"]["total"]) == (1, 2, 9)
        check_sums(either, pool_id)

    def test_is_nothing_where_an_instance_comes_into_a_pool_that_is_not_mig(self, plane: Plane) -> None:
        pool_id = plane.pool()
        assert plane.join(pool_id, CARD, MIG)["quarantined"] == MIG
        assert plane.get(pool_id)["rollup"]["atoms"]["total"] == 0


class TestAReport:
    def test_takes_the_place_of_the_inventory(self, either: Plane) -> None:
        pool_id = either.pool()
        node_id = either.join(pool_id, CARD, CARD)["id"]
        after = report(either, node_id, CARD, vcpu=64).data
        assert (after["inventory"]["gpus"], after["inventory"]["vcpu"]) == ([CARD], 64)
        node = shown(either, node_id)
        assert (node["devices"]["total"], node["resources"]["vcpu"]["total"]) == (1, 64)
        name, before, told = last(either)
        assert (name, before["gpus"], told["gpus"]) == ("node.updated", 2, 1)
        check_sums(either, pool_id)

    @pytest.mark.parametrize(
        "changed", [{"vcpu": 64}, {"memoryGiB": 1}, {"attributes": {"rack": "r1"}}, {"hugepages1Gi": 4}], ids=str
    )
    def test_of_other_numbers_tells_them_as_they_were_and_are(self, plane: Plane, changed: dict[str, Any]) -> None:
        node_id = plane.join(plane.pool(), CARD)["id"]
        report(plane, node_id, CARD, **changed)
        _, before, told = last(plane)
        assert before["inventory"] != told["inventory"]
        assert {name: told["inventory"][name] for name in changed} == changed

    def test_of_the_same_tells_nothing(self, either: Plane) -> None:
        pool_id = either.pool()
        node_id = either.join(pool_id, *INVENTORY["gpus"])["id"]
        count = len(either.events())
        report(either, node_id, *INVENTORY["gpus"])
        assert len(either.events()) == count

    def test_quarantines_and_ends_the_quarantine(self, either: Plane) -> None:
        pool_id = either.pool()
        node_id = either.join(pool_id, CARD)["id"]
        assert report(either, node_id, "Quux 9").data["quarantined"] == "Quux 9"
        name, before, told = last(either)
        assert (name, before["gpuModel"], told["nodeId"], told["name"]) == (
            "node.quarantined",
            "H100",
            node_id,
            "Quux 9",
        )
        assert shown(either, node_id)["resources"] == {}
        check_sums(either, pool_id)
        assert report(either, node_id, "Quux 9", vcpu=1).data["quarantined"] == "Quux 9"
        assert last(either)[0] == "node.updated"
        assert report(either, node_id, "Quux 10").data["quarantined"] == "Quux 10"
        assert last(either)[0] == "node.quarantined"
        assert "quarantined" not in report(either, node_id, CARD).data
        assert last(either)[0] == "node.updated"
        assert shown(either, node_id)["devices"]["total"] == 1
        check_sums(either, pool_id)

    def test_keeps_what_is_booked_and_the_model_until_it_ends(self, either: Plane) -> None:
        pool_id = either.pool(ownerQuota={"gpu": 8, "vcpu": 100})
        node_id = either.join(pool_id, CARD, CARD)["id"]
        reservation = either.book(pool_id, "sa_fleet", gpu=2, vcpu=100)
        report(either, node_id, CARD, vcpu=64)
        node = shown(either, node_id)
        assert node["devices"] == {"total": 1, "booked": 2}
        assert node["resources"]["vcpu"] == {"total": 100, "ratio": "1", "booked": 100}
        assert report(either, node_id, "Quux 9").data["gpuModel"] == "H100"
        refused = either.ask("sa_fleet", "pools/update", poolId=pool_id, gpuModel="H200").error
        assert (refused["code"], refused["rule"]) == ("INVALID_STATE", "pool.update")
        check_sums(either, pool_id)
        either.end(reservation, "sa_fleet")
        assert shown(either, node_id)["devices"] == {"total": 0, "booked": 0}
        check_sums(either, pool_id)

    def test_of_another_model_is_refused_and_changes_nothing(self, plane: Plane) -> None:
        node_id = plane.join(plane.pool(), CARD)["id"]
        before, count = shown(plane, node_id), len(plane.events())
        assert report(plane, node_id, "NVIDIA H200").error["rule"] == "node.model"
        assert report(plane, node_id, CARD, attributes={"vramGiB": "80"}).error["code"] == "INVALID_INPUT"
        assert (shown(plane, node_id), len(plane.events())) == (before, count)

    def test_is_made_by_the_owner_of_the_pool_or_of_the_machine(self, plane: Plane) -> None:
        pool_id = plane.pool()
        node_id = plane.join(pool_id, CARD, who="sa_acme", ownerTenantId="acme")["id"]
        assert report(plane, node_id, CARD, vcpu=1, who="sa_acme").code == "OK"
        assert report(plane, node_id, CARD, vcpu=2).code == "OK"
        stranger = report(plane, node_id, CARD, vcpu=3, who="sa_globex")
        assert stranger.raw.body == report(plane, "node_none", CARD, vcpu=3, who="sa_globex").raw.body
        assert stranger.code == "NOT_FOUND"


class TestAChangeOfHands:
    def change(self, plane: Plane, node_id: str, who: str = "sa_fleet", **more: Any) -> Answer:
        return plane.ask(who, "nodes/setControl", nodeId=node_id, **more)

    def test_takes_what_can_be_booked_and_gives_it_back(self, either: Plane) -> None:
        pool_id = either.pool()
        node_id = either.join(pool_id, CARD)["id"]
        after = self.change(either, node_id, control="tenant", ownerTenantId="acme").data
        assert (after["control"], after["ownerTenantId"]) == ("tenant", "acme")
        name, before, told = last(either)
        assert (name, before["control"], told["control"]) == ("node.updated", "platform", "tenant")
        assert shown(either, node_id)["devices"]["total"] == 0
        check_sums(either, pool_id)
        back = self.change(either, node_id, control="platform", ownerTenantId=None).data
        assert "ownerTenantId" not in back
        assert shown(either, node_id)["devices"]["total"] == 1
        check_sums(either, pool_id)

    def test_ends_the_model_that_a_machine_had_as_what_was_booked(self, either: Plane) -> None:
        pool_id = either.hosts_pool(1)
        [node] = either.ask("sa_fleet", "nodes/list", poolId=pool_id).data["items"]
        booked = either.book(pool_id)
        assert report(either, node["id"]).data["gpuModel"] == "H100"
        either.end(booked)
        assert "gpuModel" not in self.change(either, node["id"], control="tenant").data
        assert "gpuModel" not in last(either)[2]
        check_sums(either, pool_id)
        assert either.store._database.read(broken) == []  # type: ignore[attr-defined]

    def test_leaves_what_is_not_said(self, plane: Plane) -> None:
        node_id = plane.join(plane.pool(), CARD, ownerTenantId="acme")["id"]
        assert self.change(plane, node_id, control="tenant").data["ownerTenantId"] == "acme"
        assert self.change(plane, node_id, ownerTenantId="globex").data["control"] == "tenant"
        count = len(plane.events())
        assert self.change(plane, node_id, ownerTenantId="globex", control="tenant").code == "OK"
        assert len(plane.events()) == count
        assert self.change(plane, node_id).code == "INVALID_INPUT"
        assert self.change(plane, node_id, control=None).code == "INVALID_INPUT"

    def test_is_refused_while_the_machine_is_booked(self, either: Plane) -> None:
        pool_id = either.pool()
        node_id = either.join(pool_id, CARD)["id"]
        reservation = either.book(pool_id, "sa_fleet")
        refused = self.change(either, node_id, control="tenant").error
        assert (refused["code"], refused["rule"]) == ("INVALID_STATE", "node.busy")
        either.end(reservation, "sa_fleet")
        assert self.change(either, node_id, control="tenant").code == "OK"

    def test_is_refused_in_an_offered_pool(self, plane: Plane) -> None:
        pool_id = plane.pool()
        node_id = plane.join(pool_id, CARD)["id"]
        plane.offer(pool_id, "globex")
        assert self.change(plane, node_id, ownerTenantId="acme").error["rule"] == "offer.tenantOwned"
        plane.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="globex")
        assert self.change(plane, node_id, ownerTenantId="acme").code == "OK"
        offered = plane.ask("sa_fleet", "pools/offer", poolId=pool_id, toTenantId="globex", quota={"gpu": 1})
        assert offered.error["rule"] == "offer.tenantOwned"

    def test_is_the_pool_owners_alone(self, plane: Plane) -> None:
        node_id = plane.join(plane.pool(), CARD, who="sa_acme", ownerTenantId="acme")["id"]
        for who in ("sa_acme", "sa_globex"):
            assert self.change(plane, node_id, who, control="tenant").code == "NOT_FOUND"
        assert self.change(plane, node_id, ownerTenantId="nobody").error["field"] == "ownerTenantId"


class TestRemoving:
    def test_takes_a_machine_out_of_every_count(self, either: Plane) -> None:
        pool_id = either.pool()
        empty = either.get(pool_id)["rollup"]
        node_id = either.join(pool_id, CARD, ownerTenantId="acme")["id"]
        removed = either.ask("sa_fleet", "nodes/remove", nodeId=node_id).data
        assert removed["id"] == node_id
        assert either.get(pool_id)["rollup"] == empty
        assert either.ask("sa_fleet", "nodes/get", nodeId=node_id).code == "NOT_FOUND"
        name, before, after = last(either)
        assert (name, before["nodeId"], before["ownerTenantId"], after) == ("node.removed", node_id, "acme", None)
        assert either.ask("sa_fleet", "nodes/remove", nodeId=node_id).code == "NOT_FOUND"

    def test_is_refused_while_the_machine_is_booked(self, either: Plane) -> None:
        pool_id = either.pool()
        node_id = either.join(pool_id, CARD)["id"]
        reservation = either.book(pool_id, "sa_fleet")
        refused = either.ask("sa_fleet", "nodes/remove", nodeId=node_id).error
        assert (refused["code"], refused["rule"]) == ("INVALID_STATE", "node.busy")
        either.end(reservation, "sa_fleet")
        assert either.ask("sa_fleet", "nodes/remove", nodeId=node_id).code == "OK"

    def test_is_the_pool_owners_alone(self, plane: Plane) -> None:
        node_id = plane.join(plane.pool(), CARD, who="sa_acme", ownerTenantId="acme")["id"]
        for who in ("sa_acme", "sa_globex"):
            assert plane.ask(who, "nodes/remove", nodeId=node_id).code == "NOT_FOUND"

    def test_of_one_machine_by_many_is_done_once(self, either: Plane) -> None:
        pool_id = either.pool()
        node_id = either.join(pool_id, CARD)["id"]
        either.join(pool_id, CARD)
        with ThreadPoolExecutor(4) as threads:
            codes = list(threads.map(lambda _: either.ask("sa_fleet", "nodes/remove", nodeId=node_id).code, range(4)))
        assert sorted(codes) == ["NOT_FOUND"] * 3 + ["OK"]
        assert either.get(pool_id)["rollup"]["nodes"] == 1


def attested(plane: Plane, *names: str) -> KeyedAttestor:
    """The first of the attestors that the plane runs from now on."""
    attestors = {name: KeyedAttestor(name, name.encode() * 32, plane.time) for name in names}
    plane.service = replace(plane.service, attestors=attestors)
    plane.handle = handler(plane.service, Tokens(plane.store, plane.time))
    return attestors[names[0]]


def evidence(plane: Plane, attestor: KeyedAttestor, body: Mapping[str, Any], ahead: int = 60_000) -> dict[str, str]:
    claim = claim_of(read(NodesJoin, {"tenantId": "root", **body}))
    made = attestor.evidence(claim, plane.time.now + ahead, plane.service.entropy)
    return {"attestor": attestor.name, "evidence": made}


class TestTheWordOfAnAttestor:
    POLICY = {"joinAttestors": ["site", "lab"]}

    def test_lets_one_machine_in(self, either: Plane) -> None:
        site = attested(either, "site", "lab")
        pool_id = either.pool(policy=self.POLICY)
        body = {"poolId": pool_id, "inventory": INVENTORY, "ownerTenantId": "acme", "control": "tenant"}
        body["attested"] = evidence(either, site, body)
        with ThreadPoolExecutor(4) as threads:
            answers = list(threads.map(lambda _: either.ask("sa_fleet", "nodes/join", body), range(4)))
        assert sorted(answer.code for answer in answers) == ["ACCESS_DENIED"] * 3 + ["OK"]
        assert {a.error["rule"] for a in answers if a.code != "OK"} == {"node.attestor"}
        assert either.get(pool_id)["rollup"]["nodes"] == 1

    @pytest.mark.parametrize(
        "other",
        [
            {"inventory": {**INVENTORY, "vcpu": 193}},
            {"inventory": {**INVENTORY, "attributes": {"rack": "r1"}}},
            {"control": "tenant"},
            {"ownerTenantId": "acme"},
            {"poolId": "pool_of_nobody"},
        ],
        ids=str,
    )
    def test_counts_for_what_it_was_given_for(self, plane: Plane, other: dict[str, Any]) -> None:
        site = attested(plane, "site", "lab")
        body = {"poolId": plane.pool(policy=self.POLICY), "inventory": INVENTORY}
        body["attested"] = evidence(plane, site, body)
        refused = plane.ask("sa_fleet", "nodes/join", {**body, **other}).error
        assert (refused["code"], refused["rule"]) == ("ACCESS_DENIED", "node.attestor")
        assert plane.ask("sa_fleet", "nodes/join", {**body, "control": "platform"}).code == "OK"

    @pytest.mark.parametrize(("ahead", "code"), [(0, "ACCESS_DENIED"), (LONGEST, "OK"), (LONGEST + 1, "ACCESS_DENIED")])
    def test_counts_for_an_hour_at_most(self, plane: Plane, ahead: int, code: str) -> None:
        site = attested(plane, "site", "lab")
        body = {"poolId": plane.pool(policy=self.POLICY), "inventory": INVENTORY}
        given = {**body, "attested": evidence(plane, site, body, ahead)}
        assert plane.ask("sa_fleet", "nodes/join", given).code == code

    def test_of_one_attestor_is_not_anothers(self, plane: Plane) -> None:
        site = attested(plane, "site", "lab")
        body = {"poolId": plane.pool(policy=self.POLICY), "inventory": INVENTORY}
        made = evidence(plane, site, body)
        assert plane.ask("sa_fleet", "nodes/join", body, attested={**made, "attestor": "lab"}).code == "ACCESS_DENIED"
        assert plane.ask("sa_fleet", "nodes/join", body, attested={**made, "attestor": "no"}).code == "ACCESS_DENIED"

    @pytest.mark.parametrize("spelled", [str.upper, lambda e: e.replace("v1.", "v1.0"), lambda e: e + "\n"])
    def test_has_one_spelling(self, plane: Plane, spelled: Any) -> None:
        site = attested(plane, "site", "lab")
        body = {"poolId": plane.pool(policy=self.POLICY), "inventory": INVENTORY}
        made = evidence(plane, site, body)
        assert plane.ask("sa_fleet", "nodes/join", body, attested=made).code == "OK"
        other = {**made, "evidence": spelled(made["evidence"])}
        assert plane.ask("sa_fleet", "nodes/join", body, attested=other).code == "ACCESS_DENIED"

    def test_counts_where_the_policy_names_the_attestor(self, plane: Plane) -> None:
        site = attested(plane, "site", "lab")
        body = {"poolId": plane.pool(policy={"joinAttestors": ["lab"]}), "inventory": INVENTORY}
        refused = plane.ask("sa_fleet", "nodes/join", body, attested=evidence(plane, site, body)).error
        assert (refused["rule"], refused["field"]) == ("node.attestor", "attested.attestor")
        body = {**body, "poolId": plane.pool()}
        assert plane.ask("sa_fleet", "nodes/join", body, attested=evidence(plane, site, body)).code == "ACCESS_DENIED"

    def test_a_pool_may_want_it_in_place_of_join_tokens(self, plane: Plane) -> None:
        attested(plane, "site", "lab")
        refused = plane.try_join(plane.pool(policy=self.POLICY), CARD).error
        assert (refused["rule"], refused["field"]) == ("node.attestor", "joinToken")
        assert plane.try_join(plane.pool(policy={"joinAttestors": ["join-token", "site"]}), CARD).code == "OK"

    def test_comes_with_no_join_token_beside_it(self, plane: Plane) -> None:
        site = attested(plane, "site")
        pool_id = plane.pool(policy={"joinAttestors": ["join-token", "site"]})
        body = {"poolId": pool_id, "inventory": INVENTORY}
        both = plane.ask("sa_fleet", "nodes/join", body, attested=evidence(plane, site, body), joinToken="t").error
        assert (both["code"], both["field"]) == ("INVALID_INPUT", "attested")
        neither = plane.ask("sa_fleet", "nodes/join", body).error
        assert (neither["code"], neither["field"]) == ("INVALID_INPUT", "joinToken")

    def test_that_is_refused_tells_nothing_of_pools(self, plane: Plane) -> None:
        attested(plane, "site")
        wrong = {"attestor": "site", "evidence": f"v1.{plane.time.now + 9}.{'0' * 32}.{'0' * 64}"}
        answers = {
            plane.ask("sa_globex", "nodes/join", poolId=p, inventory=INVENTORY, attested=wrong).raw.body
            for p in (plane.pool(), "pool_none")
        }
        assert len(answers) == 1

    def test_that_failed_for_the_pool_still_counts(self, plane: Plane) -> None:
        site = attested(plane, "site")
        pool_id = plane.pool(policy={"joinAttestors": ["site"]})
        plane.offer(pool_id, "globex")
        body = {"poolId": pool_id, "inventory": INVENTORY, "ownerTenantId": "acme"}
        body["attested"] = evidence(plane, site, body)
        assert plane.ask("sa_fleet", "nodes/join", body).error["rule"] == "offer.tenantOwned"
        plane.ask("sa_fleet", "pools/unoffer", poolId=pool_id, toTenantId="globex")
        assert plane.ask("sa_fleet", "nodes/join", body).code == "OK"
