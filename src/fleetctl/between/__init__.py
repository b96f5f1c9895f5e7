"""Two fleets compared by what their files wish, without a server.

`read_side` reads one of them, from a directory or from a git revision; `compare` tells what differs.
"""

from fleetctl.between.differences import Differences, LimitDiff, OfferDifference, PoolDifference, compare
from fleetctl.between.sides import Side, read_side

__all__ = ["Differences", "LimitDiff", "OfferDifference", "PoolDifference", "Side", "compare", "read_side"]
