"""Which control plane, as whom: pins of the files against environment and flags."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from better_compute.domain import problems
from better_compute.domain.ids import KEY_SAYS, is_key
from better_compute.domain.policy.secrets import mask_text
from better_compute.domain.policy.urls import mask_server
from better_compute.domain.problems import INVALID_INPUT, UNAUTHENTICATED, ComputeError, Problem
from fleetctl.desired import Desired, Embedded
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.machine import disk
from fleetctl.request import CALLER, SERVER, TENANT, TOKEN

PINS = frozenset({SERVER, TENANT, CALLER})
"""What the files pin, by the variable that may say it too."""
_MADE = "whoever runs the control plane makes one: `better-compute token IDENTITY --database URL`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """`server` is a URL or the embedded control plane; `overridden`: the flag names another than the files do.
    `server_from` and `token_from` name the flag, the variable or the place that says them."""

    server: str | Embedded
    overridden: bool
    token: str | None
    server_from: str
    token_from: str

    def check_token(self) -> None:
        """Whether there is a token where one is needed; a URL that is none is judged before. Raises ComputeError."""
        if self.token is None and isinstance(self.server, str):
            message = f"there is no token for {mask_text(self.server)}"
            hint = f"set {TOKEN}, or give --token-file FILE; {_MADE}"
            raise ComputeError(Problem(UNAUTHENTICATED, "token.missing", message, hint=hint))

    def told(self, error: ComputeError) -> ComputeError:
        """The error, and what of this target it is about."""
        first = error.problems[0]
        match first:
            case _ if not isinstance(self.server, str):
                return error
            case Problem(rule="client.server"):
                first = replace(first, path=self.server_from)
            case Problem(rule="client.token"):
                first = replace(first, path=self.token_from)
            case Problem(rule=problems.NO_PATH) if (url := urlsplit(self.server)).path.strip("/"):
                near = f'{self.server_from} names it; did you mean "{url.scheme}://{url.netloc}"?'
                message = f"{mask_text(self.server)} is no control plane: it has no such path"
                first = replace(first, message=message, hint=near)
            case Problem(rule=problems.NOT_REACHED):
                first = replace(first, hint=f"{first.hint} {self.server_from} names it".strip())
            case Problem(code=problems.UNAUTHENTICATED, rule="", hint=""):
                first = replace(first, hint=f"{mask_text(self.server)} was asked with the token of {self.token_from}")
            case _:
                return error
        return ComputeError(first, *error.problems[1:], retry_after_ms=error.retry_after_ms)


def exposed(token_file: Path | None) -> str:
    """What is told of a token file that everybody on this machine may read; an empty text where nobody else may."""
    try:
        mode = token_file.stat().st_mode if token_file is not None and os.name == "posix" else 0
    except OSError:
        return ""  # reading it says why
    if not (stat.S_ISREG(mode) and mode & stat.S_IROTH):
        return ""
    return f"Everybody on this machine may read {token_file}, and the token in it: chmod 600 keeps it to you"


def check_pins(desired: Desired, environ: Mapping[str, str], directory: Path, asked: Collection[str] = PINS) -> None:
    """Raises Stop with exit 4 where the environment disagrees with the files, in one of the variables `asked`: those
    that no flag overrides, of what the command needs."""
    pins = {TENANT: desired.tenant_id, CALLER: desired.caller, SERVER: _spelled(desired.server, directory)}
    wrong = tuple(
        f"{name} is {mask_server(environ[name])}, and the files say {pin}"
        for name, pin in pins.items()
        if name in asked and pin is not None and environ.get(name) and not _same(name, environ[name], pin)
    )
    if wrong:
        hint = "--server URL overrides the files for once" if any(each.startswith(SERVER) for each in wrong) else ""
        message = "the environment does not match the files' pins; nothing was read"
        raise Stop(EXIT_STALE, message, wrong, hint, "target.pins")


def choose(
    desired: Desired, environ: Mapping[str, str], flag: str | None, token_file: Path | None, directory: Path
) -> Target:
    """The target, or Stop with exit 4 before anything is read when the environment disagrees with the files."""
    check_pins(desired, environ, directory, PINS if flag is None else PINS - {SERVER})
    pin = _spelled(desired.server, directory)
    server = flag if flag is not None else desired.server or environ.get(SERVER) or None
    if server is None:
        hint = "write `server:` in fleet.yaml, or give --server or FLEETCTL_SERVER"
        raise ComputeError(Problem(INVALID_INPUT, "fleet.server", "no server is named", hint=hint))
    return Target(
        server=server,
        overridden=flag is not None and pin is not None and not _same(SERVER, flag, pin),
        token=_token(environ, token_file),
        server_from="--server" if flag is not None else _pinned(desired) or SERVER,
        token_from=TOKEN if token_file is None else str(token_file),
    )


def of_snapshot(desired: Desired, environ: Mapping[str, str], flag: str | None, directory: Path, url: str) -> Target:
    """The target that a snapshot of `url` must be of: what the flag, the files or the environment name, else its own.
    No token is read. Raises Stop for a pin that does not match."""
    check_pins(desired, environ, directory, PINS if flag is None else PINS - {SERVER})
    pin = _spelled(desired.server, directory)
    return Target(
        server=flag if flag is not None else desired.server or environ.get(SERVER) or url,
        overridden=flag is not None and pin is not None and not _same(SERVER, flag, pin),
        token=None,
        server_from="",
        token_from="",
    )


def _pinned(desired: Desired) -> str:
    """Where the files name the server, if they do."""
    place = desired.places.get("server")
    return str(place.source()) if place else ""


def _token(environ: Mapping[str, str], token_file: Path | None) -> str | None:
    """From a file or the environment, never from a flag's value."""
    if token_file is None:
        return environ.get(TOKEN) or None
    try:
        return disk.read_whole(token_file).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ComputeError(
            # Its name may be the token itself, from somebody who took the flag for that.
            Problem(INVALID_INPUT, "token.file", f"the file that --token-file names cannot be read: {reason}")
        ) from error


