"""The catalogue explains every code and rule that the project tells, and none that it does not."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from better_compute.domain import problems
from better_compute.domain.events import Event
from better_compute.domain.policy.fields import FIELDS
from fleetctl.catalogue import CODES, REPORTED, rules
from fleetctl.errors import ENDED, STOPPED
from fleetctl.outline import results
from fleetctl.override import ALLOWABLE
from fleetctl.report import forms
from fleetctl.report.forms import fleet_diff

SRC = Path(__file__).parent.parent.parent / "src"
NAME = re.compile(r"[a-z][A-Za-z]*(?:\.[A-Za-z0-9]+)+")

POLICY_FIELDS = {"policy." + path.replace("[]", "").replace("{}", "") for path in FIELDS}
"""A field of a policy has a rule of its name."""
MADE = {
    *POLICY_FIELDS,
    *(f"guard.{name}" for name in ALLOWABLE if name != "rename"),
    *(f"pool.{field}" for field in ("class", "sharing", "agent")),
}
"""Rules whose names are put together where they are told."""
OTHER = {
    *(kind.type for kind in Event.__subclasses__()),
    *("pool.origin", "pool.id", "policy.singleTenant", "server.world"),
}
"""Names that look like rules: events, a capability, paths."""
FILE = re.compile(r".*[.](?:v[0-9]+|json|ya?ml)")

POSITIONS = {"Problem": slice(1, 2), "Stop": slice(4, 5)}
"""Where the rule is among the arguments of what is told."""


def literals() -> Iterator[tuple[str, bool]]:
    """Every dotted name that the code writes, and whether it stands where a rule must."""
    for module in SRC.rglob("*.py"):
        if module.parent.name == "catalogue":
            continue
        tree = ast.parse(module.read_text())
        told = set(_told(tree, in_policy=module.parent.name == "policy"))
        yield from ((name, True) for name in told)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
                yield node.value, False


def _told(tree: ast.Module, *, in_policy: bool) -> Iterator[str]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        named = [keyword.value for keyword in node.keywords if keyword.arg == "rule"]
        if name in POSITIONS:
            named += node.args[POSITIONS[name]]
        for value in named:
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                yield value.value
        # In there a helper puts `policy.` before the name that it is given.
        if in_policy and name in ("problem", "_problem", "doubles"):
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield f"policy.{first.value}"


def told() -> set[str]:
    """Every rule that the code can tell."""
    families = {name.partition(".")[0] for name in rules()}
    found = {name for name, surely in literals() if surely or name.partition(".")[0] in families}
    return {name for name in found - OTHER if not FILE.fullmatch(name)} | MADE


def test_every_rule_that_is_told_is_explained() -> None:
    assert sorted(told() - set(rules())) == [], "explain these in fleetctl.catalogue, or name them as OTHER here"


def test_no_rule_is_explained_that_nobody_tells() -> None:
    assert sorted(set(rules()) - told()) == []


def test_every_code_is_explained_and_no_other() -> None:
    codes = {value for name, value in vars(problems).items() if name.isupper() and name == value}
    assert len(codes) > 10
    assert set(CODES) == codes | {STOPPED, *ENDED.values()}


def closed_words() -> set[str]:
    """Every word of the closed sets that reports are made of; not what kind of report it is, nor of an explanation."""
    shapes = [
        shape
        for name in pkgutil.iter_modules(forms.__path__)
        for shape in vars(importlib.import_module(f"{forms.__name__}.{name.name}")).values()
        if is_typeddict(shape)
    ]
    found: set[str] = set()
    for shape in shapes:
        hints = get_type_hints(shape)
        if "formatVersion" in hints or shape is forms.Topic:
            hints.pop("kind", None)
        found |= {word for hint in hints.values() for word in literals_of(hint)}
    return found


def literals_of(hint: Any) -> Iterator[str]:
    if get_origin(hint) is Literal:
        yield from (word for word in get_args(hint) if isinstance(word, str))
    else:
        for part in get_args(hint):
            yield from literals_of(part)


def titles() -> set[str]:
    """The titles of results: what `rule=f"family.{...}"` can make."""
    source = Path(results.__file__).read_text()
    made = set(re.findall(r"""rule=f"([a-z]+)[.]\{\w+\['(\w+)'\]\}\"""", source))
    assert len(re.findall("rule=f", source)) == len(re.findall(r"""rule=f"[a-z]+[.]\{\w+\['\w+'\]\}\"""", source)) >= 6
    shapes = {"operation": forms.Operation, "drift": forms.Drifted, "format": forms.FormattedFile}
    found = set()
    for family, field in made:
        of = [shapes[family]] if family in shapes else [fleet_diff.ChangedPool, fleet_diff.ChangedLimit]
        hints = [hint for shape in of for name, hint in get_type_hints(shape).items() if name == field]
        found |= {f"{family}.{word}" for hint in hints for word in literals_of(hint)}
    return found


def test_every_word_and_title_of_reports_is_explained_and_no_other() -> None:
    guards = {name for name in ALLOWABLE if f"guard.{name}" in rules()}
    words = closed_words() - guards
    assert {"tombstone", "unstated", "intent", "notStarted", "withdraws"} <= words
    assert {"drift.changed", "operation.unoffer", "diff.looser", "format.left"} <= titles()
    assert set(REPORTED) == words | titles() | {"foreign", "expected", "coverage", "interrupted"}


@pytest.mark.parametrize("name", sorted({**CODES, **rules(), **REPORTED}))
def test_an_entry_is_three_sentences_or_more(name: str) -> None:
    entry = {**CODES, **rules(), **REPORTED}[name]
    for text in (entry.says, entry.why, entry.act):
        assert re.fullmatch(r"[A-Z`].*[.]", text, re.DOTALL), text
        assert "  " not in text


def test_the_field_of_a_policy_is_explained_by_its_own_table() -> None:
    assert rules()["policy.maxPending"].says.startswith("`maxPending` must be a duration")
    assert "Left out, it is 1." in rules()["policy.overcommit"].says
    assert rules()["policy.acceptance.kind"].act == "Write such a value, for example diag.nvml."
