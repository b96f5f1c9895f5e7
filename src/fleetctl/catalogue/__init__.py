"""The catalogue: what every code, rule and word that is printed says, why it is there, and what to do.

Only `explain` reads it; a test holds it to be complete, with nothing in it that nobody tells.
"""

from __future__ import annotations

from functools import cache

from fleetctl.catalogue.codes import CODES
from fleetctl.catalogue.entry import Entries, Entry
from fleetctl.catalogue.fleets import FLEETS
from fleetctl.catalogue.guards import GUARDS
from fleetctl.catalogue.policies import policies
from fleetctl.catalogue.pools import POOLS
from fleetctl.catalogue.reading import READING
from fleetctl.catalogue.reported import REPORTED
from fleetctl.catalogue.revisions import REVISIONS
from fleetctl.catalogue.running import RUNNING
from fleetctl.catalogue.work import WORK

__all__ = ["CODES", "REPORTED", "Entry", "rules"]


@cache
def rules() -> Entries:
    """Every rule by its name, but for the checks of a fleet's own: these are `check.` and the name that files give."""
    return {**READING, **FLEETS, **policies(), **POOLS, **GUARDS, **REVISIONS, **RUNNING, **WORK}
