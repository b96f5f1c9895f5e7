"""Snapshots: a plan from one is the live plan, and a file that is not to the byte what was written is refused."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator

from better_compute.domain.problems import ComputeError
from fleetctl import history, snapshot
from fleetctl.desired import Desired
from fleetctl.errors import Stop
from fleetctl.flow.drift import drift
from fleetctl.flow.plan import plan
from fleetctl.live import Live
from fleetctl.live import read as read_live
from fleetctl.override import Override
from fleetctl.report.forms import DriftReport, PlanReport
from fleetctl.request import Request
from fleetctl.snapshot import Saved
from tests.e2e.homes import Home, entry, pool_id, served

POOLS = [
    entry("fra1-a", {"acme": 8, "globex": 4}, policy={"note": "zażółć \U0001f600", "token": "hunter2"}),
    entry("fra1-b", [], sharing="mig", ownerQuota={"gpu.mig": 7}, policy={"gpu": {"mig": {"strategy": "single"}}}),
    entry("fra1-c", {"initech": 2}),
    entry("racked", {"acme": 16}),
]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Some pools, one of them archived, one with machines, one changed by hand."""
    home = Home(tmp_path)
    home.wish(*POOLS)
    home.apply()
    with home.hand() as client:
        client.call("pools/archive", {"poolId": pool_id("fra1-c")})
        client.call("quotas/set", {"poolId": pool_id("fra1-a"), "toTenantId": "acme", "quota": {"gpu": 12}})
    home.wish(*POOLS[:2], entry("fra1-d", {"umbrella": 1}, policy={"password": "s3cret"}))
    return home


def taken(home: Home) -> Path:
    """A snapshot in a file."""
    path = home.directory.parent / "live.json"
    ran = home.run("snapshot", "--out", path)
    assert (ran.code, ran.out) == (0, ""), ran.said
    return path


def live_of(home: Home) -> Live:
    with home.hand("sa_fleet") as client:
        return read_live(client, "embedded:../plane.db", "root")


class TestFile:
    def test_reads_back_as_the_live_state_that_it_was_made_of(self, home: Home) -> None:
        saved, live = snapshot.read(taken(home)), live_of(home)
        assert (saved.live.pools, saved.live.sites) == (live.pools, live.sites)
        assert (saved.live.sequence, saved.live.reader_id, saved.live.tenant_id) == (live.sequence, "sa_fleet", "root")
        assert saved.live.instance.digest_key == live.instance.digest_key
        assert saved.live.pools[pool_id("racked")].rollup.gpus == 32
        assert saved.live.pools[pool_id("fra1-c")].pool.archived  # type: ignore[union-attr]

    def test_keeps_the_last_event_of_every_object(self, home: Home) -> None:
        saved = snapshot.read(taken(home))
        with home.hand() as client:
            assert saved.history == history.read(client, saved.live.pools)
        one = {pool_id("fra1-a")}
        event = saved.history.among(one).of((pool_id("fra1-a"), "acme"))
        assert event is not None
        assert (event.type, event.actor_id) == ("quota.updated", "sa_hand")
        assert {subject[0] for subject in saved.history.among(one).events} == one
        assert saved.history.among(one, after=event.sequence).events == {}

    def test_is_for_its_owner_alone_and_says_that_it_holds_secrets(self, home: Home) -> None:
        path = home.directory.parent / "live.json"
        ran = home.run("snapshot", "--out", path)
        assert os.stat(path).st_mode & 0o777 == 0o600
        assert "secrets in clear" in ran.err
        assert "hunter2" in path.read_text()

    def test_is_ascii_and_the_same_on_stdout(self, home: Home) -> None:
        ran = home.run("snapshot", LC_ALL="C", PYTHONIOENCODING="ascii")
        assert (ran.code, ran.out.isascii()) == (0, True)
        assert "secrets in clear" in ran.err
        told, kept = json.loads(ran.out), json.loads(taken(home).read_text())
        for each in (told, kept):
            del each["server"]["time"], each["checksum"]
        assert told == kept

    def test_its_checksum_is_of_all_other_lines(self, home: Home) -> None:
        opening, checksum, *rest = taken(home).read_text().splitlines(keepends=True)
        digest = hashlib.sha256("".join((opening, *rest)).encode()).hexdigest()
        assert checksum == f'"checksum": "{digest}",\n'

    def test_keeps_to_its_schema(self, home: Home) -> None:
        document = json.loads(taken(home).read_text())
        assert list(Draft202012Validator(snapshot.schema()).iter_errors(document)) == []

    def test_is_never_written_in_the_place_of_a_file_of_the_fleet(self, home: Home) -> None:
        for name in ("fleet.yaml", "live.yaml"):
            ran = home.run("snapshot", "--out", home.directory / name)
            assert (ran.code, ran.out) == (64, "")
        assert "fra1-d" in (home.directory / "fleet.yaml").read_text()

    def test_needs_no_pool_in_the_files(self, home: Home) -> None:
        home.wish()
        assert len(snapshot.read(taken(home)).live.pools) == 4

    def test_needs_no_files_where_the_environment_says_enough(self, home: Home, tmp_path: Path) -> None:
        home.directory = tmp_path / "nothing"
        home.directory.mkdir()
        ran = home.run("snapshot", FLEETCTL_TENANT="root", FLEETCTL_CALLER="sa_fleet")
        assert ran.code == 1
        assert "no server is named" in ran.err
        ran = home.run("snapshot")
        assert "FLEETCTL_TENANT" in ran.err


