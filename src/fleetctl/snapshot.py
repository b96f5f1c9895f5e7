"""Snapshots: live state in a file, with all that plan and drift read, so that neither needs the server again.

A file is the one spelling of what it holds, and names its own checksum: one that was cut or altered is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from better_compute.client.saved import PoolView, SiteView, pool_states, pool_views, site_views, sites
from better_compute.domain.ids import DERIVATION, is_key
from better_compute.domain.policy.shown import shown
from better_compute.domain.policy.urls import mask_cut
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
from fleetctl.desired import Desired
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.history import History, LastEvent
from fleetctl.live import Instance, Live, key_of
from fleetctl.machine import disk
from fleetctl.spelling import in_ascii, schema_of
from fleetctl.words import time

FORMAT_VERSION: Final = 1
IN_CLEAR = "holds all that is live, secrets in clear: keep it as safe as the control plane"
"""What is said of every snapshot and export."""

_RULE = "snapshot.file"
_SHOWN = 200


class Server(Struct, rename="camel"):
    """The control plane as it introduced itself: `time` is its clock in epoch milliseconds, `digestKey` the tenant's
    key (hexadecimal) under which sensitive values enter digests."""

    url: str
    instance_id: str
    derivation: str
    capabilities: list[str]
    time: int
    digest_key: str


class Event(Struct, rename="camel"):
    """The last event of an object: a pool, or the pair of a pool and `toTenantId`. `via`: the change it came by."""

    pool_id: str
    to_tenant_id: str | None
    type: str
    actor_id: str
    time: int
    sequence: int
    via: Mapping[str, Any]


class Snapshot(Struct, rename="camel", kw_only=True):
    """The live state of one tenant's pools, with secrets in clear. `reader` is the identity that read it, `sequence`
    the owner's last event in it. `checksum`: SHA-256 of the file without the line of the checksum."""

    format_version: Literal[1]
    kind: Literal["snapshot"]
    checksum: str
    tenant_id: str
    reader: str
    server: Server
    sequence: int
    pools: list[PoolView]
    sites: list[SiteView]
    events: list[Event]


@dataclass(frozen=True, slots=True)
class Saved:
    """What a snapshot holds: the live state, and the last events of its objects."""

    live: Live
    history: History


def file_bytes(saved: Saved) -> bytes:
    """A snapshot as a file holds it."""
    live, instance = saved.live, saved.live.instance
    events = sorted(saved.history.events.values(), key=lambda event: event.sequence)
    return spelled(
        {
            "formatVersion": FORMAT_VERSION,
            "kind": "snapshot",
            "tenantId": live.tenant_id,
            "reader": live.reader_id,
            "server": Server(
                url=instance.url,
                instance_id=instance.id,
                derivation=instance.derivation,
                capabilities=sorted(instance.capabilities),
                time=instance.now,
                digest_key=instance.digest_key.hex(),
            ),
            "sequence": live.sequence,
            "pools": pool_views(live.pools[pool_id] for pool_id in sorted(live.pools)),
            "sites": site_views(live.sites[site_id] for site_id in sorted(live.sites)),
            "events": [_event(event) for event in events],
        }
    )


def spelled(fields: Mapping[str, Any]) -> bytes:
    """The text of a snapshot of such fields, with its checksum: JSON in ASCII, keys sorted, each field and each item of
    a list on a line of its own, so that two snapshots are compared as any text is."""
    lines = ",\n".join(f'"{name}": {_spelled(fields[name])}' for name in sorted(fields))
    text = in_ascii(lines)
    checksum = hashlib.sha256(f"{{\n{text}\n}}\n".encode()).hexdigest()
    return f'{{\n"checksum": "{checksum}",\n{text}\n}}\n'.encode()


