"""Ids: derived from tenant, caller and key ahead of creation, or random; both TypeIDs."""

from __future__ import annotations

import hashlib
import re

DERIVATION = "typeid-sha256-v1"
"""Names how `derive` works; a client refuses a server with another one."""

KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
"""Keys and ids: ASCII, so that two spellings of one visible name cannot make two pools."""

KEY_SAYS = "an id is 1 to 128 ASCII letters, digits and . _ : - and begins with a letter or digit"

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]


def derive(kind: str, tenant_id: str, caller_id: str, key: str) -> str:
    """The id that `key` stands for when `caller_id` acts as `tenant_id`; the same at any time, on any machine.

    Every part is length-prefixed, so ("a", "bc") and ("ab", "c") differ.
    """
    digest = hashlib.sha256()
    for part in ("better-compute", kind, tenant_id, caller_id, key):
        data = part.encode()
        digest.update(len(data).to_bytes(4, "big") + data)
    return f"{kind}_{_suffix(_stamped(digest.digest()[:16], version=8))}"


def random_id(kind: str, now_ms: int, entropy: bytes) -> str:
    """A new id, ordered by time: 48 bits of epoch milliseconds and 10 bytes of `entropy` (UUID version 7)."""
    return f"{kind}_{_suffix(_stamped(now_ms.to_bytes(6, 'big') + entropy[:10], version=7))}"


def is_key(text: str) -> bool:
    """Whether `text` may be an idempotency key or an id."""
    return KEY.fullmatch(text) is not None


def is_id(kind: str, text: str) -> bool:
    """Whether `text` has the form of an id of that kind, as `derive` and `random_id` make them."""
    return re.fullmatch(rf"{kind}_[0-7][{_ALPHABET}]{{25}}", text) is not None


def _stamped(raw: bytes, version: int) -> bytes:
    """`raw` (16 bytes) with the version and variant bits of RFC 9562."""
    data = bytearray(raw)
    data[6] = version << 4 | data[6] & 0x0F
    data[8] = 0x80 | data[8] & 0x3F
    return bytes(data)


def _suffix(data: bytes) -> str:
    """128 bits as 26 characters of TypeID's base 32, two zero bits in front."""
    number = int.from_bytes(data, "big")
    return "".join(_PAIRS[number >> shift & 1023] for shift in range(120, -1, -10))
