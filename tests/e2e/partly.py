"""Applies that end halfway, without a process to kill: any set of a plan's operations that may have been done."""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from tests.e2e.edge import apply_over, planned, straight
from tests.e2e.homes import Home


def copied(home: Home, directory: Path) -> Home:
    """The same fleet and the same control plane, elsewhere."""
    other = Home(directory)
    shutil.copytree(home.directory, other.directory, dirs_exist_ok=True)
    other.database.write_bytes(home.database.read_bytes())
    return other


def do(home: Home, numbers: Container[int], digest: str | None = None) -> None:
    """Carry out the operations of these numbers of today's plan, as an apply of it would, and no others; under the
    digest of a plan file when that is given."""
    plan = planned(home)
    some = tuple(replace(o, depends_on=()) for o in plan.operations if o.n in numbers)
    outcomes = apply_over(home, straight, replace(plan, operations=some), parallelism=1, digest=digest)
    assert [o.status for o in outcomes] == ["done"] * len(some), outcomes


def admitted(operations: list[dict[str, Any]]) -> Iterator[set[int]]:
    """Every set of done operations that the dependencies of a plan report admit, all of them and none included."""
    for size in range(len(operations) + 1):
        for chosen in combinations(operations, size):
            done = {operation["n"] for operation in chosen}
            if all(set(operation["dependsOn"]) <= done for operation in chosen):
                yield done
