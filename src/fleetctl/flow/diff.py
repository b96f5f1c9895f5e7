"""The difference of two fleets, without a server."""

from __future__ import annotations

from fleetctl.errors import EXIT_CHANGES, EXIT_OK
from fleetctl.fleet_diff import compare, read_side
from fleetctl.flow.finished import Finished
from fleetctl.report.of_fleet_diff import of_fleet_diff


def diff(before: str, after: str, *, caller: str | None, detailed: bool) -> Finished:
    """What the fleet `after` wishes differently from `before`; see `fleet_diff.read_side` for what names one.
    `detailed`: exit 2 when anything differs. Raises FilesError and Stop."""
    old, new = read_side(before, after, caller=caller), read_side(after, before, caller=caller)
    found = compare(old.desired, new.desired)
    return Finished(of_fleet_diff(found, old, new), EXIT_CHANGES if detailed and found else EXIT_OK)
