"""Nothing that a server or a file says commands the terminal."""

import json

import pytest

from better_compute.cli.text import json_text, printable, table, width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text", "plain text"),
        ("Kraków", "Kraków"),
        ("\x1b[2J", "\\x1b[2J"),
        ("a\nb\tc\r", "a\\x0ab\\x09c\\x0d"),
        ("\x7f\x9b31m", "\\x7f\\x9b31m"),
        ("abc\u202etxt.exe", "abc\\u202etxt.exe"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("line\u2028end", "line\\u2028end"),
        ("\ue000\U000e0041", "\\ue000\\U000e0041"),
        ("\ud800", "\\ud800"),
    ],
)
def test_what_a_terminal_would_obey_or_hide_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_columns_stand_below_each_other_also_with_wide_letters() -> None:
    assert table([["id", "n"], ["東京", "1"], ["e\u0301\u0301", "2"]]) == "id    n\n東京  1\ne\u0301\u0301     2\n"
    assert width("東京") == 4


def test_a_cell_cannot_make_a_line_of_its_own() -> None:
    assert table([["name"], ["a\nb"]]).count("\n") == 2


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_safe_and_says_the_same(indent: int | None) -> None:
    value = {"a": ["\x1b[2J", "\u202e", "\x9b", "Kraków", "\U000e0041", "line\nend", 1.0, None]}
    text = json_text(value, indent=indent)
    assert json.loads(text) == value
    assert "Kraków" in text
    assert not {"\x1b", "\u202e", "\x9b", "\U000e0041"} & set(text)
