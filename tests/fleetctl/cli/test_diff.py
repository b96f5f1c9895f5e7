"""`fleetctl diff`: two fleets in words, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fleetctl.cli.runs import ENTRY, ROOT, Fleet

OFFERED = (
    "  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 4}}, {toTenantId: no, quota: {gpu: 1}}]}\n"
)
NEW = "  - {idempotencyKey: fra1-new, gpuModel: H200, offers: []}\n"


@pytest.fixture
def other(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same fleet, in the directory `other` beside it."""
    directory = fleet.directory / "other"
    directory.mkdir()
    (directory / "fleet.yaml").write_text(ROOT + ENTRY)
    here = fleet.directory / "here"
    here.mkdir()
    (here / "fleet.yaml").write_text(ROOT + ENTRY)
    monkeypatch.chdir(fleet.directory)
    return directory


def test_fleets_that_wish_the_same_have_no_difference(fleet: Fleet, other: Path) -> None:
    (other / "fleet.yaml").write_text(ROOT + ENTRY.replace("{gpu: 8}", "{'gpu':   8, vcpu: 0}"))
    ran = fleet("diff", "here", "other", "--detailed-exitcode")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.endswith("No difference: 1 pool, 1 offer.\n")


def test_what_differs_is_told_with_both_sides(fleet: Fleet, other: Path) -> None:
    (other / "fleet.yaml").write_text(ROOT.replace("fleet: demo", "fleet: two") + OFFERED + NEW)
    ran = fleet("diff", "here", "other")
    assert ran.code == 0
    assert "Difference of here and other" in ran.out
    for words in (
        "fleet",
        "demo -> two",
        "+ add       fra1-new",
        "H200, site_fra1, metal-host",
        "offers[acme].quota.gpu",
        "8 -> 4",
    ):
        assert words in ran.out
    assert "offers[no]" in ran.out
    assert "added: gpu 1" in ran.out
    assert ran.out.endswith("Difference: pools: 1 added, 1 changed, 0 as before; fields of the fleet: 1.\n")


def test_what_guards_less_is_said_first(fleet: Fleet, other: Path) -> None:
    (other / "fleet.yaml").write_text(ROOT.replace("pools:", "guards: {maxArchives: 9}\npools:") + ENTRY)
    ran = fleet("diff", "here", "other")
    assert ran.out.index("1 limit guards less than before.") < ran.out.index("guards.maxArchives")
    assert "1 -> 9  looser" in ran.out


@pytest.mark.parametrize(("flags", "code"), [((), 0), (("--detailed-exitcode",), 2)])
def test_a_difference_is_an_exit_code_for_whoever_asks(
    fleet: Fleet, other: Path, flags: tuple[str, ...], code: int
) -> None:
    (other / "fleet.yaml").write_text(ROOT + ENTRY + NEW)
    assert fleet("diff", "here", "other", *flags).code == code


@pytest.mark.usefixtures("other")
def test_secrets_are_in_no_output(fleet: Fleet) -> None:
    for side, secret in (("here", "hunter-one"), ("other", "hunter-two")):
        entry = ENTRY.replace("offers:", f"policy: {{token: {secret}}}, offers:")
        (fleet.directory / side / "fleet.yaml").write_text(ROOT + entry)
    for form in ("text", "json", "markdown"):
        ran = fleet("diff", "here", "other", "--verbose", "--format", form)
        assert "hunter" not in ran.out + ran.err
        assert "(sensitive)" in ran.out
    assert "(changed)" in fleet("diff", "here", "other").out


@pytest.mark.parametrize("form", ["text", "json", "markdown", "github", "junit", "sarif", "html"])
def test_no_name_from_a_file_acts_on_who_reads_it(fleet: Fleet, form: str) -> None:
    """A folder and a policy's field that turn the line around, and end a comment."""
    hostile = "x\u202e--><b>`@all"
    for side, limit in (("here", 1), ("other", 2)):
        folder = fleet.directory / side / hostile
        folder.mkdir(parents=True)
        entry = ENTRY.replace("offers:", f"policy: {{{json.dumps(hostile)}: {limit}}}, offers:")
        (folder / "fleet.yaml").write_text(ROOT + entry, encoding="utf-8")
    ran = fleet("diff", str(fleet.directory / "here"), str(fleet.directory / "other"), "--format", form)
    assert (ran.code, ran.err) == (0, "")
    assert "\u202e" not in ran.out
    assert form != "html" or "<b>" not in ran.out


def test_the_report_counts(fleet: Fleet, other: Path) -> None:
    (other / "fleet.yaml").write_text(ROOT + NEW)
    document = json.loads(fleet("diff", "here", "other", "--format", "json").out)
    assert document["kind"] == "diff"
    assert [document[side]["given"] for side in ("before", "after")] == ["here", "other"]
    assert document["summary"] == {
        "added": 1,
        "removed": 1,
        "changed": 0,
        "unchanged": 0,
        "offers": 1,
        "fields": 0,
        "limits": 0,
        "looser": 0,
    }


def test_files_that_cannot_be_read_are_told_with_their_side(fleet: Fleet, other: Path) -> None:
    (other / "fleet.yaml").write_text(ROOT + "  - {idempotencyKey: fra1-a, ofers: []}\n")
    ran = fleet("diff", "here", "other")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("other/fleet.yaml:9:")


def test_both_sides_are_needed(fleet: Fleet) -> None:
    assert fleet("diff", "here").code == 64
