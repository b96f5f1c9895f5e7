"""The order that the rules of pools and offers force upon the operations of one pool: hard edges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

from fleetctl.order.group import Group

Edge = tuple[int, int]
"""Two operations: the second waits for the first."""


def _create_first(group: Group) -> Iterable[Edge]:
    return ((first, then) for first in group.creates for then in group.numbers if then != first)


def _archive_last(group: Group) -> Iterable[Edge]:
    return ((first, then) for then in group.archives for first in group.numbers if first != then)


def _withdraw_before_single(group: Group) -> Iterable[Edge]:
    if group.becomes_single:
        yield from ((first, then) for then in group.updates for first in group.unoffers)


def _narrow_before_single(group: Group) -> Iterable[Edge]:
    if group.becomes_single:
        yield from ((first, then) for then in group.updates for first in group.narrowed)


def _open_before_second(group: Group) -> Iterable[Edge]:
    if group.stops_single and group.live.others + len(firsts := group.firsts) > 1:
        yield from ((first, then) for first in group.updates for then in firsts)


def _open_before_wide(group: Group) -> Iterable[Edge]:
    if group.stops_single:
        yield from ((first, then) for first in group.updates for then in group.widened)


def _swap(group: Group) -> Iterable[Edge]:
    """One withdrawal at most where the live state is legal; a chain keeps the edges few where it is not."""
    if all(group.single) and (leaving := sorted(group.unoffers)):
        yield from pairwise(leaving)
        yield from ((leaving[-1], then) for then in group.firsts)


def _model_between(group: Group) -> Iterable[Edge]:
    """No rule of the control plane, but what makes quotas countable: a quota is withdrawn under the old model and
    granted under the new one, and nobody is offered more of a model that is about to go."""
    if group.changes_model:
        for update in group.updates:
            for n in (*group.unoffers, *group.offers, *group.quotas):
                yield (n, update) if n in group.early else (update, n)


RULES: Mapping[str, Callable[[Group], Iterable[Edge]]] = {
    "a pool is created before anything else is done to it": _create_first,
    "a pool is archived after everything else": _archive_last,
    "offers are withdrawn before the policy becomes singleTenant": _withdraw_before_single,
    "an offer drops includeDescendants before the policy becomes singleTenant": _narrow_before_single,
    "the policy stops being singleTenant before a second offer": _open_before_second,
    "the policy stops being singleTenant before an offer gains includeDescendants": _open_before_wide,
    "one tenant leaves a singleTenant pool before the next one comes": _swap,
    "the model changes between withdrawals and grants": _model_between,
}


def hard_edges(group: Group) -> Iterable[Edge]:
    """Each rule's edges; together not more than a few for each operation."""
    for rule in RULES.values():
        yield from rule(group)
