"""A fleet's directory with an embedded control plane of its own, and `fleetctl` run on it in this process.

A run goes through the whole command line, as a process would: arguments, environment, streams, exit code. Every home
starts from the same world, whose database is made once a test process and copied.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sqlite3
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any
from unittest.mock import patch

from better_compute.bootstrap import SYSTEM, Embedded, connect
from better_compute.bootstrap.plane import opened
from better_compute.client import Client
from better_compute.domain.ids import derive
from better_compute.wire.views import EventView
from fleetctl.cli import run
from tests.e2e.conftest import Server, command, environment, serving
from tests.e2e.proxy import Proxy, proxied

WORLD = """\
instance: home
tenants: [{id: acme}, {id: globex}, {id: initech}, {id: umbrella}, {id: "no"}, {id: "on"}]
sites:
  - {id: site_fra1, tenantId: root, kind: shared, region: eu-central}
  - {id: site_ams1, tenantId: root, kind: shared, region: eu-west}
  - {id: site_waw1, tenantId: root, kind: shared, region: eu-east}
  - {id: site_acme, tenantId: acme, kind: custom, region: eu-west}
identities:
  - {id: sa_fleet, tenantId: root}
  - {id: sa_other, tenantId: root}
  - {id: sa_hand, tenantId: root}
  - {id: sa_acme, tenantId: acme}
providerAccounts: [{id: pa_north, tenantId: root}]
machines:
  - {pool: racked, count: 4, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 192, memoryGiB: 2048, diskGiB: 7000}
"""
EXIT_CODES = frozenset({0, 1, 2, 3, 4, 5, 64, 130, 143})
"""All that a command may end with."""

H100 = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"}


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """All that it printed."""
        return self.out + self.err

    @property
    def report(self) -> Any:
        """What `--format json` printed."""
        return json.loads(self.out)

    @property
    def operations(self) -> list[str]:
        """A plan's operations in order, one phrase each: `offer fra1-a to acme`."""
        return [phrase(o) for o in self.report["operations"]]


def phrase(operation: Mapping[str, Any]) -> str:
    """`offer fra1-a to acme`."""
    to = f" to {operation['toTenantId']}" if operation["action"] in ("offer", "unoffer") else ""
    return f"{operation['action']} {operation['key']}{to}".replace("unoffer", "withdraw", 1)


def fleetctl(*arguments: str | Path, **environ: str) -> Ran:
    """Run the command in this process. Whatever is asked of it, it ends with a known code and without a traceback."""
    out, err = io.StringIO(), io.StringIO()
    before = signal.getsignal(signal.SIGTERM)
    with patch.dict(os.environ, environment(**environ), clear=True), redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    signal.signal(signal.SIGTERM, before)
    return checked(Ran(code, out.getvalue(), err.getvalue()), debug="FLEETCTL_DEBUG" in environ)


def fleetctl_process(*arguments: str | Path, **environ: str) -> Ran:
    """The same as a process of its own."""
    done = subprocess.run(
        command("fleetctl", *map(str, arguments)),
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        stdin=subprocess.DEVNULL,
        timeout=120,
        env=environment(**environ),
        check=False,
    )
    return checked(Ran(done.returncode, done.stdout, done.stderr))


def checked(ran: Ran, *, debug: bool = False) -> Ran:
    """Holds of every run; `debug`: a traceback was asked for."""
    assert ran.code in EXIT_CODES, ran
    assert debug or "Traceback" not in ran.said, ran.said
    assert "this should not have happened" not in ran.err, ran.err
    return ran


def entry(key: str, offers: Mapping[str, int] | list[Any] | str | None = None, **fields: Any) -> dict[str, Any]:
    """A pool's entry with what is required; `offers` may be given as GPUs by tenant."""
    if isinstance(offers, Mapping):
        offers = [{"toTenantId": tenant, "quota": {"gpu": gpus}} for tenant, gpus in offers.items()]
    stated = {} if offers is None else {"offers": offers}
    return {"idempotencyKey": key, **H100, **stated, **fields}


def pool_id(key: str, caller: str = "sa_fleet", tenant: str = "root") -> str:
    return derive("pool", tenant, caller, key)


