"""Markdown for a comment on a pull request: the sums first, then what is dangerous, then the rest, within a size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from fleetctl.look import PLAIN, Look
from fleetctl.outline import on_page
from fleetctl.render.markdown import blocks, fit
from fleetctl.render.markdown.blocks import ALARM
from fleetctl.render.markdown.fit import Block
from fleetctl.render.markdown.inline import code, cut, marker, sentence

if TYPE_CHECKING:
    from fleetctl.outline.shape import Outline
    from fleetctl.report.forms import Report

_AT_ONCE = ("base", "part", "prune", "allow", "reason")
"""Facts that change what the sums mean."""
_OPENINGS = 3
_FOOTER = 400
_KEPT_IN: Final = {"plan": "plan.json", "apply": "report.json", "drift": "drift.json"}


def render(report: Report, look: Look = PLAIN) -> str:
    """The report in at most as many bytes of UTF-8 as it may have. The first line is a marker by which a later comment
    on the same fleet finds this one; it is well-formed wherever it is cut, and says what is left out."""
    words = on_page(report, verbose=look.verbose)
    made = [block for section in words.sections for block in blocks.of_section(section)]
    made.sort(key=lambda block: max(block.rank, ALARM))
    rest = [fact for fact in words.facts if fact.name not in _AT_ONCE]
    if rest:
        made.append(blocks.facts(rest))
    text = "".join(fit.fit(_head(words), made, look.max_bytes - _FOOTER))
    return text + _footer(words.kind, made)


def _head(words: Outline) -> str:
    said = [sentence(each) for each in (*words.opening[:_OPENINGS], *words.sums)]
    said += [f"{fact.name}: {code(cut(fact.text))}" for fact in words.facts if fact.name in _AT_ONCE]
    return "".join(
        (f"{marker(words.kind, words.fleet)}\n", f"## {sentence(words.heading)}\n\n", *(f"- {line}\n" for line in said))
    )


def _footer(kind: str, made: Sequence[Block]) -> str:
    """How much was left out or told in short, and where it is."""
    left, brief = sum(block.left for block in made), sum(block.brief for block in made)
    if not left and not brief:
        return ""
    said = [f"**{left:,} lines are left out.**"] if left else []
    if missing := sum(block.missing for block in made if block.must):
        said.append(f"**{missing:,} of what is dangerous could not be shown.**")
    if brief:
        said.append(f"**{brief:,} {'groups are' if brief > 1 else 'group is'} told in short.**")
    verbose = " --verbose" if brief else ""
    if file := _KEPT_IN.get(kind):
        said.append(f"The whole: `fleetctl show {file}{verbose}`, of the file that the run kept.")
    else:
        said.append(f"The run's log has the whole{', where it was given `--verbose`' if brief else ''}.")
    return f"\n> {' '.join(said)}\n"