def shown(server: str | Embedded, directory: Path) -> str:
    """A server as people know it; an embedded one by its file, from the fleet's directory."""
    return _spelled(server, directory) or ""


def made(server: Embedded, directory: Path) -> str:
    """What is told of an embedded control plane that is not there yet."""
    world = "the tenant root alone" if server.world is None else _from(server.world, directory)
    database = _from(server.database, directory)
    return f"There is no {database} yet: a new control plane is made there, and starts with {world}"


def missing(server: Embedded, directory: Path) -> Stop:
    """Of an embedded control plane that is not there, where only one that is will do."""
    message = f"there is no {_from(server.database, directory)}: the plan or report is of another control plane"
    hint = (
        "give --server URL where it is of a served one; else make a new plan, or find the files that the report is of"
    )
    return Stop(EXIT_STALE, message, hint=hint, rule="plan.target")


def check_same(server: str | Embedded, was: disk.Identity | None, directory: Path) -> None:
    """Whether an embedded control plane is in the file that it was in: what holds that open reads on in one that is
    gone. Raises Stop."""
    if not isinstance(server, Embedded) or (now := disk.identity(Path(server.database))) == was:
        return
    became = "is gone" if isinstance(now, str) else "was made anew"
    name = _from(server.database, directory)
    message = f"the control plane's database {name} {became} meanwhile: nothing was written"
    raise Stop(EXIT_STALE, message, hint="apply again, and look at the new plan", rule="plan.target")


def _spelled(server: str | Embedded | None, directory: Path) -> str | None:
    return f"embedded:{_from(server.database, directory)}" if isinstance(server, Embedded) else server


def _from(name: str, directory: Path) -> str:
    """A path from the fleet's directory, where that is near: the same wherever the fleet was checked out."""
    shared = os.path.commonpath([name, os.path.abspath(directory)])
    return name if shared == os.path.dirname(shared) else os.path.relpath(name, directory)


def _same(name: str, value: str, pin: str) -> bool:
    return value.rstrip("/") == pin.rstrip("/") if name == SERVER else value == pin


def check_caller(wished: Desired) -> None:
    """Whether somebody names the identity that pool ids derive from. Raises ComputeError."""
    caller_of(wished)


def caller_of(wished: Desired) -> str:
    """The identity that pool ids derive from. Raises ComputeError where nobody names one."""
    if wished.caller is not None:
        if not is_key(wished.caller):  # the environment's: that of the files was judged with them
            message = f"{CALLER} is no id of an identity: {wished.caller}"
            raise ComputeError(Problem(INVALID_INPUT, "fleet.caller", message, hint=KEY_SAYS))
        return wished.caller
    hint = "write `caller:` in fleet.yaml, or set FLEETCTL_CALLER: pool ids derive from it"
    raise ComputeError(Problem(INVALID_INPUT, "fleet.caller", "the files name no caller", hint=hint))
