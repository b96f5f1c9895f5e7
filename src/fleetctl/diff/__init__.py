"""Desired against live state: what differs. Knows neither YAML nor HTTP."""

from fleetctl.diff.fields import offer_changes, owner_changes, policy_changes, quota_changes, same_policy
from fleetctl.diff.parts import (
    ABSENT,
    CAUSES,
    Archives,
    Cause,
    Change,
    ChangeCause,
    Diff,
    OfferDiff,
    PoolDiff,
    Removed,
    Waiting,
    at_path,
)
from fleetctl.diff.pools import compare

__all__ = [
    "ABSENT",
    "CAUSES",
    "Archives",
    "Cause",
    "Change",
    "ChangeCause",
    "Diff",
    "OfferDiff",
    "PoolDiff",
    "Removed",
    "Waiting",
    "at_path",
    "compare",
    "offer_changes",
    "owner_changes",
    "policy_changes",
    "quota_changes",
    "same_policy",
]
