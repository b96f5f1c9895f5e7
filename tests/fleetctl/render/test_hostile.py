"""Whatever strings a report holds, every output of it is sound and has the structure of an honest one."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import pytest

from fleetctl.look import Look
from fleetctl.render import markdown, text
from tests.fleetctl.render.checks import CHECKS
from tests.fleetctl.render.formats import NAMES, rendered
from tests.fleetctl.render.reports import an_undo, every_kind

HOSTILE = {
    "ansi": "\x1b[2K\x1b]0;t\x07\x9b1A\x1b[31m",
    "carriage return": "x\r0 to archive",
    "line": "x\n0 to archive\n",
    "other lines": "x\u2028y\u2029z\x85\x0b\x0c",
    "bidi": "\u202egpj.exe\u2066x\u2069",
    "zero width": "a\u200bb\u2060c\ufeffd\u3164",
    "nothing": "\x00\x01\x7f",
    "no letters": "\ud800\ufffe\uffff\U0010ffff",
    "emphasis": "**0 to archive** _x_ ~~y~~ # h",
    "link": "[acme](http://evil.example) ![i](http://evil.example/x.png) <http://evil.example>",
    "bare links": "http://evil.example www.evil.example a@evil.example",
    "mentions": "@ops-team cc @org/team #123 GH-1 owner/repo#1 0123456789abcdef0123456789abcdef01234567",
    "html": "<script>alert(1)</script><img src=x onerror=alert(1)><a href='javascript:x'>y</a>",
    "fold": "</details></summary><details><summary>0 to archive</summary>",
    "comment": "--> <!-- x --!> <![CDATA[ y ]]> <?z?>",
    "style": "</style></title></textarea><!DOCTYPE x>",
    "command": "::error file=x,line=1::boo",
    "command on a line": "x\n::set-output name=a::b\n::add-mask::c",
    "older command": "##[error]x ##vso[task.complete]y ##[group]z",
    "older command in parts": "[x] ##",
    "its second half": "[#x##",
    "percent": "%0A::error::%25%0D%3A%2C",
    "backticks": "`a` ``b`` ```\n```` c `",
    "fence": "```\n</details>",
    "tildes": "~~~\n~~~~",
    "run": "`" * 300,
    "cells": "|a|\\|b\\\\|c|",
    "table": "| a | b |\n| --- | --- |\n| c | d |",
    "quotes": "\"'`&<>\\",
    "entities": "&lt;&#64;team&amp;&quot;",
    "template": "{{ 7*7 }}{% raw %}{# x #}",
    "maths": "$$x$$ $y$ [^1] :tada:",
    "blanks": "   a   ",
    "long": "long" * 2000,
}
CUT = ("long", "run")
"""Those that a comment has no room for: it is cut, and sound all the same."""
KEPT = {"kind", "action", "guard", "severity", "status", "formatVersion", "path", "cause", "direction"}
"""Fields whose few values are the tool's own; a change's path tells quotas from others, and is set by hand."""
CHOSEN = ("quota", "policy", "ownerQuota", "allow", "via", "registry")
"""Maps whose keys people choose."""
REPORTS = {**every_kind(), "undo": an_undo()}


def poisoned(value: Any, poison: str, name: str = "") -> Any:
    """The same with a hostile end and beginning to every string, and to every key that people choose."""
    if isinstance(value, dict):
        return {(k + poison if name in CHOSEN else k): poisoned(v, poison, k) for k, v in value.items()}
    if isinstance(value, list):
        return [
            poisoned(item, poison, "" if name == "causes" else name) if name != "causes" else item for item in value
        ]
    if name == "path" and isinstance(value, str):
        return value + poison
    return poison + value + poison if value and isinstance(value, str) and name not in KEPT else value


@cache
def structure(kind: str, name: str) -> Any:
    """What an output has where the same places hold a harmless string."""
    return CHECKS[name](rendered(name, poisoned(REPORTS[kind], "z")))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "json"])
@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("poison", HOSTILE)
def test_an_output_is_sound_and_has_the_structure_of_an_honest_one(poison: str, kind: str, name: str) -> None:
    hostile = CHECKS[name](rendered(name, poisoned(REPORTS[kind], HOSTILE[poison])))
    assert hostile == structure(kind, name) or poison in CUT


@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("poison", [poison for poison in HOSTILE if poison != "no letters"])
def test_json_is_ascii_on_lines_of_its_own(poison: str, kind: str) -> None:
    CHECKS["json"](rendered("json", poisoned(REPORTS[kind], HOSTILE[poison])))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("poison", [poison for poison in HOSTILE if "command" in poison or "half" in poison])
def test_the_log_of_a_build_takes_nothing_for_a_command(poison: str, kind: str, name: str) -> None:
    shown = rendered(name, poisoned(REPORTS[kind], HOSTILE[poison]))
    assert not re.search(r"##\w*\[", shown)
    assert name == "github" or not re.search(r"^\s*::", shown, re.MULTILINE)


@pytest.mark.parametrize("width", [20, 60])
@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.parametrize("kind", REPORTS)
def test_nothing_acts_on_a_terminal_in_a_window(kind: str, verbose: bool, colour: bool, width: int) -> None:
    report = poisoned(REPORTS[kind], "::" + HOSTILE["ansi"] + HOSTILE["line"])
    shown = text.render(report, Look(verbose=verbose, colour=colour, width=width))
    for sequence in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m"):
        shown = shown.replace(sequence, "")
    assert all(line.isprintable() for line in shown.split("\n"))


@pytest.mark.parametrize("kind", REPORTS)
def test_no_string_adds_a_line_to_a_terminal(kind: str) -> None:
    report = REPORTS[kind]
    honest = text.render(poisoned(report, "z"), Look(verbose=True))
    for poison in HOSTILE.values():
        hostile = text.render(poisoned(report, poison), Look(verbose=True))
        # Long values take lines of their own: nothing else may add one.
        long = sum(len(o["changes"]) for o in report.get("operations", [])) + len(report.get("fields", []))
        assert hostile.count("\n") <= honest.count("\n") + long
        assert not any(line.startswith("0 to archive") for line in hostile.splitlines())


@pytest.mark.parametrize("most", [4_000, 65_000])
@pytest.mark.parametrize("kind", REPORTS)
@pytest.mark.parametrize("poison", [poison for poison in HOSTILE if poison != "no letters"])
def test_a_comment_keeps_its_size_and_its_sums(poison: str, kind: str, most: int) -> None:
    report = poisoned(REPORTS[kind], HOSTILE[poison])
    shown = markdown.render(report, Look(verbose=True, max_bytes=most))
    CHECKS["markdown"](shown)
    assert len(shown.encode()) <= most
    assert kind != "plan" or "1 to archive, 1 to withdraw" in shown
