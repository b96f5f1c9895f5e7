"""Where each side says what the merged files say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from fleetctl.together import places
from fleetctl.together.branch import Branch
from fleetctl.together.merging import merged
from fleetctl.together.places import same_lines
from fleetctl.together.shared import shared
from fleetctl.together.union import loaded, united
from tests.fleetctl.together.sides import offered

ROOT = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet", "allowEmpty": True}


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("abc", "abc", {0: 0, 1: 1, 2: 2}),
        ("abc", "xabyc", {0: 1, 1: 2, 2: 4}),
        ("a-b-c", "b-c", {2: 0, 3: 1, 4: 2}),
        ("--a--", "-a-", {0: 0, 2: 1, 3: 2}),
        ("---", "--", {0: 0, 1: 1}),
        ("abc", "", {}),
        ("", "abc", {}),
        ("a", "b", {}),
    ],
)
def test_lines_are_the_same_where_they_stand_once_and_around_these(one: str, other: str, found: dict[int, int]) -> None:
    assert same_lines(*([line.encode() for line in text] for text in (one, other))) == found


def written(*pools: dict[str, Any], **root: Any) -> bytes:
    return (json.dumps({**root, **({"pools": pools} if pools else {})}, indent=1) + "\n").encode()


def read_and_compared(many: int, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often files are read, and compared, to tell so many pools whose policy another one renames."""
    policies = {"standard": {"maxLeaseHours": 1}}
    base = {"fleet.yaml": written(**ROOT, policies=policies), "pools.yaml": written(*map(offered, "abcdef"))}
    new = [offered(f"new-{n}", policyRef="standard") for n in range(many)]
    ours = base | {"pools.yaml": written(*map(offered, "abcdef"), *new)}
    renamed = written(**ROOT, policies={"other": policies["standard"]})
    theirs = {"fleet.yaml": renamed, "pools.yaml": written(offered("their"), *map(offered, "abcdef"))}
    had, own, their = (loaded(Path("/"), files, None, empty_ok=True) for files in (base, ours, theirs))
    branch = Branch("x", their, had, theirs, base)
    union = united(Path("/"), own, ours, [branch])
    count = Counter[str]()
    with monkeypatch.context() as patch:
        for name in ("read_text", "same_lines"):
            patch.setattr(places, name, counted(getattr(places, name), count, name))
        found = shared(union, merged(own, [branch]), lambda _: True)
    assert len(found) == many
    for joint in found:
        own_place, _ = (party.source for party in joint.parties)
        assert own_place is not None
        assert b"policyRef" in ours["pools.yaml"].splitlines()[own_place.line - 1]
    return count


def counted(function: Any, count: Counter[str], name: str) -> Any:
    def counting(*arguments: Any) -> Any:
        count[name] += 1
        return function(*arguments)

    return counting


def test_no_file_is_read_or_compared_again_for_each_of_many_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (read_and_compared(pools, monkeypatch) for pools in (2, 40))
    assert few == many
    assert many["same_lines"] == 2
