"""A control plane on a socket, until a signal stops it."""

from __future__ import annotations

import gc
import logging
import re
import resource
import socket
from collections.abc import Callable
from typing import Any

from better_compute.api import server
from better_compute.api.asgi import Door
from better_compute.bootstrap.plane import ControlPlane
from better_compute.bootstrap.rhythm import in_rhythm
from better_compute.domain.policy.urls import mask_database
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
from better_compute.http import is_loopback
from better_compute.wire.message import Handle

log = logging.getLogger(__name__)


def listen(address: str) -> socket.socket:
    """A listening socket at HOST:PORT; port 0 is any free one. Raises ComputeError; also where this process may open
    too few files to serve anybody."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < server.FEWEST_FILES:
        message = f"this process may open {files} files, and needs {server.FEWEST_FILES} at least to serve"
        raise ComputeError(Problem(INVALID_INPUT, "serve.files", message, hint="raise its limit: `ulimit -n 1024`"))
    found = re.fullmatch(r"(\[[^\]]+\]|[^:\[\]]*):([0-9]{1,5})", address)
    if found is None or int(found[2]) > 65535:
        message = f"an address reads HOST:PORT, not {address}"
        raise ComputeError(Problem(INVALID_INPUT, "serve.listen", message, hint="127.0.0.1:8080, or [::1]:8080"))
    host, port = found[1].strip("[]"), int(found[2])
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return _listening(socket.socket(family, kind, protocol), place)
    except (OSError, UnicodeError) as error:
        # What cannot be a host's name is told by a UnicodeError.
        reason = error.strerror if isinstance(error, OSError) else "this is no name of a host"
        message = f"cannot listen at {address}: {reason}"
        raise ComputeError(Problem(INVALID_INPUT, "serve.listen", message)) from error


def _listening(bare: socket.socket, place: Any) -> socket.socket:
    """The socket, bound: from here on callers may connect; they wait until the first is answered."""
    try:
        bare.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bare.bind(place)
        bare.listen(server.BACKLOG)
    except OSError:
        bare.close()
        raise
    return bare


def url_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_private(listening: socket.socket) -> bool:
    """Whether this machine alone can reach it."""
    return is_loopback(listening.getsockname()[0])


def serve(plane: ControlPlane, database: str, listening: socket.socket, say: Callable[[str], object]) -> None:
    """Answer until SIGTERM or SIGINT; calls in flight are finished, then the signal takes its usual course. Those that
    do not finish in time are cut off; if that does not end the process, it is ended with the signal's code."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    where = f"listening on {url_of(listening)} for the database {mask_database(database)}"
    gc.collect()
    gc.freeze()  # what a process begins with stays, and to look through it again and again would hold up every call
    with in_rhythm(plane) as served:
        answer(served.by_token(log.warning), listening, lambda: say(where))


def answer(handle: Handle, listening: socket.socket, announce: Callable[[], object]) -> None:
    """Answer every request with what `handle` says, until a signal."""
    server.make(Door(handle), announce).run(sockets=[listening])
