"""The table of fields as a tree, so that a policy is walked by what it holds and not by what it could hold."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from better_compute.domain.policy.fields import FIELDS, Field


@dataclass(slots=True)
class Node:
    """One field: its fields by name (an object), or its `item` (each element of a list, each value of a map).

    `path` is its place in the table. `compares` says that this field, or one below it, does not compare as JSON.
    """

    path: str
    entry: Field
    children: dict[str, Node] = field(default_factory=dict)
    item: Node | None = None
    compares: bool = False

    @property
    def rule(self) -> str:
        """The name of the rule that judges this field: `policy.hugepages.1Gi`, `policy.acceptance.kind`."""
        return "policy." + self.path.replace("[]", "").replace("{}", "")


def _grow() -> Node:
    root = Node("", Field("object", "a JSON object"))
    for path, entry in FIELDS.items():
        *above, last = re.findall(r"\[\]|\{\}|[^.\[\]{}]+", path)
        parent, trail = root, [root]
        for step in above:
            below = parent.item if step in ("[]", "{}") else parent.children[step]
            assert below is not None, f"{path} stands before the field it belongs to"
            parent = below
            trail.append(parent)
        node = Node(path, entry)
        if last in ("[]", "{}"):
            parent.item = node
        else:
            parent.children[last] = node
        for each in (*trail, node):
            each.compares = each.compares or entry.form != "plain"
    return root


ROOT = _grow()
