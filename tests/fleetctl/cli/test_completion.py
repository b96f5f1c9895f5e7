"""Completion scripts: what a real shell makes of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fleetctl.cli.group import COMMANDS
from tests.fleetctl.cli.runs import COMMAND, Fleet
from tests.repository import Repository

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


FILES = """\
pools:
  - {idempotencyKey: fra1-b, siteId: site_ams1, gpuModel: L40S, offers: [{toTenantId: globex, quota: {gpu: 8}}]}
"""


def offered(fleet: Fleet, *words: str) -> list[str]:
    """What is offered for the last of the words, in the fleet's directory, as zsh asks for it."""
    asked = {"_FLEETCTL_COMPLETE": "zsh_complete", "COMP_WORDS": " ".join(("fleetctl", *words))}
    ran = subprocess.run(
        COMMAND,
        cwd=fleet.directory,
        env={**os.environ, **asked, "COMP_CWORD": str(len(words))},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()[1::3]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("plan", "--only", "s"), ["site="]),
        (("plan", "--only", "key=fra1-"), ["key=fra1-a", "key=fra1-b"]),
        (("apply", ".", "--except", "site=fra1,model=L"), ["site=fra1,model=L40S"]),
        (("drift", "--only", "tenant="), ["tenant=acme", "tenant=globex"]),
        (("drift", "--only", "file=m"), ["file=more.yaml"]),
        (("drift", "--only", "nothing="), []),
        (("id", "fra1-b"), ["fra1-b"]),
        (("explain", "fra1-"), ["fra1-a", "fra1-b"]),
        (("explain", "--fleet", "more.yaml", "fra1-"), []),
        (("explain", "guard.archi"), ["guard.archives", "guard.archiveInUse"]),
        (("explain", "CONF"), ["CONFLICT"]),
    ],
)
def test_values_that_stand_in_the_files_are_offered(fleet: Fleet, words: tuple[str, ...], found: list[str]) -> None:
    (fleet.directory / "more.yaml").write_text(FILES)
    assert sorted(offered(fleet, *words)) == sorted(found)


def test_where_the_files_cannot_be_read_nothing_of_them_is_offered(fleet: Fleet) -> None:
    (fleet.directory / "more.yaml").write_text("pools: [")
    assert offered(fleet, "id", "fra") == []
    assert offered(fleet, "plan", "--only", "key=") == []
    assert offered(fleet, "plan", "--base", "m") == []


def test_branches_and_tags_are_offered_as_bases(fleet: Fleet) -> None:
    repository = Repository(fleet.directory)
    repository.commit()
    repository.git("tag", "v1")
    repository.git("branch", "more")
    repository.git("update-ref", "refs/remotes/origin/main", "main")
    for path in ("", "fleet.yaml"):
        assert offered(fleet, "plan", *filter(None, [path]), "--base", "m") == ["main", "more"]
    assert set(offered(fleet, "drift", "--base", "")) == {"main", "more", "origin/main", "v1"}


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
