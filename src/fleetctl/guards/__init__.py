"""Guards: limits on what one plan may take away. Those that count let pass what an override names; nothing lifts those
of what is protected, of files that were cut, and of the base."""

from fleetctl.guards.judge import Guarded, guarded
from fleetctl.guards.tally import Tally

__all__ = ["Guarded", "Tally", "guarded"]
