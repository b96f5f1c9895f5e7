"""World files among fleet files: a name that is wrong, and files that no name is for."""

from __future__ import annotations

from pathlib import Path

import pytest

from better_compute.bootstrap.world_file import Content
from better_compute.domain.problems import Problem
from fleetctl.desired import worlds
from fleetctl.desired.load import load
from fleetctl.desired.worlds import KEYS
from fleetctl.files import FilesError
from tests.reading import HEAD, POOL

WORLD = "tenants: [{id: acme}]\nsites: [{id: site_fra1, tenantId: root, kind: shared, region: eu}]\n"
STRAY = "this is a world file, and server.world does not name it"


def fleet(directory: Path, named: str, /, **files: str) -> Path:
    """A fleet that names a world, and other files by name, a double underscore for a slash."""
    server = f"server: {{embedded: plane.db, world: {named}}}\n" if named else ""
    for name, text in {"fleet": f"{HEAD}{server}pools:\n{POOL}", **files}.items():
        path = directory / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def found(path: Path) -> list[tuple[str, str, str, str]]:
    """Place, path, message and hint of every problem with the files and their world."""
    try:
        told: tuple[Problem, ...] = tuple(worlds.problems(load(path)))
    except FilesError as error:
        told = error.problems
    assert all(p.rule == "fleet.world" for p in told)
    return [(str(p.source), p.path, p.message, p.hint) for p in told]


def test_the_fields_of_a_world_are_those_of_the_control_plane() -> None:
    assert {field.alias or name for name, field in Content.model_fields.items()} == KEYS


@pytest.mark.parametrize("database", [False, True])
def test_a_slip_in_the_worlds_name_is_one_finding_with_the_name_that_was_meant(tmp_path: Path, database: bool) -> None:
    """With a database too: the world file would be read as a fleet document."""
    fleet(tmp_path, "./wrld.yaml", world=WORLD)
    if database:
        (tmp_path / "plane.db").write_bytes(b"SQLite")
    expected = ("fleet.yaml:4:37", "server.world", "no such file: ./wrld.yaml", 'did you mean "world.yaml"?')
    assert found(tmp_path) == [expected]


def test_the_only_world_file_there_is_the_one_that_was_meant(tmp_path: Path) -> None:
    fleet(tmp_path, "world.yaml", worlds__fra1=WORLD)
    assert [hint for _, _, _, hint in found(tmp_path)] == ['did you mean "worlds/fra1.yaml"?']


def test_of_several_world_files_the_nearest_was_meant_and_each_other_is_one_finding(tmp_path: Path) -> None:
    fleet(tmp_path, "worlds.yaml", world=WORLD, ams1=WORLD + "---\n" + WORLD)
    assert [(place, message) for place, _, message, _ in found(tmp_path)] == [
        ("ams1.yaml:1:1", STRAY),
        ("fleet.yaml:4:37", "no such file: worlds.yaml"),
    ]


@pytest.mark.parametrize("world", ["", "world.yaml"])
def test_a_world_file_that_nothing_names_is_one_finding(tmp_path: Path, world: str) -> None:
    fleet(tmp_path, world, world=world and WORLD, other=WORLD + "machnes: []\n")
    assert found(tmp_path) == [("other.yaml:1:1", "", STRAY, "name it there, or move it out of the fleet")]


@pytest.mark.parametrize("url", ["", "server: https://compute.example.com\n"])
def test_beside_the_folder_of_the_fleet_it_is_told_which_directory_to_name(tmp_path: Path, url: str) -> None:
    fleet(tmp_path / "fleets/one", "")
    text = (tmp_path / "fleets/one/fleet.yaml").read_text()
    (tmp_path / "fleets/one/fleet.yaml").write_text(url + text)
    (tmp_path / "world.yaml").write_text(WORLD)
    hint = "the fleet is in fleets/one: name that directory, and of a revision REVISION:fleets/one"
    assert found(tmp_path) == [("world.yaml:1:1", "", STRAY, hint)]


def test_a_world_file_beside_a_url_is_told_where_it_goes(tmp_path: Path) -> None:
    fleet(tmp_path, "", world=WORLD)
    text = (tmp_path / "fleet.yaml").read_text()
    (tmp_path / "fleet.yaml").write_text(f"server: https://compute.example.com\n{text}")
    [(place, _, message, hint)] = found(tmp_path)
    assert (place, message) == ("world.yaml:1:1", STRAY)
    assert hint.startswith("a served control plane is given it by `better-compute bootstrap --world`: ")
    assert hint.endswith("move it out of the fleet, or write exclude: [world.yaml]")


