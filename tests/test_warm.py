"""A command that begins warm is the process that a cold one would be."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import warm
from tests.e2e.conftest import command, environment

ROOT = Path(__file__).parent.parent


def serve(directory: Path, **environ: str) -> warm.Process:
    database = f"sqlite:///{directory / 'plane.db'}"
    asked = ["better-compute", "serve", "--database", database, "--listen", "127.0.0.1:0"]
    process = warm.Process(asked, environment(**environ))
    for line in process.stderr:
        if "listening on" in line:
            return process
    pytest.fail("the server did not start")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGKILL, -9)])
def test_it_can_be_signalled_and_tells_how_it_ended(tmp_path: Path, number: int, code: int) -> None:
    process = serve(tmp_path)
    try:
        assert process.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.01)
        process.send_signal(number)
        assert process.wait(30) == process.poll() == process.returncode == code
    finally:
        process.kill()
        process.stderr.close()


@pytest.mark.parametrize(
    "arguments", [["id", "x", "--fleet", "fleet"], ["validate", "fleet"], ["nonsense"], ["--help"]]
)
def test_in_a_shell_it_says_and_ends_with_what_the_cold_one_does(tmp_path: Path, arguments: list[str]) -> None:
    (tmp_path / "fleet").mkdir()
    (tmp_path / "fleet" / "fleet.yaml").write_text("apiVersion: fleet/v1\npools: []\n")
    (tmp_path / "fleetctl").write_text(warm.script("fleetctl"))
    (tmp_path / "fleetctl").chmod(0o755)
    pinned = {"FLEETCTL_TENANT": "acme", "FLEETCTL_CALLER": "sa_x"}  # nobody else says whose the fleet is
    cold, heated = (
        subprocess.run(
            [*program, *arguments], cwd=tmp_path, env=environment(**pinned), capture_output=True, check=False
        )
        for program in (command("fleetctl"), [str(tmp_path / "fleetctl")])
    )
    assert (heated.returncode, heated.stdout, heated.stderr) == (cold.returncode, cold.stdout, cold.stderr)


def test_nothing_warm_outlives_who_wanted_it() -> None:
    code = "import time; from tests import warm; print(warm._started().parent, flush=True); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as wanting:
        assert wanting.stdout is not None
        directory = wanting.stdout.readline().strip()
        wanting.kill()
    until = time.monotonic() + 10
    while os.path.exists(directory) and time.monotonic() < until:
        time.sleep(0.02)
    assert not os.path.exists(directory)
