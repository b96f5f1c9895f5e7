"""Texts and values that a YAML file could say wrongly."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = "no on Yes OFF y N true False null NULL ~ a:b # = << --- ... *a &a !a @a `a %a | > {a} [a] a] ' \" \\ \\u0041"
NUMERALS = (
    "0010 007 1e3 1E3 0x1f 0o17 0b1 1_000 12:30 12:30:45 1.5 .5 5. -1 +1 2026-12-20 2026-12-20T00:00Z .inf .nan -.INF"
)
NAMES = "a+b x@y /dev/x /a-/b x- 6h 1g.10gb 7d 90s ${site} $${ zażółć \U0001f600 NVIDIA_H100"
BLANKS = ("", " ", " a", "a ", "a: b", "a #b", "--- a", "- a", "? a", "a, b", "NVIDIA H100 80GB HBM3")
CONTROLS = (
    "a\nb",
    "\n",
    "\r",
    "a\r\nb",
    "\ttab",
    "tab\t",
    "\u2028",
    "\u2029",
    "\ufeff",
    "\ufffe",
    "\uffff",
    "\u202ex",
    "\xa0",
)
TRAPS = (*WORDS.split(), *NUMERALS.split(), *NAMES.split(), *BLANKS, *CONTROLS, "a" * 3000, "é" * 3000)
REFUSED = "".join(map(chr, (*range(9), 11, 12, *range(14, 32), *range(127, 160))))
HOSTILE = st.sampled_from(TRAPS) | st.text(st.characters(codec="utf-8", exclude_characters=REFUSED), max_size=20)
NUMBERS = st.integers(-(2**53) + 1, 2**53 - 1) | st.floats(-(2.0**53), 2.0**53, allow_nan=False)
LEAVES = st.none() | st.booleans() | NUMBERS | HOSTILE
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE, inner, max_size=4))
