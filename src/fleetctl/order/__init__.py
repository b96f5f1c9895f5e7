"""The order of a plan's operations: by dependency, so that every state in between is legal."""

from fleetctl.order.ordering import GivenUp, Ordering, arrange

__all__ = ["GivenUp", "Ordering", "arrange"]
