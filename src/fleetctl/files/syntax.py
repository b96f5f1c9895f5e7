"""What the parser says of text that is no YAML, in words for people who write fleet files; and what it is lax about."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import yaml
from yaml.cyaml import CBaseLoader
from yaml.scanner import ScannerError
from yaml.tokens import ScalarToken

from better_compute.domain.policy import SENSITIVE, is_sensitive_name
from fleetctl.files.reading import TOO_DEEP
from fleetctl.files.scalars import clip
from fleetctl.files.text import no_space

_SYNTAX, _ALIAS, _DIRECTIVE = "yaml.syntax", "yaml.alias", "yaml.directive"
_TAB = ("yaml.tab", "a tab outside a value: it cannot indent or separate", "use spaces")
_QUOTE = "quote the value"
_WHOLE = "quote the whole value; a quote inside quotes is written '' or \\\""
_BELOW = "begin it on the next line, or quote the value"
_ALIGN = "give the keys of one map, or the dashes of one list, the same indentation"
_DEEPER = "indent it like the keys of its map; is a colon, or the space after one, missing above?"
_ESCAPE = "in double quotes a backslash begins an escape: write two, or use single quotes"

# What the parser says; the line above and the line it says it of, with \0 where; then rule, message and hint. The first
# row that fits is the answer.
_ROWS = (
    ("directive|incompatible", "", _DIRECTIVE, "no directive but %YAML 1.2 is read, once", "remove the line"),
    (r"\btag\b", "", "yaml.tag", "tags are not read", "remove it, or quote the value"),
    ("a tab character", "", *_TAB),
    ("maximum nesting", "", *TOO_DEEP),
    ("unknown escape|hexdecimal", "", _SYNTAX, "this is not an escape of YAML", _ESCAPE),
    ("escape code", "", "yaml.control", "this escape writes no character", _ESCAPE),
    ("stream|document ind", "", _SYNTAX, "this quote is never closed in its document", "close it with the same quote"),
    ("alphabetic or numeric", "", _ALIAS, "an anchor or alias without a name of letters, digits, - and _", _QUOTE),
    ("comment or line break", "", _SYNTAX, "text on the line of | or >", "begin it on the next line"),
    ("sequence entries", "", _SYNTAX, "a list cannot begin on this line", _BELOW),
    ("mapping keys", "", _SYNTAX, "a value cannot begin with ?", _QUOTE),
    ("unexpected ':'", "", _SYNTAX, "a colon in brackets without a space behind it", _QUOTE),
    ("mapping values", ": .*\0|^--- .*\0", _SYNTAX, "a second key and colon on one line", _QUOTE),
    ("mapping values", "", _SYNTAX, "a key and colon on a line that continues the text above", _DEEPER),
    ("expected '[:-]'", r"^\0-[^\s-]", _SYNTAX, "a dash without a space behind it", "write `- item`"),
    ("expected ':'", r"\0[\w.-]+:[^\s/]", _SYNTAX, "{word} has no space after its colon", "write `key: value`"),
    ("expected ':'", "", _SYNTAX, "a key and a colon are expected here, this is {word}", "write `key: value`"),
    ("node content", r"^\0\.\.\.", _SYNTAX, "there is no document to end here", "remove the line"),
    ("any token|node content", r"\0\S", _SYNTAX, "a value cannot begin with {first}", _QUOTE),
    ("node content", "", _SYNTAX, "a value is missing", "write it"),
    ("expected ','", "\0:", _SYNTAX, "a second colon: a comma{where} is missing before it", f"write it, or {_QUOTE}"),
    ("expected ','", "", _SYNTAX, "a comma{where} is missing before {word}", f"write it, or {_QUOTE}"),
    ("document start", r"^\.\.\.", _SYNTAX, "a document after ... begins with ---", "write a line --- above this one"),
    ("document start", r"\A%", _DIRECTIVE, "a directive has a line --- below it", "write it, or remove the directive"),
    ("expected key", r"\0[&*]", _ALIAS, "an anchor or alias cannot stand here", _QUOTE),
    ("expected key", r"^\0-\s", _SYNTAX, "a list item where a key of a map is expected", "indent it under a key"),
    ("expected [k'<]", r"\S.*\0", _SYNTAX, "the value is complete before {word}", _WHOLE),
    ("expected [k'<]", "", _SYNTAX, "the indentation of this line fits nothing above it", _ALIGN),
    ("", "", _SYNTAX, "this is not YAML: {said}", "check the lines around it"),
)
_WORD = re.compile(r"\S+")
_KEY = re.compile(r"[\w.-]+:(?=[^\s/])")
_FROM_CONTEXT = re.compile("simple key|scanning a quoted|directive|tag|anchor|alias")
_CONFLICT = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?: .*)?$", re.MULTILINE)
_LONGEST_KEY = 1024
"""As the parser has it."""
_CLOSING = {"[": "]", "{": "}"}
_CONTENT = re.compile(r"^ *[^\s#].*", re.MULTILINE)
_BETWEEN = re.compile(r"(?<!\S)#.*|(\t)|(#)")
# Literal first: the search for one costs next to nothing.
_SUSPECT = (re.compile(r"\t"), re.compile(r"\?(?<=[\[{,\s]\?)(?=\S)"), re.compile(r"#(?<=\S#)"))

Refusal = tuple[int, str, str, str]
"""A problem of the text: offset, rule, message, hint."""


def refusal(text: str, error: yaml.YAMLError | None, *, in_secret: bool = False) -> Refusal | None:
    """What is wrong with a text that the parser refused, or that it read though it is lax about it: a tab that indents
    or separates, a comment that touches what is before it, a key like that of `[?a]`, which YAML 1.2 takes for text.
    `in_secret`: the parser came to it below a sensitive name, and nothing of it is shown."""
    if error is None:
        return _look(text, len(text))[0] if any(pattern.search(text) for pattern in _SUSPECT) else None
    if conflict := _CONFLICT.search(text):
        return (
            conflict.start(),
            _SYNTAX,
            "a mark of a merge conflict that is not resolved",
            "resolve it, and remove the marks",
        )
    mark: Any = getattr(error, "problem_mark", None)
    begun: Any = getattr(error, "context_mark", None)
    if mark is None:  # a fault of the input, of which `to_text` leaves none
        return (0, _SYNTAX, f"this is not YAML: {clip(str(error))}", "check the file")
    doing, said, at = getattr(error, "context", None) or "", getattr(error, "problem", None) or "", mark.index
    found, scalar, opened = _look(text, begun.index if begun and isinstance(error, ScannerError) else at)
    above = scalar.start_mark.index if scalar and not scalar.style else at  # plain text that may go on here
    found = found or no_space(text, above, at) or _no_key(text, at, scalar)
    if found or (found := _never_closed(text, said, mark, scalar, opened, in_secret)):
        return found
    if _FROM_CONTEXT.search(doing):
        at = begun.index
    elif "quoted" in doing:
        at = text.rfind("\\", 0, at + 1)
    return _in_words(text, f"{doing}: {said}", at, opened, in_secret)


def _look(text: str, limit: int) -> tuple[Refusal | None, Any, Any]:
    """What stands before `limit`: the first thing to refuse, or else the last scalar and the innermost open bracket."""
    end, scalar, opened = 0, None, [None]
    with suppress(yaml.YAMLError):
        token: Any
        for token in yaml.scan(text, CBaseLoader):
            start = token.start_mark.index
            if start >= limit:
                break
            sign = text[start] if token.end_mark.index == start + 1 else ""
            if type(token) is ScalarToken:
                header = text.find("\n", start) if token.style in ("|", ">") else start  # of no value it is a part
                if found := _lax(text, end, header if header >= 0 else limit):
                    return found, None, None
                end, scalar = token.end_mark.index, token
            elif sign in ("[", "{"):
                opened.append(token.start_mark)
            elif sign in ("]", "}"):
                opened.pop()
            elif sign == "?" and not text[start + 1 : start + 2].isspace():
                return (start, _SYNTAX, "? begins a key here only with a space behind it", _QUOTE), None, None
    return _lax(text, end, limit + 1), scalar, opened[-1]


def _lax(text: str, start: int, end: int) -> Refusal | None:
    """The first tab, or comment that touches what is before it, in the text between two values."""
    for found in _BETWEEN.finditer(text, start, end):
        if found[1]:
            return (found.start(), *_TAB)
        if found[2]:
            return (found.start(), _SYNTAX, "a comment with no space before its #", f"write one, or {_QUOTE}")
    return None


def _no_key(text: str, at: int, scalar: Any) -> Refusal | None:
    """A name that is right but for its length, or for the line of its colon."""
    if not scalar or text[at : at + 1] != ":" or text[scalar.end_mark.index : at].strip():
        return None
    start, end = scalar.start_mark.index, scalar.end_mark.index
    if end - start > _LONGEST_KEY:
        message = f"a key of {end - start} characters, the most is {_LONGEST_KEY}"
        return (start, _SYNTAX, message, "write a shorter one")
    return (
        (at, _SYNTAX, "the colon of a key stands below it", "write it on the line of the key")
        if "\n" in text[end:at]
        else None
    )


def _never_closed(text: str, said: str, mark: Any, scalar: Any, opened: Any, in_secret: bool) -> Refusal | None:
    """What above is to blame: quotes that end on the line of the error; a bracket, when the text ends or goes on with a
    line that is not indented deeper than the bracket's."""
    at, line = mark.index, mark.line
    if scalar and scalar.style in ("'", '"') and scalar.start_mark.line < scalar.end_mark.line == line:
        message = f"the quote that begins here ends on line {line + 1}, before {_word(text, at, in_secret)}"
        return (scalar.start_mark.index, _SYNTAX, message, "close it where the value ends")
    if not opened or "did not find expected" not in said:
        return None
    bracket, ends = text[opened.index], not text[at:].strip()
    if ends or (opened.line < line and _indent(text, at) <= _indent(text, opened.index)):
        message = f"this {bracket} is " + ("never closed" if ends else f"not closed before line {line + 1}")
        return (opened.index, _SYNTAX, message, f"close it with {_CLOSING[bracket]}, or {_QUOTE}")
    return None


