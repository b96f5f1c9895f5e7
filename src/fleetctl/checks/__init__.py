"""Checks: a fleet's own rules on its plans, in CEL."""

from fleetctl.checks.judge import mistakes, problems

__all__ = ["mistakes", "problems"]
