"""The main flow: each command as numbered steps, from files to report.

`plan`, `apply` and `offline` hold the commands, `judge` what plan and apply share.
"""

from fleetctl.flow.apply import How, apply
from fleetctl.flow.export import export
from fleetctl.flow.finished import Finished
from fleetctl.flow.offline import derived_id, validate, whoami
from fleetctl.flow.plan import drift, plan
from fleetctl.flow.show import show
from fleetctl.flow.snapshot import snapshot

__all__ = [
    "Finished",
    "How",
    "apply",
    "derived_id",
    "drift",
    "export",
    "plan",
    "show",
    "snapshot",
    "validate",
    "whoami",
]
