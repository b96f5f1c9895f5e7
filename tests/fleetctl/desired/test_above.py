"""A folder or a file of a fleet that was named as if it were a whole one."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetctl.desired.load import load
from fleetctl.files import FilesError

ROOT = (
    "apiVersion: fleet/v1\ntenantId: root\ndefaults: {pool: {siteId: site_fra1, class: metal-host, gpuModel: H100}}\n"
)
PART = "pools: [{idempotencyKey: a, policyRef: nowhere}]\n"


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fleet in a repository, with a folder of its own for each site."""
    made = tmp_path / "repository" / "fleet"
    (made / "sites" / "fra1").mkdir(parents=True)
    (made.parent / ".git").mkdir()
    (made / "fleet.yaml").write_text(ROOT)
    (made / "sites" / "fra1" / "pools.yaml").write_text(PART)
    monkeypatch.chdir(made / "sites")
    return made


def refused(path: Path | str) -> list[tuple[str, str]]:
    with pytest.raises(FilesError) as refused:
        load(Path(path))
    return [(problem.rule, problem.hint) for problem in refused.value.problems]


@pytest.mark.usefixtures("fleet")
@pytest.mark.parametrize("name", [".", "fra1", "fra1/pools.yaml", "../sites"])
def test_the_fleet_around_it_is_told_first_and_not_what_it_says(name: str) -> None:
    first, *rest = refused(name)
    assert first == ("fleet.part", "you are inside a fleet: name ..")
    assert [rule for rule, _ in rest] == ["fleet.policyRef"]


def test_a_folder_without_documents_is_inside_of_it_too(fleet: Path) -> None:
    (fleet / "docs").mkdir()
    assert refused(fleet / "docs") == [("files.empty", "you are inside a fleet: name ..")]


def test_a_file_beside_the_first_one_is_a_part(fleet: Path) -> None:
    (fleet / "pools.yaml").write_text("pools: [{idempotencyKey: a}]\n")
    assert refused(fleet / "pools.yaml") == [("fleet.part", "you are inside a fleet: name ..")]


def test_a_fleet_that_lacks_a_field_is_no_part_of_another(fleet: Path) -> None:
    (fleet / "sites" / "fleet.yaml").write_text("apiVersion: fleet/v1\n" + PART)
    for name in (fleet / "sites", fleet / "sites" / "fleet.yaml"):
        assert "fleet.part" not in dict(refused(name))


def test_nothing_beyond_the_repository_is_looked_at(fleet: Path) -> None:
    (fleet / "fleet.yaml").rename(fleet.parent.parent / "fleet.yaml")
    assert "fleet.part" not in dict(refused("fra1"))
    (fleet.parent / ".git").rmdir()
    assert "fleet.part" in dict(refused("fra1"))
    far = fleet.joinpath(*"abcde")
    far.mkdir(parents=True)
    (far / "pools.yaml").write_text(PART)
    assert "fleet.part" not in dict(refused(far))
