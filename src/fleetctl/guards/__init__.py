"""Guards: limits on what one plan may take away, in force unless an override names the number that may pass."""

from fleetctl.guards.judge import check
from fleetctl.guards.limits import in_force
from fleetctl.override import ALLOWABLE, Override

__all__ = ["ALLOWABLE", "Override", "check", "in_force"]
