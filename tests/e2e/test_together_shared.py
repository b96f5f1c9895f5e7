"""`plan --with`, where what several entries share is changed by one side and reaches what another side wrote: what git
merges without a conflict is read as it will stand then."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.homes import Home, entry, fleetctl
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
    (said,) = (one["message"] for one in report["together"]["findings"] if one["severity"] == "unchecked")
    assert said.startswith("fleet.yaml cannot be merged line by line, so that the merged files were not read")
    ours = "what policies.standard of these files makes of old"
    assert said.endswith(f"not looked at is {ours} and what policies.standard of x makes of new and old")
    shared.side("y", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 12}}, guards={"maxArchives": 3})})
    shared.side("z", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 12}}, prices={"H100": 2})})
    ran = shared.home.run("plan", "--with", "y")
    assert ran.code == 0
    assert "nothing breaks only together" not in ran.out


@pytest.mark.parametrize("mover", ["x", "own"])
def test_a_file_that_one_moves_and_another_changes_is_merged_under_its_new_name(shared: Shared, mover: str) -> None:
    strict = shared.root(policies={"standard": {"maxLeaseHours": 12, "singleTenant": True}})
    for name in ("x", "own"):
        moved = {"fleet": None, "settings": shared.root(**STANDARD), "new": USING}
        shared.side(name, moved if name == mover else {"fleet": strict})
    report = shared.plan("x", code=3)
    assert "unchecked" not in {severity for severity, _, _ in rules(report)}
    assert "offer.single" in {rule for _, rule, _ in rules(report)}
    assert shared.merge("x").code == 3


def test_a_file_that_two_move_to_different_places_is_not_passed_in_silence(shared: Shared) -> None:
    for name in ("x", "own"):
        policies = {"standard": {"maxLeaseHours": 12}, name: {"maxLeaseHours": 3}}
        shared.side(name, {"fleet": None, name: shared.root(policies=policies)})
    report = shared.plan("x")
    assert rules(report) == [("unchecked", "together.shared", [None, "x"])]


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


def test_a_list_of_for_each_that_conflicts_with_its_template_is_not_passed_in_silence(shared: Shared) -> None:
    made = "pools:\n  - forEach: {at: [fra1]}\n    idempotencyKey: p-${at}\n    siteId: site_${at}\n"
    made += "    class: metal-host\n    gpuModel: H100\n    offers: []\n"
    main = {"": made, "x": made.replace("[fra1]}\n", "[fra1]}\n    policy: {singleTenant: true}\n")}
    for name, text in {**main, "own": made.replace("[fra1]", "[fra1, ams1]")}.items():
        shared.repository.git("checkout", "-q", *(("-b", name) if name else ()), "main")
        shared.home.write("sites.yaml", text)
        shared.repository.commit()
    report = shared.plan("x")
    assert rules(report) == [("unchecked", "together.shared", [None, "x"])]
    assert "what forEach of p-${at} of x makes of p-ams1" in report["together"]["findings"][0]["message"]


def test_a_template_that_one_changes_is_told_as_its_doing(shared: Shared) -> None:
    made = "pools:\n  - forEach: {at: [fra1]}\n    idempotencyKey: p-${at}\n    siteId: site_${at}\n"
    made += "    class: metal-host\n    gpuModel: H100\n    offers: []\n"
    main = {"": made, "x": f"{made}    policy: {{singleTenant: true}}\n"}
    for name, text in {**main, "own": made.replace("[fra1]", "[fra1, ams1]")}.items():
        shared.repository.git("checkout", "-q", *(("-b", name) if name else ()), "main")
        shared.home.write("sites.yaml", text)
        shared.repository.commit()
    assert rules(shared.plan("x")) == [("warning", "together.shared", [None, "x"])]


def test_what_two_wish_differently_is_told_once_however_the_lines_are_merged(shared: Shared) -> None:
    idle = entry("idle", [], policy={"maxPending": "1h"}, agent="bcd")
    shared.repository.git("checkout", "-q", "main")
    shared.put({"idle": {"pools": [idle]}})
    shared.side("x", {"idle": {"pools": [{**idle, "archived": True}]}})
    shared.side("own", {"idle": {"pools": [{**idle, "policy": {"maxPending": "2h"}}]}})
    assert rules(shared.plan("x", code=3)) == [("error", "together.wish", [None, "x"])]
    shared.repository.git("merge", "-q", "-m", "x", "x")


def test_a_fleet_of_which_nothing_is_left_only_by_all_is_told(shared: Shared) -> None:
    shared.repository.git("checkout", "-q", "main")
    shared.put({"other": {"pools": [entry("other", [])]}})
    shared.side("x", {"old": None})
    shared.side("own", {"other": None})
    assert rules(shared.plan("x", code=3)) == [("error", "fleet.empty", [None, "x"])]
    assert rules(shared.plan("x", code=3, more=("--base", "main"))) == [("error", "fleet.empty", [None, "x"])]
    assert shared.merge("x").code == 1


def test_a_fleet_that_may_be_empty_may_be_so_together_too(shared: Shared) -> None:
    shared.repository.git("checkout", "-q", "main")
    empty = shared.root(**STANDARD, allowEmpty=True)
    shared.put({"fleet": empty, "other": {"pools": [entry("other", [])]}})
    shared.side("x", {"old": None})
    shared.side("own", {"other": None})
    assert rules(shared.plan("x")) == []


def test_a_pool_that_one_renames_and_another_changes_is_one_pool(shared: Shared) -> None:
    lines = json.dumps(entry("old", {"acme": 1}, policyRef="standard"), indent=1)
    renamed = lines.replace('"old",', '"renamed",\n "previously": "old",')
    texts = {"": lines, "x": lines.replace('"gpu": 1', '"gpu": 5'), "own": renamed}
    for name, text in texts.items():
        shared.repository.git("checkout", "-q", *(("-b", name) if name else ()), "main")
        shared.home.write("old.yaml", f'{{"pools": [\n{text}\n]}}\n')
        shared.repository.commit()
    assert rules(shared.plan("x")) == []
    shared.repository.git("checkout", "-q", "x")
    assert rules(shared.plan("own")) == []
    assert shared.merge("own").operations == ["offer renamed to acme"]


def test_one_file_whose_name_is_not_utf_8_is_merged_too(shared: Shared) -> None:
    name = os.fsdecode(b"one\xff.yaml")
    for side, gpus in (("", 1), ("x", 2), ("own", 1)):
        shared.repository.git("checkout", "-q", *(("-b", side) if side else ()), "main")
        shared.home.write(name, json.dumps(shared.root(pools=[entry("one", {"acme": gpus})])))
        shared.repository.commit()
    ran = fleetctl("plan", shared.home.directory / name, "--with", "x", "--format", "json")
    assert (ran.code, rules(ran.report)) == (0, [])


@pytest.mark.parametrize("gone", [[], [entry("old", [], policyRef="standard", archived=True)]])
def test_a_pool_that_one_takes_away_and_a_policy_that_another_changes_do_not_contradict_each_other(
    shared: Shared, gone: list[dict[str, Any]]
) -> None:
    shared.side("x", {"fleet": shared.root(policies={"standard": {"maxLeaseHours": 6}})})
    shared.side("own", {"old": {"pools": [*gone, entry("new", {"acme": 1})]}})
    assert [found for found in rules(shared.plan("x")) if found[0] == "error"] == []
    shared.repository.git("checkout", "-q", "x")
    assert [found for found in rules(shared.plan("own")) if found[0] == "error"] == []
    assert shared.merge("own").code in (0, 3)


@pytest.mark.parametrize("names", [{"caller": "sa_other"}, {"tenantId": "acme"}])
def test_what_all_have_under_another_caller_than_before_is_what_they_had(shared: Shared, names: Any) -> None:
    shared.repository.git("checkout", "-q", "main")
    pools = [entry("old", {"initech": 1}, policyRef="standard"), entry("racked", {"globex": 8})]
    shared.put({"fleet": {**shared.root(**STANDARD), **names}, "old": {"pools": pools}})
    shared.side("x", {"fleet": shared.root(**STANDARD), "x": {"pools": [entry("x", {"acme": 1})]}})
    shared.put({"old": {"pools": [pools[0], entry("racked", {"globex": 16})]}})
    shared.side("own", {"fleet": shared.root(**STANDARD), "own": {"pools": [entry("own", {"acme": 1})]}})
    for code, more in ((0, ()), (3, ("--base", "main"))):
        report = shared.plan("x", code=code, more=more)
        assert report["together"]["findings"] == []
        (alone,) = report["together"]["revisions"]
        assert (alone["plan"]["operations"], alone["plan"]["blocked"]) == (6, code == 3)
    assert shared.merge("x").code == 0
