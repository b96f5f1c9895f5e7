"""Until its seal fits a plan file is anybody's text: nothing that it says is acted on, whatever it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fleetctl.spelling import canonical_text, checksum
from tests.e2e.homes import Home, entry, served, unchanged

ALTERED: dict[str, dict[str, Any]] = {
    "another directory as the base": {"base": {"ref": "/etc", "commit": None}},
    "another commit as the base": {"base": {"ref": "main", "commit": "0" * 40}},
    "a flag as the base": {"base": {"ref": "x", "commit": "--output=x"}},
    "pruning": {"prune": True},
    "a part that is none": {"selection": {"only": ["x"], "exclude": [], "outside": 0}},
    "a part of nothing": {"selection": {"only": ["key=nosuch"], "exclude": [], "outside": 0}},
}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.wish(entry("fra1-a", {"acme": 8}))
    return home


def altered(home: Home, *flags: str | Path, **fields: Any) -> Path:
    """A plan file with other fields and a checksum that fits."""
    path = home.directory.parent / "plan.json"
    home.plan("--out", path, *flags)
    plan = {**json.loads(path.read_text()), **fields}
    path.write_text(canonical_text({**plan, "checksum": checksum(plan)}))
    return path


@pytest.mark.parametrize("flags", [(), ("--prune",), ("--base-dir", "/etc"), ("--only", "key=fra1-a")])
@pytest.mark.parametrize("what", ALTERED)
def test_an_altered_plan_file_is_told_so_and_nothing_that_it_names_is_read(
    home: Home, what: str, flags: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = altered(home, **ALTERED[what])

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the base was read")

    for name in ("at_dir", "at_ref", "before"):
        monkeypatch.setattr(f"fleetctl.base.bases.{name}", never)
    with unchanged(home):
        ran = home.run("apply", "--plan", path, *flags)
    assert (ran.code, ran.out) == (4, ""), ran.said
    assert "the plan file was altered since it was made" in ran.err
    assert "Hint: make a new plan" in ran.err


@pytest.mark.parametrize("seal", ["é" * 64, "\U0001f600", "", "0" * 64, "\x00"])
def test_a_seal_is_any_text(home: Home, seal: str) -> None:
    path = altered(home, seal=seal)
    with unchanged(home):
        ran = home.run("apply", "--plan", path)
    assert (ran.code, "the plan file was altered since it was made" in ran.err) == (4, True), ran.said


def test_half_a_character_is_no_text(home: Home) -> None:
    path = altered(home, seal="0")
    path.write_text(path.read_text().replace('"seal": "0"', '"seal": "\\ud800"'))
    with unchanged(home):
        ran = home.run("apply", "--plan", path)
    assert (ran.code, "does not match its digest" in ran.err) == (4, True)


def test_a_plan_with_a_base_for_a_database_that_was_made_anew_says_so(home: Home, tmp_path: Path) -> None:
    other = tmp_path / "base"
    other.mkdir()
    (other / "fleet.yaml").write_text((home.directory / "fleet.yaml").read_text())
    path = altered(home, "--base-dir", other)
    home.sql("UPDATE tenants SET digest_key = ? WHERE id = 'root'", b"k" * 32)
    with unchanged(home):
        ran = home.run("apply", "--plan", path)
    assert (ran.code, "or the control plane's database was made anew" in ran.err) == (4, True), ran.said


class TestWithoutAControlPlane:
    """An apply of a plan file makes none: no plan was made for one that is not there."""

    def refused(self, home: Home, path: Path) -> None:
        before = sorted(home.directory.parent.rglob("*"))
        ran = home.run("apply", "--plan", path)
        assert (ran.code, ran.out) == (4, ""), ran.said
        assert "there is no ../plane.db: the plan or report is of another control plane" in ran.err
        assert "give --server URL" in ran.err
        assert sorted(home.directory.parent.rglob("*")) == before

    def test_a_served_plan_without_the_server_is_refused(self, home: Home) -> None:
        with served(home):
            path = altered(home)
        home.target = ()
        for file in home.database.parent.glob("plane.db*"):
            file.unlink()
        self.refused(home, path)

    @pytest.mark.parametrize("data", [None, b""])
    def test_neither_is_one_made_where_its_file_is_gone_or_empty(self, home: Home, data: bytes | None) -> None:
        path = altered(home)
        for file in home.database.parent.glob("plane.db*"):
            file.unlink()
        if data is not None:
            home.database.write_bytes(data)
        self.refused(home, path)

    def test_whatever_is_wrong_with_the_file_itself_is_told_first(self, home: Home) -> None:
        path = altered(home)
        path.write_text("{}")
        home.database.unlink()
        assert "plan.file" in home.run("apply", "--plan", path, "--format", "json").out
        assert not home.database.exists()
