"""One message to a webhook, such as a chat's, which is no control plane.

Its URL is often the whole secret that lets a message in, so that no text of this module holds a part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from better_compute.domain.problems import INVALID_INPUT, UNAVAILABLE, ComputeError, Problem
from better_compute.http import Http, NetworkError, is_loopback

SECONDS = 10.0
"""So long a message takes at most, its connection included."""

RULE = "client.webhook"
_MOST = 64 * 1024
"""Bytes of an answer."""
_LONGEST = 4096
"""Characters of a URL."""


@dataclass(frozen=True, slots=True)
class Webhook:
    """Where messages go. It holds no token, and follows no redirect."""

    _http: Http = field(repr=False)
    _path: str = field(repr=False)

    @classmethod
    def at(cls, url: str, seconds: float = SECONDS) -> Webhook:
        """A message may take so many `seconds`. Raises ComputeError INVALID_INPUT for what is no URL of https, or of
        http to this machine, and where the environment's network settings cannot be used."""
        parts = _split(url)
        if parts is None or parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment:
            raise _refusal("this is not the URL of a webhook", "it reads https://HOST/PATH")
        if "@" in parts.netloc:
            raise _refusal("the URL of a webhook holds no user and no password", "its path or query lets a message in")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise _refusal("a webhook is not written to over plain http", "use https")
        query = f"?{parts.query}" if parts.query else ""
        return cls(_opened(f"{parts.scheme}://{parts.netloc}", seconds), f"{parts.path or '/'}{query}")

    def post(self, body: bytes, headers: Mapping[str, str]) -> None:
        """Send JSON, once. Raises ComputeError UNAVAILABLE where it was not taken."""
        try:
            answer = self._http.post(self._path, body, {"content-type": "application/json", **headers})
        except NetworkError as error:
            raise _unavailable(self._clean(str(error)), error.hint) from None
        finally:
            self._http.close()
        if 300 <= answer.status < 400:
            hint = "redirects are not followed: name the place itself, if you trust it"
            raise _unavailable(f"the webhook redirects (HTTP {answer.status})", hint)
        if not 200 <= answer.status < 300:
            raise _unavailable(f"the webhook answered with HTTP {answer.status}")

    def _clean(self, text: str) -> str:
        """What went wrong, without where."""
        host = urlsplit(self._http.server).hostname or ""
        return text.replace(self._http.server, "the webhook").replace(host, "(host)")


def _opened(origin: str, seconds: float) -> Http:
    try:
        return Http(origin, timeout=seconds, patience=1, most=_MOST)
    except ComputeError as error:
        if error.problems[0].rule != "client.server":
            raise
        raise _refusal("this is not the URL of a webhook", "it reads https://HOST/PATH") from None


def _split(url: str) -> SplitResult | None:
    """The URL's parts; None for a text that is none at all."""
    if not (url.isascii() and url.isprintable()) or " " in url or len(url) > _LONGEST:
        return None
    try:
        parts = urlsplit(url)
        return parts if parts.port != 0 else None
    except ValueError:
        return None


def _refusal(message: str, hint: str) -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, RULE, message, hint=hint))


def _unavailable(message: str, hint: str = "") -> ComputeError:
    return ComputeError(Problem(UNAVAILABLE, RULE, message, hint=hint))
