"""The API on a real socket, in a thread of the test's process."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from better_compute.api.asgi import BODY_SECONDS, Door
from better_compute.api.server import Limits, make
from better_compute.wire.message import Handle


@contextmanager
def served(
    handle: Handle, body_seconds: float = BODY_SECONDS, limits: Limits | None = None, send_buffer: int | None = None
) -> Iterator[str]:
    """The URL of a real server on a port of the loopback interface; the kernel holds so many bytes for it to send."""
    with socket.socket() as listening:
        if send_buffer is not None:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        listening.bind(("127.0.0.1", 0))
        started = threading.Event()
        server = make(Door(handle, body_seconds), started.set, limits)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        thread.start()
        try:
            assert started.wait(20)
            yield url
        finally:
            server.should_exit = True
            thread.join()