def _in_words(text: str, said: str, at: int, opened: Any, in_secret: bool) -> Refusal:
    start = text.rfind("\n", 0, at) + 1
    above = (_CONTENT.findall(text, 0, start) or [""])[-1]
    behind, _, _ = text[at : at + 200].partition("\n")
    around = f"{above[:200]}\n{text[start:at].strip(' ')[-200:]}\0{behind}\n"
    where = f" or {_CLOSING[text[opened.index]]}" if opened else ""
    if opened and opened.index < start:
        where += f" (of line {opened.line + 1})"
    fits = (row for row in _ROWS if re.search(row[0], said) and re.search(row[1], around, re.MULTILINE))
    _, _, rule, message, hint = next(fits)
    word = _word(text, at, in_secret)
    return (at, rule, message.format(word=word, first=behind[:1], where=where, said=clip(said)), hint)


def _indent(text: str, at: int) -> int:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return len(line) - len(line.lstrip(" "))


def _word(text: str, at: int, in_secret: bool) -> str:
    """The word that stands here, for a message; of `key:value` the key. What a sensitive name stands before on its line
    may be a secret, though the parser knows no key and value there."""
    found = _WORD.search(text, at)
    word = found[0] if found else ""
    name = _KEY.match(word)
    before = text[text.rfind("\n", 0, at) + 1 : at]
    if word and (in_secret or is_sensitive_name(before if name else before + word)):
        return SENSITIVE
    return clip(name[0] if name else word or "the end", 30)
