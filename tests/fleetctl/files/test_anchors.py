"""Anchors, aliases and merge keys, and the bounds of what they may stand for."""

from functools import partial

import pytest

from tests.fleetctl.files.reading import documents, place, problem, problems, value
from tests.timing import times_as_long


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a: &x 1\nb: *x\n", {"a": 1, "b": 1}),
        ("a: &x\n  k: v\nb: *x\n", {"a": {"k": "v"}, "b": {"k": "v"}}),
        ("a: &x\n- 1\nb: [*x, *x]\n", {"a": [1], "b": [[1], [1]]}),
        ("a:\n  - &x text\n  - *x\n", {"a": ["text", "text"]}),
        ("&x a: 1\n*x : 2\n".replace("*x : 2", "b: *x"), {"a": 1, "b": "a"}),
        ("a: &x b\n*x : 2\n", {"a": "b", "b": 2}),
        ("a: [&x {k: v}, *x]\n", {"a": [{"k": "v"}, {"k": "v"}]}),
        ("a: &x 1\nb: &x 2\nc: *x\n", {"a": 1, "b": 2, "c": 2}),
        ("a: &x\nb: *x\n", {"a": None, "b": None}),
        ("a:\n  &x\n  k: v\nb: *x\n", {"a": {"k": "v"}, "b": {"k": "v"}}),
        ("- &x k: v\n  j: *x\n".replace("- ", "a:\n  - ").replace("  j", "    j"), {"a": [{"k": "v", "j": "k"}]}),
    ],
)
def test_an_alias_is_what_its_anchor_is(text: str, meant: object) -> None:
    assert value(text) == meant


def test_a_merge_is_shallow_and_the_keys_of_the_map_win_wherever_they_stand() -> None:
    text = (
        "x-base: &base\n  quota: {gpu: 32, vcpu: 512}\n  priority: 10\n"
        "first:\n  quota: {gpu: 16}\n  <<: *base\nlast: {<<: *base, quota: {gpu: 16}}\n"
    )
    read = value(text)
    assert read["first"] == read["last"] == {"quota": {"gpu": 16}, "priority": 10}


def test_of_a_list_of_merged_maps_the_earlier_wins() -> None:
    text = "a: &a {k: 1, l: 1}\nb: &b {k: 2, m: 2}\nc:\n  <<: [*a, *b, {n: 3}]\n"
    assert value(text)["c"] == {"k": 1, "l": 1, "m": 2, "n": 3}


def test_a_merged_map_may_itself_merge() -> None:
    text = "a: &a {k: 1}\nb: &b\n  <<: *a\n  l: 2\nc: {<<: *b}\nd:\n  - <<: *b\n    k: 3\n"
    read = value(text)
    assert (read["c"], read["d"]) == ({"k": 1, "l": 2}, [{"k": 3, "l": 2}])


def test_only_the_plain_key_merges() -> None:
    assert value("? <<\n: {k: 1}\n") == value("{<<: {k: 1}}") == {"k": 1}
    for quoted in ('a: {"<<": {k: 1}}\n', "a:\n  '<<': {k: 1}\n", "a:\n  ? '<<'\n  : {k: 1}\n"):
        assert value(quoted) == {"a": {"<<": {"k": 1}}}


def test_what_came_by_merge_or_alias_stands_where_its_anchor_does() -> None:
    (document,) = documents("a: &a\n  k: 1\nb:\n  <<: *a\n  l: 2\nc: *a\n")
    assert str(document.source(["b", "k"])) == "fleet.yaml:2:6"
    assert str(document.source(["b", "k"], key=True)) == "fleet.yaml:2:3"
    assert str(document.source(["c", "k"])) == "fleet.yaml:2:6"
    assert str(document.source(["c"])) == "fleet.yaml:6:4"


@pytest.mark.parametrize("text", ["a: {<<: 1}\n", "a:\n  <<: text\n", "a: {<<: [1]}\n", "a: {<<: }\n"])
def test_a_merge_of_anything_but_maps_is_refused(text: str) -> None:
    assert problem(text).rule == "yaml.merge"


@pytest.mark.parametrize("text", ["x: &x {}\na:\n  <<: *x\n  <<: *x\n", "x: &x {}\na: {<<: *x, b: 1, <<: *x}\n"])
def test_two_merge_keys_in_one_map_are_a_duplicate(text: str) -> None:
    found = problem(text)
    assert found.rule == "yaml.duplicateKey"
    assert "[*a, *b]" in found.hint


