"""How far apart two words are, so that a slip can be told from another word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

NEAR = 2
"""Single-letter edits within which a word is taken for a slip."""


def distance(left: str, right: str) -> int:
    """Single-letter edits between two words."""
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(right, 1):
            before, row[j] = row[j], min(before + (a != b), row[j] + 1, row[j - 1] + 1)
    return row[-1]


def slips(word: str, known: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The known words that `word` may be a slip of, whatever their case, each with its edits. Costs little for a word
    of any length."""
    for name in known:
        if abs(len(name) - len(word)) <= NEAR and (steps := distance(name.lower(), word.lower())) <= NEAR:
            yield steps, name