class Home:
    """`directory` holds the fleet; `database` is the path of its control plane's, outside of it. `more`: root fields
    beside those that every fleet here has."""

    def __init__(self, directory: Path, **more: Any) -> None:
        self.more = more
        self.directory = directory / "fleet"
        self.directory.mkdir(parents=True)
        self.database = directory / "plane.db"
        self.database.write_bytes(_template())
        self.url = f"sqlite:///{self.database}"
        self.target: tuple[str, ...] = ()
        self.environ: dict[str, str] = {}

    @property
    def root(self) -> dict[str, Any]:
        """The root fields of its fleets."""
        return {
            "apiVersion": "fleet/v1",
            "tenantId": "root",
            "caller": "sa_fleet",
            "server": {"embedded": f"../{self.database.name}"},
            **self.more,
        }

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def files(self, **texts: str | bytes) -> None:
        """The root fields in `fleet.yaml`, and further files by name, without `.yaml`."""
        self.write("fleet.yaml", json.dumps(self.root))
        for name, text in texts.items():
            self.write(f"{name}.yaml", text)

    def wish(self, *pools: Mapping[str, Any], **root: Any) -> None:
        """The whole fleet, in one file."""
        self.write("fleet.yaml", json.dumps({**self.root, **root, "pools": pools}, ensure_ascii=False, indent=1))

    def run(self, name: str, *arguments: str | Path, **environ: str) -> Ran:
        return fleetctl(*self.line(name, *arguments), **(self.environ | environ))

    def start(
        self, name: str, *arguments: str | Path, stderr: int | IO[str] = subprocess.PIPE
    ) -> subprocess.Popen[str]:
        """The command as a process, under way."""
        return subprocess.Popen(
            command("fleetctl", *map(str, self.line(name, *arguments))),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=environment(**self.environ),
        )

    def line(self, name: str, *arguments: str | Path) -> list[str | Path]:
        """The arguments of a command on this fleet."""
        return [
            name,
            self.directory,
            *(self.target if name in ("plan", "apply", "drift", "whoami") else ()),
            *arguments,
        ]

    def move(self, url: str) -> None:
        """To another database, which is empty; its commands then go over the network."""
        with TemporaryDirectory() as name:
            world = Path(name) / "world.yaml"
            world.write_text(WORLD)
            with opened(url, SYSTEM, world):
                self.url = url

    def point(self, url: str, token: str) -> None:
        """From here on commands go to a server over the network."""
        self.target, self.environ = ("--server", url), {"FLEETCTL_TOKEN": token}

    def plan(self, *arguments: str | Path, code: int = 0) -> Ran:
        """A plan as JSON."""
        ran = self.run("plan", "--format", "json", *arguments)
        assert ran.code == code, f"it ends with {ran.code}: {ran.said}"
        return ran

    def apply(self, *arguments: str | Path, code: int = 0) -> Ran:
        """An apply as JSON: its report, or the plan where it is blocked."""
        approved = {"--yes", "--plan", "--expect"} & {str(a) for a in arguments}
        ran = self.run("apply", "--format", "json", *(() if approved else ("--yes",)), *arguments)
        assert ran.code == code, f"it ends with {ran.code}: {ran.said}"
        return ran

    def is_settled(self) -> bool:
        """Whether there is nothing to do: an empty plan without an error, and no drift."""
        report = self.run("plan", "--format", "json", "--detailed-exitcode")
        return report.code == 0 and not report.report["operations"] and self.run("drift").code == 0

    @contextmanager
    def hand(self, identity: str = "sa_hand", tenant_id: str = "root") -> Iterator[Client]:
        """Somebody else at the same control plane."""
        server = Embedded(self.url, create=False)
        with connect(server, tenant_id=tenant_id, caller=identity) as connection:
            yield connection.client

    def events(self) -> list[EventView]:
        """All events of the owner so far."""
        with self.hand() as client:
            return list(client.events.all())

    def dump(self) -> str:
        """Every row of the database."""
        with closing(sqlite3.connect(self.database)) as connection:
            return "\n".join(connection.iterdump())

    def sql(self, statement: str, *values: Any) -> None:
        """A change that no operation of today makes, such as use."""
        with closing(sqlite3.connect(self.database)) as connection, connection:
            assert connection.execute(statement, values).rowcount > 0


@contextmanager
def unchanged(home: Home) -> Iterator[None]:
    """Nothing is written to the control plane in this block."""
    before = home.dump()
    yield
    assert home.dump() == before, "something was written"


@contextmanager
def served(home: Home) -> Iterator[tuple[Server, Proxy]]:
    """`better-compute serve` on the home's database, and a proxy that the home's commands go through."""
    with serving(home.url) as server, proxied(server.url) as proxy:
        home.point(proxy.url, server.token("sa_fleet"))
        yield server, proxy


@cache
def _template() -> bytes:
    with TemporaryDirectory() as name:
        world, database = Path(name) / "world.yaml", Path(name) / "plane.db"
        world.write_text(WORLD)
        with opened(str(database), SYSTEM, world):
            pass
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return database.read_bytes()
