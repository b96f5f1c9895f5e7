"""What the API shows. An absent field is one that there is none of, or that is not the caller's to see.

`base` is what they are made of; `pools`, `machines`, `work` and `directory` are the groups.
"""

from __future__ import annotations

from better_compute.wire.views.base import Page, View
from better_compute.wire.views.directory import (
    AccountView,
    CredentialView,
    EventView,
    IdentityView,
    SiteView,
    SystemInfoView,
    TenantView,
    WhoamiView,
)
from better_compute.wire.views.machines import ConfigUnitView, InventoryView, JoinTokenView, NodeResourceView, NodeView
from better_compute.wire.views.pools import (
    AtomsView,
    OfferView,
    PoolView,
    ProblemView,
    ProvidedView,
    QuotasView,
    QuotaView,
    RemovedView,
    RollupView,
    VerdictsView,
    VerdictView,
    WorkView,
)
from better_compute.wire.views.work import ReservationView, UsageView

__all__ = [
    "AccountView",
    "AtomsView",
    "ConfigUnitView",
    "CredentialView",
    "EventView",
    "IdentityView",
    "InventoryView",
    "JoinTokenView",
    "NodeResourceView",
    "NodeView",
    "OfferView",
    "Page",
    "PoolView",
    "ProblemView",
    "ProvidedView",
    "QuotaView",
    "QuotasView",
    "RemovedView",
    "ReservationView",
    "RollupView",
    "SiteView",
    "SystemInfoView",
    "TenantView",
    "UsageView",
    "VerdictView",
    "VerdictsView",
    "View",
    "WhoamiView",
    "WorkView",
]
