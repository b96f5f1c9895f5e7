"""Inputs of reservations/* and usage/*."""

from __future__ import annotations

from typing import Annotated, get_args

import msgspec
from msgspec import UNSET, Meta, UnsetType

from better_compute.domain.reservations import MOST_ATTRIBUTES, MOST_VALUES, State
from better_compute.wire.inputs.base import Id, Input, ListInput, Name, Number, Quota

Value = Name | Number
Selectors = Annotated[
    dict[Id, Value | Annotated[list[Value], Meta(min_length=1, max_length=MOST_VALUES)]],
    Meta(max_length=MOST_ATTRIBUTES),
]
"""Attribute -> a value, or values of which one must match."""

States = Annotated[list[State], Meta(min_length=1, max_length=len(get_args(State)))]


class ReservationsCreate(Input, kw_only=True, frozen=True):
    """`resources` are atoms of the pool's sharing mode and scalars, each at least 1."""

    pool_id: Id
    resources: Quota
    selectors: Selectors | UnsetType = UNSET
    idempotency_key: Id | UnsetType = UNSET


class ReservationsGet(Input, kw_only=True, frozen=True):
    reservation_id: Id


class ReservationsEnd(Input, kw_only=True, frozen=True):
    reservation_id: Id


class ReservationsList(ListInput, kw_only=True, frozen=True):
    pool_id: Id | UnsetType = UNSET
    states: States | UnsetType = UNSET


class UsageList(ListInput, kw_only=True, frozen=True):
    """Between two times in epoch milliseconds, the first included; `meter` left out: all meters."""

    from_: Number = msgspec.field(name="from")
    to: Number
    meter: Id | UnsetType = UNSET
