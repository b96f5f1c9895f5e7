"""Export: the live pools and offers of a tenant as fleet files whose plan is empty."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from better_compute.domain.atoms import DEFAULT_AGENT, DEFAULT_OWNER_QUOTA, DEFAULT_SHARING
from better_compute.domain.ids import derive
from better_compute.domain.state import Pool, PoolState
from better_compute.domain.values import Json
from fleetctl import identity
from fleetctl.comparison import naming
from fleetctl.desired import Desired, Embedded, PoolEntry
from fleetctl.desired.inputs import without_zeros
from fleetctl.desired.records import names
from fleetctl.desired.shape import API_VERSION, UNNAMED, Root
from fleetctl.errors import EXIT_ERROR, Stop
from fleetctl.files.fleet import FIRST
from fleetctl.files.text import MAX_BYTES
from fleetctl.files.unread import hides
from fleetctl.files.writing import to_yaml
from fleetctl.live import Live
from fleetctl.machine import disk

SCHEMA = "schemas/fleet.v1.json"
"""Where the schema of the files stands, below their directory."""
_MODELINE = f"# yaml-language-server: $schema={SCHEMA}\n"
"""For editors."""
_ROOM = MAX_BYTES // 2
"""Bytes of a file, after which a site goes on in the next one."""

_WRITTEN_OUT = "defaults"
"""What it says stands in each entry."""


@dataclass(frozen=True, slots=True)
class _Found:
    """A live pool, with the entry of the fleet that means it."""

    state: PoolState
    pool: Pool
    entry: PoolEntry | None

    @property
    def key(self) -> str | None:
        return naming.key(self.pool, self.entry)


def root_fields(desired: Desired, server: str | Embedded, directory: Path) -> dict[str, Json]:
    """The root fields of the exported fleet, with its checks: what the files say, but for what entries leave out.
    `server` is the one that was read, `directory` where the files will be."""
    embedded: Json = server
    if isinstance(server, Embedded):
        embedded = {"embedded": os.path.relpath(server.database, directory)}
        if server.world is not None:
            embedded["world"] = os.path.relpath(server.world, directory)
    said: dict[str, Json] = {name: place.value() for name, place in desired.places.items()}
    said |= {"apiVersion": API_VERSION, "tenantId": desired.tenant_id, "caller": desired.caller, "server": embedded}
    if desired.fleet != UNNAMED:
        said["fleet"] = desired.fleet
    if desired.key_prefix is not None:
        said["keyPrefix"] = desired.key_prefix
    if before := [name for name in desired.previous_callers if name != desired.caller]:
        said["previousCallers"] = [*before]
    else:
        said.pop("previousCallers", None)
    made = {name: said[name] for name in names(Root) if name in said and name != _WRITTEN_OUT}
    if desired.checks:
        made["checks"] = [check.place.value() for check in desired.checks]
    return made


def fitted(root: Mapping[str, Json], found: Sequence[tuple[str, dict[str, Json]]]) -> tuple[dict[str, Json], list[str]]:
    """The root fields without the globs of `exclude` that would hide a file of the export, and those globs."""
    globs = root.get("exclude")
    if not isinstance(globs, list):
        return {**root}, []
    written = by_file(root, found)
    hiding = [str(glob) for glob in globs if any(hides(str(glob), file) for file in written)]
    left = {"exclude": kept} if (kept := [glob for glob in globs if glob not in hiding]) else {}
    return {name: value for name, value in root.items() if name != "exclude"} | left, hiding


def entries(live: Live, desired: Desired) -> list[tuple[str, dict[str, Json]]]:
    """Each pool that is not archived as (site, entry), by site and key. A pool has its key where the fleet derives its
    id from that; else it is adopted by its id, with the key beside it where that names nothing else. One that has an
    entry in the fleet goes by the key of that, which guards and expected differences may name."""
    meant = identity.settle(desired, live.pools).desired.entries if desired.caller else desired.entries
    pools = [
        _Found(state, state.pool, meant.get(state.pool.id))
        for state in live.pools.values()
        if state.pool is not None and not state.pool.archived
    ]
    keys = Counter(each.key for each in pools)
    alone = {key for key, number in keys.items() if number == 1} - live.pools.keys()
    pools.sort(key=lambda each: (each.pool.site_id, each.key or "", each.pool.id))
    return [(each.pool.site_id, _entry(each, desired, alone)) for each in pools]


def one_text(root: Mapping[str, Json], found: Iterable[tuple[str, dict[str, Json]]]) -> str:
    """The fleet as one document set: the root fields, and a document for each site. No schema stands beside it."""
    files = by_file(root, found)
    return "---\n".join(text.removeprefix(_MODELINE) for text in files.values())


def one_document(root: Mapping[str, Json], found: Iterable[tuple[str, dict[str, Json]]]) -> dict[str, Json]:
    """The same as one document."""
    pools = [entry for _, entry in found]
    return {**root, **({} if pools else {"allowEmpty": True}), "pools": pools}


def by_file(root: Mapping[str, Json], found: Iterable[tuple[str, dict[str, Json]]]) -> dict[str, str]:
    """The texts of `fleet.yaml` and of the files of each site, by name, which lead to `SCHEMA`; none is larger than is
    read back."""
    pieces: dict[str, list[str]] = {}
    for site_id, entry in found:
        pieces.setdefault(site_id, []).append(to_yaml({"pools": [entry]}).removeprefix("pools:\n"))
    files = {FIRST[0]: _MODELINE + to_yaml(root if pieces else {**root, "allowEmpty": True})}
    taken = {FIRST[0].rpartition(".")[0]}
    for site_id, texts in pieces.items():
        for body in _portions(texts):
            files[f"{_free(site_id, taken)}.yaml"] = f"{_MODELINE}pools:\n{body}"
    return files


def save(directory: Path, files: Mapping[str, str]) -> None:
    """Write all files, each for its owner alone, or none: nothing that is there is replaced. Raises Stop."""
    if there := sorted(name for name in files if os.path.lexists(directory / name)):
        message = f"{directory / there[0]} is there already: nothing was written"
        raise Stop(EXIT_ERROR, message, hint="name another directory: an export replaces no file", rule="export.out")
    try:
        disk.write_new({directory / name: text for name, text in files.items()}, 0o600)
    except OSError as error:
        message = f"{error.filename} cannot be written: {error.strerror}; nothing is left of the export"
        raise Stop(EXIT_ERROR, message, rule="export.out") from error


def _entry(found: _Found, desired: Desired, alone: AbstractSet[str | None]) -> dict[str, Json]:
    """What differs from a default alone, but for the offers: those are stated, also where there are none."""
    state, pool = found.state, found.pool
    fields: dict[str, Json] = {
        **_names(found, desired, alone),
        "siteId": pool.site_id,
        "class": pool.class_,
        "gpuModel": pool.gpu_model,
    }
    if pool.sharing != DEFAULT_SHARING:
        fields["sharing"] = pool.sharing
    if pool.agent != DEFAULT_AGENT:
        fields["agent"] = pool.agent
    if pool.provider_account_id is not None:
        fields["providerAccountId"] = pool.provider_account_id
    if pool.policy:
        fields["policy"] = pool.policy
    owner = without_zeros(state.limits(pool.owner_id))
    if owner != DEFAULT_OWNER_QUOTA:
        fields["ownerQuota"] = _quota(owner, pool)
    if found.entry and found.entry.protect:
        fields["protect"] = True
    fields["offers"] = [_offer(state, pool, t) for t in sorted(state.offers) if t != pool.owner_id]
    return fields


def _names(found: _Found, desired: Desired, alone: AbstractSet[str | None]) -> dict[str, Json]:
    """A key alone says that the pool is the one which derives from it: a key of another caller's would make another."""
    key, pool = found.key, found.pool
    if key is None or key not in alone:
        return {"id": pool.id}
    derived = derive("pool", desired.tenant_id, desired.caller or "", key) == pool.id
    if derived and key.startswith(desired.key_prefix or ""):
        return {"idempotencyKey": key}
    return {"id": pool.id, "idempotencyKey": key}


