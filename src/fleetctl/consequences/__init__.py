"""What a plan does to what tenants may book: `whole` has all of it. `grants` are its changes of quota rows, and the
`ledger` adds up what there is before it and after it."""

from fleetctl.consequences.whole import Consequences

__all__ = ["Consequences"]
