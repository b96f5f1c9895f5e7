"""What differs between two values of a pool: its policy, its owner's rows, one of its offers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Any

import msgspec

from better_compute.domain.commands import CreatePool
from better_compute.domain.policy.canonical import canonical, canonical_bytes
from better_compute.domain.state import Terms
from fleetctl.diff.parts import ABSENT, Change, at_path


def offer_changes(before: Terms | None, after: Terms | None) -> tuple[Change, ...]:
    """What differs between two offers; a row of 0 and no row are equal, and both sides are shown as they are."""
    old, new = before or Terms({}), after or Terms({})
    changes = list(quota_changes("quota", old.quota, new.quota))
    if before and after:
        if old.priority != new.priority:
            changes.append(Change(("priority",), old.priority, new.priority))
        if old.include_descendants != new.include_descendants:
            changes.append(Change(("includeDescendants",), old.include_descendants, new.include_descendants))
    return tuple(changes)


def policy_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Change, ...]:
    """The leaves in which two policies differ by their canonical values, shown as they are written."""
    return () if same_policy(before, after) else tuple(_leaves(before, after))


def same_policy(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two policies are equal by their canonical values. Unequal bytes alone are looked at again in canonical
    form: most policies of a fleet are equal."""
    if msgspec.json.encode(before, order="sorted") == msgspec.json.encode(after, order="sorted"):
        return True
    return canonical_bytes(dict(before)) == canonical_bytes(dict(after))


def _leaves(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    from deepdiff import DeepDiff  # not at the top: a plan without a changed policy need not load it

    found = DeepDiff(
        _maps_of_texts(canonical(before)),
        _maps_of_texts(canonical(after)),
        view="tree",
        ignore_private_variables=False,  # a name is a name, also where it begins with two underscores
        threshold_to_diff_deeper=0,  # maps with few names in common are taken apart too: each field is a line
    )
    paths = {_shown_path(leaf.path(output_format="list"), before, after) for kind in found.values() for leaf in kind}
    for path in sorted(paths):
        yield Change(("policy", *path), at_path(before, path), at_path(after, path))


def _maps_of_texts(value: Any) -> Any:
    """Maps, and below them the JSON of everything else: as Python compares, 1 and true are one, and two long lists
    take minutes."""
    if isinstance(value, dict):
        return {name: _maps_of_texts(inner) for name, inner in value.items()}
    return canonical_bytes({"": value}).decode("utf-8", "surrogatepass")


def _shown_path(path: list[str | int], before: Any, after: Any) -> tuple[str, ...]:
    """The way to a leaf as people wrote it: a list is shown as one value (its items have no names), and so is
    whatever the canonical form takes apart."""
    names = tuple(takewhile(lambda part: isinstance(part, str), path))
    while at_path(before, names) is ABSENT and at_path(after, names) is ABSENT:
        names = names[:-1]
    return tuple(str(name) for name in names)


def owner_changes(wish: CreatePool, limits: Mapping[str, int]) -> tuple[Change, ...]:
    """What differs in the owner's rows: `ownerQuota`, once written, is kept exact; not written, it is left alone."""
    if wish.owner_quota is None:
        return ()
    return tuple(quota_changes("ownerQuota", limits, wish.owner_quota))


def quota_changes(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> Iterator[Change]:
    """Rows in which two quotas differ, under `name`; a row of 0 and no row are equal."""
    if before == after:
        return
    for resource in sorted(before.keys() | after.keys()):
        if before.get(resource, 0) != after.get(resource, 0):
            yield Change((name, resource), before.get(resource, ABSENT), after.get(resource, ABSENT))
