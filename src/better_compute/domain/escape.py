"""Names and texts from files and servers are hostile: nothing of them may act on the output, or hide in it."""

from __future__ import annotations

import re

# Contents of a class in a regular expression, in the spelling that Python and pydantic's Rust both read.
CONTROL = r"\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"
"""Control characters other than tab and line ends: no text that is kept holds one."""
NOT_PRINTED = r"\x00-\x1f\x7f-\x9f\u2028\u2029"
"""Control characters and line ends: no name holds one."""

# Letters and marks that `str.isprintable` lets pass and that show nothing, or a blank that is none: fillers, joiners
# and selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


LOG_COMMAND = re.compile(r"#(?=#\w*\[)")
"""The first sign of what the log of a build takes for a command wherever it stands in a line: `##[error]`,
`##vso[task.complete]`."""
_COMMAND = re.compile(r"^(?P<lead>(?:\s|\x1b\[\d*[mK])*):(?=:)|" + LOG_COMMAND.pattern)


def escape(text: str) -> str:
    """The text on one line, with every character that is not seen as itself written as an escape: controls, line
    breaks, ANSI sequences, bidi overrides, zero-width characters, blanks other than the blank; and with nothing in it
    that is a command to a build's log. Costs linear time."""
    if not (text.isascii() and text.isprintable()):
        text = "".join(c if is_seen(c) else _escaped(c) for c in text)
    return LOG_COMMAND.sub(r"\\x23", text) if "##" in text else text


def inert(line: str) -> str:
    """A line of an output with nothing in it that a build's log takes for a command, which `::error::` is at its
    beginning alone, whatever blanks and colours come first."""
    if "::" not in line and "##" not in line:
        return line
    return _COMMAND.sub(lambda m: f"{m['lead']}\\x3a" if m["lead"] is not None else r"\x23", line)


def is_seen(character: str) -> bool:
    """Whether a terminal shows the character as itself, and does nothing else for it."""
    return character.isprintable() and not _INVISIBLE.match(character)


def _escaped(character: str) -> str:
    """As Python writes it: `\\n`, `\\x1b`, `\\u202e`."""
    return character.encode("unicode_escape").decode()