def asked(home: Home, path: Path, **fields: Any) -> Request:
    """What a command on the fleet asks for when it is given a snapshot."""
    usual: dict[str, Any] = {"server": None, "environ": {}, "token_file": None, "timeout": 1.0}
    usual |= {"override": Override({}), "tell": lambda _: None, "snapshot": path}
    return Request(path=home.directory, **{**usual, **fields})


class TestPlan:
    def test_from_a_snapshot_is_the_live_plan(self, home: Home) -> None:
        path, live = taken(home), home.plan().report
        home.database.unlink()
        made = cast(PlanReport, plan(asked(home, path)).report)
        assert made["operations"] == live["operations"] != []
        assert [made[name] for name in ("digest", "inputs", "sequence", "reader", "losses", "capacity")] == [
            live[name] for name in ("digest", "inputs", "sequence", "reader", "losses", "capacity")
        ]
        assert (made["snapshot"], live["snapshot"]) == (True, False)
        assert made["createdAt"] == snapshot.read(path).live.instance.now
        assert not home.database.exists()

    def test_what_it_does_not_hold_is_unchecked(self, home: Home) -> None:
        found = cast(PlanReport, plan(asked(home, taken(home))).report)["findings"]
        assert {(f["rule"], f["severity"]) for f in found} >= {
            ("offer.tenant", "unchecked"),
            ("server.rights", "unchecked"),
        }

    def test_over_a_network_it_needs_no_token(self, home: Home) -> None:
        with served(home) as (_, proxy):
            path = home.directory.parent / "live.json"
            ran = home.run("snapshot", "--server", proxy.url, "--out", path)
            assert ran.code == 0, ran.said
            live = home.plan().report
        made = cast(PlanReport, plan(asked(home, path, server=proxy.url)).report)
        assert (made["digest"], made["server"]) == (live["digest"], live["server"])
        with pytest.raises(Stop) as caught:
            plan(asked(home, path))
        assert caught.value.exit_code == 4

    def test_a_pin_of_the_environment_holds_too(self, home: Home) -> None:
        with pytest.raises(Stop) as caught:
            plan(asked(home, taken(home), environ={"FLEETCTL_TENANT": "acme"}))
        assert caught.value.exit_code == 4

    def test_drift_tells_since_when_and_by_whom(self, home: Home) -> None:
        path, live = taken(home), home.run("drift", "--format", "json").report
        home.database.unlink()
        found = cast(DriftReport, drift(asked(home, path)).report)
        assert found["drift"] == live["drift"]
        told = [(d["kind"], d["key"], d["toTenantId"], d["actorId"]) for d in found["drift"]]
        assert ("changed", "fra1-a", "acme", "sa_hand") in told
        assert (found["snapshot"], live["snapshot"]) == (True, False)


