"""Of a URL no output says the user part, wherever the URL stands: in files, in flags, in the names of files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from fleetctl.cli.group import COMMANDS
from tests.fleetctl.cli.runs import ROOT, Fleet, Ran

URL = "https://u:HUNTER2@h"
LONG = f"https://u:{'HUNTER2' * 40}@h/x"
FLEET: dict[str, Any] = {
    "apiVersion": "fleet/v1",
    "fleet": "demo",
    "tenantId": "root",
    "caller": "sa_fleet",
    "keyPrefix": "fra1-",
    "server": {"embedded": ".fleet/plane.db", "world": "world.yaml"},
    "exclude": ["old/**"],
    "previousCallers": ["sa_old"],
    "defaults": {"pool": {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "sharing": "none"}},
    "policies": {"batch": {"maxPending": "6h", "note": "x"}},
    "prices": {"H100": 2.5},
    "guards": {
        "maxArchives": 1,
        "protect": ["fra1-a"],
        "freeze": [{"from": "2030-01-01T00:00:00Z", "to": "2030-01-02T00:00:00Z", "reason": "move"}],
    },
    "checks": [{"name": "named", "each": "pool", "expr": "pool.key != ''", "message": "a key"}],
    "expected": [{"pool": "fra1-a", "path": "policy.note", "reason": "by hand"}],
    "pools": [
        {
            "idempotencyKey": "fra1-a",
            "policyRef": "batch",
            "ownerQuota": {"gpu": 8},
            "offers": [{"toTenantId": "acme", "quota": {"gpu": 8}, "priority": 1}],
        },
        {"idempotencyKey": "fra1-${n}", "forEach": {"n": ["1", "2"]}, "policy": {"name": "${n}"}, "offers": []},
        {"id": "pool_41ajr0h7xph5z9bavercrty41f", "previously": "fra1-b", "replaces": "fra1-c", "offers": []},
    ],
}


def ways(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The way to every value in a document."""
    yield way
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in items:
        yield from ways(inner, (*way, step))


def changed(way: tuple[str | int, ...], text: str, *, name: bool) -> str:
    """The fleet with a text in the place of one value, or of its name."""
    document = deepcopy(FLEET)
    *above, last = way
    parent: Any = document
    for step in above:
        parent = parent[step]
    if name:
        parent[text] = parent.pop(last)
    else:
        parent[last] = text
    return json.dumps(document)


def check(ran: Ran) -> None:
    """Neither the password nor a part of it is said, in whatever spelling."""
    assert not re.search("hunt", ran.out + ran.err, re.IGNORECASE), ran
    assert "this should not have happened" not in ran.err, ran.err


WAYS = [way for way in ways(FLEET) if way]


@pytest.mark.parametrize("url", [URL, LONG], ids=["short", "long"])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: ".".join(map(str, way)))
def test_no_hint_is_made_of_a_value_in_a_file(way: tuple[str | int, ...], url: str, fleet: Fleet) -> None:
    for name in (False, True):
        if not name or isinstance(way[-1], str):
            (fleet.directory / "fleet.yaml").write_text(changed(way, url, name=name))
            check(fleet.on("validate"))
            check(fleet.on("validate", "--format", "json"))
            check(fleet.on("plan", "--format", "json"))


FLAGS: dict[str, tuple[str, ...]] = {
    "init": ("init", "x", "--server", URL),
    "init there": ("init", URL),
    "init's fleet": ("init", "x", "--fleet", URL),
    "init's caller": ("init", "x", "--caller", URL),
    "server": ("plan", "FLEET", "--server", URL),
    "server of whoami": ("whoami", "FLEET", "--server", URL),
    "token file": ("whoami", "FLEET", "--server", "http://127.0.0.1:1", "--token-file", URL),
    "path": ("plan", URL),
    "validate": ("validate", URL),
    "validate below": ("validate", f"{URL}/x.yaml"),
    "fmt": ("fmt", URL),
    "test": ("test", URL),
    "only": ("plan", "FLEET", "--only", URL),
    "only a key": ("plan", "FLEET", "--only", f"key={URL}"),
    "only with a comma": ("plan", "FLEET", "--only", "https://u:HUN,TER2@h"),
    "only with a sign": ("plan", "FLEET", "--only", "https://u:HUN=TER2@h"),
    "except": ("drift", "FLEET", "--except", f"file={URL}"),
    "allow": ("plan", "FLEET", "--reason", "x", "--allow", URL),
    "allow with a sign": ("plan", "FLEET", "--reason", "x", "--allow", "https://u:HUN=TER2@h"),
    "allow so many": ("plan", "FLEET", "--reason", "x", "--allow", f"archives={URL}"),
    "format": ("plan", "FLEET", "--format", URL),
    "timeout": ("plan", "FLEET", "--timeout", URL),
    "expires": ("plan", "FLEET", "--expires", URL),
    "base": ("plan", "FLEET", "--base", URL),
    "base directory": ("plan", "FLEET", "--base-dir", URL),
    "snapshot": ("plan", "FLEET", "--snapshot", URL),
    "out": ("plan", "FLEET", "--out", URL),
    "snapshot out": ("snapshot", "FLEET", "--out", f"{URL}/x"),
    "report": ("apply", "FLEET", "--yes", "--report", URL),
    "journal": ("apply", "FLEET", "--yes", "--journal", URL),
    "plan file": ("apply", "FLEET", "--plan", URL),
    "expect": ("apply", "FLEET", "--expect", URL),
    "show": ("show", URL),
    "diff": ("diff", URL, "FLEET"),
    "diff to": ("diff", "FLEET", URL),
    "explain": ("explain", URL, "--fleet", "FLEET"),
    "explain what is long": ("explain", LONG, "--fleet", "FLEET"),
    "explain a check": ("explain", f"check.{URL}", "--fleet", "FLEET"),
    "explain in": ("explain", "a", "--fleet", URL),
    "id": ("id", URL, "--fleet", "FLEET"),
    "id's tenant": ("id", "a", "--tenant", URL, "--caller", "b"),
    "schema": ("schema", URL),
    "completion": ("completion", URL),
    "command": (URL,),
    "option": ("plan", f"--{URL}"),
    "option's value": ("plan", f"--only{URL}"),
    "argument": ("plan", "FLEET", URL),
}


