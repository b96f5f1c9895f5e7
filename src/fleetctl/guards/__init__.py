"""Guards: limits on what one plan may take away, in force unless an override names the number that may pass."""

from fleetctl.guards.judge import check

__all__ = ["check"]