def refused(path: Path) -> str:
    with pytest.raises(ComputeError) as caught:
        snapshot.read(path)
    (problem,) = caught.value.problems
    assert problem.rule == "snapshot.file"
    assert str(path) in problem.message
    return problem.message


class TestRefusals:
    @pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 0.999])
    def test_a_file_that_was_cut(self, home: Home, part: float) -> None:
        path = taken(home)
        data = path.read_bytes()
        path.write_bytes(data[: int(len(data) * part)])
        refused(path)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ('"max":12', '"max":13'),
            ('"sa_hand"', '"sa_fleet"'),
            ('"hunter2"', '"hunter3"'),
            ('"sequence": ', '"more": 1, "sequence": '),
            ('"formatVersion": 1', '"formatVersion": 2'),
            ('"kind": "snapshot"', '"kind": "plan"'),
            ('"checksum": "', '"checksum": "0'),
            ("\n", "\n\n"),
        ],
    )
    def test_a_file_that_was_altered(self, home: Home, old: str, new: str) -> None:
        path = taken(home)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))
        refused(path)

    @pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"null", b"\xff\xfe", b"{" * 100_000, b"[" * 100_000, b"1"])
    def test_what_is_no_snapshot(self, tmp_path: Path, data: bytes) -> None:
        path = tmp_path / "x.json"
        path.write_bytes(data)
        refused(path)

    def test_what_is_not_there_or_no_file(self, tmp_path: Path) -> None:
        assert "cannot be read" in refused(tmp_path / "none.json")
        assert "cannot be read" in refused(tmp_path)

    @pytest.mark.parametrize(
        "bend",
        [
            lambda d: d["pools"][0].update(ownerTenantId="acme"),
            lambda d: d["pools"][0].update(sharing="shared"),
            lambda d: d["pools"].append(d["pools"][0]),
            lambda d: d["pools"].reverse(),
            lambda d: d["pools"][0].pop("offers"),
            lambda d: d["pools"][0]["policy"].update(x=2**60),
            lambda d: d["events"].reverse(),
            lambda d: d["server"].update(digestKey="00"),
            lambda d: d["server"].update(derivation="other"),
            lambda d: d.update(tenantId="no such\x1b[31m"),
        ],
    )
    def test_a_checksum_alone_makes_no_snapshot(self, home: Home, bend: Any) -> None:
        path = taken(home)
        document = json.loads(path.read_text())
        bend(document)
        del document["checksum"]
        path.write_bytes(snapshot.spelled(document))
        refused(path)


class TestTarget:
    def wished(self, **fields: Any) -> Desired:
        base: dict[str, Any] = {"fleet": "f", "tenant_id": "root", "caller": "sa", "key_prefix": None, "server": None}
        return Desired(**{**base, "entries": {}, **fields})

    @pytest.mark.parametrize("flag", [[], ["--server", "SAME/"]], ids=["the files' server", "a flag's"])
    def test_the_same_tenant_and_server_pass(self, home: Home, flag: list[str]) -> None:
        path = taken(home)
        url = snapshot.read(path).live.instance.url
        ran = home.run("plan", "--snapshot", path, "--format", "json", *(part.replace("SAME", url) for part in flag))
        assert (ran.code, ran.report["server"]["url"], ran.report["server"]["overridden"]) == (0, url, False)

    @pytest.mark.parametrize(
        ("fields", "url", "said"),
        [
            ({"tenant_id": "acme"}, None, "tenant: the snapshot is of root, and acme"),
            ({}, "https://other.example.com", "server: the snapshot is of embedded:../plane.db, and https://other"),
        ],
    )
    def test_another_one_is_exit_4(self, home: Home, fields: dict[str, Any], url: str | None, said: str) -> None:
        saved: Saved = snapshot.read(taken(home))
        with pytest.raises(Stop) as caught:
            snapshot.check(saved, self.wished(**fields), url)
        assert caught.value.exit_code == 4
        assert said in caught.value.details[0]
