"""Which control plane a command asks, and as whom: flags beat environment, environment beats defaults."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from better_compute.bootstrap import Connection, Embedded, connect
from better_compute.cli.output import FORMATS

SERVER = "BETTER_COMPUTE_SERVER"
DATABASE = "BETTER_COMPUTE_DATABASE"
BILLING = "BETTER_COMPUTE_BILLING_URL"
TOKEN = "BETTER_COMPUTE_TOKEN"

OPTIONS = (
    click.Option(["--tenant"], help="The tenant to act as. Left out: the identity's own."),
    click.Option(["--server"], metavar="URL", help=f"The control plane's URL; also {SERVER}."),
    click.Option(["--database"], metavar="URL", help=f"Or its database, asked with no server; also {DATABASE}."),
    click.Option(["--as", "as_"], metavar="IDENTITY", help="With a database: the identity that asks."),
    click.Option(
        ["--token-file"],
        type=click.Path(path_type=Path, dir_okay=False),
        help=f"The file that holds the token; also {TOKEN}, which holds the token itself.",
    ),
    click.Option(
        ["--timeout"],
        type=click.FloatRange(0, min_open=True),
        default=30.0,
        metavar="SECONDS",
        show_default=True,
        help="How long to wait for an answer.",
    ),
    click.Option(
        ["--format", "form"],
        type=click.Choice(FORMATS),
        default="table",
        show_default=True,
        help="How to show the answer; compact is JSON on one line.",
    ),
)


@dataclass(frozen=True, slots=True)
class Target:
    """The shared options of a command that calls operations."""

    tenant: str | None
    server: str | None
    database: str | None
    as_: str | None
    token_file: Path | None
    timeout: float
    form: str

    @classmethod
    def taken_from(cls, options: dict[str, Any]) -> Target:
        """Takes its own options out of a command's."""
        return cls(**{str(option.name): options.pop(str(option.name)) for option in OPTIONS})

    @contextmanager
    def opened(self) -> Iterator[Connection]:
        """A connection that acts as the tenant. Raises ComputeError, and click's errors for what is not said right."""
        server = self._server()
        embedded = isinstance(server, Embedded)
        token = None if embedded else self._token()
        if embedded and self.as_ is None:
            raise click.UsageError("with a database, say who asks: --as IDENTITY")
        if embedded and self.token_file is not None:
            raise click.UsageError("--token-file goes with --server: a database believes --as")
        if not embedded and self.as_ is not None:
            raise click.UsageError("--as goes with --database: a server knows who asks by the token")
        connection = connect(server, tenant_id=self.tenant, token=token, caller=self.as_, timeout=self.timeout)
        with connection:
            yield connection

    def tenant_of(self, connection: Connection) -> str:
        return self.tenant or connection.client.identities.whoami().tenant_id

    def _server(self) -> str | Embedded:
        if self.server and self.database:
            raise click.UsageError("give --server or --database, not both")
        if self.server or (not self.database and os.environ.get(SERVER)):
            return str(self.server or os.environ[SERVER])
        database = self.database or os.environ.get(DATABASE)
        if not database:
            ways = f"Give --server URL, or --database URL and --as IDENTITY; or set {SERVER} or {DATABASE}"
            raise click.UsageError(f"which control plane? {ways}")
        return Embedded(database, create=False, billing=os.environ.get(BILLING) or None)

    def _token(self) -> str:
        if self.token_file is not None:
            return read_text(self.token_file, "--token-file").strip()
        if TOKEN not in os.environ:
            raise click.UsageError(f"who asks? Set {TOKEN}, or give --token-file")
        return os.environ[TOKEN]


def read_text(path: Path, option: str, limit: int = 1 << 20) -> str:
    """A file that an option names; `-` is standard input. What it holds is in no error's text."""
    try:
        with click.open_file(str(path), "rb") as file:
            data: bytes = file.read(limit + 1)
        if len(data) > limit:
            raise click.BadParameter(f"{path} is larger than {limit} bytes", param_hint=option)
        return data.decode("utf-8-sig")
    except OSError as error:
        raise click.BadParameter(f"{path} cannot be read: {error.strerror}", param_hint=option) from None
    except UnicodeDecodeError:
        raise click.BadParameter(f"{path} is not UTF-8", param_hint=option) from None
