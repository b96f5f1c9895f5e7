"""World files: their own mistakes, offline, and what they declare that a database has not."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetctl.desired import Embedded
from fleetctl.desired.declared import Declared, problems
from fleetctl.desired.load import load
from tests.fleetctl.cli.runs import WORLD
from tests.reading import HEAD, POOL

LATER = (
    WORLD.replace("{id: acme}", "{id: acme}, {id: late_tenant}") + "providerAccounts: [{id: pa_x, tenantId: root}]\n"
)


def made(directory: Path, named: str, world: str) -> Path:
    """A fleet in a folder of its own, and the file that it names as its world."""
    home = directory / "fleet"
    home.mkdir()
    (home / "fleet.yaml").write_text(f"{HEAD}server: {{embedded: plane.db, world: {named}}}\npools:\n{POOL}")
    (home / named).parent.mkdir(exist_ok=True)
    (home / named).write_text(world)
    return home


@pytest.mark.parametrize(
    ("named", "shown"), [("world.yaml", "world.yaml"), ("./w/a.yaml", "w/a.yaml"), ("../w.yaml", "../w.yaml")]
)
@pytest.mark.parametrize("database", [False, True])
def test_every_mistake_of_a_world_file_is_found_where_it_stands(
    named: str, shown: str, database: bool, tmp_path: Path
) -> None:
    home = made(tmp_path, named, "tenants: [{id: acme, parent: root}]\nsites: [{id: s, tenantId: root, kind: shred}]\n")
    if database:
        (home / "plane.db").touch()
    assert {(str(p.source), p.path) for p in problems(load(home))} == {
        (f"{shown}:1:22", "tenants[0].parent"),
        (f"{shown}:2:39", "sites[0].kind"),
        (f"{shown}:2:9", "sites[0].region"),
    }


def test_a_world_file_that_is_no_yaml_is_found(tmp_path: Path) -> None:
    (problem,) = problems(load(made(tmp_path, "world.yaml", "tenants: [\n")))
    assert (problem.rule, problem.source and problem.source.file) == ("yaml", "world.yaml")


def test_a_sound_world_file_has_no_problem(tmp_path: Path) -> None:
    assert problems(load(made(tmp_path, "world.yaml", WORLD))) == []


class TestDeclared:
    @pytest.mark.parametrize(
        ("rule", "name", "has"),
        [
            ("pool.site", "site_fra1", True),
            ("pool.site", "site_fra", False),
            ("pool.site", "acme", False),
            ("offer.tenant", "late_tenant", True),
            ("pool.provider", "pa_x", True),
            ("world.identity", "sa_fleet", True),
            ("pool.model", "acme", False),
        ],
    )
    def test_only_what_the_world_file_has_is_brought_in(
        self, rule: str, name: str, has: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "my world.yaml").write_text(LATER)
        monkeypatch.chdir(tmp_path)
        declared = Declared(Embedded(str(tmp_path / ".fleet" / "p.db"), str(tmp_path / "my world.yaml")), "root")
        hint = (
            "my world.yaml has it and the database has not: "
            "run `better-compute world 'my world.yaml' --database .fleet/p.db`"
        )
        assert declared.hint(rule, name) == (hint if has else "")

    def test_a_site_of_another_tenant_is_not_brought_in(self, tmp_path: Path) -> None:
        (tmp_path / "world.yaml").write_text(WORLD)
        assert Declared(Embedded("/p.db", str(tmp_path / "world.yaml")), "acme").hint("pool.site", "site_fra1") == ""

    @pytest.mark.parametrize("text", ["sites: [{}]\n", None])
    def test_a_world_file_that_cannot_be_read_brings_in_nothing(self, text: str | None, tmp_path: Path) -> None:
        if text is not None:
            (tmp_path / "world.yaml").write_text(text)
        assert Declared(Embedded("/p.db", str(tmp_path / "world.yaml")), "root").hint("pool.site", "s") == ""

    def test_a_server_of_its_own_has_no_world_file(self) -> None:
        assert Declared("https://compute.example.com", "root").hint("pool.site", "s") == ""