def _offer(state: PoolState, pool: Pool, tenant_id: str) -> dict[str, Json]:
    offer = state.offers[tenant_id]
    fields: dict[str, Json] = {"toTenantId": tenant_id, "quota": _quota(without_zeros(state.limits(tenant_id)), pool)}
    if offer.priority:
        fields["priority"] = offer.priority
    if offer.include_descendants:
        fields["includeDescendants"] = True
    return fields


def _quota(rows: Mapping[str, int], pool: Pool) -> dict[str, int]:
    """Rows that grant something, the GPUs first; `{gpu: 0}` where none does, since a quota is never empty."""
    return dict(sorted(rows.items(), key=lambda row: (row[0] != pool.atom, row[0]))) or {pool.atom: 0}


def _portions(texts: Iterable[str]) -> Iterator[str]:
    """Entries joined up to the size of a file."""
    held: list[str] = []
    size = 0
    for text in texts:
        length = len(text.encode())
        if held and size + length > _ROOM:
            yield "".join(held)
            held, size = [], 0
        held.append(text)
        size += length
    yield "".join(held)


def _free(site_id: str, taken: set[str]) -> str:
    """A file's name for a site, the same on every file system, that no other has."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", site_id)
    name, number = plain, 1
    while name.lower() in taken:
        number += 1
        name = f"{plain}-{number}"
    taken.add(name.lower())
    return name
