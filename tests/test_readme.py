"""What the README shows is read as it stands there."""

from __future__ import annotations

import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from fleetctl.desired import check
from fleetctl.desired.load import load
from fleetctl.formatting import format_text

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"^```yaml\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
FLEETS = [block for block in BLOCKS if "apiVersion" in block]


@pytest.mark.parametrize("block", BLOCKS)
def test_yaml_stands_as_it_is_formatted(block: str) -> None:
    assert format_text(block) == block


@pytest.mark.parametrize("block", FLEETS)
def test_a_fleet_is_one_that_validates(block: str, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(block)
    assert [problem for problem in check.problems(load(tmp_path)) if problem.severity == "error"] == []


def test_there_is_a_fleet_to_look_at() -> None:
    assert FLEETS


def test_a_served_control_plane_does_what_the_commands_of_its_section_say(tmp_path: Path) -> None:
    """As they stand there, one after the other, but for the port, and for the wait until it is served."""
    section = README.partition("## A served control plane\n")[2].partition("\n## ")[0]
    commands = "".join(re.findall(r"^```sh\n(.*?)^```$", section, re.DOTALL | re.MULTILINE))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    is_open = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
    wait = f"until {shlex.quote(sys.executable)} -c {shlex.quote(is_open)} 2>/dev/null; do kill -0 $!; sleep 0.1; done"
    served, begins, rest = commands.replace("8080", str(port)).partition("&\n")
    script = f'set -eux\n{served}{begins}trap "kill $!" EXIT\n{wait}\n{rest}'
    (tmp_path / "fleet-examples").symlink_to(ROOT / "fleet-examples")
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("BETTER_COMPUTE_", "FLEETCTL_"))}
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "Applied: " in ran.stdout
    assert re.search(r"^state +placed$", ran.stdout, re.MULTILINE)
