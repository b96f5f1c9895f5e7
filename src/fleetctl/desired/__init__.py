"""From fleet files to desired state.

`load` is the way in. `templates` writes out each entry with forEach. `shape` says what a document may hold, in
`records`, `kinds` what a value may be and `times` what a time is, `says` in which words, `faults` what is wrong with
one and `homes` where a misplaced field belongs; `worlds` and `foreign` tell from documents what is none, `roots`,
`policies`, `drafts`, `claims` and `governing` bring all documents together, and `found` gathers every problem on the
way. `declared` is what a world file says. `model` and `guards` are what comes out, `check` judges it by the domain's
rules, `locate` finds the places again, `inputs` is its canonical JSON, `schema` the JSON Schema of `shape` and
`variables` what checks see. `beside` tells what a file leaves out and `above` what it is a part of, `place` is where
something was written, and `nearest` the name that was meant.
"""

from fleetctl.desired.guards import Freeze, Guards
from fleetctl.desired.model import Check, Desired, Embedded, Expected, OffersAre, PoolEntry
from fleetctl.desired.place import Place

__all__ = ["Check", "Desired", "Embedded", "Expected", "Freeze", "Guards", "OffersAre", "Place", "PoolEntry"]
