"""What makes two plans the same, and what does not."""

from __future__ import annotations

import hashlib
import hmac
import json
from dataclasses import fields, replace
from typing import Any

import pytest

from better_compute.domain.commands import UpdatePool
from better_compute.domain.policy import check_policy
from fleetctl.live import Live
from fleetctl.plan import Plan, Scope, make
from fleetctl.plan.digest import content, operation_digest, plan_digest
from tests.fleets import OWNER
from tests.model import ControlPlane, desired, entry, fleet

SCOPE = Scope(derivation="v1", instance_id="inst_1", fleet="default", tenant_id="root", caller="sa_fleet")
OFFERS = [{"toTenantId": tenant, "quota": {"gpu": 8}} for tenant in ("acme", "globex")]
SECRET = {"acceptance": [{"kind": "diag.nvml", "apiKey": "hunter2-example"}]}


def offered(tenant: str, gpu: int, **rows: int) -> dict[str, Any]:
    return {"toTenantId": tenant, "quota": {"gpu": gpu, **rows}}


def planned(live: Live | None = None, **fields: Any) -> Plan:
    """Of one pool with two offers."""
    pool = entry("fra1-a", **{"offers": OFFERS, "policy": SECRET, **fields})
    return make(desired(fleet(pool)), live or ControlPlane().live())


def test_it_is_sha_256_over_the_scope_and_the_operations_in_canonical_json() -> None:
    contents = [content(operation, bytes(32)) for operation in planned().operations]
    actions = ["create", "update", "offer", "setQuota", "unoffer", "archive"]
    ordered = sorted(contents, key=lambda c: (c["poolId"], actions.index(c["action"]), c["toTenantId"] or ""))
    whole = {
        "formatVersion": 1,
        "derivation": "v1",
        "instanceId": "inst_1",
        "fleet": "default",
        "tenantId": "root",
        "caller": "sa_fleet",
        "operations": ordered,
    }
    text = json.dumps(whole, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    assert plan_digest(SCOPE, contents) == hashlib.sha256(text.encode()).hexdigest()


def test_the_order_of_operations_is_no_part_of_it() -> None:
    contents = [content(operation, bytes(32)) for operation in planned().operations]
    assert plan_digest(SCOPE, contents) == plan_digest(SCOPE, contents[::-1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"policy": {"maxPending": "6h"}}, {"policy": {"maxPending": "360m"}}),
        ({"policy": {"overcommit": 1000}}, {"policy": {"overcommit": 100.0}}),
        ({"ownerQuota": {"gpu": 8, "vcpu": 0}}, {"ownerQuota": {"gpu": 8}}),
        ({"offers": [offered("acme", 8, vcpu=0)]}, {"offers": [offered("acme", 8)]}),
    ],
)
def test_another_spelling_of_the_same_is_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert planned(**one).digest == planned(**other).digest
    assert planned(**one).inputs == planned(**other).inputs


def test_a_row_that_is_to_go_is_no_row_that_stays() -> None:
    plane = ControlPlane()
    plane.run(planned(plane.live(), offers=[offered("acme", 8, vcpu=4)]))
    both = [planned(plane.live(), offers=[offered("acme", 9, **rows)]) for rows in ({}, {"vcpu": 0}, {"vcpu": 4})]
    assert both[0].digest == both[1].digest != both[2].digest


@pytest.mark.parametrize("name", [field.name for field in fields(Scope)])
def test_every_part_of_the_scope_counts_for_plans_and_operations(name: str) -> None:
    other = replace(SCOPE, **{name: "other"})
    (first, *_) = contents = [content(operation, bytes(32)) for operation in planned().operations]
    assert plan_digest(SCOPE, contents) != plan_digest(other, contents)
    assert operation_digest(SCOPE, first) != operation_digest(other, first)


def test_a_precondition_counts_and_each_operation_by_itself() -> None:
    plane = ControlPlane()
    plane.run(planned(policy={}))
    pool_id = next(iter(plane.pools))
    before = planned(plane.live(), policy={"note": "b"})
    plane.do(UpdatePool(tenant_id=OWNER, pool_id=pool_id, policy={"note": "a"}))
    after = planned(plane.live(), policy={"note": "b"})
    assert [o.after for o in before.operations] == [o.after for o in after.operations]
    assert before.digest != after.digest
    assert before.operations[0].digest != after.operations[0].digest


def test_places_and_reasons_effects_and_dependencies_do_not_count() -> None:
    operation = planned().operations[-1]
    other = replace(operation, n=99, depends_on=(), effects=("x",), place=operation.place.at("x"), severity="lowers")
    assert content(operation, bytes(32)) == content(other, bytes(32))


def test_times_and_events_of_the_live_state_do_not_count() -> None:
    live = ControlPlane().live()
    later = replace(live, sequence=99, reader_id="sa_ci", instance=replace(live.instance, now=1, url="elsewhere"))
    assert planned(live).digest == planned(later).digest


def test_a_secret_counts_and_cannot_be_guessed_without_the_key() -> None:
    live = ControlPlane().live()
    other_key = replace(live, instance=replace(live.instance, digest_key=b"k" * 32))
    other_secret = {"acceptance": [{"kind": "diag.nvml", "apiKey": "hunter3-example"}]}
    digests = {planned(live).digest, planned(other_key).digest, planned(live, policy=other_secret).digest}
    assert len(digests) == 3
    contents = [content(operation, live.instance.digest_key) for operation in planned(live).operations]
    assert "hunter2-example" not in json.dumps(contents)


def test_nothing_in_clear_looks_like_a_secret() -> None:
    """Whoever may read the tenant's pools has the key, and could write down what stands for a secret in the digest."""
    live, url = ControlPlane().live(), "https://u:p@host/"
    secret = hmac.new(live.instance.digest_key, json.dumps(url).encode(), hashlib.sha256).hexdigest()
    alike = [{"x": url}, {"x": secret}, {"x": {"hmac": secret}}, {"x": [secret]}]
    assert len({planned(live, policy=policy).digest for policy in alike}) == len(alike)
    (create, *_) = planned(live, policy={"x": url}).operations
    stands_for_it = content(create, live.instance.digest_key)["after"]["policy"]["x"]
    refused = check_policy({"x": stands_for_it}, sharing="exclusive", class_="metal-host", attestors=None)
    assert ["control characters" in problem.message for problem in refused] == [True]


def test_without_a_secret_the_key_does_not_count_for_the_digest_but_for_the_inputs() -> None:
    live = ControlPlane().live()
    other = replace(live, instance=replace(live.instance, digest_key=b"k" * 32))
    one, two = planned(live, policy={}), planned(other, policy={})
    assert one.digest == two.digest
    assert one.inputs != two.inputs
