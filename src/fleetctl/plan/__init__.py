"""From desired and live state to a plan: operations in order, with a digest."""

from fleetctl.plan.digest import Scope
from fleetctl.plan.make import Plan, make, scope_of
from fleetctl.plan.operation import Inverse, Operation, Reason

__all__ = ["Inverse", "Operation", "Plan", "Reason", "Scope", "make", "scope_of"]
