"""attest: evidence that lets one machine into a pool of a server that runs the attestor."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.attestors import read_attestors
from better_compute.bootstrap.outside import Outside
from better_compute.bootstrap.plane import opened
from tests.better_compute.api.served import served
from tests.better_compute.cli.conftest import Run

MACHINE = '{"gpus": ["NVIDIA H100 80GB HBM3"], "vcpu": 8}'


@pytest.fixture
def key(tmp_path: Path) -> str:
    file = tmp_path / "site.key"
    file.write_text("5" * 64)
    return f"site={file}"


def test_a_machine_joins_with_what_it_wrote_once(
    cli: Run, database: str, key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = cli("token", "sa_fleet", "--database", database).out.strip()
    outside = Outside(attestors=read_attestors([key], SYSTEM.clock))
    with opened(database, SYSTEM, outside=outside) as plane, served(plane.by_token(print)) as url:
        monkeypatch.setenv("BETTER_COMPUTE_SERVER", url)
        monkeypatch.setenv("BETTER_COMPUTE_TOKEN", token)
        policy = '{"joinAttestors": ["site"]}'
        flags = ("--site-id", "site_fra1", "--class", "metal-host", "--gpu-model", "H100", "--policy", policy)
        pool_id = json.loads(cli("pools", "create", *flags, "--format", "json").out)["id"]
        stated = ("--pool-id", pool_id, "--inventory", MACHINE, "--control", "tenant", "--owner-tenant-id", "acme")
        made = cli("attest", "--attestor", key, *stated, "--minutes", "5")
        assert (made.code, made.err) == (0, "")
        evidence = tmp_path / "evidence.json"
        evidence.write_text(made.out)
        joined = cli("nodes", "join", *stated, "--attested", f"@{evidence}", "--format", "json")
        assert json.loads(joined.out)["control"] == "tenant"
        again = cli("nodes", "join", *stated, "--attested", f"@{evidence}")
        assert (again.code, "this evidence let a machine in already" in again.err) == (1, True)
        node_id = json.loads(joined.out)["id"]
        freed = cli("nodes", "setControl", "--node-id", node_id, "--owner-tenant-id", "null", "--format", "json")
        assert "ownerTenantId" not in json.loads(freed.out)


@pytest.mark.parametrize(
    ("flags", "code", "says"),
    [
        (["--minutes", "61"], 64, "61 is not in the range"),
        (["--minutes", "0"], 64, "0 is not in the range"),
        (["--inventory", '{"cores": 4}'], 1, "there is no such field"),
        (["--attestor", "site=/nowhere"], 1, "cannot be read"),
    ],
)
def test_what_no_machine_could_claim_is_refused(cli: Run, key: str, flags: list[str], code: int, says: str) -> None:
    done = cli("attest", "--attestor", key, "--pool-id", "pool_1", "--inventory", MACHINE, *flags)
    assert (done.code, done.out) == (code, "")
    assert says in done.err
    assert "5555" not in done.err


def test_it_asks_for_an_attestor(cli: Run) -> None:
    assert cli("attest", "--pool-id", "p", "--inventory", MACHINE).code == 64
