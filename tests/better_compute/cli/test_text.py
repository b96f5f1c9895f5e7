"""Nothing that a server or a file says commands the terminal."""

import json

import pytest

from better_compute.cli.text import json_text, table, width


def test_columns_stand_below_each_other_also_with_wide_letters() -> None:
    assert table([["id", "n"], ["東京", "1"], ["e\u0301\u0301", "2"]]) == "id    n\n東京  1\ne\u0301\u0301     2\n"
    assert width("東京") == 4


def test_a_cell_cannot_make_a_line_of_its_own() -> None:
    assert table([["name"], ["a\nb\u3164"]]) == "name\na\\nb\\u3164\n"


@pytest.mark.parametrize("indent", [None, 2])
def test_json_is_safe_and_says_the_same(indent: int | None) -> None:
    value = {
        "a": ["\x1b[2J", "\u202e", "\x9b", "Kraków", "\U000e0041", "\u3164\ufe0f\xa0\u034f", "line\nend", 1.0, None]
    }
    text = json_text(value, indent=indent)
    assert json.loads(text) == value
    assert "Kraków" in text
    assert not set("\x1b\u202e\x9b\U000e0041\u3164\ufe0f\xa0\u034f") & set(text)
