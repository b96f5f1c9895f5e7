"""Fleets as branches have them, without a repository."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from fleetctl.base.revisions import mark
from fleetctl.desired import Desired
from fleetctl.desired.load import assemble
from fleetctl.files import Document, read_text
from fleetctl.together.branch import Branch
from tests.fleets import CALLER, OWNER
from tests.model import entry

Files = dict[str, dict[str, Any]]
"""Documents by the name of their file."""


def wish(files: Files | list[dict[str, Any]], ref: str | None = None, **root: Any) -> Desired:
    """The fleet of these files, or of these entries in one, at a revision."""
    if isinstance(files, list):
        files = {"fleet.yaml": {"pools": files}}
    documents: list[Document] = []
    for name, document in files.items():
        usual = {"apiVersion": "fleet/v1", "tenantId": OWNER, "caller": CALLER, "allowEmpty": True, **root}
        documents += read_text(json.dumps({**usual, **document}, indent=1).encode(), name)
    for each in documents:
        each.root.lines.file = (mark(ref) if ref else "") + each.file
    return assemble(documents, Path("/fleet"))


def branch(ref: str, files: Any, left: Any, **root: Any) -> Branch:
    """A branch that has these files, and had those where it left the others."""
    return Branch(ref, wish(files, ref, **root), wish(left, "0123456789ab", **root))


def offered(key: str = "a", **fields: Any) -> dict[str, Any]:
    """An entry with offers by tenant; whatever is no number is a field of it."""
    tenants = {name: gpus for name, gpus in fields.items() if type(gpus) is int}
    rest = {name: value for name, value in fields.items() if name not in tenants}
    offers = [{"toTenantId": tenant, "quota": {"gpu": gpus}} for tenant, gpus in tenants.items()]
    return entry(key, **{"offers": offers, **rest})
