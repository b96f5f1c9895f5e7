"""Which file a fleet that was named as one file leaves out."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fleetctl.desired.beside import beside
from fleetctl.files import read_fleet

ROOT = "apiVersion: fleet/v1\n"
PART = "# of fra1\npools:\n  - {idempotencyKey: a}\n"


def left_out(path: Path, files: dict[str, str], named: str = "fleet.yaml", root: str = ROOT) -> str | None:
    for name, text in {named: root, **files}.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    return beside(path / named, read_fleet(path / named))


@pytest.mark.parametrize("name", ["pools.yaml", "offers.yml", "sites/fra1/pools.yaml"])
@pytest.mark.parametrize(
    "text", [PART, "offers:\n  - {pool: a}\n", "offers: [{pool: a}]\n", "guards: {maxArchives: 0}\n"]
)
def test_a_part_of_the_fleet_is_found_wherever_it_stands(tmp_path: Path, name: str, text: str) -> None:
    assert left_out(tmp_path, {name: text}) == name


def test_the_first_by_name_stands_for_all(tmp_path: Path) -> None:
    assert left_out(tmp_path, {"b.yaml": PART, "a/z.yaml": PART, "c.yaml": PART}) == "b.yaml"


@pytest.mark.parametrize(
    "name", [".hidden.yaml", ".dir/a.yaml", "expected/a.yaml", "a.fleet-test.yaml", "a.json", "README.md", "old/a.yaml"]
)
def test_what_the_directory_would_not_bring_along_is_none(tmp_path: Path, name: str) -> None:
    root = ROOT + "exclude: [old]\n"
    assert left_out(tmp_path, {name: PART}, root=root) is None


@pytest.mark.parametrize("text", ["tenants: []\n", "x-pools: []\n", "a:\n  pools: []\n", "- pools: []\n", "", "pools"])
def test_what_is_no_fleet_is_none(tmp_path: Path, text: str) -> None:
    assert left_out(tmp_path, {"other.yaml": text}) is None


WHOLE = f"{ROOT}tenantId: root\nfleet: a\nserver: https://a.example.com\n"


@pytest.mark.parametrize(
    "text",
    [
        WHOLE + PART,
        "tenantId: root\n" + PART,
        "fleet: 'a'  # ours\n" + PART,
        "caller: sa_fleet\n" + PART,
        '{"tenantId": "root", "offers": [{"pool": "a"}]}',
        "  pools: [{idempotencyKey: a}]\n  fleet: a\n",
        PART + "---\ntenantId: root\n",
    ],
)
def test_root_fields_that_agree_are_of_this_fleet(tmp_path: Path, text: str) -> None:
    assert left_out(tmp_path, {"other.yaml": text}, root=WHOLE) == "other.yaml"


@pytest.mark.parametrize(
    "change",
    [
        ("tenantId: root", "tenantId: acme"),
        ("fleet: a", "fleet: b"),
        ("fleet/v1", "fleet/v2"),
        ("a.example", "b.example"),
        ("https://a.example.com", "{embedded: a.db}"),
    ],
)
def test_root_fields_that_disagree_are_of_another_fleet(tmp_path: Path, change: tuple[str, str]) -> None:
    assert left_out(tmp_path, {"other.yaml": WHOLE.replace(*change) + PART}, root=WHOLE) is None


def test_a_fleet_without_a_name_has_one(tmp_path: Path) -> None:
    assert left_out(tmp_path, {"other.yaml": "fleet: b\n" + PART}) is None
    assert left_out(tmp_path, {"other.yaml": "fleet: default\n" + PART}) == "other.yaml"


def test_of_a_large_file_the_beginning_tells(tmp_path: Path) -> None:
    """Whatever its size: the rest is not read."""
    assert left_out(tmp_path, {"other.yaml": "tenantId: acme\n" + PART * 4000}, root=WHOLE) is None
    assert left_out(tmp_path, {"other.yaml": PART * 4000}) == "other.yaml"
    with (tmp_path / "other.yaml").open("ab") as stream:
        stream.truncate(10 << 30)
    assert beside(tmp_path / "fleet.yaml", read_fleet(tmp_path / "fleet.yaml")) == "other.yaml"


def test_a_part_of_another_fleet_is_none(tmp_path: Path) -> None:
    assert left_out(tmp_path, {"team/fleet.yaml": ROOT, "team/pools.yaml": PART, "team/a/b.yaml": PART}) is None
    assert left_out(tmp_path, {"fleet.yaml": ROOT, "pools.yaml": PART}, named="dev.yaml") is None


def test_no_more_is_looked_at_than_a_person_would_wait_for(tmp_path: Path) -> None:
    many = {f"a{number}/x.yaml": "x: 1\n" for number in range(1200)}
    assert left_out(tmp_path, {**many, "z/pools.yaml": PART}) is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_a_pipe_or_a_link_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.yaml")
    (tmp_path / "b.yaml").symlink_to("/dev/zero")
    assert left_out(tmp_path, {}) is None
