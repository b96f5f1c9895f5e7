"""Kind h: what a GPU pool is, and what it can never hold."""

from __future__ import annotations

import pytest

from better_compute.domain.problems import ComputeError
from tests.better_compute.plane import CARD
from tests.e2e.homes import Home, entry, pool_id, unchanged


@pytest.mark.parametrize(
    ("model", "hint"),
    [("NVIDIA H100 80GB HBM3", "use H100"), ("H100-SXM5-80GB", "use H100"), ("Hopper", ""), ("h200", "use H200")],
)
def test_k071_a_product_is_no_family(home: Home, model: str, hint: str) -> None:
    home.wish(entry("fra1-a", [], gpuModel=model))
    with unchanged(home):
        blocked = home.apply(code=3)
    [finding] = [f for f in blocked.report["findings"] if f["severity"] == "error"]
    assert (finding["rule"], finding["path"], finding["hint"]) == ("pool.model", "pools[fra1-a].gpuModel", hint)
    assert home.run("validate").code == 1


def test_k071_a_family_that_is_not_known_is_a_warning(home: Home) -> None:
    home.wish(entry("fra1-a", [], gpuModel="H1000"))
    [finding] = home.plan().report["findings"]
    assert (finding["rule"], finding["severity"]) == ("pool.model", "warning")


def test_k074_rows_of_atoms_that_a_pool_can_never_have_are_told(home: Home) -> None:
    mixed = [{"toTenantId": "acme", "quota": {"gpu": 8, "gpu.mig": 0}}]
    slots = [{"toTenantId": "acme", "quota": {"gpu.slot": 16}}]
    home.wish(entry("fra1-mig", mixed, sharing="mig", ownerQuota={"gpu.mig": 7}), entry("fra1-whole", slots))
    found = {(f["path"], f["hint"]) for f in home.plan().report["findings"] if "grants nothing" in f["message"]}
    assert found == {
        ("pools[fra1-mig].offers[acme].quota.gpu", "use gpu.mig"),
        ("pools[fra1-whole].offers[acme].quota.gpu.slot", "use gpu"),
    }


def test_k074_whole_gpus_in_a_mig_pool_are_refused_and_never_wait(home: Home) -> None:
    """Its machines name whole cards beside their slices: those cannot be booked."""
    offers = [{"toTenantId": "acme", "quota": {"gpu": 8, "gpu.mig": 8}}]
    home.wish(entry("fra1-mig", offers, sharing="mig", ownerQuota={"gpu.mig": 7}))
    home.apply()
    pool = pool_id("fra1-mig")
    with home.hand() as client:
        token = client.nodes.create_join_token(pool).join_token
        gpus = [CARD, *[f"{CARD} MIG 3g.40gb"] * 2]
        client.nodes.join(pool, join_token=token, inventory={"gpus": gpus})
        assert client.pools.get(pool).rollup.gpus == 0
    with home.hand("sa_acme", "acme") as acme:
        with pytest.raises(ComputeError) as refused:
            acme.reservations.create(pool, {"gpu": 1})
        [problem] = refused.value.problems
        assert (problem.code, problem.rule, problem.path) == ("INVALID_INPUT", "reservation.atoms", "resources.gpu")
        assert acme.reservations.list() == []
        assert acme.reservations.create(pool, {"gpu.mig": 2}, selectors={"migProfile": "3g.40gb"}).state == "placed"


@pytest.mark.parametrize("sharing", ["timeslice", "mps"])
def test_k075_a_shared_gpu_is_offered_to_nobody_else(home: Home, sharing: str) -> None:
    offers = [{"toTenantId": "acme", "quota": {"gpu.slot": 16}}]
    slices = {"sharing": sharing, "policy": {"gpu": {"slots": 4}}, "ownerQuota": {"gpu.slot": 64}}
    home.wish(entry("fra1-slices", offers, **slices), entry("fra1-other", {"acme": 8}))
    with unchanged(home):
        blocked = home.apply(code=3)
    [finding] = [f for f in blocked.report["findings"] if f["severity"] == "error"]
    assert (finding["rule"], finding["code"]) == ("offer.sharing", "INVALID_STATE")
    assert finding["source"]["file"] == "fleet.yaml"
    home.wish(entry("fra1-slices", [], **slices))
    home.apply()
    assert home.is_settled()


def test_k075_a_single_tenant_is_one_and_has_no_descendants(home: Home) -> None:
    wide = [{"toTenantId": "acme", "quota": {"gpu": 8}, "includeDescendants": True}]
    policy = {"singleTenant": True}
    home.wish(entry("a", wide, policy=policy), entry("b", {"acme": 8, "globex": 8}, policy=policy))
    with unchanged(home):
        blocked = home.apply(code=3)
    errors = [(f["rule"], f["path"]) for f in blocked.report["findings"] if f["severity"] == "error"]
    assert sorted(errors) == [
        ("offer.single", "pools[a].offers[acme].includeDescendants"),
        ("offer.single", "pools[b].offers[globex].toTenantId"),
    ]


def test_k077_the_model_of_a_pool_with_machines_stays(home: Home) -> None:
    home.wish(entry("racked", {"acme": 32}))
    home.apply()
    with home.hand() as client:
        assert client.pools.get(pool_id("racked")).rollup.models == {"H100": 4}
    with home.hand("sa_acme", "acme") as acme:
        for _ in range(4):
            assert acme.reservations.create(pool_id("racked"), {"gpu": 5}).state == "placed"
    home.wish(entry("racked", {"acme": 32}, gpuModel="H200"))
    with unchanged(home):
        blocked = home.apply("--allow", "modelChange=1", "--reason", "test", code=3)
    [finding] = [f for f in blocked.report["findings"] if f["severity"] == "error"]
    assert (finding["rule"], finding["code"]) == ("pool.update", "INVALID_STATE")
    [operation] = blocked.report["operations"]
    assert operation["effects"] == [
        "meters and authorization follow the new model",
        "20 gpu in use are metered as gpu.h200.hours from then on, no longer as gpu.h100.hours",
        "4 machines in it have H100",
    ]


def test_k077_a_change_of_model_says_what_follows(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 32}))
    home.apply()
    home.wish(entry("fra1-a", {"acme": 32}, gpuModel="H200"))
    planned = home.plan(code=3)
    [operation] = planned.report["operations"]
    assert operation["effects"] == ["meters and authorization follow the new model"]
    assert [f["rule"] for f in planned.report["findings"] if f["severity"] == "error"] == ["guard.modelChange"]
    home.apply("--allow", "modelChange=1", "--reason", "test")
    assert home.is_settled()
