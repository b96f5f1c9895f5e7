"""Which right each operation asks for, and the names that the control plane gives by itself."""

from __future__ import annotations

ROOT = "root"
"""The tenant that owns the platform: its identities alone administer it, and may act as any tenant."""

ROOT_ADMIN = "root-admin"
"""The identity of root's first token."""

WORLD = "world"
HOSTS = "hosts"
PLACER = "placer"
ADMISSION = "admission"

NAMES = {
    WORLD: "lets the machines of a world file in",
    HOSTS: "keeps what hosts provide",
    PLACER: "places reservations that wait",
    ADMISSION: "activates reservations",
}
"""What the control plane does by itself, by the name that its events say; no identity has one of these names."""

ADMIN = "compute:admin"
"""Kept to identities of root."""

NONE = ""
"""No right beyond a credential that counts."""

ACTIONS: dict[str, str] = {
    "pools/create": "compute:pools:create",
    "pools/list": "compute:pools:read",
    "pools/get": "compute:pools:read",
    "pools/update": "compute:pools:manage",
    "pools/offer": "compute:pools:share",
    "pools/unoffer": "compute:pools:share",
    "pools/listOffers": "compute:pools:read",
    "pools/archive": "compute:pools:manage",
    "quotas/list": "compute:quotas:read",
    "quotas/set": "compute:quotas:manage",
    "preflight/check": "compute:pools:read",
    "sites/create": "compute:sites:create",
    "sites/list": "compute:sites:read",
    "sites/get": "compute:sites:read",
    "nodes/createJoinToken": "compute:nodes:manage",
    "nodes/join": "compute:nodes:join",
    "nodes/list": "compute:nodes:read",
    "nodes/get": "compute:nodes:read",
    "nodes/report": "compute:nodes:join",
    "nodes/setControl": "compute:nodes:manage",
    "nodes/remove": "compute:nodes:manage",
    "reservations/create": "compute:reservations:create",
    "reservations/list": "compute:reservations:read",
    "reservations/get": "compute:reservations:read",
    "reservations/end": "compute:reservations:end",
    "usage/list": "compute:usage:read",
    "events/list": "compute:events:read",
    "providerAccounts/create": ADMIN,
    "providerAccounts/list": ADMIN,
    "tenants/create": ADMIN,
    "tenants/list": ADMIN,
    "tenants/get": ADMIN,
    "identities/create": ADMIN,
    "identities/list": ADMIN,
    "credentials/create": ADMIN,
    "credentials/list": ADMIN,
    "credentials/revoke": ADMIN,
    "identities/whoami": NONE,
    "system/info": NONE,
}
