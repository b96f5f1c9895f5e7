"""What each operation is asked with: exact types, no unknown fields, null only where it means something.

A rule's own limits (a priority's range, a quota's size, the words a class may be) are the domain's to judge, so that
an error carries the rule's name; here they stand in the schema alone.

`base` is what they are made of; `pools`, `machines`, `work` and `directory` are the groups.
"""

from __future__ import annotations

from better_compute.wire.inputs.base import ID, NAME, Id, Input, ListInput, Name, Number, Self
from better_compute.wire.inputs.directory import (
    CredentialsCreate,
    CredentialsList,
    CredentialsRevoke,
    EventsList,
    IdentitiesCreate,
    ProviderAccountsCreate,
    SitesCreate,
    SitesGet,
    TenantsCreate,
    TenantsGet,
)
from better_compute.wire.inputs.machines import (
    Attested,
    Inventory,
    NodesCreateJoinToken,
    NodesGet,
    NodesJoin,
    NodesList,
    NodesRemove,
    NodesReport,
    NodesSetControl,
)
from better_compute.wire.inputs.pools import (
    Asked,
    PoolsArchive,
    PoolsCreate,
    PoolsGet,
    PoolsList,
    PoolsListOffers,
    PoolsOffer,
    PoolsUnoffer,
    PoolsUpdate,
    PreflightCheck,
    QuotasList,
    QuotasSet,
)
from better_compute.wire.inputs.work import (
    ReservationsCreate,
    ReservationsEnd,
    ReservationsGet,
    ReservationsList,
    UsageList,
)

__all__ = [
    "ID",
    "NAME",
    "Asked",
    "Attested",
    "CredentialsCreate",
    "CredentialsList",
    "CredentialsRevoke",
    "EventsList",
    "Id",
    "IdentitiesCreate",
    "Input",
    "Inventory",
    "ListInput",
    "Name",
    "NodesCreateJoinToken",
    "NodesGet",
    "NodesJoin",
    "NodesList",
    "NodesRemove",
    "NodesReport",
    "NodesSetControl",
    "Number",
    "PoolsArchive",
    "PoolsCreate",
    "PoolsGet",
    "PoolsList",
    "PoolsListOffers",
    "PoolsOffer",
    "PoolsUnoffer",
    "PoolsUpdate",
    "PreflightCheck",
    "ProviderAccountsCreate",
    "QuotasList",
    "QuotasSet",
    "ReservationsCreate",
    "ReservationsEnd",
    "ReservationsGet",
    "ReservationsList",
    "Self",
    "SitesCreate",
    "SitesGet",
    "TenantsCreate",
    "TenantsGet",
    "UsageList",
]
