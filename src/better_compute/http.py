"""The only importer of httpx: how a client reaches a control plane, over the network or with no port between them."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpcore
import httpx

from better_compute.domain.policy.urls import mask_server
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
from better_compute.wire.message import BODY_LIMIT, Handle, Request, Response, headers_of

MAX_ANSWER = 256 * 1024 * 1024
"""The largest answer a client takes, in bytes, unpacked."""

TIMEOUT = 30.0
"""Seconds that a client waits for a connection, or for the next part of an answer."""

CONNECTIONS = 64
"""So many calls may be under way at once: as many as an apply makes at most. Each is opened when it is first needed."""

PATIENCE = 10
"""So many timeouts are the longest that one call may take in all, from its first byte to the last of its answer: a
server could take or send a byte now and then, of a body, of headers, or one interim answer after the other."""

IDLE_SECONDS = 4.0
"""A connection is used again within this time only: servers close idle ones, and a write sent into that is lost."""

_TOKEN = re.compile(r"[\x21-\x7e]{1,4096}")


class InProcess(httpx.BaseTransport):
    """A transport that calls the control plane's handler in this process."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The handler's answer; as at the other door, no more than one byte past the limit is read of a body."""
        answer = self._handle(
            Request(
                method=request.method,
                path=request.url.raw_path.partition(b"?")[0].decode("ascii"),
                headers=headers_of(request.headers.raw),
                body=request.read()[: BODY_LIMIT + 1],
            )
        )
        return httpx.Response(answer.status, headers=dict(answer.headers), content=answer.body, request=request)


class NetworkError(Exception):
    """No answer, or none that can be read.

    `transient`: asking again may help. `sent`: the request may have arrived, and may have been carried out.
    """

    def __init__(self, message: str, hint: str = "", *, transient: bool = True, sent: bool = True) -> None:
        super().__init__(message)
        self.hint = hint
        self.transient = transient
        self.sent = sent


class Http:
    """A connection pool to one server. Safe to use from many threads; redirects are never followed."""

    def __init__(
        self,
        server: str,
        *,
        token: str | None = None,
        timeout: float = TIMEOUT,
        patience: float = PATIENCE,
        most: int | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`server` is a URL, or with a `transport` of its own any description of what answers. `timeout` and what
        `clock` tells are seconds, `patience` is how many timeouts a call may take in all, `most` how many bytes an
        answer may have.

        Raises ComputeError (INVALID_INPUT) for a URL or token that cannot be used, before anything is sent.
        """
        check_token(token)
        self.server = server if transport else checked_url(server, with_token=token is not None)
        self.secret = None if transport else token
        """What no text may show. In process the bearer is a name, and no secret."""
        self._timeout, self._whole = timeout, patience * timeout
        self._most = MAX_ANSWER if most is None else most
        try:
            self._client = self._open(token, transport)
        except (OSError, ImportError) as error:
            message = f"the network settings of the environment cannot be used: {error}"
            hint = "see SSL_CERT_FILE, HTTPS_PROXY, HTTP_PROXY and ALL_PROXY"
            raise ComputeError(Problem(INVALID_INPUT, "client.settings", message, hint=hint)) from error
        except (ValueError, httpx.InvalidURL):
            # The text of the error may hold a part of the password.
            message = "a proxy that the environment names cannot be used: its URL is none"
            names = "see HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY"
            hint = f"{names}; in a password / is written %2F, # %23 and @ %40"
            raise ComputeError(Problem(INVALID_INPUT, "client.settings", message, hint=hint)) from None
        _limit(self._client, self._whole, clock)

    def _open(self, token: str | None, transport: httpx.BaseTransport | None) -> httpx.Client:
        url = urlsplit("http://embedded" if transport else self.server)
        return httpx.Client(
            base_url=url.geturl(),
            headers=_PLAIN | ({"Authorization": f"Bearer {token}"} if token else {}),
            # Waiting for a free connection is no failure: the caller may have more threads than connections.
            timeout=httpx.Timeout(self._timeout, pool=None),
            limits=httpx.Limits(
                max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS, keepalive_expiry=IDLE_SECONDS
            ),
            transport=transport,
            verify=url.scheme == "https",
            # A proxy must not see the token of a plain http request that is meant for this machine.
            trust_env=transport is None and not (url.scheme == "http" and is_loopback(url.hostname or "")),
            follow_redirects=False,
        )

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> Response:
        """One request, one answer of any status. Raises NetworkError."""
        try:
            with self._client.stream("POST", path, content=body, headers=dict(headers)) as answer:
                return Response(
                    status=answer.status_code, headers=headers_of(answer.headers.raw), body=self._read(answer)
                )
        except httpx.TimeoutException as error:
            sent = not isinstance(error, httpx.ConnectTimeout)
            message = f"no answer from {self.server} within {self._timeout:g} s"
            if isinstance(error.__cause__, _Endless):
                message = f"{self.server} did not come to the end of its answer within {self._whole:g} s"
            raise NetworkError(message, sent=sent) from error
        except httpx.RequestError as error:
            raise self._failure(error) from error

    def close(self) -> None:
        self._client.close()

    def _read(self, answer: httpx.Response) -> bytes:
        encoding = answer.headers.get("content-encoding", "identity")
        if encoding != "identity":
            message = f"the answer of {self.server} is packed ({encoding[:40]}), and was asked for as it is"
            raise NetworkError(message, transient=False)
        body = bytearray()
        for chunk in answer.iter_bytes():
            body += chunk
            if len(body) > self._most:
                size = f"{self._most >> 20} MiB" if self._most >> 20 else f"{self._most >> 10} KiB"
                message = f"the answer of {self.server} is larger than {size}"
                raise NetworkError(message, transient=False)
        return bytes(body)

    def _failure(self, error: httpx.RequestError) -> NetworkError:
        text = str(error) or type(error).__name__
        if "CERTIFICATE_VERIFY_FAILED" in text:
            hint = "SSL_CERT_FILE names a file with the certificates to trust"
            return NetworkError(
                f"the certificate of {self.server} is not trusted: {text}", hint, transient=False, sent=False
            )
        if isinstance(error, httpx.ConnectError | httpx.ProxyError):
            hint = "is the server running?"
            if "WRONG_VERSION_NUMBER" in text:
                hint = "what answers there does not speak TLS: is it http, or another port?"
            if self._client._transport_for_url(httpx.URL(self.server)) is not self._client._transport:
                hint = "is the proxy of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY running, and the server behind it?"
            return NetworkError(f"cannot connect to {self.server}: {text}", hint, sent=False)
        lasting = isinstance(error, httpx.LocalProtocolError | httpx.DecodingError | httpx.UnsupportedProtocol)
        return NetworkError(f"the connection to {self.server} broke: {text}", transient=not lasting)


