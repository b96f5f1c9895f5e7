"""Applies that end halfway, without a process to kill: any set of a plan's operations that may have been done."""

from __future__ import annotations

import shutil
from collections.abc import Container, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from threading import Event
from typing import Any

from fleetctl import apply as applying
from fleetctl import live as reading
from fleetctl import plan as planning
from fleetctl.desired.load import load
from fleetctl.journal import Journal
from tests.e2e.homes import Home


def copied(home: Home, directory: Path) -> Home:
    """The same fleet and the same control plane, elsewhere."""
    other = Home(directory)
    shutil.copytree(home.directory, other.directory, dirs_exist_ok=True)
    other.database.write_bytes(home.database.read_bytes())
    return other


def do(home: Home, numbers: Container[int]) -> None:
    """Carry out the operations of these numbers of today's plan, as an apply of it would, and no others."""
    wished = load(home.directory)
    with home.hand("sa_fleet") as client, ThreadPoolExecutor(1) as executor:
        plan = planning.make(wished, reading.read(client, "", "root"))
        some = tuple(replace(o, depends_on=()) for o in plan.operations if o.n in numbers)
        writer = applying.Writer(
            client=client,
            executor=executor,
            parallelism=1,
            change={"fleet": wished.fleet, "digest": plan.digest},
            journal=Journal(None, lambda: 0, ""),
            progress=lambda _: None,
            stop=Event(),
        )
        outcomes = applying.run(replace(plan, operations=some), writer)
    assert [o.status for o in outcomes] == ["done"] * len(some), outcomes


def admitted(operations: list[dict[str, Any]]) -> Iterator[set[int]]:
    """Every set of done operations that the dependencies of a plan report admit, all of them and none included."""
    for size in range(len(operations) + 1):
        for chosen in combinations(operations, size):
            done = {operation["n"] for operation in chosen}
            if all(set(operation["dependsOn"]) <= done for operation in chosen):
                yield done
