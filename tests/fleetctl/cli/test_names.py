"""Names that are not UTF-8, of directories and of revisions: told with escapes, in every format, and never a failure of
the command itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.homes import Home, entry, fleetctl
from tests.repository import Repository

NAME = os.fsdecode(b"n\xff")
SHOWN = "n\\xff"
FORMATS = ["text", "json", "markdown", "html", "github", "junit", "sarif"]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """In a repository with a branch of such a name, beside a directory of such a name with the same fleet."""
    made = Home(tmp_path)
    made.wish(entry("a", {"acme": 1}))
    repository = Repository(made.directory)
    repository.commit()
    repository.git("checkout", "-q", "-b", NAME)
    made.wish(entry("a", {"acme": 2}), entry("b", []))
    repository.commit()
    repository.git("checkout", "-q", "main")
    (tmp_path / NAME).mkdir()
    (tmp_path / NAME / "fleet.yaml").write_bytes((made.directory / "fleet.yaml").read_bytes())
    made.apply()
    return made


@pytest.mark.parametrize("form", FORMATS)
def test_of_bases_and_revisions_beside_them_are_told(form: str, home: Home) -> None:
    base = home.directory.parent / NAME
    assert home.run("plan", "--base-dir", base, "--format", form).code == 0
    assert home.run("drift", "--base", NAME, "--format", form).code == 0
    ran = home.run("plan", "--with", NAME, "--format", form)
    assert ran.code == 0
    assert form in ("junit", "sarif", "github") or "xff" in ran.out


def test_of_the_base_of_a_plan_file_are_found_again(home: Home, tmp_path: Path) -> None:
    kept = tmp_path / "plan.json"
    home.wish(entry("a", {"acme": 3}))
    home.plan("--base-dir", home.directory.parent / NAME, "--out", kept)
    assert home.apply("--plan", kept).code == 0
    assert home.is_settled()


def test_of_the_sides_of_a_comparison_are_told(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(home.directory)
    ran = fleetctl("diff", "main", NAME, "--format", "json")
    assert (ran.code, ran.report["after"]["given"]) == (0, SHOWN)
    base = home.directory.parent / NAME
    (base / "fleet.yaml").write_text("pools: [{")
    ran = fleetctl("diff", home.directory, base, "--format", "json")
    assert (ran.code, ran.report["kind"]) == (1, "error")
    assert ran.report["problems"][0]["source"]["file"].endswith(f"/{SHOWN}/fleet.yaml")


@pytest.mark.parametrize("form", [each for each in FORMATS if each != "text"])
def test_of_what_is_not_there_are_told_in_an_error(form: str, home: Home) -> None:
    asked = (("--with", f"{NAME}o"), ("--base", os.fsdecode(b"\xfe")), ("--snapshot", f"{NAME}o"))
    for flags in (*asked, ("--only", f"key={NAME}")):
        ran = home.run("plan", *flags, "--format", form)
        assert (ran.code, "INTERNAL_ERROR" in ran.said) == (1, False)
        assert ran.out
