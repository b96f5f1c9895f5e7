"""The policy of a pool: which fields are read, what they may hold, when two policies mean the same."""

from better_compute.domain.policy.canonical import canonical, canonical_bytes, equal
from better_compute.domain.policy.secrets import conceal, is_sensitive_name, mask, sensitive_paths
from better_compute.domain.policy.urls import SENSITIVE, has_userinfo
from better_compute.domain.policy.validate import check_policy

__all__ = [
    "SENSITIVE",
    "canonical",
    "canonical_bytes",
    "check_policy",
    "conceal",
    "equal",
    "has_userinfo",
    "is_sensitive_name",
    "mask",
    "sensitive_paths",
]
