"""Embedded control planes with worlds."""

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM, Connection, Embedded, arrivals, connect
from better_compute.bootstrap.plane import ControlPlane, open_plane

Connect = Callable[..., Connection]

WORLD = """\
    instance: test
    tenants: [{id: acme}, {id: globex}]
    sites:
      - {id: site_fra1, tenantId: root, kind: shared, region: eu-central}
      - {id: site_acme, tenantId: acme, kind: custom, region: eu-west}
    identities: [{id: sa_fleet, tenantId: root}, {id: sa_other, tenantId: root}, {id: sa_acme, tenantId: acme}]
    """


def killed_at(monkeypatch: pytest.MonkeyPatch, transaction: int) -> None:
    """Let the machines that wait join a few at a time, and stop short before one of the transactions."""
    join, count = arrivals._join, itertools.count()

    def crash(*given: Any) -> Any:
        if next(count) == transaction:
            raise RuntimeError("killed")
        return join(*given)

    monkeypatch.setattr(arrivals, "_CHUNK", 2)
    monkeypatch.setattr(arrivals, "_join", crash)


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a world file: that of every test here, and what a test adds to it."""

    def make(more: str = "", base: str = WORLD) -> Path:
        path = tmp_path / "world.yaml"
        path.write_text(dedent(base) + dedent(more))
        return path

    return make


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Connect]:
    """Opens the control plane of this test as often as it likes."""
    opened: list[Connection] = []

    def make(world: Path | None = None, *, caller: str = "sa_fleet", tenant_id: str = "root") -> Connection:
        server = Embedded(str(tmp_path / "deep" / "plane.db"), world)
        connection = connect(server, tenant_id=tenant_id, caller=caller)
        opened.append(connection)
        return connection

    yield make
    for connection in opened:
        connection.close()


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[ControlPlane]:
    plane = open_plane(str(tmp_path / "plane.db"), SYSTEM)
    yield plane
    plane.close()
