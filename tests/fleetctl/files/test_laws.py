"""What holds for every text: what was written is read, other readers agree, and nothing but FilesError comes out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import StringIO
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from better_compute.domain.problems import Problem
from fleetctl.files import Document, FilesError, read_text
from tests.fleetctl.files.reading import KEY, Differs, Other, documents, value
from tests.timing import times_as_long

COUNT = 150
LONG = 5_000

# Without what may not stand in a file as it is.
CHARACTERS = st.characters(
    exclude_categories=["Cs", "Cc", "Cn"], exclude_characters="\ufeff\u2028\u2029", include_characters="\t\n"
)
TEXT = st.text(CHARACTERS, max_size=12)
WORD = st.from_regex(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,8}", fullmatch=True)
WORDS = st.sampled_from(
    ["no", "null", "0010", "1e3", ".inf", "- a", "a: b", "a #b", "[x]", "&a", "*a", "!t", "---", "..."]
)
SIGNS = st.sampled_from([*"~1#'\"{|>%@`-=,\n", "<<", " lead", "trail ", "a\n\nb\n", "\ta", "a:", "é 😀", " \n "])
STRING = st.one_of(WORD, WORDS, SIGNS, TEXT)
NUMBER = st.one_of(st.integers(-(10**20), 10**20), st.floats(allow_nan=False, allow_infinity=False))
SCALAR = st.one_of(st.none(), st.booleans(), NUMBER, STRING)
NODE = st.recursive(
    SCALAR, lambda node: st.one_of(st.lists(node, max_size=4), st.dictionaries(STRING, node, max_size=4)), max_leaves=15
)
ROOT = st.dictionaries(STRING, NODE, max_size=5)

quick = settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
long = settings(quick, max_examples=LONG)


def exactly(node: Any) -> Any:
    """A value that tells 1, 1.0 and True apart, and 0.0 from -0.0."""
    if isinstance(node, dict):
        return {key: exactly(part) for key, part in node.items()}
    if isinstance(node, list):
        return [exactly(part) for part in node]
    return type(node).__name__, repr(node)


def written(node: Any, indent: int, quote: bool) -> str:
    """Block YAML as people write it (or with every string in quotes), from a column on."""
    margin = "\n" + " " * indent
    if isinstance(node, dict) and node:
        lines = (f"{margin}{scalar(key, quote)}:{written(part, indent + 2, quote)}" for key, part in node.items())
        return "".join(lines)
    if isinstance(node, list) and node:
        return "".join(f"{margin}- {written(part, indent + 2, quote).lstrip()}" for part in node)
    return f" {scalar(node, quote)}"


def scalar(node: Any, quote: bool) -> str:
    if isinstance(node, str) and not quote and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_./ -]*(?<! )", node):
        return node if node.lower() not in ("null", "true", "false") else f"'{node}'"
    return json.dumps(node, ensure_ascii=False)


def check_round_trip(root: dict[str, Any]) -> None:
    texts = [json.dumps(root), json.dumps(root, indent=1, ensure_ascii=False)]
    texts += [written(root, 0, quote).lstrip("\n") + "\n" for quote in (True, False)] if root else []
    for style, width in ((False, 20), (None, 10_000)):  # no key in braces over two lines
        stream = StringIO()
        yaml = YAML(typ="safe", pure=True)
        yaml.default_flow_style, yaml.width, yaml.allow_unicode = style, width, True
        yaml.dump(root, stream)
        # It writes some strings (": 0", "? a") so that it cannot read them, and in brackets ":0", which is refused.
        if other(text := stream.getvalue(), pure=True) == [exactly(root)] and not refused_for_colons(text):
            texts.append(text)
    for text in texts:
        assert exactly(value(text)) == exactly(root), text


def refused_for_colons(text: str) -> bool:
    _, refused = read_or_refused(text.encode())
    return bool(refused) and all("colon" in p.message or "with :" in p.message for p in refused)


@quick
@given(ROOT)
def test_what_was_written_is_read(root: dict[str, Any]) -> None:
    check_round_trip(root)


@pytest.mark.long
@long
@given(ROOT)
def test_what_was_written_is_read_at_length(root: dict[str, Any]) -> None:
    check_round_trip(root)


@quick
@given(ROOT)
def test_each_part_stands_where_the_other_reader_finds_it(root: dict[str, Any]) -> None:
    for quote in (True, False):
        text = written(root, 0, quote).lstrip("\n") + "\n" if root else "{}\n"
        (document,) = documents(text)
        (places,) = Other(text, pure=False).places
        for path, at in places.items():
            key = path[-1:] == (KEY,)
            found = document.source(path[:-1] if key else path, key=key)
            assert (found.line, found.column) == at or at_null(document, path), (text, path)


def at_null(document: Document, path: tuple[Any, ...]) -> bool:
    """Whether nothing is written at a path: a place is then a matter of taste."""
    node: Any = document.root
    for step in path:
        node = node[step]
    return node is None


# --- texts that are nearly right -------------------------------------------------------------------------------------

SEEDS = [
    "a: 1\nb:\n  - c: x\n    d: {e: 1, f: [1,2]}\n  -  - 1\n     - 2\n",
    "a: b\n  c\n\n  d # x\ne: 1\n",
    "x-a: &a {q: 1, r: 2}\nb: {<<: *a, q: 3}\nc:\n  <<: [*a, {z: 1}]\nd: *a\n",
    "a: |\n  x\n  y\nb: >-\n  x\n  y\n\n  z\n   w\n  v\nc: |+\n  t\n\n\nd: >2\n    a\n  b\n",
    "a: 'x y'\nb: \"a\\tb\\n\"\n'q': \"x\n  y\n\n  z\"\n\"k\": 'it''s\n  ok'\n",
    "%YAML 1.2\n---\na: 1\n--- # c\nb: 2\n...\n",
    "pools:\n- key: k\n  offers:\n  - toTenantId: a\n    quota: {gpu: 32, vcpu: 4}\n  - quota:\n      gpu: 1\n",
    '{"a": 1, "b": [1, 2.5, null, true], "c": {}}\n',
    "a: [1, 2,\n  3, {x: y,\n  z: w}]\nb: {}\n? d\n: e\n",
    "x: &a1\n  k: v\ny:\n  - *a1\n  - &b text\n  - *b\nz: ~\nw:\n",
    "a: http://x:80/y\nb: x - y\nc: a #b\nd: a#b\ne: -1\n",
]
ATOMS = [
    *"\n #&*!|>'\"\\{}[],-:?%@`~01ax\té=",
    "\n  ",
    "\n    ",
    ": ",
    "- ",
    "? ",
    " # c",
    "&a ",
    "*a",
    "!!str ",
    "|\n  ",
    "''",
]
ATOMS += [
    ">-\n  x\n",
    "|2",
    "a",
    "b: ",
    "null",
    "<<: ",
    "---\n",
    "...\n",
    "a: b",
    "\\n",
    "\\x41",
    "\\\n",
    "{a: b}",
    "\n- ",
    "😀",
]


def nearly_right(random: Random) -> str:
    """A text of YAML with some faults, or a heap of its signs."""
    if random.random() < 0.2:
        return "".join(random.choice(ATOMS) for _ in range(random.randrange(1, 14)))
    text = random.choice(SEEDS)
    for _ in range(random.choice([0, 1, 1, 1, 2, 3])):
        at = random.randrange(len(text) + 1)
        cut = at + random.choice([0, 0, 0, 1, 2, 10_000])
        text = text[:at] + random.choice([*ATOMS, "", text[: random.randrange(30)]]) + text[cut:]
    return text or "a"


def read_or_refused(data: bytes) -> tuple[list[Document], tuple[Problem, ...]]:
    """The documents of a text, or why there are none: nothing else may come of any bytes."""
    try:
        return read_text(data, "fleet.yaml"), ()
    except FilesError as error:
        return [], error.problems


def other(text: str, *, pure: bool) -> Any:
    """What ruamel.yaml reads, or None when it refuses the text or the schema of a fleet does."""
    try:
        return [exactly(root) for root in Other(text, pure=pure).roots]
    except Differs:
        return None
    except Exception:  # its parsers raise many kinds
        return None


# What is refused here and read by the reader of YAML 1.2: by contract, or because the parser reads it otherwise.
STRICTER = {"yaml.tab", "yaml.control", "yaml.directive", "yaml.alias"}
STRICTER_SYNTAX = re.compile(
    r"no space (before its #|after its colon)|a colon in brackets|begins? (with :|a key here)|not indented"
    r"|after \.\.\. begins|document to end"
)
# What YAML 1.2 lets go on where libyaml, which reads YAML 1.1, sees another token: an anchor's name with a sign in it,
# and in brackets a plain scalar that begins with a colon.
OTHER_TOKENS = re.compile(r"&[\w-]*[^\s\w,\[\]{}-]|[\[{,:]\s*:\S")


def check_agreement(seed: int) -> None:
    """What is read means what it means to a reader of YAML 1.2. That one refuses tabs inside plain scalars: then what
    it means to libyaml, unless its old version refuses the text as well."""
    text = nearly_right(Random(seed))
    found, refused = read_or_refused(text.encode())
    theirs = other(text, pure=True)
    if refused:
        stricter = any(p.rule in STRICTER or STRICTER_SYNTAX.search(p.message) for p in refused)
        assert theirs is None or stricter or OTHER_TOKENS.search(text), (text, refused)
        return
    theirs = other(text, pure=False) if theirs is None else theirs
    assert [exactly(document.root) for document in found] == theirs or (theirs is None and "\t" in text), text


@settings(quick, max_examples=1500)
@given(st.integers(0, 2**64))
def test_other_readers_agree_on_what_is_nearly_right(seed: int) -> None:
    check_agreement(seed)


@pytest.mark.long
@settings(long, max_examples=100_000)
@given(st.integers(0, 2**64))
def test_other_readers_agree_on_what_is_nearly_right_at_length(seed: int) -> None:
    check_agreement(seed)


def damaged(random: Random) -> bytes:
    data = bytearray(nearly_right(random).encode())
    for _ in range(random.randrange(4)):
        at = random.randrange(len(data) + 1)
        data[at:at] = random.choice(
            [
                b"",
                bytes([random.randrange(256)]),
                b"\t",
                b"\0",
                b"\x1b",
                b"\xc2\x85",
                b"\xef\xbb\xbf",
                b"[" * 70,
                b"- " * 70,
            ]
        )
        if random.random() < 0.2:
            del data[random.randrange(len(data) + 1) :]
        if random.random() < 0.1:
            data = data.replace(b"\n", random.choice([b"\r\n", b"\r", b"\n\t"]))
    return bytes(data)


def check_damage(seed: int) -> None:
    data = damaged(Random(seed))
    lines = data.count(b"\n") + data.count(b"\r") + 1
    found, refused = read_or_refused(data)
    assert refused or all(1 <= document.line <= lines for document in found)
    for problem in refused:
        assert problem.source is not None
        assert problem.source.file == "fleet.yaml"
        assert 1 <= problem.source.line <= lines
        assert 1 <= problem.source.column <= len(data) + 1
        assert problem.message
        assert problem.hint
        assert problem.severity == "error"


@settings(quick, max_examples=1500)
@given(st.integers(0, 2**64))
def test_any_bytes_are_documents_or_problems_with_a_place_in_the_file(seed: int) -> None:
    check_damage(seed)


@pytest.mark.long
@settings(long, max_examples=100_000)
@given(st.integers(0, 2**64))
def test_any_bytes_are_documents_or_problems_with_a_place_in_the_file_at_length(seed: int) -> None:
    check_damage(seed)


# --- texts that are long ---------------------------------------------------------------------------------------------

REPEATED = [
    "[",
    "{a: ",
    "- ",
    "? ",
    "&a ",
    "!x ",
    " ",
    "\n",
    "#",
    "# x\n",
    "a: 1\n",
    "a: b: ",
    ":",
    "\t",
    "---\n",
    "a: # x\n",
]
REPEATED += [
    "- x\n",
    "? a\n",
    "\r",
    "a\r\n",
    '"a": 1\n',
    "a b: 1\n",
    "a:\tb",
    "-\n",
    "''",
    "'",
    '"',
    "...\n",
    "|",
    "%",
    "*a",
]
INSIDE = [
    "x",
    "x ",
    "  y\n",
    " ",
    "\n",
    " \n ",
    "1,",
    "x:",
    "x: y, ",
    "*a, ",
    "&a 1, ",
    "# c\n",
    "''",
    "\\",
    "\\n",
    "\\x00",
    "é",
    "9",
]
AROUND = [
    ("a: ", ""),
    ("a: x\n ", ""),
    ('a: "', '"'),
    ("a: '\n ", "'"),
    ("a: [", "]"),
    ("a: {", "}"),
    ("a: |\n ", ""),
    ("a: >\n ", ""),
]


def check_cost(size: int, before: str, part: str, after: str) -> None:
    def prepared(length: int) -> Callable[[], object]:
        data = (before + part * (length // len(part)) + after).encode()
        return lambda: read_or_refused(data)

    assert times_as_long(prepared, size // 8, size) < 32, (before, part, "the square would be 64 times as long")


@pytest.mark.parametrize("size", [40_000, pytest.param(4_000_000, marks=pytest.mark.long)])
def test_a_long_text_takes_time_in_proportion_to_its_length(size: int) -> None:
    for part in REPEATED:
        check_cost(size, "", part, "")
    for part in INSIDE:
        for before, after in AROUND:
            check_cost(size, before, part, after)
