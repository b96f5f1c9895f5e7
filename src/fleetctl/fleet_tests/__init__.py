"""Fleet tests: what a plan is to be, said in files beside the fleet.

`shape` is what such a file may hold, `cases` reads them, `standing` makes the live state that fleet files stand for,
`matching` holds what was expected against the plan that was made, and `assignment` tells which of it stands for which.
"""

from fleetctl.fleet_tests.cases import Case, cases
from fleetctl.fleet_tests.matching import Made, Mismatch, mismatches
from fleetctl.fleet_tests.standing import standing

__all__ = ["Case", "Made", "Mismatch", "cases", "mismatches", "standing"]