_PLAIN = {"Accept-Encoding": "identity"}
"""Answers are small, and one that is packed could become as large as it likes before its size is known."""


class _Endless(httpcore.ReadTimeout):
    """A call takes longer than one may take in all."""


class _Stream(httpcore.NetworkStream):
    """A connection on which no call takes longer than `seconds`: the first begins with the connecting, at `begin`,
    another one with what is written after an answer."""

    def __init__(
        self, stream: httpcore.NetworkStream, seconds: float, clock: Callable[[], float], begin: float
    ) -> None:
        self._stream, self._seconds, self._clock = stream, seconds, clock
        self._end = begin + seconds
        self._answering = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._answering = True
        try:
            return self._stream.read(max_bytes, self._left(timeout))
        except httpcore.ReadTimeout:
            self._left(timeout)
            raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if self._answering:
            self._end, self._answering = self._clock() + self._seconds, False
        self._stream.write(buffer, self._left(timeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(*args, **kwargs), self._seconds, self._clock, self._end - self._seconds)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _left(self, timeout: float | None) -> float:
        """How long the next step may take."""
        left = self._end - self._clock()
        if left <= 0:
            raise _Endless("the call takes too long")
        return left if timeout is None else min(timeout, left)


class _Backend(httpcore.SyncBackend):
    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds, self._clock = seconds, clock

    def connect_tcp(self, *args: Any, **kwargs: Any) -> httpcore.NetworkStream:
        begin = self._clock()
        return _Stream(super().connect_tcp(*args, **kwargs), self._seconds, self._clock, begin)


def _limit(client: httpx.Client, seconds: float, clock: Callable[[], float]) -> None:
    """No call of the client takes longer. httpx has limits for each read and write, none for all of them, and no public
    way to its network: after an upgrade it must still hold, and tests see it, that each of its transports, those of
    proxies included, has a `_pool` of httpcore, which takes its connections from its `_network_backend`; and that
    `_transport` is the one without a proxy."""
    for transport in (client._transport, *client._mounts.values()):
        if isinstance(transport, httpx.HTTPTransport):
            transport._pool._network_backend = _Backend(seconds, clock)


def check_token(token: str | None) -> None:
    """Raises ComputeError for what cannot be a token; its text is never shown."""
    if token is not None and not _TOKEN.fullmatch(token):
        message = "the token is empty or holds characters that no token has"
        raise ComputeError(Problem(INVALID_INPUT, "client.token", message, hint="is it the right file or variable?"))


def checked_url(server: str, *, with_token: bool) -> str:
    """The server's URL without a slash at its end. Raises ComputeError."""
    url = _split(server)
    if url is not None and (url.username is not None or url.password is not None):
        raise _refused("a server's URL holds no user and no password", "give the token by its variable or file")
    if url is None or url.scheme not in ("http", "https") or not url.hostname or url.query or url.fragment:
        scheme = "http" if is_loopback(server.partition(":")[0]) else "https"
        near = re.fullmatch(r"[\w.-]+(:\d+)?(/\S*)?", server)
        hint = f'did you mean "{scheme}://{server}"?' if near else "it reads https://HOST[:PORT][/PATH]"
        shown = f"not the URL of a server: {mask_server(server)}"
        raise _refused("this is not the URL of a server" if url is None else shown, hint)
    if with_token and url.scheme == "http" and not is_loopback(url.hostname):
        raise _refused(f"a token is not sent over plain http to {url.hostname}", "use https")
    return server.rstrip("/")


def is_loopback(host: str) -> bool:
    """Whether a host is this machine by its name alone; no name is looked up."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _split(server: str) -> SplitResult | None:
    """The URL's parts; None for a text that is none at all."""
    if not server.isprintable() or " " in server:
        return None
    try:
        httpx.URL(server)  # what this refuses nobody can ask, such as a name that no host may have
        url = urlsplit(server)
        return url if url.port != 0 else None
    except (ValueError, httpx.InvalidURL):
        return None


def _refused(message: str, hint: str) -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, "client.server", message, "server", hint))
