"""The rows of `data/policy_fields.yaml`: what is said of each field's values, and for which pool."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML

from better_compute.domain.atoms import ATOMS
from better_compute.domain.bounds import NO_HOSTS, HostBounds
from better_compute.domain.inventory import Inventory

DATA = Path(__file__).parent.parent / "data" / "policy_fields.yaml"
ATTESTORS = frozenset({"join-token", "tpm"})

Verdict = Literal["fine", "refused", "warned"]
SEVERITY: dict[Verdict, str] = {"refused": "error", "warned": "warning"}


@dataclass(frozen=True)
class Case:
    """A policy, and the finding about it: none where it is `fine`."""

    row: str
    verdict: Verdict
    policy: dict[str, Any]
    at: str = ""
    hint: str = ""
    pool: dict[str, Any] = field(default_factory=dict)

    @property
    def path(self) -> str:
        return f"policy.{self.at}"

    @property
    def fields(self) -> dict[str, Any]:
        """The pool's own fields beside its policy, as the API spells them."""
        usual = {"class": "metal-host", "model": "H100", "sharing": "exclusive", "agent": "bcd"} | self.pool
        return {
            "class": usual["class"],
            "gpuModel": usual["model"],
            "sharing": usual["sharing"],
            "agent": usual["agent"],
            "ownerQuota": {ATOMS[usual["sharing"]]: 8},
        }

    @property
    def inventories(self) -> list[dict[str, Any]]:
        """What the machines of the pool have."""
        return list(self.pool.get("hosts", []))

    @property
    def bounds(self) -> HostBounds:
        bounds = NO_HOSTS
        for each in self.inventories:
            words = {"memoryGiB": "memory_gib", "hugepages2Mi": "hugepages_2mi", "hugepages1Gi": "hugepages_1gi"}
            stated: dict[str, Any] = {words.get(name, name): value for name, value in each.items()}
            bounds = bounds.beside(Inventory.of({"gpus": (), **stated}))
        return bounds

    @property
    def before(self) -> dict[str, Any]:
        return dict(self.pool.get("before", {}))

    @property
    def alone(self) -> bool:
        """Whether the pool is judged as it is created, with no machine and no policy before."""
        return not self.inventories and not self.before

    def __str__(self) -> str:
        return f"{self.row}-{self.verdict}-{self.policy}-{self.pool}"


@cache
def cases() -> tuple[Case, ...]:
    return tuple(_cases())


@cache
def rows() -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(DATA))


def _cases() -> Iterator[Case]:
    for row, verdicts in rows().items():
        for verdict, listed in verdicts.items():
            for entry in listed:
                policy, *more = entry if isinstance(entry, list) else [entry]
                if verdict == "fine":
                    yield Case(row, verdict, policy, pool=more[0] if more else {})
                else:
                    yield Case(row, verdict, policy, *more)