def _spelled(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(msgspec.json.encode(item, order="sorted").decode() for item in value) + "\n]"
    return msgspec.json.encode(value, order="sorted").decode()


def read(path: Path) -> Saved:
    """The snapshot of a file. Raises ComputeError when it cannot be read, or is not, to the byte, one that
    `file_bytes` made."""
    try:
        data = disk.read_whole(path)
    except OSError as error:
        raise _refused(
            path, f"cannot be read: {(error.strerror or 'it is no file').lower()}", "check the path"
        ) from error
    try:
        version = msgspec.json.decode(data, type=_Head)
        if version.kind != "snapshot":
            raise _refused(path, "is no snapshot", "`fleetctl snapshot --out FILE` makes one")
        if version.format_version != FORMAT_VERSION:
            said = f"is of formatVersion {version.format_version}, and this build reads {FORMAT_VERSION} alone"
            raise _refused(path, said)
        saved = _saved(_decoder().decode(data))
        altered = file_bytes(saved) != data
    except (ValueError, TypeError, RecursionError, ComputeError) as error:
        if isinstance(error, ComputeError) and error.problems[0].rule == _RULE:
            raise
        raise _refused(path, f"is no sound snapshot: {mask_cut(str(error), _SHOWN)}") from error
    if altered:
        raise _refused(path, "does not match its checksum")
    return saved


def check(saved: Saved, desired: Desired, url: str | None) -> None:
    """Whether a snapshot is of the tenant that the files name and of the server that they, or a flag, do; `url` is
    that server as people know it, None where nobody names one. Raises Stop with exit 4."""
    live = saved.live
    pairs = {"tenant": (live.tenant_id, desired.tenant_id), "server": (live.instance.url, url)}
    wrong = tuple(
        f"{what}: the snapshot is of {is_}, and {wanted} is asked for"
        for what, (is_, wanted) in pairs.items()
        if wanted is not None and is_.rstrip("/") != wanted.rstrip("/")
    )
    if wrong:
        message = f"the snapshot of {time(live.instance.now)} is of another target than the files name"
        raise Stop(EXIT_STALE, message, wrong, rule="snapshot.target")


class _Head(Struct, rename="camel"):
    """As much of a file as tells whether this build can read the rest."""

    kind: Any = None
    format_version: Any = None


@lru_cache(maxsize=1)
def _decoder() -> msgspec.json.Decoder[Snapshot]:
    return msgspec.json.Decoder(Snapshot)


def _saved(found: Snapshot) -> Saved:
    """Raises ValueError or ComputeError for what no control plane answers."""
    server, strangers = found.server, {pool.id for pool in found.pools if pool.owner_tenant_id != found.tenant_id}
    if strangers:
        raise ValueError(f"{min(strangers)} is no pool of {found.tenant_id}")
    if not (is_key(found.tenant_id) and is_key(found.reader)):
        raise ValueError("its tenant or its reader is no id")
    if server.derivation != DERIVATION:
        derivation = shown(server.derivation)
        raise ValueError(f"the server derives ids by {derivation}, and this build knows {DERIVATION} alone")
    instance = Instance(
        url=server.url,
        id=server.instance_id,
        derivation=server.derivation,
        capabilities=frozenset(server.capabilities),
        digest_key=key_of(server.digest_key),
        now=server.time,
    )
    live = Live(
        instance=instance,
        reader_id=found.reader,
        tenant_id=found.tenant_id,
        sequence=found.sequence,
        pools={state.pool.id: state for state in pool_states(found.pools) if state.pool},
        sites={site.id: site for site in sites(found.sites)},
    )
    return Saved(live, History({event.subject: event for event in map(_last_event, found.events)}))


def _event(event: LastEvent) -> Event:
    pool_id, to_tenant_id = event.subject
    return Event(pool_id, to_tenant_id, event.type, event.actor_id, event.time, event.sequence, event.via)


def _last_event(event: Event) -> LastEvent:
    return LastEvent(
        type=event.type,
        subject=(event.pool_id, event.to_tenant_id),
        actor_id=event.actor_id,
        time=event.time,
        sequence=event.sequence,
        via=event.via,
    )


def _refused(path: Path, message: str, hint: str = "make a new snapshot: it was altered or cut") -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, _RULE, f"{path} {message}", "snapshot", hint))


def schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of a snapshot."""
    return schema_of(Snapshot)
