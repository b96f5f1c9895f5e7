"""`plan --with`, where what several entries share is changed by one side and reaches what another side wrote: what git
merges without a conflict is read as it will stand then."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import Home, entry
from tests.e2e.test_together import Branches, rules
from tests.repository import Repository

Files = Mapping[str, Mapping[str, Any] | None]
"""Documents by the name of their file, without `.yaml`; None: it is taken away."""

STANDARD = {"policies": {"standard": {"maxLeaseHours": 12}}}
USING = {"pools": [entry("new", {"acme": 1, "globex": 1}, policyRef="standard")]}


class Shared(Branches):
    """The fleet of main stands in several files; a side is what it changes of them."""

    def side(self, name: str, files: Files) -> None:
        """A branch of main that is checked out, with these files changed."""
        self.repository.git("checkout", "-q", "-b", name, "main")
        self.put(files)

    def put(self, files: Files) -> None:
        for file, document in files.items():
            if document is None:
                (self.home.directory / f"{file}.yaml").unlink()
            else:
                self.home.write(f"{file}.yaml", json.dumps(document, indent=1) + "\n")
        self.repository.commit()

    def root(self, **fields: Any) -> dict[str, Any]:
        return {**self.home.root, **fields}


@pytest.fixture
def shared(tmp_path: Path) -> Shared:
    """Main has a pool with the policy `standard`, and is applied."""
    made = Shared(tmp_path)
    old = entry("old", {"acme": 1}, policyRef="standard")
    made.put({"fleet": made.root(**STANDARD), "old": {"pools": [old]}})
    made.home.apply()
    return made


def places(report: Any, rule: str) -> list[tuple[str | None, str]]:
    """Whose doing the first finding of a rule is, and where: `file:line`."""
    found = next(one for one in report["together"]["findings"] if one["rule"] == rule)
    sources = [(party["ref"], party["source"] or {}) for party in found["parties"]]
    return [(ref, f"{source.get('file')}:{source.get('line')}") for ref, source in sources]


def test_a_policy_that_one_makes_stricter_holds_for_a_pool_that_another_adds(shared: Shared) -> None:
    shared.side("x", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 12, "singleTenant": True}})})
    shared.side("own", {"new": USING})
    report = shared.plan("x", code=3)
    assert ("error", "offer.single", [None, "x"]) in rules(report)
    assert ("warning", "together.shared", [None, "x"]) in rules(report)
    assert places(report, "together.shared") == [(None, "new.yaml:3"), ("x", "fleet.yaml:8")]
    after = shared.merge("x")
    assert (after.code, "offer.single" in after.said) == (3, True)


def test_a_policy_that_one_renames_is_gone_for_a_pool_that_another_adds(shared: Shared) -> None:
    old = entry("old", {"acme": 1}, policyRef="std")
    shared.side("x", {"fleet": shared.root(policies={"std": {"maxLeaseHours": 12}}), "old": {"pools": [old]}})
    shared.side("own", {"new": USING})
    report = shared.plan("x", code=3)
    assert rules(report) == [("error", "fleet.policyRef", [None, "x"])]
    assert [file.partition(":")[0] for _, file in places(report, "fleet.policyRef")] == ["new.yaml", "fleet.yaml"]
    assert shared.merge("x").code == 1


def test_two_pools_that_replace_one_contradict_each_other(shared: Shared) -> None:
    gone = {"pools": [entry("old", [], policyRef="standard", archived=True)]}
    for name, key in (("x", "x1"), ("own", "x2")):
        new = {"pools": [entry(key, {"acme": 1}, policyRef="standard", replaces="old")]}
        shared.side(name, {"old": gone, key: new})
    report = shared.plan("x", code=3)
    ((severity, rule, refs),) = rules(report)
    assert (severity, refs) == ("error", [None, "x"])
    assert [file.partition(":")[0] for _, file in places(report, rule)] == ["x2.yaml", "x1.yaml"]
    assert shared.merge("x").code == 1


def test_a_policy_that_two_add_stands_twice(shared: Shared) -> None:
    for name, file in (("x", "p1"), ("own", "p2")):
        shared.side(name, {file: {"policies": {"spot": {"maxLeaseHours": 2}}}})
    report = shared.plan("x", code=3)
    assert rules(report) == [("error", "fleet.twice", [None, "x"])]
    assert [file.partition(":")[0] for _, file in places(report, "fleet.twice")] == ["p2.yaml", "p1.yaml"]
    assert shared.merge("x").code == 1


def test_a_default_that_one_changes_makes_something_else_of_a_pool_that_another_adds(shared: Shared) -> None:
    bare = {name: value for name, value in entry("new", {"acme": 1}).items() if name != "class"}
    was = shared.root(**STANDARD, defaults={"pool": {"class": "metal-host"}})
    shared.repository.git("checkout", "-q", "main")
    shared.put({"fleet": was})
    shared.side("x", {"fleet": {**was, "defaults": {"pool": {"class": "vps-host"}}}})
    shared.side("own", {"new": {"pools": [bare]}})
    report = shared.plan("x")
    assert rules(report) == [("warning", "together.shared", [None, "x"])]
    assert "new will not be what is wished: class differs" in report["together"]["findings"][0]["message"]
    assert places(report, "together.shared") == [(None, "new.yaml:3"), ("x", "fleet.yaml:13")]
    assert "nothing breaks only together" not in shared.home.run("plan", "--with", "x").out


def test_a_file_that_one_leaves_out_is_not_read_where_another_adds_it(shared: Shared) -> None:
    shared.side("x", {"fleet": shared.root(**STANDARD, exclude=["new.yaml"])})
    shared.side("own", {"new": USING})
    report = shared.plan("x")
    assert rules(report) == [("warning", "together.shared", [None, "x"])]
    assert "no file that is read has it" in report["together"]["findings"][0]["message"]
    assert "nothing breaks only together" not in shared.home.run("plan", "--with", "x").out


def test_it_is_the_same_in_files_that_are_not_committed_and_from_the_other_side(shared: Shared) -> None:
    strict = shared.root(policies={"standard": {"maxLeaseHours": 12, "singleTenant": True}})
    shared.side("x", {"new": USING})
    shared.repository.git("checkout", "-q", "main")
    shared.home.write("fleet.yaml", json.dumps(strict, indent=1))
    report = shared.plan("x", code=3)
    assert ("error", "offer.single", [None, "x"]) in rules(report)
    assert places(report, "together.shared") == [(None, "fleet.yaml:8"), ("x", "new.yaml:3")]


def test_it_is_the_same_between_two_branches_of_which_none_is_checked_out(shared: Shared) -> None:
    shared.side("x", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 12, "singleTenant": True}})})
    shared.side("y", {"new": USING})
    shared.repository.git("checkout", "-q", "main")
    for refs in (("x", "y"), ("y", "x")):
        assert ("error", "offer.single") in [found[:2] for found in rules(shared.plan(*refs, code=3))]


def test_lines_of_one_file_are_merged_as_git_does(tmp_path: Path) -> None:
    home = Home(tmp_path)
    repository = Repository(home.directory)
    old, new = (json.dumps(entry(key, {"acme": 1, "globex": 1}, policyRef="standard")) for key in ("old", "new"))
    head, pools = json.dumps(home.root)[1:-1], f"pools: [\n{old},\n\n\n\n"
    text = "{" + head + ", policies: {standard: {maxLeaseHours: 12}},\n\n\n" + pools
    path = home.write("fleet.yaml", text + "]}\n")
    repository.commit()
    repository.git("checkout", "-q", "-b", "x")
    path.write_text(text.replace("standard: {", "std: {").replace('"standard"', '"std"') + "]}\n")
    repository.commit()
    repository.git("checkout", "-q", "main")
    path.write_text(text + f"{new}]}}\n")
    report = home.plan("--with", "x", code=3).report
    assert rules(report) == [("error", "fleet.policyRef", [None, "x"])]
    assert places(report, "fleet.policyRef") == [(None, "fleet.yaml:9"), ("x", "fleet.yaml:1")]


def test_lines_that_conflict_where_one_changes_what_is_shared_are_not_passed_in_silence(shared: Shared) -> None:
    shared.side("x", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 24}})})
    shared.side("own", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 6}}), "new": USING})
    report = shared.plan("x", code=3)
    assert ("unchecked", "together.shared", [None, "x"]) in rules(report)
    shared.side("y", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 12}}, guards={"maxArchives": 3})})
    shared.side("z", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 12}}, prices={"H100": 2})})
    ran = shared.home.run("plan", "--with", "y")
    assert ran.code == 0
    assert "nothing breaks only together" not in ran.out


def test_two_pools_that_replace_one_contradict_each_other_where_lines_conflict_too(shared: Shared) -> None:
    for name, key in (("x", "x1"), ("own", "x2")):
        gone = entry("old", [], policyRef="standard", archived=True)
        new = entry(key, {"acme": 1}, policyRef="standard", replaces="old")
        shared.side(name, {"old": {"pools": [gone, new]}})
    report = shared.plan("x", code=3)
    assert rules(report) == [("error", "together.shared", [None, "x"])]
    assert [file.partition(":")[0] for _, file in places(report, "together.shared")] == ["old.yaml", "old.yaml"]


def test_lines_that_conflict_in_entries_alone_are_put_together_by_fields(shared: Shared) -> None:
    for name, key in (("x", "a"), ("own", "b")):
        pools = [entry("old", {"acme": 1}, policyRef="standard"), entry(key, [])]
        shared.side(name, {"old": {"pools": pools}})
    assert rules(shared.plan("x")) == []
