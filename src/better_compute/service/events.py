"""events/list: what happened to the pools of a tenant, in the order of its chain."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import UNSET

from better_compute.domain.events import Event
from better_compute.domain.problems import did_you_mean
from better_compute.service.core import Service
from better_compute.service.pages import Key, page
from better_compute.service.ports import Caller, EventQuery, EventRecord, Tx
from better_compute.wire.body import refuse
from better_compute.wire.inputs import EventsList
from better_compute.wire.views import EventView, Page

TYPES = sorted({kind.type for kind in Event.__subclasses__()})
GROUPS = sorted({f"{name.partition('.')[0]}.*" for name in TYPES})
_LONGEST = 15
"""Digits of the longest sequence."""


def list_(service: Service, caller: Caller, body: EventsList) -> Page[EventView]:
    """The events of the acting tenant's own pools after a sequence, oldest or newest first."""
    types = body.types if isinstance(body.types, list) else None
    _check_types(types or ())
    newest_first = body.order == "desc"

    def read(tx: Tx, after: Key, limit: int) -> list[EventRecord]:
        last = _sequence(after)
        return tx.events(
            EventQuery(
                tenant_id=body.tenant_id,
                limit=limit,
                after=last if last is not None and not newest_first else body.after,
                newest_first=newest_first,
                before=last if newest_first else None,
                types=types,
                pool_ids=body.pool_ids if isinstance(body.pool_ids, list) else None,
                latest=body.latest,
            )
        )

    return page(service, caller, "events/list", body, read, lambda event: (str(event.sequence),), _view)


def _check_types(types: Sequence[str]) -> None:
    for i, name in enumerate(types):
        if name not in TYPES and name not in GROUPS:
            known = (*TYPES, *GROUPS)
            refuse(f"there is no such type of event; there are {', '.join(known)}", f"types[{i}]", _near(name, known))


def _near(name: str, known: Sequence[str]) -> str:
    return did_you_mean(name[:100], known)


def _sequence(after: Key) -> int | None:
    if not after:
        return None
    if not after[0].isdecimal() or len(after[0]) > _LONGEST:
        refuse("this is not a cursor of this list", "cursor")
    return int(after[0])


def _view(event: EventRecord) -> EventView:
    return EventView(
        id=event.id,
        type=event.type,
        tenant_id=event.tenant_id,
        actor_id=event.actor_id,
        via=UNSET if event.via is None else event.via,
        pool_id=event.pool_id,
        to_tenant_id=UNSET if event.to_tenant_id is None else event.to_tenant_id,
        time=event.time,
        sequence=event.sequence or 0,
        data=event.data,
    )