@pytest.mark.parametrize("debug", ["", "1"])
@pytest.mark.parametrize("named", FLAGS)
def test_no_error_says_it_of_a_flag(named: str, debug: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(fleet.directory)
    monkeypatch.setenv("FLEETCTL_DEBUG", debug)
    arguments = [str(fleet.directory) if argument == "FLEET" else argument for argument in FLAGS[named]]
    ran = fleet(*arguments)
    assert ran.code != 0 or named in ("out", "report", "journal", "init there"), ran
    check(ran)
    if arguments[0] in COMMANDS and "--format" not in arguments and arguments[0] not in ("schema", "completion"):
        check(fleet(*arguments, "--format", "json"))


@pytest.mark.parametrize("variable", ["SERVER", "TENANT", "CALLER"])
@pytest.mark.parametrize("pinned", [True, False])
def test_no_error_says_it_of_the_environment(
    variable: str, pinned: bool, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not pinned:
        fleet.write(root=re.sub("(?m)^(server|caller): .*\n", "", ROOT))
    monkeypatch.setenv(f"FLEETCTL_{variable}", URL)
    for command in ("plan", "whoami", "id"):
        where = ("id", "a", "--fleet", str(fleet.directory)) if command == "id" else (command, str(fleet.directory))
        check(fleet(*where))
        check(fleet(*where, "--format", "json"))


def test_a_snapshot_of_another_server_is_told_without_it(fleet: Fleet, tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    assert fleet.on("snapshot", "--out", str(kept)).code == 0
    ran = fleet.on("plan", "--snapshot", str(kept), "--server", URL)
    assert (ran.code, "https://(sensitive)@h" in ran.err) == (4, True)
    check(ran)


class TestLogsOfBuilds:
    """What stderr says is no command to GitHub or to another CI."""

    @pytest.mark.parametrize("debug", ["", "1"])
    @pytest.mark.parametrize(
        "arguments",
        [
            ("plan", "no\n::error::such"),
            ("plan", "##vso[task.complete]"),
            ("show", "::error::x"),
            ("::error::x",),
            ("explain", "x ##[error]y"),
            ("diff", "::error::x", "##[group]y"),
        ],
    )
    def test_no_argument_is_one(
        self, arguments: tuple[str, ...], debug: str, fleet: Fleet, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(fleet.directory)
        monkeypatch.setenv("FLEETCTL_DEBUG", debug)
        self.check(fleet(*arguments))

    @pytest.mark.parametrize("name", ["::error::pwned.yaml", "##vso[x].yaml", " ::error::x.yaml"])
    def test_no_name_of_a_file_is_one(self, name: str, fleet: Fleet, tmp_path: Path) -> None:
        base = tmp_path / "base"
        base.mkdir()
        (base / name).write_text("a: [\n")
        self.check(fleet.on("plan", "--base-dir", str(base)))
        (fleet.directory / name).write_text("a: [\n")
        for command in ("plan", "validate", "fmt"):
            for form in ("text", "json", "markdown", "html", "junit", "sarif"):
                self.check(fleet.on(command, "--format", form))

    @pytest.mark.parametrize("form", [(), ("--format", "json")])
    def test_no_policy_is_one_in_what_is_printed_of_it(self, form: tuple[str, ...], fleet: Fleet) -> None:
        text = "##vso[task.complete]"
        fleet.write(f"  - {{idempotencyKey: fra1-a, policy: {{note: '{text}', '{text}': 1}}, offers: []}}\n")
        assert fleet.on("apply", "--yes").code == 0
        for command in ("export", "snapshot"):
            if command == "export" or not form:
                ran = fleet.on(command, *form)
                assert ran.code == 0, ran.err
                assert "vso[task.complete]" in ran.out
                self.check(ran)

    @staticmethod
    def check(ran: Ran) -> None:
        assert not re.search(r"^\s*::|##\w*\[", ran.err + "\n" + ran.out, re.MULTILINE), ran
