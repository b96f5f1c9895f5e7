"""What is told beside a result: on stderr, once, and only where somebody would be surprised without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fleetctl.cli.runs import ROOT, Fleet

MADE = "There is no .fleet/plane.db yet: a new control plane is made there, and starts with world.yaml\n"


class TestNewControlPlane:
    @pytest.mark.parametrize("command", ["plan", "drift", "whoami"])
    def test_the_command_that_makes_it_tells_so_once(self, command: str, fleet: Fleet) -> None:
        first, second = fleet.on(command, "--format", "json"), fleet.on(command, "--format", "json")
        assert (first.err, second.err) == (MADE, "")
        assert json.loads(first.out)["kind"] == json.loads(second.out)["kind"]

    def test_a_file_of_no_bytes_is_none_yet(self, fleet: Fleet) -> None:
        (fleet.directory / ".fleet").mkdir()
        (fleet.directory / ".fleet" / "plane.db").touch()
        assert fleet.on("plan").err == MADE

    def test_it_is_told_also_where_the_run_fails_behind_it(self, fleet: Fleet) -> None:
        fleet.write(root=ROOT.replace("sa_fleet", "sa_nobody"))
        ran = fleet.on("plan")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.startswith(MADE)
        assert (fleet.directory / ".fleet" / "plane.db").exists()
        assert MADE not in fleet.on("plan").err

    def test_validate_makes_none(self, fleet: Fleet) -> None:
        assert fleet.on("validate").err == ""
        assert not (fleet.directory / ".fleet").exists()


class TestDerivedId:
    def said(self, fleet: Fleet, key: str, *flags: str) -> tuple[int, str]:
        ran = fleet("id", key, "--fleet", str(fleet.directory), *flags)
        assert ran.out.startswith("pool_")
        return ran.code, ran.err

    def test_a_key_that_no_entry_of_the_fleet_may_have_is_told(self, fleet: Fleet) -> None:
        code, err = self.said(fleet, "foo")
        assert code == 0
        assert err == "foo does not begin with the fleet's keyPrefix, fra1-: no entry with this key makes a pool\n"

    def test_a_key_that_no_entry_of_the_fleet_has_is_told_with_the_nearest(self, fleet: Fleet) -> None:
        fleet.write(
            "  - {idempotencyKey: fra1-h100, archived: true}\n  - {idempotencyKey: fra1-h200, archived: true}\n"
        )
        told = 'no entry of this fleet has the key fra1-h10; did you mean "fra1-h100"?\n'
        assert self.said(fleet, "fra1-h10") == (0, told)
        assert self.said(fleet, "fra1-xyz-new") == (0, "no entry of this fleet has the key fra1-xyz-new\n")
        assert self.said(fleet, "fra-h100")[1].endswith('makes a pool; did you mean "fra1-h100"?\n')

    def test_of_an_entry_that_adopts_a_pool_it_is_that_pool(self, fleet: Fleet) -> None:
        fleet.write("  - {idempotencyKey: fra1-a, id: pool_x, archived: true}\n")
        ran = fleet("id", "fra1-a", "--fleet", str(fleet.directory))
        assert (ran.out, ran.err) == ("pool_x\n", "fra1-a adopts this pool by its id\n")

    def test_of_a_renamed_entry_it_is_the_pool_that_it_means(self, fleet: Fleet) -> None:
        """Printed into another command, the id must be that of the pool which is live."""
        fleet.write("  - {idempotencyKey: fra1-new, previously: fra1-old, archived: true}\n")
        where = ("--fleet", str(fleet.directory))
        plain = ("--tenant", "root", "--caller", "sa_fleet")
        old, new = fleet("id", "fra1-old", *plain).out, fleet("id", "fra1-new", *plain).out.strip()
        ran = fleet("id", "fra1-new", *where)
        assert ran.out == old
        assert f"made as fra1-old; if none with this id is live, it is {new} (fra1-new of sa_fleet)" in ran.err
        report = json.loads(fleet("id", "fra1-new", *where, "--format", "json").out)
        assert (report["id"], report["derivedFrom"]["key"]) == (old.strip(), "fra1-old")
        assert [(one["id"], one["derivedFrom"]["key"]) for one in report["others"]] == [(new, "fra1-new")]

    def test_any_other_key_is_not(self, fleet: Fleet) -> None:
        assert self.said(fleet, "fra1-a") == (0, "")
        assert self.said(fleet, "foo", "--tenant", "acme") == (0, "")
        assert self.said(fleet, "foo", "--caller", "sa_old") == (0, "")
        assert self.said(fleet, "foo", "--tenant", "root", "--caller", "sa_fleet") == (0, "")


class TestOneFile:
    MORE = "offers: [{pool: fra1-a, toTenantId: globex, quota: {gpu: 8}}]\n"
    SAID = "Only fleet.yaml is read, and more.yaml is of its fleet too: name the directory to read both\n"

    @pytest.mark.parametrize("command", ["plan", "drift", "validate", "whoami"])
    @pytest.mark.parametrize("head", ["", "apiVersion: fleet/v1\ntenantId: root\n"])
    def test_what_the_directory_holds_besides_is_told(self, head: str, command: str, fleet: Fleet) -> None:
        """Without the other file the plan would withdraw what that offers."""
        fleet.make()
        (fleet.directory / "more.yaml").write_text(head + self.MORE)
        ran = fleet(command, str(fleet.directory / "fleet.yaml"), "--format", "json")
        assert (ran.code in (0, 2), ran.err, bool(json.loads(ran.out))) == (True, self.SAID, True)
        assert fleet.on(command).err == ""

    def test_it_is_told_also_where_the_file_alone_is_no_fleet(self, fleet: Fleet) -> None:
        fleet.write("", ROOT.replace("pools:\n", ""))
        (fleet.directory / "more.yaml").write_text("pools: []\n")
        ran = fleet("plan", str(fleet.directory / "fleet.yaml"))
        assert ran.err.startswith(self.SAID)
        assert "the fleet has no pool" in ran.err

    def test_a_file_that_is_the_whole_fleet_needs_no_words(self, fleet: Fleet) -> None:
        fleet.make()
        assert fleet("plan", str(fleet.directory / "fleet.yaml")).err == ""


def test_a_token_that_an_embedded_control_plane_does_not_ask_for_is_told(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "is not used: an embedded control plane believes the files' caller"
    assert said not in fleet.on("whoami").err
    monkeypatch.setenv("FLEETCTL_TOKEN", "bc_example")
    assert f"The token of FLEETCTL_TOKEN {said}" in fleet.on("whoami").err
    (tmp_path / "token").write_text("bc_example")
    assert f"The token of {tmp_path}/token {said}" in fleet.on("plan", "--token-file", str(tmp_path / "token")).err
