"""What must hold for an output of each format, whatever names stand in it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

from jsonschema import Draft7Validator
from junitparser import JUnitXml
from markdown_it import MarkdownIt

_MARKER = re.compile(r"<!-- fleetctl:[a-z]+( [A-Za-z0-9%._~-]+)? -->")
_FOLD = re.compile(r"<details><summary>[A-Za-z' ,]+( \([0-9,]+\))?</summary>")
_COMMAND = re.compile(
    r"::(?:error|warning|notice) [a-z]+=(?:[^%:,\r\n]|%[0-9A-F]{2})*(?:,[a-z]+=(?:[^%:,\r\n]|%[0-9A-F]{2})*)*"
    r"::(?:[^%\r\n]|%25|%0A)*"
)
_LABELS = r'(?:[a-z_]+="(?:[^"\\\n]|\\\\|\\")*"(?:,(?!\})|(?=\})))*'
_SAMPLE = re.compile(rf"fleetctl_drift_[a-z_]+(?:\{{{_LABELS}\}})? (?:[0-9.]+|NaN)")


def text(shown: str) -> Any:
    """Lines of what is seen, none of which a build's log takes for a command."""
    lines = shown.split("\n")
    assert lines.pop() == ""
    assert all(line.isprintable() for line in lines)
    assert not any(line.lstrip().startswith("::") or re.search(r"##\w*\[", line) for line in lines)
    return None


def json_(shown: str) -> Any:
    assert all(line.isascii() and line.isprintable() for line in shown.split("\n"))
    json.loads(shown)
    return None


def markdown(shown: str) -> Any:
    """What acts: everything but the contents of code, which is the same whatever the names are."""
    first, _, rest = shown.partition("\n")
    assert _MARKER.fullmatch(first), first
    skeleton: list[Any] = []
    depth = 0
    for token in MarkdownIt("commonmark").enable("table").parse(rest):
        if token.type == "html_block":
            for line in token.content.split("\n"):
                assert line in ("", "</details>") or _FOLD.fullmatch(line), line
                depth += line.startswith("<details>") - line.startswith("</details>")
                assert depth in (0, 1)
        inline = [_inline(child) for child in token.children or ()]
        skeleton.append((token.type, token.tag, token.info, inline))
    assert depth == 0
    return skeleton


def _inline(token: Any) -> Any:
    assert token.type in ("text", "code_inline", "strong_open", "strong_close", "softbreak", "html_inline"), token
    assert token.type != "html_inline" or token.content == "<br>"
    return token.type, token.content if token.type == "text" else ""


class _Page(HTMLParser):
    """The tags of a page in their order, with what they say."""

    TAGS = {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "p",
        "span",
        "dl",
        "dt",
        "dd",
        "section",
        "div",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    ATTRIBUTES = {"class", "lang", "charset", "http-equiv", "content", "name"}

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.skeleton: list[Any] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in self.TAGS, tag
        assert {name for name, _ in attrs} <= self.ATTRIBUTES, attrs
        self.skeleton.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.skeleton.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def html(shown: str) -> Any:
    page = _Page()
    page.feed(shown)
    page.close()
    assert shown.isascii()
    assert "default-src 'none'" in shown
    assert page.skeleton[-1] == "/html"
    assert page.skeleton.count("/title") == page.skeleton.count("/style") == 1
    return page.skeleton


def github(shown: str) -> Any:
    lines = shown.split("\n")
    assert lines.pop() == ""
    assert all(line.isprintable() and _COMMAND.fullmatch(line) for line in lines), lines
    return [line.split(" ")[0] for line in lines]


def junit(shown: str) -> Any:
    assert shown.isascii()
    root = ElementTree.fromstring(shown)
    cases = list(root.iter("testcase"))
    assert int(root.attrib["tests"]) == len(cases)
    assert int(root.attrib["failures"]) == sum(case.find("failure") is not None for case in cases)
    assert int(root.attrib["skipped"]) == sum(case.find("skipped") is not None for case in cases)
    assert sum(suite.tests for suite in JUnitXml.fromstring(shown.encode())) == len(cases)
    return [(each.tag, sorted(each.attrib)) for each in root.iter()]


def _object(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "required": required.split(), "properties": properties}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_TEXT = {"type": "string", "minLength": 1}
_COUNT = {"type": "integer", "minimum": 0}
_FROM_ONE = {"type": "integer", "minimum": 1}
_PLACE = _object(
    "artifactLocation region",
    artifactLocation=_object(
        "uri", uri={"type": "string", "pattern": r"^/?(?!/)(?![A-Za-z0-9+.-]+:)[A-Za-z0-9%._~/-]+$"}
    ),
    region=_object("startLine startColumn", startLine=_FROM_ONE, startColumn=_FROM_ONE),
)
_RESULT = _object(
    "ruleId ruleIndex level message locations",
    ruleId=_TEXT,
    ruleIndex=_COUNT,
    level={"enum": ["error", "warning", "note"]},
    message=_object("text", text=_TEXT),
    locations=_list(
        _object("logicalLocations", physicalLocation=_PLACE, logicalLocations=_list(_object("name", name=_TEXT)))
    ),
)
_DRIVER = _object("name version rules", name=_TEXT, version=_TEXT, rules=_list(_object("id", id=_TEXT)))
_RUN = _object(
    "tool invocations columnKind results",
    tool=_object("driver", driver=_DRIVER),
    invocations=_list(_object("executionSuccessful", executionSuccessful={"type": "boolean"})),
    columnKind={"enum": ["unicodeCodePoints"]},
    results=_list(_RESULT),
)
SARIF = _object("$schema version runs", **{"$schema": _TEXT}, version={"enum": ["2.1.0"]}, runs=_list(_RUN))
"""The part of SARIF 2.1.0 that is used: names, types and what is required are the standard's."""


def sarif(shown: str) -> Any:
    assert all(line.isascii() and line.isprintable() for line in shown.split("\n"))
    document = json.loads(shown)
    assert list(Draft7Validator(SARIF).iter_errors(document)) == []
    (run,) = document["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert all(rules[result["ruleIndex"]] == result["ruleId"] for result in run["results"])
    return [result["level"] for result in run["results"]]


def prometheus(shown: str) -> Any:
    lines = shown.split("\n")
    assert lines.pop() == ""
    assert all(line.startswith(("# HELP ", "# TYPE ")) or _SAMPLE.fullmatch(line) for line in lines), lines
    return [line.split("{")[0] for line in lines]


CHECKS = {
    "text": text,
    "json": json_,
    "markdown": markdown,
    "html": html,
    "github": github,
    "junit": junit,
    "sarif": sarif,
    "prometheus": prometheus,
}
"""By the format's name: what an output has of structure, once it was seen to be sound."""
