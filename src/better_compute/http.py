"""The only importer of httpx: how a client reaches a control plane, here without any port between them."""

from __future__ import annotations

import httpx

from better_compute.wire.message import BODY_LIMIT, Handle, Request, headers_of


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
