"""What machines say of themselves, as a row for each attribute: machines that are selected by it are found by these."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import sha256
from typing import Any

from sqlalchemy import Select, bindparam, func, literal, select

from better_compute.domain.hosts import Host
from better_compute.domain.placement import OF_DEVICE, Attributes
from better_compute.domain.reservations import Selectors
from better_compute.service.ports.machines import HostChange
from better_compute.storage import tables as t
from better_compute.storage.rows import Rows, Values, to_json

FEW = 1000
"""What so many machines of a pool have at most is had by few."""

_A = t.node_attributes.c
_ADD = t.node_attributes.insert()
_DROP = t.node_attributes.delete().where(
    _A.pool_id == bindparam("of_pool"), _A.attribute == bindparam("of_attribute"), _A.node_id == bindparam("of_node")
)


class AttributeTx(Rows):
    """The part of `Tx` about what machines say of themselves."""

    def _save_attributes(self, changes: Sequence[HostChange]) -> None:
        """Write what differs, and nothing else; the rows of a machine that is removed go before it."""
        added: list[Values] = []
        gone: list[Values] = []
        for before, after in changes:
            was, now = _said(before), _said(after)
            if after is not None:
                node = after.node
                added += [
                    {"pool_id": node.pool_id, "attribute": digest_of(*pair), "node_id": node.id}
                    for pair in now.items() - was.items()
                ]
            if before is not None:
                node = before.node
                gone += [
                    {"of_pool": node.pool_id, "of_attribute": digest_of(*pair), "of_node": node.id}
                    for pair in was.items() - now.items()
                ]
        self._write_many(_DROP, gone)
        self._write_many(_ADD, added)

    def _rarest(self, pool_id: str, sought: Sequence[Sequence[str]]) -> Sequence[str] | None:
        """Those of some sets of attributes of which one is had by the fewest machines of the pool; None where each set
        is had by many. So many are looked at as are few, and no more."""
        if not sought:
            return None
        given = {f"of_{n}": one for n, one in enumerate(sought)}
        counts = self._first(_counts(len(sought)), pool_id=pool_id, enough=FEW + 1, **given)
        assert counts is not None
        fewest, rarest = min(zip(counts, sought, strict=True), key=lambda pair: int(pair[0]))
        return rarest if fewest <= FEW else None


def sought_by(selectors: Selectors) -> list[list[str]]:
    """For each selector that is not about a device the attributes of which a machine must have one. It has one at most:
    it says one thing under each name."""
    return [[digest_of(name, value) for value in values] for name, values in selectors.items() if name not in OF_DEVICE]


def digest_of(name: str, value: str | int) -> str:
    """What an attribute is known by: of one size, however long it is, and another one for 1 than for "1"."""
    return sha256(to_json([name, value]).encode()).hexdigest()


@lru_cache
def _counts(sets: int) -> Select[Any]:
    """How many machines have one of each set of attributes; more than `enough` are not counted."""
    some = (
        select(literal(1))
        .where(_A.pool_id == bindparam("pool_id"), _A.attribute.in_(bindparam(f"of_{n}", expanding=True)))
        .limit(bindparam("enough"))
        .subquery()
        for n in range(sets)
    )
    return select(*(select(func.count()).select_from(found).scalar_subquery() for found in some))


def _said(host: Host | None) -> Attributes:
    return {} if host is None else host.node.inventory.attributes
