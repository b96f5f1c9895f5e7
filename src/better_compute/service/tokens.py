"""Secrets that are shown once and kept as their hash."""

from __future__ import annotations

import hashlib

from better_compute.service.ports import Entropy

ACCESS = "bc"
JOIN = "bcj"


def mint(prefix: str, entropy: Entropy) -> str:
    """A new token with 256 bits of entropy. No slow hash is needed for it: it cannot be guessed."""
    return f"{prefix}_{entropy(32).hex()}"


def digest(token: str) -> bytes:
    """SHA-256: what is stored of a token, and what it is looked up by."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
