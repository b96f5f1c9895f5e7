"""What inputs are made of."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.escape import NOT_PRINTED
from better_compute.domain.ids import KEY
from better_compute.domain.quotas import MOST_ROWS

ID = rf"\A{KEY.pattern}\Z"
NAME = rf"\A(?=.*\S)[^{NOT_PRINTED}]{{1,200}}\Z"
Id = Annotated[str, Meta(pattern=ID)]
Name = Annotated[str, Meta(pattern=NAME)]
Number = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Count = Annotated[int, Meta(ge=0, le=UNLIMITED)]
Limit = Annotated[Any, Meta(extra_json_schema={"type": "integer", "minimum": 0, "maximum": UNLIMITED})]
Quota = Annotated[
    dict[Annotated[str, Meta(max_length=64)], Limit], Meta(extra_json_schema={"maxProperties": MOST_ROWS})
]
Json = dict[str, Any]


class Input(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`tenantId` is the tenant that the caller acts as."""

    tenant_id: Id


class ListInput(Input, kw_only=True, frozen=True):
    """A page of a list; `cursor` is the `nextCursor` of the page before."""

    limit: Annotated[int, Meta(ge=1, le=1000)] = 100
    cursor: str | UnsetType = UNSET


Ids = Annotated[list[Id], Meta(max_length=1000)]
Model = Annotated[str, Meta(extra_json_schema={"pattern": "^[A-Z0-9]{1,32}$"})]


class Self(Struct, rename="camel", forbid_unknown_fields=True, kw_only=True, frozen=True):
    """`tenantId` left out: the caller's own."""

    tenant_id: Id | UnsetType = UNSET
