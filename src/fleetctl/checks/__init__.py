"""Checks: a fleet's own rules on its plans, in CEL."""

from fleetctl.checks.judge import check, problems_of

__all__ = ["check", "problems_of"]
