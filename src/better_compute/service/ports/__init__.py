"""What the service needs from outside: a store with transactions, a clock, entropy. Adapters stand beside the SQL.

`records` are what is kept, `queries` what is asked; `pools`, `machines`, `work`, `usage` and `directory` say what a
transaction can do with its part, `store` is all of it; `outside` is the rest of the world.
"""

from __future__ import annotations

from better_compute.service.ports.outside import (
    Attestor,
    Authenticate,
    Authorizer,
    Billing,
    Caller,
    Clock,
    Entropy,
    Spending,
    Stopwatch,
    Verdict,
)
from better_compute.service.ports.queries import EventQuery, HeldOffer, HeldRow, PartQuery, PoolQuery, UsageQuery, Used
from better_compute.service.ports.records import (
    Account,
    Credential,
    EventRecord,
    Identity,
    JoinToken,
    MachineGroup,
    Tenant,
)
from better_compute.service.ports.store import Store, Tx
from better_compute.service.ports.work import HeldReservation, Pending, ReservationQuery

__all__ = [
    "Account",
    "Attestor",
    "Authenticate",
    "Authorizer",
    "Billing",
    "Caller",
    "Clock",
    "Credential",
    "Entropy",
    "EventQuery",
    "EventRecord",
    "HeldOffer",
    "HeldReservation",
    "HeldRow",
    "Identity",
    "JoinToken",
    "MachineGroup",
    "PartQuery",
    "Pending",
    "PoolQuery",
    "ReservationQuery",
    "Spending",
    "Stopwatch",
    "Store",
    "Tenant",
    "Tx",
    "UsageQuery",
    "Used",
    "Verdict",
]
