"""A fleet for every test that asks for one."""

from pathlib import Path

import pytest

from tests.fleetctl.cli.runs import WORLD, Fleet


@pytest.fixture
def fleet(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """One pool with an offer, and an embedded control plane that holds nothing yet."""
    for name in ("SERVER", "TENANT", "CALLER", "TOKEN", "DEBUG"):
        monkeypatch.delenv(f"FLEETCTL_{name}", raising=False)
    (tmp_path / "world.yaml").write_text(WORLD)
    made = Fleet(tmp_path, capsys)
    made.write()
    return made