def test_a_name_that_a_glob_does_not_take_as_it_is_is_not_offered_as_one(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(f"server: https://compute.example.com\n{HEAD}pools:\n{POOL}")
    (tmp_path / "world [a].yaml").write_text(WORLD)
    [(_, _, _, hint)] = found(tmp_path)
    assert hint.endswith("`better-compute bootstrap --world`: move it out of the fleet")


def test_a_world_file_in_the_place_of_a_fleet_is_one_finding(tmp_path: Path) -> None:
    (tmp_path / "world.yaml").write_text(WORLD)
    assert [message for _, _, message, _ in found(tmp_path)] == [STRAY]
    assert [message for _, _, message, _ in found(tmp_path / "world.yaml")] == [STRAY]


def test_a_fleet_document_with_a_field_of_a_world_is_no_world_file(tmp_path: Path) -> None:
    fleet(tmp_path, "", other="pools: []\ntenants: []\n")
    with pytest.raises(FilesError) as error:
        load(tmp_path)
    assert [p.rule for p in error.value.problems] == ["fleet.unknown"]


def test_a_world_file_that_is_nowhere_is_found(tmp_path: Path) -> None:
    hint = "a new control plane starts with it: restore it, or leave it out"
    assert found(fleet(tmp_path, "world.yaml")) == [
        ("fleet.yaml:4:37", "server.world", "no such file: world.yaml", hint)
    ]


def test_a_world_file_outside_of_the_fleet_is_looked_for_where_it_would_be(tmp_path: Path) -> None:
    (tmp_path / "world.yaml").write_text(WORLD)
    fleet(tmp_path / "fleet", "../wrld.yaml")
    assert [hint for _, _, _, hint in found(tmp_path / "fleet")] == ['did you mean "../world.yaml"?']


def test_the_name_that_was_meant_keeps_the_folder_that_was_written(tmp_path: Path) -> None:
    """Named as one file, since a directory brings the world file along."""
    fleet(tmp_path, "worlds/wrld.yaml", worlds__world=WORLD)
    assert [hint for _, _, _, hint in found(tmp_path / "fleet.yaml")] == ['did you mean "worlds/world.yaml"?']


def test_a_database_that_is_there_needs_no_world_file(tmp_path: Path) -> None:
    fleet(tmp_path, "world.yaml")
    (tmp_path / "plane.db").write_bytes(b"SQLite")
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "offers: []\n",
        "pools: []\n",
        HEAD,
        '{"offers": [{"pool": "fra1-a"}]}',
        "{offers: []}\n",
        "'offers': []\n",
        "  offers: []\n  x-a: 1\n",
        "? offers\n: []\n",
        '"\\u006fffers": []\n',
        "ofers: []\n",
        "defaults: {}\n",
        "tenants: []\noffers: []\n",
        "tenants: []\n---\noffers: []\n",
        "offers: [!a]\n",
        '{"offers": [!a]}\n',
    ],
)
@pytest.mark.parametrize("database", [False, True])
def test_a_fleet_document_is_no_world_file(tmp_path: Path, text: str, database: bool) -> None:
    """Its pools and offers would leave the fleet without a word."""
    fleet(tmp_path, "more.yaml", more=text)
    if database:
        (tmp_path / "plane.db").write_bytes(b"SQLite")
    message = "more.yaml is a fleet document, and would not be read"
    assert found(tmp_path) == [("fleet.yaml:4:37", "server.world", message, "name a world file")]


@pytest.mark.parametrize(
    "text", ["", "x-offers: []\n", "machines: []\n# offers: []\n", "- offers: []\n", "replicas: 1\n"]
)
def test_what_holds_no_field_of_a_fleet_is_no_fleet_document(tmp_path: Path, text: str) -> None:
    fleet(tmp_path, "more.yaml", more=text)
    assert found(tmp_path) == []


def test_a_database_of_no_bytes_is_none_yet(tmp_path: Path) -> None:
    (tmp_path / "plane.db").touch()
    assert [message for _, _, message, _ in found(fleet(tmp_path, "world.yaml"))] == ["no such file: world.yaml"]


def test_a_file_is_not_its_own_world(tmp_path: Path) -> None:
    message = "fleet.yaml is a fleet document, and would not be read"
    assert [said for _, _, said, _ in found(fleet(tmp_path, "fleet.yaml"))] == [message]
