"""Text in a window: whatever its width, nothing that stands in wide text is missing."""

from __future__ import annotations

import re

import pytest

from fleetctl.look import Look
from fleetctl.render import text
from fleetctl.render.text.window import wrapped
from tests.fleetctl.render.reports import a_plan, every_kind

_SEQUENCE = re.compile("\x1b\\[[0-9]+m")


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize("kind", every_kind())
def test_no_word_is_lost_and_no_line_is_too_long_that_could_be_shorter(kind: str, width: int) -> None:
    report = every_kind()[kind]
    narrow = text.render(report, Look(width=width))
    for line in narrow.splitlines():
        assert len(line) <= width or len(line.split()) == 1 or len(line.split()[-1]) > width // 2, line
    if kind != "plan":  # its tables are told otherwise
        assert narrow.split() == text.render(report).split()


def test_every_destructive_operation_stands_whole_in_the_narrowest_window() -> None:
    shown = " ".join(text.render(a_plan(), Look(width=30)).split())
    assert "- archive fra1-old (fra1.yaml:17) live -> archived ! cannot be undone: no pool can" in shown
    assert "- withdraw fra1-a from globex (fra1.yaml:15) gpu 16 -> no offer ! globex" in shown


def test_a_table_that_does_not_fit_is_told_in_sentences() -> None:
    shown = " ".join(text.render(a_plan(), Look(width=50)).split())
    assert "H100 GPUs, acme: may book 40 -> 32, change -8, in use 20, cost/h 100.00 -> 80.00 below use by 4" in shown
    assert "oversell 0.75x -> 1.50x newly oversold" in shown


def test_colours_take_no_column() -> None:
    plain, coloured = (text.render(a_plan(), Look(width=60, colour=colour)) for colour in (False, True))
    assert _SEQUENCE.sub("", coloured) == plain
    assert coloured != plain


def test_wide_letters_take_two_columns_and_marks_none() -> None:
    assert list(wrapped("漢字漢字漢字 漢字漢字漢字", 20)) == ["漢字漢字漢字", "    漢字漢字漢字"]
    assert list(wrapped("e\u0301" * 9 + " " + "e\u0301" * 9, 20)) == ["e\u0301" * 9 + " " + "e\u0301" * 9]


def test_without_a_window_no_line_is_broken() -> None:
    assert max(map(len, text.render(a_plan()).splitlines())) > 120


def test_a_terminal_that_is_too_narrow_to_read_breaks_lines_itself() -> None:
    assert text.render(a_plan(), Look(width=5)).count("because the files mark it archived") == 1
