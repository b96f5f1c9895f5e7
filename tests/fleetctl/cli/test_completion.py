"""Completion scripts: what a real shell makes of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fleetctl.cli.group import COMMANDS
from tests.fleetctl.cli.runs import Fleet

BASH = shutil.which("bash") or ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(fleet: Fleet, shell: str) -> None:
    ran = fleet("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"_FLEETCTL_COMPLETE={shell}_complete" in ran.out


def test_another_shell_has_none(fleet: Fleet) -> None:
    ran = fleet("completion", "tcsh")
    assert (ran.code, ran.out) == (64, "")
    assert "'bash', 'zsh', 'fish'" in ran.err


def completed(fleet: Fleet, *words: str) -> set[str]:
    """What bash offers for the last of the words."""
    script = fleet("completion", "bash").out
    line = f"COMP_WORDS=(fleetctl {' '.join(map(repr, words))}); COMP_CWORD={len(words)}"
    asked = f'{script}\n{line}\n_fleetctl_completion fleetctl\nprintf "%s\\n" "${{COMPREPLY[@]}}"\n'
    environ = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ran = subprocess.run([BASH, "--norc", "-c", asked], env=environ, capture_output=True, text=True, timeout=60)
    assert ran.stderr == ""
    return set(ran.stdout.split())


@pytest.mark.skipif(not BASH, reason="there is no bash here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("",), set(COMMANDS)),
        (("pl",), {"plan"}),
        (("plan", "--detailed"), {"--detailed-exitcode"}),
        (("fmt", "--ch"), {"--check"}),
        (("validate", "--format", "j"), {"json", "junit"}),
        (("completion", "z"), {"zsh"}),
        (("schema", "fleet.v"), {"fleet.v1"}),
    ],
)
def test_bash_completes_commands_flags_and_values(fleet: Fleet, words: tuple[str, ...], offered: set[str]) -> None:
    assert completed(fleet, *words) == offered
