"""Attestors that a key stands for: whoever holds the key may let machines into the pools that name the attestor.

Evidence reads `v1.EXPIRES.NONCE.MAC`: until when it counts in epoch milliseconds, 16 random bytes and the HMAC-SHA256
under the key, both in lower-case hex digits. The HMAC is over `better-compute:v1:NAME:EXPIRES:NONCE:` and the claim
(`wire.claims`): evidence of one attestor, machine or pool is none of another, and each has one spelling.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from better_compute.domain.ids import KEY_SAYS, is_key
from better_compute.domain.policy.rules import JOIN_TOKEN
from better_compute.domain.problems import ACCESS_DENIED, INVALID_INPUT, ComputeError, Problem
from better_compute.service.ports import Clock, Entropy

LONGEST = 60 * 60 * 1000
"""Milliseconds ahead that evidence counts at most."""

_EVIDENCE = re.compile(r"v1\.([1-9][0-9]{0,15})\.([0-9a-f]{32})\.([0-9a-f]{64})", re.ASCII)
_SHORTEST_KEY = 32
_LARGEST_FILE = 4096


@dataclass(frozen=True, slots=True)
class KeyedAttestor:
    """An attestor by its name and its key."""

    name: str
    key: bytes = field(repr=False)
    clock: Clock

    def check(self, evidence: str, claim: bytes) -> None:
        found = _EVIDENCE.fullmatch(evidence)
        if found is None or not hmac.compare_digest(found[3], self._mac(found[1], found[2], claim)):
            raise _refused("this is no evidence of the attestor for what the machine claims")
        now, expires_at = self.clock(), int(found[1])
        if expires_at <= now:
            raise _refused("this evidence has expired")
        if expires_at > now + LONGEST:
            raise _refused("this evidence counts for longer than an hour")

    def evidence(self, claim: bytes, expires_at: int, entropy: Entropy) -> str:
        """New evidence for what a machine claims, until then."""
        nonce = entropy(16).hex()
        return f"v1.{expires_at}.{nonce}.{self._mac(str(expires_at), nonce, claim)}"

    def _mac(self, expires_at: str, nonce: str, claim: bytes) -> str:
        said = f"better-compute:v1:{self.name}:{expires_at}:{nonce}:".encode() + claim
        return hmac.new(self.key, said, hashlib.sha256).hexdigest()


def read_attestors(given: Iterable[str], clock: Clock) -> Mapping[str, KeyedAttestor]:
    """The attestors that `NAME=KEYFILE` spell, by name. Raises ComputeError; no name stands twice."""
    attestors: dict[str, KeyedAttestor] = {}
    for text in given:
        attestor = read_attestor(text, clock)
        if attestor.name in attestors:
            raise _wrong(f"{attestor.name} is given twice")
        attestors[attestor.name] = attestor
    return attestors


def read_attestor(text: str, clock: Clock) -> KeyedAttestor:
    """The attestor that `NAME=KEYFILE` spells: the key is what the file holds, without blanks around it. Raises
    ComputeError; no error tells what a file holds."""
    name, equals, file = text.partition("=")
    if not equals or not file:
        raise _wrong("an attestor reads NAME=KEYFILE")
    if not is_key(name):
        raise _wrong("this is no name of an attestor", KEY_SAYS)
    if name == JOIN_TOKEN:
        raise _wrong(f"{JOIN_TOKEN} is no attestor with a key: every control plane takes join tokens")
    try:
        with Path(file).open("rb") as opened:
            data = opened.read(_LARGEST_FILE + 1)
    except OSError as error:
        raise _wrong(f"the key of {name} cannot be read from {file}: {error.strerror}") from None
    except ValueError:
        raise _wrong(f"the key of {name} cannot be read: this is no path") from None
    if len(data) > _LARGEST_FILE or len(key := data.strip()) < _SHORTEST_KEY:
        hint = "for one: openssl rand -hex 32 > FILE"
        raise _wrong(f"a key holds {_SHORTEST_KEY} to {_LARGEST_FILE} bytes, and {file} does not", hint)
    return KeyedAttestor(name, key, clock)


def _refused(message: str) -> ComputeError:
    return ComputeError(Problem(ACCESS_DENIED, "node.attestor", message, "attested.evidence"))


def _wrong(message: str, hint: str = "") -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, "serve.attestor", message, "--attestor", hint))
