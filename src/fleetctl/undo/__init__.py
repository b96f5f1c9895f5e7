"""The way back from an apply: `applied` is what its report tells, `trace` what happened to each object since, `finding`
what is there to be taken back, `wish` the fleet without it, which is planned, judged and applied as any other, and
`whose` tells of that plan whose values it brings back."""

from fleetctl.undo.applied import Applied, Done
from fleetctl.undo.finding import Back

__all__ = ["Applied", "Back", "Done"]
