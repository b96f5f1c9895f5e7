"""Lessons: the README of each folder of `fleet-examples`, whose commands are run and whose outputs are compared.

A block marked `console` holds commands, each after `$ `, and what they print: the result, or where there is none what
is said on stderr; ` > FILE` behind one keeps it. A code other than 0 stands below, as `(exit 3)`. Times read `(time)`.
"""

from __future__ import annotations

import io
import re
import shlex
import subprocess
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from better_compute.cli.run import run as better_compute
from fleetctl.cli import run as fleetctl

_BLOCK = re.compile(r"(?<=^```console\n).*?(?=^```$)", re.MULTILINE | re.DOTALL)
_TIME = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d UTC|T\d\d:\d\d:\d\dZ)")
_SERVER = re.compile(
    r"(?:embedded:\S+|http://127\.0\.0\.1:\d+) \(instance (\S+)\)(?:; --server overrides the files' pin)?"
)
_AT = re.compile(r"at (?:embedded:\S+|http://127\.0\.0\.1:\d+): made")
_ASKS = frozenset({"plan", "apply", "drift", "export", "snapshot", "whoami", "explain"})
"""The commands of fleetctl that ask a control plane."""
_MOVES = frozenset({("fleetctl", "apply"), ("better-compute", "reservations")})
"""Commands after which something may be due."""


@dataclass(frozen=True)
class Served:
    """A server that a lesson runs against, instead of the embedded control plane: its database, and a token file for
    each identity."""

    url: str
    database: str
    tokens: dict[str, Path]

    def asked(self, arguments: list[str]) -> list[str]:
        """A command's arguments, with the server and the token that it needs."""
        name, *rest = arguments
        if name == "fleetctl" and rest[0] in _ASKS:
            return [*arguments, "--server", self.url, "--token-file", str(self.tokens["sa_fleet"])]
        if name == "better-compute" and "--as" in rest:
            at = arguments.index("--as")
            token = self.tokens[arguments[at + 1]]
            return [*arguments[:at], *arguments[at + 2 :], "--server", self.url, "--token-file", str(token)]
        return arguments

    def settle(self) -> None:
        """Do what is due, as the embedded control plane does before a command ends: the server does it in its own time,
        and what is done already is not done again."""
        with redirect_stdout(io.StringIO()):
            assert better_compute(["reconcile", "--database", self.database]) == 0


def blocks(text: str) -> list[str]:
    return _BLOCK.findall(text)


def played(text: str, served: Served | None) -> str:
    """A README with the outputs that its commands have now, run where this process is."""
    return _BLOCK.sub(lambda block: "".join(_played(block[0], served)), text)


def without_server(text: str) -> str:
    """The same whatever control plane was asked."""
    return _AT.sub("at (server): made", _SERVER.sub(r"(server) (instance \1)", text))


def _played(block: str, served: Served | None) -> Iterator[str]:
    for line in block.splitlines():
        if line.startswith("$ "):
            code, said = _run(line[2:], served)
            yield f"{line}\n{_TIME.sub('(time)', said)}"
            yield f"(exit {code})\n" if code else ""


def _run(line: str, served: Served | None) -> tuple[int, str]:
    arguments = shlex.split(line)
    commands = {"fleetctl": fleetctl, "better-compute": better_compute}
    if arguments[0] not in commands:
        ran = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
        return ran.returncode, ran.stdout or ran.stderr
    into = arguments.pop() if arguments[-2:-1] == [">"] else None
    if into is not None:
        arguments.pop()
    if arguments[:2] == ["fleetctl", "apply"]:  # one after the other, so that versions and digests are the same
        arguments += ["--parallelism", "1"]
    name, *rest = served.asked(arguments) if served else arguments
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = commands[name](rest)
    if served and (name, rest[0]) in _MOVES:
        served.settle()
    if into is not None:
        Path(into).write_text(_TIME.sub("(time)", out.getvalue()))
        return code, ""
    return code, out.getvalue() or err.getvalue()
