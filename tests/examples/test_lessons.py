"""Each folder of fleet-examples is a lesson with a README: what its commands print is what stands there.

After a change that is meant, `UPDATE_EXAMPLES=1 .venv/bin/pytest tests/examples` writes the outputs anew.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from better_compute.bootstrap.world_file import read_world
from tests.e2e.conftest import serving
from tests.examples.lessons import Served, blocks, played, without_server

ROOT = Path(__file__).parents[2] / "fleet-examples"
LESSONS = sorted(path for path in ROOT.iterdir() if path.is_dir())


@pytest.fixture(params=LESSONS, ids=lambda path: path.name)
def lesson(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def expected(lesson: Path, here: Path) -> list[tuple[Path, Path]]:
    """What is kept below `expected`, each with the file of that name that the lesson's commands wrote."""
    return [(kept, here / kept.name) for kept in sorted((lesson / "expected").glob("*"))]


@pytest.fixture
def here(lesson: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The lesson where nothing has been applied yet; this process is in it."""
    folder = tmp_path / lesson.name
    shutil.copytree(lesson, folder, ignore=shutil.ignore_patterns(".fleet"))
    monkeypatch.chdir(folder)
    for name in ("FLEETCTL_SERVER", "FLEETCTL_TENANT", "FLEETCTL_CALLER", "FLEETCTL_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("BETTER_COMPUTE_DATABASE", ".fleet/control-plane.db")
    return folder


def test_a_lesson_reads_as_it_runs(lesson: Path, here: Path) -> None:
    written = (lesson / "README.md").read_text()
    now = played(written, None)
    if os.environ.get("UPDATE_EXAMPLES"):
        (lesson / "README.md").write_text(now)
        for kept, made in expected(lesson, here):
            kept.write_text(made.read_text())
    assert blocks(written)
    assert now == written
    assert all(made.read_text() == kept.read_text() for kept, made in expected(lesson, here))


def test_a_lesson_is_the_same_over_the_network(lesson: Path, here: Path, tmp_path: Path) -> None:
    written = (lesson / "README.md").read_text()
    database = f"sqlite:///{tmp_path}/served.db"
    with serving(database, "--world", str(here / "world.yaml")) as server:
        tokens = {}
        for identity in read_world(here / "world.yaml").content.identities:
            tokens[identity.id] = tmp_path / f"{identity.id}.token"
            tokens[identity.id].write_text(server.token(identity.id))
            tokens[identity.id].chmod(0o600)
        now = played(written, Served(server.url, database, tokens))
    assert without_server(now) == without_server(written)
    for kept, made in expected(lesson, here):
        assert without_server(made.read_text()) == without_server(kept.read_text())
