"""Laws of formatting over generated fleets and disturbed texts: it says the same, once is enough, a plan stays."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from yaml.cyaml import CBaseLoader

from fleetctl.desired.inputs import canonical_inputs
from fleetctl.desired.load import load
from fleetctl.files import FilesError, read_text
from fleetctl.files.writing import to_yaml
from fleetctl.formatting import format_fleet, format_text
from tests.fleetctl.files.hostile import HOSTILE, TRAPS, VALUES
from tests.fleets import Fleet, fleets, write

RICH = """\
# of the fleet
apiVersion: fleet/v1   # the version
x-terms: &terms {gpu: 8,
  vcpu: 4}  # shared
pools:
- idempotencyKey: "fra1-a"
  # about the policy
  policy:
      note: |
          text
            more

      keep: |+
          kept


      folded: >2-
          deep
        flat
      long: plain
         text
      quoted: "in \\
         quotes"   # behind
      nested: [{
         a: 1
         }, [b,
         c]]
  offers:
  - toTenantId: 'acme'
    quota: *terms
    # deep
  # behind the offers
- &b
  idempotencyKey: b
  policy: {<<: *terms}
  ? explicit
  : value
# at the root
offers:
  - - 1
    -
      - 2
---
# alone
"""
GAPS = (" ", "    ", "\n", "\n\n\n", " # c\n", "\n# c\n", "\n    # c\n", "\n  ", "\n      ", " #c\n        ")


@st.composite
def disturbed(draw: st.DrawFn) -> str:
    """The rich text with blanks, line ends and comments put between its tokens."""
    text = RICH
    for _ in range(draw(st.integers(1, 4))):
        try:
            tokens = [*yaml.scan(text, CBaseLoader)]
        except yaml.YAMLError:
            return text
        places = sorted({place for token in tokens for place in (token.start_mark.index, token.end_mark.index)})
        at = draw(st.sampled_from(places))
        text = text[:at] + draw(st.sampled_from(GAPS)) + text[at:]
    return text


LINES = st.lists(st.sampled_from(["", " ", " " * 2, " " * 4, " " * 8, "x", "  x", "    x", " " * 6 + "x"]), max_size=5)


@st.composite
def block_scalars(draw: st.DrawFn) -> str:
    """A text below `|` or `>`, with every indicator, lines of blanks among its lines, and perhaps nothing behind it."""
    before = draw(st.sampled_from(["note: ", "- ", "a:\n    - b: ", "a:\n- ", "a:\n- \n", "--- ", "a:\n  b:   &c "]))
    header = "".join(draw(st.sampled_from(part)) for part in ("|>", ("", "-", "+"), ("", "1", "2", "4"), ("", "  # c")))
    indent = " " * draw(st.integers(0, 8))
    lines = [indent + line if line.strip() else line for line in draw(LINES)]
    return "\n".join((before + header, *lines)) + draw(st.sampled_from(["", "\n", "\n# c\n", "\nx: 1\n", "\n\n\nx: 1"]))


def comments(text: str) -> list[str]:
    """The comments of a text in which no value holds a number sign."""
    return [found.rstrip() for found in re.findall(r"#.*", text)]


def test_the_rich_text_is_read() -> None:
    assert [len(document.root) for document in read_text(RICH.encode(), "fleet.yaml")] == [4]


@given(disturbed() | block_scalars())
def test_a_text_that_is_read_says_the_same_when_it_is_formatted(text: str) -> None:
    try:
        before = read_text(text.encode(), "fleet.yaml")
    except FilesError:
        return
    made = format_text(text)
    assert [document.root for document in read_text(made.encode(), "fleet.yaml")] == [d.root for d in before]
    assert comments(made) == comments(text)
    assert format_text(made) == made


@given(fleets(), st.randoms(use_true_random=False))
def test_formatting_changes_no_plan_and_once_is_enough(fleet: Fleet, random: Random) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        write(fleet, directory, random)
        before = canonical_inputs(load(directory))
        assert {file.status for file in format_fleet(directory, check=False)} <= {"formatted", "unchanged"}
        assert canonical_inputs(load(directory)) == before
        assert {file.status for file in format_fleet(directory, check=True)} == {"unchanged"}


@given(st.dictionaries(HOSTILE, VALUES, min_size=1, max_size=4))
def test_what_is_written_is_in_canonical_form(value: dict[str, Any]) -> None:
    written = to_yaml(value)
    assert format_text(written) == written


@pytest.mark.parametrize("text", TRAPS)
def test_so_is_each_text_wherever_it_stands(text: str) -> None:
    written = to_yaml({text: text, "a": {"b": {"c": {text: [text, {text: text}]}}}, "d": [text, {text: [text]}]})
    assert format_text(written) == written
