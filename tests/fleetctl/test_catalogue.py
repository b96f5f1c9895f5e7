"""The catalogue explains every code and rule that the project tells, and none that it does not."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from better_compute.domain import problems
from better_compute.domain.events import Event
from better_compute.domain.policy.fields import FIELDS
from fleetctl.catalogue import CODES, rules
from fleetctl.override import ALLOWABLE

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
    assert set(CODES) == codes


@pytest.mark.parametrize("name", sorted({**CODES, **rules()}))
def test_an_entry_is_three_sentences_or_more(name: str) -> None:
    entry = {**CODES, **rules()}[name]
    for text in (entry.says, entry.why, entry.act):
        assert re.fullmatch(r"[A-Z`].*[.]", text, re.DOTALL), text
        assert "  " not in text


def test_the_field_of_a_policy_is_explained_by_its_own_table() -> None:
    assert rules()["policy.maxPending"].says.startswith("`maxPending` must be a duration")
    assert "Left out, it is 1." in rules()["policy.overcommit"].says
    assert rules()["policy.acceptance.kind"].act == "Write such a value, for example diag.nvml."
