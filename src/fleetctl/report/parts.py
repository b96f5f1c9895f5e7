"""Parts that several reports share, made from the domain's values; sensitive values are masked here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from better_compute.domain.policy.secrets import SENSITIVE, is_sensitive_name, mask, mask_text
from better_compute.domain.policy.urls import mask_message
from better_compute.domain.state import Pool
from fleetctl.comparison.compare import Comparison
from fleetctl.desired import Desired
from fleetctl.diff import ABSENT, Change
from fleetctl.identity import Note
from fleetctl.plan import Inverse, Scope
from fleetctl.report.problems import source
from fleetctl.spelling import FORMAT_VERSION

if TYPE_CHECKING:
    from fleetctl.report import forms

_NOT_KEPT = "its old value is sensitive and is not kept"
_NAMES = re.compile(r"[^.\[\]\"]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a report is of. Times are epoch milliseconds by the server's clock; `digest_key` seals a plan, and what an
    apply did. `snapshot`: the live state was read from a file."""

    fleet: str
    tenant_id: str
    caller: str
    reader: str
    server_url: str
    instance_id: str
    derivation: str
    server_overridden: bool
    created_at: int
    digest_key: bytes = field(repr=False)
    commit: str | None = None
    allow: Mapping[str, int] = field(default_factory=dict)
    reason: str | None = None
    expires_at: int | None = None
    snapshot: bool = False


def inverse(found: Inverse) -> forms.Inverse:
    """An old value that may not be kept cannot be brought back."""
    after = mask(found.after)
    if after != found.after:
        return {"action": None, "after": None, "why": _NOT_KEPT}
    return {"action": found.action, "after": after, "why": found.why}


def headed(header: Header) -> forms.Headed:
    return {
        "formatVersion": FORMAT_VERSION,
        "fleet": header.fleet,
        "tenantId": header.tenant_id,
        "caller": header.caller,
        "reader": header.reader,
        "server": server(header.server_url, header.instance_id, header.derivation, header.server_overridden),
        "createdAt": header.created_at,
    }


def scope(found: forms.Headed) -> Scope:
    """Whose a report that was kept is; `headed` wrote it."""
    return Scope(
        derivation=found["server"]["derivation"],
        instance_id=found["server"]["instanceId"],
        fleet=found["fleet"],
        tenant_id=found["tenantId"],
        caller=found["caller"],
    )


def server(url: str, instance_id: str, derivation: str, overridden: bool) -> forms.Server:
    return {
        "url": mask_text(url),
        "instanceId": mask_text(instance_id),
        "derivation": derivation,
        "overridden": overridden,
    }


def base(comparison: Comparison) -> forms.Base | None:
    held = comparison.asked.base
    return None if held is None else {"ref": mask_message(held.ref), "commit": held.commit}


def selection(comparison: Comparison, outside: int) -> forms.Selection | None:
    """The selectors as they were given, and how many differ outside of them; None where all is selected."""
    selected = comparison.asked.selected
    if not selected:
        return None
    return {
        "only": [mask_message(selector.text) for selector in selected.only],
        "exclude": [mask_message(selector.text) for selector in selected.exclude],
        "outside": outside,
    }


def compared(comparison: Comparison) -> forms.Compared:
    return {
        "entries": comparison.entries,
        "offers": comparison.offers,
        "unchanged": comparison.unchanged,
        "removed": [one.pool.idempotency_key or one.pool.id for one in comparison.left],
        "waiting": waiting(comparison),
    }


def waiting(comparison: Comparison) -> list[str]:
    """The names of pools that are replaced, and kept."""
    return [name for one in comparison.diff.waiting if (name := one.heir.replaces)]


def note(found: Note) -> forms.Note:
    return {"kind": found.kind, "sentence": mask_text(found.sentence), "source": source(found.place.source())}


def unnamed(pool: Pool) -> forms.UnnamedPool:
    return {
        "poolId": pool.id,
        "key": pool.idempotency_key,
        "createdBy": pool.created_by,
        "siteId": pool.site_id,
        "gpuModel": pool.gpu_model,
    }


def offers(desired: Desired) -> int:
    """How many offers the files state."""
    return sum(len(entry.offers) for entry in desired.entries.values())


def change(found: Change) -> forms.Change:
    """A change without secrets: what may not be shown carries a mark that it differs."""
    shown: forms.Change = {"path": mask_text(found.path)}
    if found.cause is not None:
        shown["cause"] = found.cause
    hidden = _is_sensitive(found.path)
    if found.before is not ABSENT:
        shown["before"] = SENSITIVE if hidden else mask(found.before)
    if found.after is not ABSENT:
        shown["after"] = SENSITIVE if hidden else mask(found.after)
    if hidden or shown.get("before", ABSENT) != found.before or shown.get("after", ABSENT) != found.after:
        shown["sensitive"] = True
    return shown


def _is_sensitive(path: str) -> bool:
    """Whether a name on the way is sensitive. Names may hold the path's own dots, so that the whole is looked at too:
    better one value hidden that need not be."""
    return is_sensitive_name(path) or any(is_sensitive_name(name) for name in _NAMES.findall(path))
