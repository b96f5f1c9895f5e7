"""An undo is looked at before it is approved, by the plan of it; and a file in the place of another is named for what
it is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from better_compute.domain.commands import OfferPool
from tests.e2e.homes import Home, entry, fleetctl, phrase, served, unchanged
from tests.e2e.test_laws import ALLOWED
from tests.e2e.test_undo import AFTER, BEFORE, WAY_BACK, applied, changing, hand, planned, pool, refusing, undone


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return changing(tmp_path)


# The plan of an undo.


def test_it_is_shown_without_a_terminal_and_approved_by_its_digest(home: Home) -> None:
    file = applied(home)
    with unchanged(home):
        plan = home.plan("--undo", file, *ALLOWED)
    assert sorted(plan.operations) == WAY_BACK
    assert plan.report["undo"]["digest"] == json.loads(file.read_text())["digest"]
    assert [phrase(one) for one in plan.report["undo"]["left"]] == ["archive old"]
    report = home.apply("--undo", file, "--expect", plan.report["digest"], *ALLOWED).report
    assert sorted(map(phrase, report["done"])) == WAY_BACK
    assert report["digest"] == plan.report["digest"]


def test_the_digest_of_another_plan_is_refused_and_the_command_that_gives_this_one_is_named(home: Home) -> None:
    """Such as the plan of the files, which is what `fleetctl plan` alone shows."""
    file = applied(home)
    home.wish(*BEFORE[:2], entry("new", {"globex": 2}))
    digest = home.plan().report["digest"]
    with unchanged(home):
        ran = home.run("apply", "--undo", file, "--expect", digest, *ALLOWED)
    assert ran.code == 4
    assert ran.err.splitlines()[-1].endswith("give the digest that it shows: fleetctl plan --undo REPORT")


def test_over_the_network_whoever_reads_has_the_same_digest(home: Home) -> None:
    file = applied(home)
    digest = home.plan("--undo", file, *ALLOWED).report["digest"]
    with served(home) as (server, _):
        home.environ = {"FLEETCTL_TOKEN": server.token("sa_other")}
        assert home.plan("--undo", file, *ALLOWED).report["digest"] == digest


def test_it_ends_as_any_plan_does(home: Home) -> None:
    file = applied(home)
    home.wish(*AFTER, guards={"maxArchives": 0})
    home.plan("--undo", file, code=3)
    home.wish(*AFTER)
    home.plan("--undo", file, *ALLOWED, "--detailed-exitcode", code=2)
    undone(home, file)
    out = home.run("plan", "--undo", file, "--detailed-exitcode").out
    assert "Nothing is there to be taken back of the apply" in out
    assert home.run("plan", "--undo", file, "--detailed-exitcode").code == 0
    hand(home, OfferPool(**pool("a"), to_tenant_id="acme", quota={"gpu": 9}))
    assert "what the apply did was changed since" in home.run("plan", "--undo", file, *ALLOWED).err


@pytest.mark.parametrize("form", ["text", "markdown", "html", "github", "junit", "sarif"])
def test_it_is_said_in_every_format(home: Home, form: str) -> None:
    ran = home.run("plan", "--undo", applied(home), *ALLOWED, "--format", form)
    assert (ran.code, "initech" in ran.out) == (0, True)


def test_it_may_be_of_a_part(home: Home) -> None:
    ran = home.run("plan", "--undo", applied(home), *ALLOWED, "--only", "key=new")
    assert "not asked: it takes back the apply" in ran.out
    assert "only key=new: a part of the apply; 6 of its operations outside are still in place" in ran.out
    assert "Outside the part, and still in place" in ran.out


@pytest.mark.parametrize(
    ("flags", "why"),
    [
        (["--out", "plan.json"], "`apply --undo REPORT --expect DIGEST` runs the plan of that digest alone"),
        (["--expires", "1h"], "`apply --undo REPORT --expect DIGEST` runs the plan of that digest alone"),
        (["--with", "HEAD"], ""),
        (["--snapshot", "live.json"], "what happened since is told by the control plane's events"),
        (["--base", "HEAD"], ""),
        (["--base-dir", "."], ""),
        (["--prune"], ""),
    ],
)
def test_what_an_undo_has_not_is_a_usage_error(home: Home, flags: list[str], why: str) -> None:
    ran = home.run("plan", "--undo", "report.json", *flags)
    assert (ran.code, f"goes without {flags[0]}" in ran.err, why in ran.err) == (64, True, True)


# One file in the place of another.


def test_a_report_in_the_place_of_a_plan_is_told_as_one(home: Home) -> None:
    file = applied(home)
    with unchanged(home):
        ran = home.run("apply", "--plan", file)
    assert (ran.code, f"{file} is the report of an apply, and a plan file is meant" in ran.err) == (1, True)
    assert "name the file that `plan --out` wrote; or, to take back what this one tells, give it by --undo" in ran.err


def test_a_plan_in_the_place_of_a_report_is_too(home: Home) -> None:
    plan = planned(home)
    with unchanged(home):
        ran = home.run("apply", "--undo", plan, "--yes")
    assert (ran.code, f"{plan} is a plan, and the report of an apply is meant" in ran.err) == (1, True)
    assert "or, to run the plan, give it by --plan" in ran.err


def test_what_plan_printed_of_an_undo_is_no_plan_file(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "undo.json"
    file.write_text(home.plan("--undo", applied(home), *ALLOWED).out)
    assert fleetctl("show", file).code == 0
    with unchanged(home):
        ran = home.run("apply", "--plan", file)
    assert (ran.code, f"{file} is the plan of an undo, and one of the files is meant" in ran.err) == (1, True)
    assert "the digest of this plan by --expect" in ran.err


# Whose digest it is.


def test_the_rest_of_a_plan_has_a_digest_of_its_own_and_says_whose_rest_it_is(home: Home) -> None:
    plan = planned(home)
    digest = json.loads(plan.read_text())["digest"]
    with served(home) as (_, proxy):
        proxy.reset(refusing(3))
        first = home.run("apply", "--plan", plan, *ALLOWED, "--parallelism", "1").out
        assert "of the rest of the plan" not in first
        assert first.count(f"\nDigest: {digest}\n") == 2
        proxy.reset()
        out = home.run("apply", "--plan", plan, *ALLOWED).out
    assert f", of the rest of the plan {digest[:12]}\n" in out
    assert out.count(f"Digest of the whole plan: {digest}\n") == out.count(digest) == 1
