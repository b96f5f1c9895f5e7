"""The main flow: each command as numbered steps, from files to report.

`plan`, `apply` and `offline` hold the commands, `judge` what plan and apply share.
"""

from fleetctl.flow.apply import How, apply
from fleetctl.flow.diff import diff
from fleetctl.flow.export import export
from fleetctl.flow.finished import Finished
from fleetctl.flow.fleet_tests import test
from fleetctl.flow.fmt import fmt
from fleetctl.flow.init import init
from fleetctl.flow.offline import derived_id, validate, whoami
from fleetctl.flow.plan import drift, plan
from fleetctl.flow.show import show
from fleetctl.flow.snapshot import snapshot

__all__ = [
    "Finished",
    "How",
    "apply",
    "derived_id",
    "diff",
    "drift",
    "export",
    "fmt",
    "init",
    "plan",
    "show",
    "snapshot",
    "test",
    "validate",
    "whoami",
]
