"""Known fields against the table: type, range, allowed words, required parts, and names that nearly are one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from better_compute.domain.policy import fixes
from better_compute.domain.policy.fields import RATIO_HIGH, RATIO_LOW, Field
from better_compute.domain.policy.paths import below, element
from better_compute.domain.policy.shown import shown
from better_compute.domain.policy.tree import ROOT, Node
from better_compute.domain.policy.values import effective_ratio, seconds
from better_compute.domain.problems import INVALID_INPUT, Problem, Severity
from better_compute.domain.words import slips

_LONGEST_NAME = 64


def check_fields(policy: dict[str, Any]) -> list[Problem]:
    """Every known field that is not what the table allows, and a warning for each near miss of a known name."""
    problems: list[Problem] = []
    _children(policy, "policy", ROOT, problems)
    return problems


def _children(value: dict[str, Any], path: str, node: Node, problems: list[Problem]) -> None:
    for key, inner in value.items():
        if child := node.children.get(key):
            _check(inner, f"{path}.{key}", child, key, problems)
        elif near := nearest_name(key, tuple(node.children)):
            said = f"{shown(key)} is not a field that anything reads; it is stored as given"
            hint = f'did you mean "{near}"?'
            problems.append(Problem(INVALID_INPUT, "policy.unknown", said, below(path, key), hint, "warning"))


def _check(value: Any, path: str, node: Node, name: str, problems: list[Problem]) -> None:
    kind = node.entry.kind
    if isinstance(value, dict) and kind in ("object", "map", "ratios"):
        if kind == "map":
            _map(value, path, node, problems)
        else:
            _children(value, path, node, problems)
            _required(value, path, node, problems)
    elif isinstance(value, list) and kind == "list":
        _list(value, path, node, problems)
    elif not is_allowed(value, node.entry):
        said = f"{_label(node)} must be {node.entry.says}, not {shown(value, name)}"
        problems.append(problem(node, path, said, fixes.hint(value, node.entry)))
    elif node.entry.form == "ratio":
        _clamp(value, path, node, problems)


def _label(node: Node) -> str:
    """The field in a sentence; never a name that the policy's writer chose."""
    if node.path.endswith("]"):
        return "each entry"
    return "each value" if node.path.endswith("}") else node.path.rpartition(".")[2]


def problem(node: Node, path: str, said: str, hint: str = "", severity: Severity = "error") -> Problem:
    """A problem of the rule that judges the node."""
    return Problem(INVALID_INPUT, node.rule, said, path, hint, severity)


def _required(value: dict[str, Any], path: str, node: Node, problems: list[Problem]) -> None:
    for name in node.entry.required:
        if name not in value:
            child = node.children[name]
            hint = f"add {name}: {fixes.example(child.entry)}"
            problems.append(problem(child, below(path, name), f"{name} is missing: {child.entry.says}", hint))


def _list(value: list[Any], path: str, node: Node, problems: list[Problem]) -> None:
    item = node.item
    if node.entry.low and len(value) < node.entry.low:
        problems.append(
            problem(node, path, f"{_label(node)} must be {node.entry.says}, not an empty list", "leave it out")
        )
    if item is not None:
        for index, inner in enumerate(value):
            _check(inner, element(path, index), item, "", problems)


def _map(value: dict[str, Any], path: str, node: Node, problems: list[Problem]) -> None:
    for key, inner in value.items():
        if not re.fullmatch(node.entry.keys, key):
            said = f"{shown(key)} is not {node.entry.keys_says}"
            problems.append(problem(node, below(path, key), said, fixes.key(key, node.entry)))
        if node.item is not None:
            _check(inner, below(path, key), node.item, key, problems)


def _clamp(value: int | float, path: str, node: Node, problems: list[Problem]) -> None:
    acts = effective_ratio(value)
    if acts != value:
        said = f"{shown(value)} is outside {RATIO_LOW} to {RATIO_HIGH} and acts as {acts}"
        problems.append(problem(node, path, said, f"use {acts}", "warning"))


def is_allowed(value: object, field: Field) -> bool:
    """Whether a value, taken alone, is what a field allows. True and 1 differ, and 1.0 is not an integer."""
    match field.kind:
        case "string":
            return isinstance(value, str) and _is_text(value, field)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool) and _is_between(value, field)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool) and _is_between(value, field)
        case "duration":
            return seconds(value) is not None
        case "ratio" | "ratios":
            return effective_ratio(value) is not None
        case _:
            return False


def _is_text(value: str, field: Field) -> bool:
    return value in field.values if field.values else re.fullmatch(field.pattern, value) is not None


def _is_between(value: int | float, field: Field) -> bool:
    return (field.low is None or value >= field.low) and (field.high is None or value <= field.high)


def nearest_name(word: str, known: tuple[str, ...]) -> str | None:
    """The known name that `word` nearly is: two letters off, one in a name of three, or in another case."""
    return _nearest(word, known) if len(word) <= _LONGEST_NAME else None


@lru_cache(maxsize=1024)
def _nearest(word: str, known: tuple[str, ...]) -> str | None:
    steps, near = min(slips(word, known), default=(1, ""))
    return near if steps <= len(near) // 2 else None
