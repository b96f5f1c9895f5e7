"""Guards: limits on what one plan may take away, in force unless an override names the number that may pass."""

from fleetctl.guards.judge import check
from fleetctl.guards.limits import in_force

__all__ = ["check", "in_force"]
