"""From fleet files to desired state."""

from fleetctl.desired.model import Desired, Embedded, OffersAre, Place, PoolEntry

__all__ = ["Desired", "Embedded", "OffersAre", "Place", "PoolEntry"]