def test_an_unknown_alias_is_refused_with_the_nearest_anchor() -> None:
    found = problem("x-base: &base {}\na:\n  b: *bsae\n")
    assert (found.rule, place(found), found.path) == ("yaml.alias", (3, 6), "a.b")
    assert found.hint == 'did you mean "base"?'


def test_an_anchor_does_not_reach_into_the_next_document() -> None:
    assert problem("a: &x 1\n---\nb: *x\n").rule == "yaml.alias"


@pytest.mark.parametrize(
    "text",
    [
        "a: &x\n  b: *x\n",
        "a: &x [1, *x]\n",
        "a: &x {b: [{c: *x}]}\n",
        "a: &x\n  <<: *x\n",
        "a: &x\n  - - *x\n",
        "&x a: 1\nb: &y [&z [*y]]\n",
    ],
)
def test_an_alias_of_what_it_stands_in_is_refused(text: str) -> None:
    found = problem(text)
    assert found.rule == "yaml.alias"
    assert "inside" in found.message


@pytest.mark.parametrize(
    "text",
    [
        "a: & b\n",
        "a: *\n",
        "a: &x&y b\n",
        "a: &x &y b\n",
        "a: &é b\n",
        f"a: &{'x' * 2000}é b\n",
        "a: &x b\n*x: 1\n",
        "a: &x:y b\n",
        "a: [&x b, *x:c]\n",
        "a: &x 1\nb: &y *x\n",
    ],
)
def test_a_malformed_anchor_or_alias_is_refused(text: str) -> None:
    found = problems(text)[-1]
    assert found.rule == "yaml.alias"
    assert len(found.message) < 200


def test_an_alias_may_stand_for_10000_nodes_and_no_more() -> None:
    assert len(value(f"a: &x [{'x,' * 9_999}]\nb: *x\n")["b"]) == 9_999
    found = problem(f"a: &x [{'x,' * 10_000}]\nb: *x\n")
    assert (found.rule, place(found)) == ("yaml.expansion", (2, 4))
    assert "10001" in found.message


def test_a_document_may_expand_to_50_times_what_it_writes() -> None:
    # 5,002 nodes behind the alias; each alias is one node written.
    anchored = f"a: &x [{'x,' * 5_000}]\n"
    assert value(f"{anchored}b: [{'*x,' * 48}]\n")
    found = problem(f"{anchored}b: [{'*x,' * 60}]\n")
    assert found.rule == "yaml.expansion"
    assert "50 times" in found.message


def test_below_10000_nodes_the_ratio_does_not_matter() -> None:
    assert value(f"a: &x [{'x,' * 90}]\nb: &y [{'*x,' * 10}]\nc: [{'*y,' * 8}]\n")


def test_what_merge_keys_expand_to_counts() -> None:
    keys = ", ".join(f"k{i}: v" for i in range(2_000))
    assert problem(f"a: &x {{{keys}}}\nb:\n" + "- <<: *x\n" * 200).rule == "yaml.expansion"


def test_merge_keys_may_not_copy_a_million_keys() -> None:
    keys = ", ".join(f"k{i}: v" for i in range(40))
    found = problem(f"a: &x {{{keys}}}\nb:\n" + "- <<: *x\n" * 25_001)
    assert found.rule == "yaml.expansion"


def laughs(levels: int) -> str:
    return "a0: &a0 [ha,ha,ha,ha,ha,ha,ha,ha,ha,ha]\n" + "".join(
        f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, levels)
    )


def test_aliases_of_aliases_are_refused_and_never_expanded() -> None:
    assert times_as_long(lambda levels: partial(problems, laughs(levels)), 6, 60) < 30, "it grows with the text alone"
    found = problems(laughs(60))
    assert {p.rule for p in found} == {"yaml.expansion"}
    assert place(found[0]) == (5, 10)


def test_aliases_may_not_nest_over_64_deep() -> None:
    steps = "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 70))
    found = problems(f"a0: &a0 [x]\n{steps}")
    assert {p.rule for p in found} == {"yaml.expansion"}
    assert "64" in found[0].message
    assert place(found[0])[0] == 64
