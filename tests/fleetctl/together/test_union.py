"""The files of all sides merged as git would: by files where one side changed each, by lines where several did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from fleetctl.together.branch import Branch
from fleetctl.together.union import Union, united
from tests.fleetctl.together.sides import offered, wish

ROOT = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet", "allowEmpty": True}
OURS = wish([])
Texts = Mapping[str, str]


def text(*keys: str, **root: Any) -> str:
    """A document with a pool in every fourth line, so that a change of one leaves the lines of the next alone."""
    pools = ",\n\n\n\n".join(json.dumps(offered(key)) for key in keys)
    return f'{json.dumps({**ROOT, **root})[:-1]},\n\n\n\n"pools": [\n\n\n\n{pools}\n\n\n\n]}}\n'


def union(ours: Texts, *branches: tuple[Texts, Texts], path: Path = Path("/")) -> Union:
    """Of the files at hand and of branches, each with what its files hold, and held where it left."""
    made = [Branch(f"b{n}", OURS, OURS, encoded(files), encoded(had)) for n, (files, had) in enumerate(branches)]
    return united(path, OURS, encoded(ours), made)


def encoded(files: Texts) -> dict[str, bytes]:
    return {file: data.encode() for file, data in files.items()}


def keys(found: Union) -> set[str | None]:
    assert found.desired is not None, found
    return {each.key for each in found.desired.entries.values()}


MAIN = {"a.yaml": text("a"), "b.yaml": text("b")}


def test_what_each_changed_and_added_is_taken() -> None:
    found = union({**MAIN, "own.yaml": text("own")}, ({**MAIN, "a.yaml": text("a", "x")}, MAIN))
    assert keys(found) == {"a", "b", "own", "x"}


def test_a_branch_takes_back_nothing_that_it_lacks() -> None:
    found = union({**MAIN, "later.yaml": text("later")}, ({**MAIN, "x.yaml": text("x")}, MAIN))
    assert "later" in keys(found)


def test_a_file_that_one_takes_away_and_no_other_changes_is_gone() -> None:
    gone = {"a.yaml": MAIN["a.yaml"]}
    assert keys(union(MAIN, (gone, MAIN))) == keys(union(gone, (MAIN, MAIN))) == {"a"}


@pytest.mark.parametrize("theirs", [{"b.yaml": MAIN["b.yaml"]}, {**MAIN, "a.yaml": text("y")}])
def test_a_file_that_one_changes_and_another_takes_away_or_writes_anew_clashes(theirs: Texts) -> None:
    found = union({**MAIN, "a.yaml": text("z")}, (theirs, MAIN))
    assert (found.clash, found.desired) == (("a.yaml",), None)


@pytest.mark.parametrize(("theirs", "clash"), [({"y.yaml": MAIN["a.yaml"]}, "a.yaml"), ({}, "x.yaml")])
def test_a_file_that_one_moves_and_another_moves_elsewhere_or_takes_away_clashes(theirs: Texts, clash: str) -> None:
    rest = {"b.yaml": MAIN["b.yaml"]}
    moved = {**rest, "x.yaml": MAIN["a.yaml"]}
    assert union(moved, ({**rest, **theirs}, MAIN)).clash == (clash,)
    assert union({**rest, **theirs}, (moved, MAIN)).clash == (clash,)


def test_a_file_that_two_add_alike_is_one_and_otherwise_it_clashes() -> None:
    ours = {**MAIN, "n.yaml": text("n")}
    assert keys(union(ours, (ours, MAIN))) == {"a", "b", "n"}
    assert union(ours, ({**MAIN, "n.yaml": text("m")}, MAIN)).clash == ("n.yaml",)
    empty = {**MAIN, "n.yaml": ""}
    assert keys(union(ours, (empty, MAIN))) == keys(union(empty, (ours, MAIN))) == {"a", "b", "n"}


def test_lines_of_one_file_are_merged_whoever_is_first() -> None:
    main = {"a.yaml": text("a", "b", "c")}
    sides = [{"a.yaml": text(*(f"{key}2" if key == other else key for key in "abc"))} for other in "abc"]
    for own, *others in permutations(sides):
        assert keys(union(own, *((each, main) for each in others))) == {"a2", "b2", "c2"}


def test_the_fleet_of_one_file_is_merged_alone() -> None:
    found = union({"a.yaml": text("a")}, ({"a.yaml": text("a", "x")}, {"a.yaml": text("a")}), path=Path("/a.yaml"))
    assert keys(found) == {"a", "x"}


def test_what_is_wrong_with_the_merged_files_is_told_at_its_line() -> None:
    found = union({**MAIN, "own.yaml": text("x")}, ({**MAIN, "x.yaml": text("x")}, MAIN))
    assert found.desired is None
    assert [(each.rule, each.source and each.source.file) for each in found.problems] == [("fleet.twice", "x.yaml")]


def test_that_no_pool_is_left_is_no_news_where_a_side_has_none() -> None:
    none, had = {"a.yaml": text(allowEmpty=False)}, {"a.yaml": text("a", allowEmpty=False)}
    assert keys(union(none, (none, had))) == set()


def test_a_file_in_the_place_of_a_folder_clashes() -> None:
    found = union({**MAIN, "n.yaml": text("n")}, ({**MAIN, "n.yaml/m.yaml": text("m")}, MAIN))
    assert (found.clash, found.desired) == (("n.yaml/m.yaml",), None)


def test_files_without_any_document_make_no_fleet() -> None:
    assert union({"a.yaml": "# none\n"}, ({"a.yaml": "# none\n", "b.yaml": "# none\n"}, {})).desired is None
