"""The command, run in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.plane import opened
from better_compute.cli.run import run

WORLD = """\
instance: test
tenants: [{id: acme}]
sites: [{id: site_fra1, tenantId: root, kind: shared, region: eu-central}]
identities: [{id: sa_fleet, tenantId: root}, {id: sa_acme, tenantId: acme}]
"""


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


Run = Callable[..., Done]


@pytest.fixture(autouse=True)
def nothing_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SERVER", "DATABASE", "TOKEN", "DEBUG"):
        monkeypatch.delenv(f"BETTER_COMPUTE_{name}", raising=False)
    monkeypatch.delenv("FLEETCTL_DEBUG", raising=False)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs `better-compute` with the arguments."""

    def call(*arguments: str) -> Done:
        code = run(arguments)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return call


@pytest.fixture
def database(tmp_path: Path) -> str:
    """An SQLite database with a small world."""
    world = tmp_path / "world.yaml"
    world.write_text(WORLD)
    url = f"sqlite:///{tmp_path / 'plane.db'}"
    with opened(url, SYSTEM, world):
        return url


@pytest.fixture
def fleet(cli: Run, database: str) -> Run:
    """Runs it on that database, as root's service account."""
    return lambda *arguments: cli(*arguments, "--database", database, "--as", "sa_fleet")
