"""Nothing of a hostile text acts on the output, or hides in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.escape import escape, inert

HOSTILE = {
    "a line break": ("a\nb", "a\\nb"),
    "a carriage return": ("0 to archive\r", "0 to archive\\r"),
    "an ANSI sequence": ("\x1b[2Kgone", "\\x1b[2Kgone"),
    "a one-byte ANSI sequence": ("\x9b2K", "\\x9b2K"),
    "a bell": ("\x07", "\\x07"),
    "a backspace": ("8\x08", "8\\x08"),
    "a delete": ("\x7f", "\\x7f"),
    "a bidi override": ("\u202egpj", "\\u202egpj"),
    "a bidi isolate": ("\u2066x", "\\u2066x"),
    "a zero-width blank": ("ac\u200bme", "ac\\u200bme"),
    "a byte order mark": ("\ufeffacme", "\\ufeffacme"),
    "a soft hyphen": ("ac\xadme", "ac\\xadme"),
    "a line separator": ("a\u2028b", "a\\u2028b"),
    "a blank that is none": ("a\xa0b", "a\\xa0b"),
    "a filler": ("a\u3164b", "a\\u3164b"),
    "a variation selector": ("a\ufe0f", "a\\ufe0f"),
    "a tag": ("\U000e0041", "\\U000e0041"),
    "half a character": ("\ud800", "\\ud800"),
    "a private letter": ("\ue000", "\\ue000"),
}


@pytest.mark.parametrize(("text", "shown"), HOSTILE.values(), ids=HOSTILE)
def test_is_written_out(text: str, shown: str) -> None:
    assert escape(text) == shown


@pytest.mark.parametrize("text", ["", "fra1-h100", "zażółć gęślą jaźń", "東京", "a b", "`x` <b> @team", "naïve"])
def test_what_is_seen_as_itself_stays(text: str) -> None:
    assert escape(text) == text


@given(st.text(alphabet=st.characters(codec=None)))
def test_any_text_is_one_line_of_what_is_seen(text: str) -> None:
    shown = escape(text)
    assert shown.isprintable()
    assert escape(shown) == shown


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("::error::x", r"\x3a:error::x"),
        (" \t::error::x", " \t\\x3a:error::x"),
        ("\r\x1b[K\x1b[31m ::error::x", "\r\x1b[K\x1b[31m \\x3a:error::x"),
        ("a.yaml::error::x", "a.yaml::error::x"),
        ("a ##[error]x", r"a \x23#[error]x"),
        ("###vso[task.complete]", r"#\x23#vso[task.complete]"),
        ("## heading [1]", "## heading [1]"),
    ],
)
def test_a_line_holds_no_command_to_the_log_of_a_build(line: str, shown: str) -> None:
    assert inert(line) == shown
    assert inert(shown) == shown
    assert ("##" not in line) or escape(line) == shown
