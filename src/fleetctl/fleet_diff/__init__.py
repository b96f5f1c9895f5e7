"""Two fleets compared by what their files wish, without a server.

`read_side` reads one of them, from a directory or from a git revision; `compare` tells what differs.
"""

from fleetctl.fleet_diff.differences import Differences, LimitDifference, OfferDifference, PoolDifference, compare
from fleetctl.fleet_diff.sides import Side, read_side

__all__ = ["Differences", "LimitDifference", "OfferDifference", "PoolDifference", "Side", "compare", "read_side"]
