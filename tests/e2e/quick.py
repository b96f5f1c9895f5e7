"""A client for many concurrent calls: it takes so little of the machine that the servers get what they need."""

from __future__ import annotations

import json
import select
from http.client import HTTPConnection, HTTPException
from typing import Any, Self
from urllib.parse import urlsplit

NO_ANSWER = (OSError, HTTPException)
"""What a call raises where no answer came: whether it was carried out is not known."""


class Quick:
    """One connection, which is kept between calls and made again where the server has ended it."""

    def __init__(self, url: str, seconds: float) -> None:
        """`seconds`: how long the server may keep silent."""
        self._connection = HTTPConnection(urlsplit(url).netloc, timeout=seconds)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def post(self, operation: str, token: str, body: dict[str, Any]) -> tuple[int, Any]:
        """The status and the value of the answer to one call. Raises NO_ANSWER."""
        connection = self._connection
        if connection.sock is not None and select.select([connection.sock], [], [], 0)[0]:
            connection.close()  # what can be read before anything was asked is the end
        headers = {
            "authorization": f"Bearer {token}",
            "content-type": "application/json",
            "x-better-compute": "1",
        }
        try:
            connection.request("POST", f"/api/compute/{operation}", json.dumps(body).encode(), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except NO_ANSWER:
            connection.close()
            raise
