"""From fleet files to desired state.

`load` is the way in. `shape` says what a document may hold, `says` in which words, `faults` what is wrong with one and
`homes` where a misplaced field belongs; `worlds` and `foreign` tell from documents what is none, `roots` and `drafts`
bring all documents together, and `found` gathers every problem on the way. `declared` is what a world file says.
`model` is what comes out, `check` judges it by the domain's rules, `locate` finds the places again, `inputs` is its
canonical JSON and `schema` the JSON Schema of `shape`.
"""

from fleetctl.desired.limits import Check, Expected, Freeze, Limits
from fleetctl.desired.model import Desired, Embedded, OffersAre, PoolEntry
from fleetctl.desired.place import Place

__all__ = ["Check", "Desired", "Embedded", "Expected", "Freeze", "Limits", "OffersAre", "Place", "PoolEntry"]
