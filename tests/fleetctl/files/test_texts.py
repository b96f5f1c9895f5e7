"""Quoted scalars and block scalars: escapes, folds, chomping."""

import pytest

from tests.fleetctl.files.reading import place, problem, problems, value


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("''", ""),
        ("'it''s'", "it's"),
        ("'a \\n b'", "a \\n b"),
        ("'a\n   b'", "a b"),
        ("'a  \n\n\n   b'", "a\n\nb"),
        ("'\n  a\n  '", " a "),
        ("'a # b: c'", "a # b: c"),
        ('""', ""),
        ('"a\\tb\\nc\\r"', "a\tb\nc\r"),
        ('"\\" \\\\ \\/ \\_ \\x41 \\u00e9 \\U0001F600"', '" \\ / \xa0 A é 😀'),
        ('"\\L\\P"', "\u2028\u2029"),
        ('"a\n   b"', "a b"),
        ('"a \\\n   b"', "a b"),
        ('"a\\\n   \\  b"', "a  b"),
        ('"a\\  \n   b"', "a  b"),
        ('"a\\\n\n   b"', "a\nb"),
        ('"a   b\\n"', "a   b\n"),
        ('"\ttab\t"', "\ttab\t"),
    ],
)
def test_a_quoted_scalar_means(written: str, meant: str) -> None:
    assert value(f"a: {written}\nb: 1\n") == {"a": meant, "b": 1}
    assert value(f"a: [{written}, {{c: {written}}}]\n") == {"a": [meant, {"c": meant}]}


@pytest.mark.parametrize(
    "escape", ["\\x00", "\\0", "\\e", "\\a", "\\b", "\\v", "\\f", "\\x7f", "\\N", "\\x85", "\\u009f"]
)
def test_an_escaped_control_character_is_refused(escape: str) -> None:
    found = problem(f'a:\n  b: "ok{escape}"\n')
    assert (found.rule, place(found), found.path) == ("yaml.control", (2, 6), "a.b")
    assert "control character U+00" in found.message


@pytest.mark.parametrize(
    "escape", ["\\ud800", "\\udc00", "\\ude00\\ud83d", "\\ud83d\\ude00", "\\ud83dx", "\\UFFFFFFFF", "\\U00110000"]
)
def test_an_escape_that_writes_no_character_is_refused(escape: str) -> None:
    assert {p.rule for p in problems(f'a: "{escape}"\n')} == {"yaml.control"}


@pytest.mark.parametrize("escape", ["\\d", "\\x4", "\\u12", "\\U123", "\\é"])
def test_an_unknown_escape_is_refused_with_the_hint_of_single_quotes(escape: str) -> None:
    found = problem(f'a: "C:{escape}"\n')
    assert (found.rule, place(found)) == ("yaml.syntax", (1, 7))
    assert "single quotes" in found.hint


def test_control_characters_in_keys_are_refused() -> None:
    assert problem('"a\\e": 1\n').rule == "yaml.control"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("|\n  keep\n  this\n", "keep\nthis\n"),
        ("|\n  a\n\n   b\n\n", "a\n\n b\n"),
        ("|-\n  a\n\n", "a"),
        ("|+\n  a\n\n\n", "a\n\n\n"),
        ("|+\n\n\n", "\n\n"),
        ("|\n\n\n", ""),
        ("|\n", ""),
        ("|2\n    a\n   b\n", "  a\n b\n"),
        ("|2-\n    a\n", "  a"),
        ("|-2\n    a\n", "  a"),
        ("| # comment\n  a # text\n", "a # text\n"),
        ("|\n  a\n   \n  b\n", "a\n \nb\n"),
        ("|\n  a\n \n  b\n", "a\n\nb\n"),
        ("|\n  tab\there\n  \tand\n", "tab\there\n\tand\n"),
        (">\n  a\n  b\n\n  c\n", "a b\nc\n"),
        (">-\n  a\n  b\n", "a b"),
        (">\n  a\n    deep\n    er\n  b\n", "a\n  deep\n  er\nb\n"),
        (">\n\n  a\n\n    d\n\n  b\n", "\na\n\n  d\n\nb\n"),
        (">+\n  a\n\n", "a\n\n"),
    ],
)
def test_a_block_scalar_means(written: str, meant: str) -> None:
    assert value(f"a: {written}b: 1\n") == {"a": meant, "b": 1}
    assert value(f"a: {written}b: 1\n".replace("\n", "\r\n")) == {"a": meant, "b": 1}
    assert value(f"x:\n- {written.replace('|2', '|1').replace('|-2', '|-1')}- 1\n")["x"][1] == 1


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a: |\n  x", "x"),
        ("a: |\n  x\n", "x\n"),
        ("a: |+\n  x\n\n", "x\n\n"),
        ("a: |+\n  x\n ", "x\n"),
        ("a: |\n  ", ""),
    ],
)
def test_the_end_of_the_file_adds_no_line_end(text: str, meant: str) -> None:
    assert value(text) == {"a": meant}


def test_a_comment_that_is_not_indented_ends_a_block_scalar() -> None:
    assert value("a: |\n  x\n# c\nb: 1\n") == {"a": "x\n", "b": 1}
