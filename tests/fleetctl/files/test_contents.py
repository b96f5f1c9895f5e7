"""What the files of a fleet hold, as it stands there."""

from __future__ import annotations

from pathlib import Path

from fleetctl.files.contents import contents


def test_all_files_that_a_fleet_may_read_are_there_by_name(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "expected").mkdir()
    for name in ("a.yaml", "sub/b.yml", "expected/c.yaml", ".d.yaml", "e.txt", "f.fleet-test.yaml"):
        (tmp_path / name).write_bytes(b"x: 1\r\ny: 2\n")
    assert contents(tmp_path) == dict.fromkeys(("a.yaml", "sub/b.yml"), b"x: 1\ny: 2\n")


def test_one_file_is_there_alone(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml"):
        (tmp_path / name).write_bytes(b"x: 1\n")
    assert contents(tmp_path / "a.yaml") == {"a.yaml": b"x: 1\n"}


def test_a_file_behind_a_link_is_there_once_and_one_outside_is_not(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet"
    fleet.mkdir()
    (tmp_path / "out.yaml").write_bytes(b"x: 1\n")
    (fleet / "a.yaml").write_bytes(b"x: 1\n")
    (fleet / "b.yaml").symlink_to("a.yaml")
    (fleet / "c.yaml").symlink_to("../out.yaml")
    assert contents(fleet) == {"a.yaml": b"x: 1\n"}
