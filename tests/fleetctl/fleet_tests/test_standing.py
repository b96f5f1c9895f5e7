"""Fleet files that stand for a live state: what applying them to an empty control plane would leave."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fleetctl.desired import Desired, check
from fleetctl.desired.load import assemble, load
from fleetctl.files import FilesError, read_text
from fleetctl.fleet_tests import standing
from fleetctl.plan import make
from tests.fleets import Fleet, fleets, write
from tests.model import ControlPlane, desired, entry


def of(*pools: dict[str, Any], **root: Any) -> Desired:
    fields = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet", "pools": pools, **root}
    return assemble(read_text(json.dumps(fields).encode(), "fleet.yaml"), Path("/fleet"))


@given(fleets(), st.randoms(use_true_random=False))
def test_is_what_an_apply_leaves(fleet: Fleet, random: Random) -> None:
    wished = desired(fleet)
    assume(not any(problem.severity == "error" for problem in check.problems(wished)))
    plane = ControlPlane()
    plan = plane.plan(wished)
    assume(not plan.blocked)
    plane.run(plan)
    with TemporaryDirectory() as name:
        write(fleet, Path(name), random)
        live = standing(load(Path(name)), wished, 0)
    assert make(wished, live).operations == ()
    left = plane.live().pools
    assert live.pools.keys() == left.keys()
    for pool_id, state in live.pools.items():
        assert state.quotas == left[pool_id].quotas
        assert {t: state.terms(t) for t in state.offers} == {t: left[pool_id].terms(t) for t in left[pool_id].offers}


def test_adopted_pools_are_there_under_their_id() -> None:
    files = of(entry("a", id="pool_x", offers=[{"toTenantId": "acme", "quota": {"gpu": 1}}]))
    live = standing(files, files, 5)
    assert [*live.pools] == ["pool_x"]
    assert (live.pools["pool_x"].others, live.instance.now) == (1, 5)
    assert make(files, live).operations == ()


def test_tombstones_make_no_pool_and_nothing_is_nothing() -> None:
    files = of({"idempotencyKey": "a", "archived": True}, entry("b", archived=True), entry("c", offers=[]))
    assert len(standing(files, files, 0).pools) == 1
    assert standing(None, files, 0).pools == {}


def test_what_the_rules_refuse_is_told_with_its_place() -> None:
    single = {"policy": {"singleTenant": True}}
    offers = [{"toTenantId": tenant, "quota": {"gpu": 1}} for tenant in ("acme", "globex")]
    files = of(entry("a", offers=offers, **single), entry("b", **{"class": "metal"}))
    with pytest.raises(FilesError) as caught:
        standing(files, files, 0)
    assert {problem.rule for problem in caught.value.problems} == {"offer.single", "pool.class"}
    assert all(problem.source for problem in caught.value.problems)
