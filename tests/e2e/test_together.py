"""`plan --with`: branches of a repository beside the files at hand, through the whole command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fleetctl.report import schemas
from tests.e2e.homes import Home, Ran, entry, fleetctl, unchanged
from tests.repository import Repository

LIMITED = {"maxOversell": 1}


class Branches:
    """A home in a repository. Each pool stands in a file of its own, so that git merges what branches do to several."""

    def __init__(self, directory: Path) -> None:
        self.home = Home(directory)
        self.repository = Repository(self.home.directory)

    def commit(self, *pools: dict[str, Any], **root: Any) -> None:
        """The whole fleet of the branch that is checked out; offers stand in files of their tenants."""
        for path in self.home.directory.glob("*.yaml"):
            path.unlink()
        self.write(*pools, **root)
        self.repository.commit()

    def write(self, *pools: dict[str, Any], **root: Any) -> None:
        self.home.write("fleet.yaml", json.dumps({**self.home.root, "allowEmpty": True, **root}, indent=1))
        for pool in pools:
            self.home.write(f"{pool['idempotencyKey']}.yaml", json.dumps({"pools": [pool]}, indent=1))

    def branch(self, name: str, *pools: dict[str, Any], start: str = "main", **root: Any) -> None:
        """A branch with this fleet; what was checked out is again after it."""
        before = self.repository.git("rev-parse", "--abbrev-ref", "HEAD")
        self.repository.git("checkout", "-q", "-b", name, start)
        self.commit(*pools, **root)
        self.repository.git("checkout", "-q", before)

    def plan(self, *refs: str, code: int = 0, more: tuple[str | Path, ...] = ()) -> Any:
        """What is said of these together, and how the command ends."""
        asked = [word for ref in refs for word in ("--with", ref)]
        return self.home.plan(*asked, *more, code=code).report

    def merge(self, *refs: str) -> Ran:
        """The plan of what git makes of all of them."""
        for ref in refs:
            self.repository.git("merge", "-q", "-m", "x", ref)
        return self.home.run("plan", "--format", "json")


def rules(report: Any) -> list[tuple[str, str, list[str | None]]]:
    found = report["together"]["findings"]
    return [(one["severity"], one["rule"], [party["ref"] for party in one["parties"]]) for one in found]


@pytest.fixture
def branches(tmp_path: Path) -> Branches:
    """Main has two pools that are applied, one of them with 32 GPUs; `own` is checked out, and is main so far."""
    made = Branches(tmp_path)
    made.commit(entry("racked", {"acme": 8}), entry("plain", {"acme": 8}), guards=LIMITED)
    made.home.apply()
    made.repository.git("checkout", "-q", "-b", "own")
    return made


def test_oversell_that_only_the_merge_makes_is_found_before_it(branches: Branches) -> None:
    branches.repository.git("checkout", "-q", "-b", "globex", "main")
    for ref, tenant in (("globex", "globex"), ("own", "initech")):
        branches.repository.git("checkout", "-q", ref)
        offers = [{"pool": "racked", "toTenantId": tenant, "quota": {"gpu": 16}}]
        branches.repository.commit(**{tenant: json.dumps({"apiVersion": "fleet/v1", "offers": offers}, indent=1)})
        assert branches.plan()["summary"]["operations"] == 1
    report = branches.plan("globex", code=3)
    assert rules(report) == [("error", "guard.oversell", [None, "globex"])]
    (found,) = report["together"]["findings"]
    places = [(party["source"]["file"], party["source"]["line"]) for party in found["parties"]]
    assert places == [("initech.yaml", 4), ("globex.yaml", 4)]
    assert found["source"]["file"] == "initech.yaml"
    assert report["summary"]["blocked"] is False
    after = branches.merge("globex")
    assert after.code == 3
    assert "guard.oversell" in {finding["rule"] for finding in after.report["findings"]}


def test_with_head_finds_nothing_and_changes_nothing_of_the_plan(branches: Branches) -> None:
    branches.commit(entry("racked", {"acme": 30}), entry("plain", {"acme": 9}), guards=LIMITED)
    alone, beside = branches.plan(), branches.plan("HEAD", "own", "main")
    assert beside["together"] == {
        "revisions": [
            {"ref": ref, "commit": branches.repository.git("rev-parse", ref), "plan": None}
            for ref in ("HEAD", "main", "own")
        ],
        "findings": [],
        "blocked": False,
    }
    assert "together" not in alone
    for name in ("digest", "inputs", "operations", "findings", "summary"):
        assert alone[name] == beside[name]


def test_the_order_in_which_branches_are_named_does_not_matter(branches: Branches) -> None:
    for name, gpus in (("x", 9), ("y", 10), ("z", 11)):
        branches.branch(name, entry("racked", {"acme": gpus}), entry("plain", {"acme": 8}), guards=LIMITED)
    orders = [branches.plan(*refs, code=3)["together"] for refs in ("xyz", "zxy", "yzx")]
    assert orders[0] == orders[1] == orders[2]
    (found,) = orders[0]["findings"]
    assert {party["ref"]: party["wish"] for party in found["parties"]} == {"x": 9, "y": 10, "z": 11}


def test_wishes_of_one_object_that_differ_are_told_with_their_places(branches: Branches) -> None:
    was = entry("plain", {"acme": 8})
    branches.branch("x", entry("racked", {"acme": 9}), was, guards=LIMITED)
    branches.commit(entry("racked", {"acme": 10}), was, guards=LIMITED)
    ran = branches.home.run("plan", "--with", "x")
    assert ran.code == 3
    said = (
        "pools[racked].offers[acme].quota.gpu: it is wished differently: 10 by these files (racked.yaml:12) and 9 by x"
        " (racked.yaml:12)"
    )
    assert said in " ".join(ran.out.split())
    assert "Together with x: 1 error that no plan has alone." in ran.out
    branches.commit(entry("racked", {"acme": 9}), was, guards=LIMITED)
    assert branches.plan("x")["together"]["findings"] == []


def test_each_revision_has_its_commit_and_what_it_does_alone(branches: Branches) -> None:
    racked, plain, git = entry("racked", {"acme": 8}), entry("plain", {"acme": 8}), branches.repository.git
    gone = [{**pool, "offers": [], "archived": True} for pool in (racked, plain)]
    branches.branch("grows", racked, plain, entry("n", {"acme": 1}), entry("m", []), guards=LIMITED)
    branches.branch("closes", *gone, guards=LIMITED)
    branches.branch("moved", racked, plain, fleet="else", guards=LIMITED)
    asked = ("closes", "grows", "main", "moved")
    ran = branches.home.run("plan", *(word for ref in asked for word in ("--with", ref)))
    assert ran.code == 0
    lines = {
        "closes": "2 archives; blocked by itself",
        "grows": "2 to create, 1 offer",
        "main": "in HEAD, or in another one of these",
        "moved": "another fleet",
    }
    shown = ran.out.partition("Other revisions\n")[2].splitlines()
    assert shown[:4] == [f"  {ref} ({git('rev-parse', ref)[:12]}): {said}" for ref, said in lines.items()]
    report = branches.plan(*asked)["together"]
    plans = {one["ref"]: one["plan"] for one in report["revisions"]}
    assert plans["main"] is plans["moved"] is None
    assert (plans["grows"]["operations"], plans["grows"]["blocked"]) == (3, False)
    assert (plans["closes"]["actions"]["archive"], plans["closes"]["blocked"]) == (2, True)


def test_a_plan_that_ends_with_3_by_what_comes_with_it_says_so(branches: Branches) -> None:
    branches.branch("x", entry("racked", {"acme": 9}), entry("plain", {"acme": 8}), guards=LIMITED)
    branches.commit(entry("racked", {"acme": 10}), entry("plain", {"acme": 8}), guards=LIMITED)
    report = branches.plan("x", code=3)
    assert (report["summary"]["blocked"], report["together"]["blocked"]) == (False, True)
    last = "All together would be blocked, though this plan alone is not: exit code 3."
    assert last in branches.home.run("plan", "--with", "x", "--format", "markdown").out
    lines = branches.home.run("plan", "--with", "x").out.splitlines()
    assert lines[-1] == f"Together with x: 1 error that no plan has alone. {last}"
    assert "Not blocked by itself." in lines


def test_what_other_revisions_alone_have_a_part_in_is_placed_in_one_of_them(branches: Branches) -> None:
    for name, gpus in (("x", 9), ("y", 10)):
        branches.branch(name, entry("racked", {"acme": gpus}), entry("plain", {"acme": 8}), guards=LIMITED)
    assert "\nx:racked.yaml:12:" in branches.home.run("plan", "--with", "x", "--with", "y").out
    assert "file=" not in branches.home.run("plan", "--with", "x", "--with", "y", "--format", "github").out


def test_a_pool_that_one_takes_away_and_another_changes_is_told(branches: Branches) -> None:
    branches.branch("x", entry("plain", {"acme": 8}), guards=LIMITED)
    branches.commit(entry("racked", {"acme": 10}), entry("plain", {"acme": 8}), guards=LIMITED)
    report = branches.plan("x", code=3)
    assert rules(report) == [("error", "together.wish", [None, "x"])]
    assert [party["wish"] for party in report["together"]["findings"][0]["parties"]] == ["changed", "removed"]


def test_a_pool_that_two_create_alike_in_one_file_is_none_and_in_two_it_is(branches: Branches) -> None:
    was = [entry("racked", {"acme": 8}), entry("plain", {"acme": 8})]
    branches.branch("x", *was, entry("new", {"acme": 1}), guards=LIMITED)
    branches.commit(*was, entry("new", {"acme": 1}), entry("own", []), guards=LIMITED)
    assert branches.plan("x")["together"]["findings"] == []
    branches.repository.git("mv", "new.yaml", "elsewhere.yaml")
    branches.repository.commit()
    assert rules(branches.plan("x", code=3)) == [("error", "together.twice", [None, "x"])]
    assert branches.merge("x").code == 1


def test_what_is_wished_in_files_that_are_not_committed_counts(branches: Branches) -> None:
    branches.branch("x", entry("racked", {"acme": 9}), entry("plain", {"acme": 8}), guards=LIMITED)
    branches.write(entry("racked", {"acme": 10}))
    assert rules(branches.plan("x", code=3)) == [("error", "together.wish", [None, "x"])]


def test_branches_behind_and_ahead_of_main_take_nothing_back(branches: Branches) -> None:
    """One began before main was raised, the other after it; the files at hand are behind as well."""
    branches.branch("behind", entry("racked", {"acme": 8}), entry("plain", {"acme": 9}), guards=LIMITED)
    branches.repository.git("checkout", "-q", "main")
    branches.commit(entry("racked", {"acme": 16}), entry("plain", {"acme": 8}), guards=LIMITED)
    branches.home.apply()
    branches.commit(entry("racked", {"acme": 20}), entry("plain", {"acme": 8}), guards=LIMITED)
    branches.branch("ahead", entry("racked", {"acme": 20}), entry("plain", {"acme": 8}), entry("n", []), guards=LIMITED)
    branches.repository.git("checkout", "-q", "own")
    for more in ((), ("--base", "main")):
        assert branches.plan("ahead", "behind", "main", more=more)["together"]["findings"] == []


def test_a_guard_counts_what_all_of_them_take(branches: Branches) -> None:
    racked, plain = entry("racked", {"acme": 8}), entry("plain", {"acme": 8})
    gone = [{**pool, "offers": [], "archived": True} for pool in (racked, plain)]
    branches.branch("x", racked, gone[1], guards=LIMITED)
    branches.commit(gone[0], plain, guards=LIMITED)
    report = branches.plan("x", code=3)
    assert rules(report) == [("error", "guard.archives", [None, "x"])]
    assert report["together"]["findings"][0]["message"].startswith("2 archives, and one apply may do 1")
    allowed = ("--allow", "archives=2", "--reason", "both go")
    assert branches.plan("x", more=allowed)["together"]["findings"] == []


def test_what_each_of_them_prunes_is_counted_together(branches: Branches) -> None:
    branches.branch("x", entry("racked", {"acme": 8}), guards=LIMITED)
    branches.commit(entry("plain", {"acme": 8}), guards=LIMITED)
    assert branches.plan("x", more=("--base", "main"))["together"]["findings"] == []
    report = branches.plan("x", code=3, more=("--base", "main", "--prune"))
    assert ("error", "guard.archives", [None, "x"]) in rules(report)


def test_a_rule_that_only_both_break_is_told(branches: Branches) -> None:
    racked = entry("racked", {"acme": 8})
    branches.branch("x", racked, entry("plain", {"acme": 8, "globex": 1}), guards=LIMITED)
    branches.commit(racked, entry("plain", {"acme": 8}, policy={"singleTenant": True}), guards=LIMITED)
    assert rules(branches.plan("x", code=3)) == [("error", "offer.single", [None, "x"])]


@pytest.mark.parametrize("name", ["text", "json", "markdown", "html", "github", "junit", "sarif"])
def test_every_format_tells_it_and_by_whom(name: str, branches: Branches) -> None:
    branches.branch("more-h100", entry("racked", {"acme": 9}), entry("plain", {"acme": 8}), guards=LIMITED)
    branches.commit(entry("racked", {"acme": 10}), entry("plain", {"acme": 8}), guards=LIMITED)
    ran = branches.home.run("plan", "--with", "more-h100", "--format", name)
    assert ran.code == 3
    assert "wished differently" in ran.out
    assert "more-h100" in ran.out
    assert "racked.yaml" in ran.out
    if name == "json":
        assert list(Draft202012Validator(schemas.schema("plan.v1")).iter_errors(ran.report)) == []


def test_the_plan_file_says_it_and_may_be_applied(branches: Branches, tmp_path: Path) -> None:
    branches.branch("x", entry("racked", {"acme": 9}), entry("plain", {"acme": 8}), guards=LIMITED)
    branches.commit(entry("racked", {"acme": 10}), entry("plain", {"acme": 8}), guards=LIMITED)
    kept = tmp_path / "plan.json"
    with unchanged(branches.home):
        assert branches.plan("x", code=3, more=("--out", kept)) == json.loads(kept.read_text())
    assert "wished differently" in fleetctl("show", kept).out
    assert branches.home.apply("--plan", kept).code == 0
    assert branches.home.is_settled()


def test_it_reads_a_snapshot_and_a_part(branches: Branches, tmp_path: Path) -> None:
    live = tmp_path / "live.json"
    assert branches.home.run("snapshot", "--out", live).code == 0
    new = entry("new", {"acme": 1})
    branches.branch("x", entry("racked", {"acme": 9}), entry("plain", {"acme": 8}), guards=LIMITED)
    branches.commit(entry("racked", {"acme": 10}), entry("plain", {"acme": 8}), new, guards=LIMITED)
    snapshot = ("--snapshot", live)
    assert rules(branches.plan("x", code=3, more=snapshot)) == [("error", "together.wish", [None, "x"])]
    for part in ("key=new", "key=plain"):
        assert branches.plan("x", more=(*snapshot, "--only", part))["together"]["findings"] == []
    assert branches.plan("x", code=3, more=("--only", "key=racked", "--only", "key=new"))["together"]["findings"]


def test_a_branch_of_another_fleet_is_said_to_be_one(branches: Branches) -> None:
    branches.branch("x", entry("racked", {"acme": 9}), fleet="else", guards=LIMITED)
    assert rules(branches.plan("x")) == [("unchecked", "together.fleet", ["x"])]


def test_a_branch_that_lost_the_fleet_takes_all_of_it_away(branches: Branches) -> None:
    branches.repository.git("checkout", "-q", "-b", "bare", "main")
    branches.repository.git("rm", "-rqf", ".")
    branches.repository.git("commit", "-q", "--allow-empty", "-m", "x")
    branches.repository.git("checkout", "-q", "own")
    branches.commit(entry("racked", {"acme": 10}), entry("plain", {"acme": 8}), guards=LIMITED)
    report = branches.plan("bare", code=3)
    assert rules(report) == [("error", "together.wish", [None, "bare"]), ("unchecked", "together.fleet", ["bare"])]
    assert "what became of it there was not looked at" in report["together"]["findings"][1]["message"]


def test_a_revision_that_cannot_be_read_is_an_error(branches: Branches) -> None:
    branches.branch("x", entry("racked", {"acme": 8}, gpuModell="H100"), guards=LIMITED)
    ran = branches.home.run("plan", "--with", "x")
    assert (ran.code, ran.out) == (1, "")
    assert "the fleet at x (" in ran.err
    assert "racked.yaml:16:4: " in ran.err
    ran = branches.home.run("plan", "--with", "main", "--with", "origin/gone")
    assert (ran.code, ran.out) == (1, "")
    assert "there is no commit origin/gone in this repository" in ran.err


def test_outside_of_a_repository_it_is_an_error(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.wish(entry("a", []))
    ran = home.run("plan", "--with", "main")
    assert ran.code == 1
    assert "is in no git repository" in ran.err
