"""A conversation of processes over a real socket: what people and pipelines do with a fleet, from an empty database."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.conftest import serving
from tests.e2e.homes import WORLD, Home, Ran, entry, fleetctl, fleetctl_process, pool_id

Run = Callable[..., subprocess.CompletedProcess[str]]

ROOT = """\
apiVersion: fleet/v1
fleet: platform
tenantId: root
caller: sa_fleet
keyPrefix: fra1-
"""
POOLS = """\
pools:
  - idempotencyKey: fra1-h100
    siteId: site_fra1
    class: metal-host
    gpuModel: H100
    policy: {maxPending: 6h}
    offers:
      - toTenantId: acme
        quota: {gpu: 32}
  - idempotencyKey: fra1-b200
    siteId: site_fra1
    class: metal-host
    gpuModel: B200
    offers: []
"""


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """Files that name no server: the environment does."""
    directory = tmp_path / "fleet"
    directory.mkdir()
    (directory / "fleet.yaml").write_text(ROOT)
    (directory / "fra1.yaml").write_text(POOLS)
    return directory


def check_drift(ran: Ran) -> None:
    """It names the change and its author."""
    assert ran.code == 2, ran.said
    [found] = ran.report["drift"]
    assert found["kind"] == "changed"
    assert (found["poolId"], found["toTenantId"]) == (pool_id("fra1-h100"), "acme")
    assert [(c["path"], c["before"], c["after"]) for c in found["changes"]] == [("quota.gpu", 16, 32)]
    assert (found["actorId"], found["eventType"]) == ("sa_hand", "pool.offered")
    assert found["source"]["file"] == "fra1.yaml"


def test_files_to_servers_and_back(database_url: str, tmp_path: Path, fleet: Path, better_compute: Run) -> None:
    world, root_token = tmp_path / "world.yaml", tmp_path / "root.token"
    world.write_text(WORLD)
    started = better_compute(
        "bootstrap", "--database", database_url, "--world", str(world), "--token-file", str(root_token)
    )
    assert started.returncode == 0, started.stderr
    assert root_token.stat().st_mode & 0o777 == 0o600
    tokens = {who: better_compute("token", who, "--database", database_url).stdout for who in ("sa_fleet", "sa_hand")}
    with serving(database_url) as server:
        ours = {"FLEETCTL_SERVER": server.url, "FLEETCTL_TOKEN": tokens["sa_fleet"].strip()}
        theirs = {"BETTER_COMPUTE_SERVER": server.url, "BETTER_COMPUTE_TOKEN": tokens["sa_hand"].strip()}

        planned = fleetctl_process("plan", fleet, **ours)
        assert planned.code == 0, planned.said
        assert "+ create    fra1-h100" in planned.out
        assert fleetctl("plan", fleet, "--detailed-exitcode", **ours).code == 2
        applied = fleetctl_process("apply", fleet, "--yes", **ours)
        assert (applied.code, applied.out.count("Applied: 3 operations done.")) == (0, 1), applied.said
        assert fleetctl("plan", fleet, "--detailed-exitcode", **ours).code == 0
        assert fleetctl("drift", fleet, **ours).code == 0

        pool = pool_id("fra1-h100")
        to = ("--pool-id", pool, "--to-tenant-id", "acme")
        by_hand = better_compute("pools", "offer", *to, "--quota", "gpu=16", **theirs)
        assert by_hand.returncode == 0, by_hand.stderr
        drifted = fleetctl_process("drift", fleet, **ours)
        assert drifted.code == 2
        assert all(word in drifted.out for word in ("fra1-h100", "acme", "16", "32", "sa_hand", "fra1.yaml:8"))
        check_drift(fleetctl("drift", fleet, "--format", "json", **ours))

        assert fleetctl("plan", fleet, "--detailed-exitcode", **ours).code == 2
        assert fleetctl("apply", fleet, "--yes", **ours).code == 0
        assert fleetctl_process("drift", fleet, **ours).code == 0
        listed = better_compute("pools", "list", "--tenant", "root", "--format", "compact", **theirs)
        assert pool in listed.stdout
        assert server.stop() == 143


def test_readers_plan_and_only_the_caller_applies(database_url: str, tmp_path: Path, fleet: Path) -> None:
    world = tmp_path / "world.yaml"
    world.write_text(WORLD)
    with serving(database_url, "--world", str(world)) as server:
        reader = {"FLEETCTL_SERVER": server.url, "FLEETCTL_TOKEN": server.token("sa_other")}
        stranger = {"FLEETCTL_SERVER": server.url, "FLEETCTL_TOKEN": server.token("sa_acme")}
        planned = fleetctl("plan", fleet, "--format", "json", **reader)
        assert (planned.code, planned.report["reader"], planned.report["caller"]) == (0, "sa_other", "sa_fleet")
        assert planned.report["operations"][0]["poolId"] in (pool_id("fra1-h100"), pool_id("fra1-b200"))
        applied = fleetctl("apply", fleet, "--yes", **reader)
        assert applied.code == 4
        assert "sa_fleet" in applied.err
        assert "sa_other" in applied.err
        assert fleetctl("plan", fleet, **stranger).code == 1
        assert fleetctl("plan", fleet, FLEETCTL_SERVER=server.url).code == 1
        with server.connect() as owner:
            assert list(owner.client.events.all()) == []


def test_a_customer_has_a_fleet_of_its_own(tmp_path: Path) -> None:
    """On its own site, beside what it is offered by others."""
    home = Home(tmp_path)
    home.wish(entry("shared", {"acme": 8}))
    home.apply()
    home.wish(entry("own", {"globex": 2}, siteId="site_acme"), tenantId="acme", caller="sa_acme")
    report = home.apply().report
    assert {o["poolId"] for o in report["done"]} == {pool_id("own", "sa_acme", "acme")}
    assert home.is_settled()
    assert home.plan().report["summary"]["foreign"] == 0
    home.wish(entry("own", [], siteId="site_fra1"), tenantId="acme", caller="sa_acme", keyPrefix="own")
    assert "pools[own].siteId" in home.plan(code=3).out


def test_a_drift_that_asks_no_history_breaks_the_law(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: nobody looks who it was."""
    home = Home(tmp_path)
    home.files(root=ROOT, fra1=POOLS)
    home.apply()
    with home.hand() as client:
        client.call("pools/offer", {"poolId": pool_id("fra1-h100"), "toTenantId": "acme", "quota": {"gpu": 16}})
    check_drift(home.run("drift", "--format", "json"))
    monkeypatch.setattr("fleetctl.history.History.of", lambda *_: None)
    with pytest.raises(AssertionError, match="'pending' == 'changed'"):
        check_drift(home.run("drift", "--format", "json"))
