"""A request and its answer, as every door of the API hands them over: plain values, no framework."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from better_compute.domain.problems import Problem


@dataclass(frozen=True, slots=True)
class Request:
    """`path` is as it was sent, without the query; header names are in lower case, each once. `unread` is why the body
    could not be read to its end: then the answer says that and nothing else."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    unread: Problem | None = None


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes


Handle = Callable[[Request], Response]
"""Answers every request; never raises."""

PREFIX = "/api/compute/"
"""What the path of every operation begins with."""

HEALTH = "/health"
"""The path that says that the server answers. Nothing but the handler is asked for it: no database, no credential."""

BODY_LIMIT = 1024 * 1024
"""Bytes of a request's body; one more is PAYLOAD_TOO_LARGE."""

CHANGE_HEADER = "x-better-compute-change"
CHANGE_LIMIT = 2048
"""The header that names the change which a call belongs to, as ASCII JSON, and its bytes."""

INSTANCE_HEADER = "x-better-compute-instance"
"""The header of every answer that tells which control plane gave it."""


def headers_of(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Raw header lines as a mapping. A header that is sent twice is joined, so that neither value passes alone."""
    headers: dict[str, str] = {}
    for raw_name, raw_value in pairs:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1").strip(" \t")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers
