"""Whoami: who asks whom."""

from __future__ import annotations

from fleetctl.errors import EXIT_OK
from fleetctl.flow.finished import Finished
from fleetctl.machine import clock
from fleetctl.report.of_whoami import of_whoami
from fleetctl.request import Request
from fleetctl.session import target
from fleetctl.session.opening import connected, read


def whoami(request: Request) -> Finished:
    """Who asks whom, and whether that is who the files say."""
    wished = read(request)
    chosen = target.choose(wished, request.environ, request.server, request.token_file, request.directory)
    with connected(wished, chosen, request) as connection:
        now = clock.now()
        info, me = connection.client.system.info(), connection.client.identities.whoami()
    url = target.shown(chosen.server, request.directory)
    report = of_whoami(info, me, wished, url, overridden=chosen.overridden, now=now)
    return Finished(report, EXIT_OK)
