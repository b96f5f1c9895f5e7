"""How far apart two words are, so that a slip can be told from another word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

NEAR = 2
"""Single-letter edits within which a word is taken for a slip."""


def edits(left: str, right: str, most: int) -> int:
    """Single-letter edits between two words, or `most` + 1 where it takes more. It follows each edit that can still be
    one of so many, and no other: for a few edits that takes a fraction of the time."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    same, end = 0, min(len(left), len(right))
    while same < end and left[same] == right[same]:
        same += 1
    if same == end:
        return min(len(left) + len(right) - 2 * same, most + 1)
    if most == 0:
        return 1
    one, other = left[same + 1 :], right[same + 1 :]
    ways = ((one, other), (left[same:], other), (one, right[same:]))
    return 1 + min(edits(a, b, most - 1) for a, b in ways)


def slip_of(word: str, known: Iterable[str]) -> str:
    """The known word that `word` is most likely a slip of, else an empty text."""
    return min(slips(word, known), default=(0, ""))[1]


def slips(word: str, known: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The known words that `word` may be a slip of, whatever their case, each with its edits. Costs little for a word
    of any length."""
    for name in known:
        if abs(len(name) - len(word)) <= NEAR and (steps := edits(name.lower(), word.lower(), NEAR)) <= NEAR:
            yield steps, name
