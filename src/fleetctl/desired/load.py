"""From fleet files to desired state: shape, root fields, entries and their offers, and only then the types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from better_compute.domain.atoms import DEFAULT_AGENT, DEFAULT_SHARING
from better_compute.domain.commands import CreatePool
from better_compute.domain.ids import derive
from better_compute.domain.state import Terms
from better_compute.domain.values import Json
from fleetctl.desired import above, drafts, foreign, governing, policies, roots, worlds
from fleetctl.desired.beside import beside
from fleetctl.desired.claims import Claims
from fleetctl.desired.drafts import Draft
from fleetctl.desired.found import Found, Part
from fleetctl.desired.model import Desired, PoolEntry
from fleetctl.desired.place import Place
from fleetctl.desired.roots import Roots
from fleetctl.desired.shape import DOCUMENT_FIELDS, POOL_NEEDS, UNNAMED
from fleetctl.desired.templates import Templates
from fleetctl.files import Document, Documents, FilesError, read_fleet

_SAYS = DOCUMENT_FIELDS - {"apiVersion"}
_TERMS = {"priority": "priority", "includeDescendants": "include_descendants"}
"""What an offer may leave out, as files spell it and as `Terms` does."""


def load(
    path: Path, *, caller: str | None = None, tell: Callable[[str], None] | None = None, empty_ok: bool = False
) -> Desired:
    """Read the fleet at `path`, a directory or one file; `tell` takes what people should know of what is not read.
    `empty_ok`: it may have no pool, whatever it says of that.

    `caller` stands in where the files name none. Without either the ids derive from an empty caller: they tell entries
    apart and must not be shown. Raises FilesError with every problem of the files, in the order of files and lines.
    Rules of the domain are judged by `check`.
    """
    try:
        documents = read_fleet(path)
        if path.is_dir():
            return assemble(documents, path, caller=caller, empty_ok=empty_ok)
        if tell is not None and (other := beside(path, documents)):
            tell(f"Only {path.name} is read, and {other} is of its fleet too: name the directory to read both")
        return assemble(documents, path.parent, caller=caller, empty_ok=empty_ok)
    except FilesError as error:
        raise FilesError(above.told(path, error.problems)) from error


def assemble(
    documents: Sequence[Document], directory: Path, *, caller: str | None = None, empty_ok: bool = False
) -> Desired:
    """The same from documents, one at least; `directory` is what the names of their files are relative to."""
    found = Found()
    strays = [document for document in documents if worlds.is_world(document.root)]
    parts = _parts([document for document in documents if not worlds.is_world(document.root)], found)
    if not parts:
        worlds.judge(strays, parts, Roots(), directory, found)
        raise FilesError(found.problems)
    root = roots.gather(parts, found)
    worlds.judge(strays, parts, root, directory, found)
    named: str | None = root.get("caller", caller)
    governing.judge(root, named, found)
    checks = governing.checks(parts, found)
    parts = policies.apply(parts, policies.gather(parts, found), root.faulty, found)
    entries, names = drafts.gather(parts, root, named, found)
    Claims(names, root, named, found).check(entries)
    empty_ok = empty_ok or root.get("allowEmpty") is True
    if not entries and all(part.sound("pools") for part in parts) and not empty_ok:
        _check_empty(parts, found)
    if found.problems:
        raise FilesError(found.in_order(documents))
    built = sorted((_entry(draft, root, named or "") for draft in entries), key=lambda entry: entry.pool_id)
    return Desired(
        fleet=root.get("fleet", UNNAMED),
        tenant_id=root.get("tenantId"),
        caller=named,
        previous_callers=tuple(root.get("previousCallers", ())),
        key_prefix=root.get("keyPrefix"),
        server=root.server(directory),
        entries={entry.pool_id: entry for entry in built},
        allow_empty=root.get("allowEmpty", False),
        guards=governing.guards(root),
        checks=checks,
        prices=dict(root.get("prices", {})),
        expected=governing.expected(root),
        places=root.places,
        files=frozenset(part.document.file for part in parts),
        **_doubtful(documents),
    )


def _doubtful(documents: Sequence[Document]) -> dict[str, Any]:
    """Files that may have lost something: `cut` ends inside a line; `blank` has a document that says nothing of a
    fleet, or no more than its version, or none at all."""
    silent = [document for document in documents if _SAYS.isdisjoint(document.root)]
    blank = {document.file: document.line for document in reversed(silent)}
    for file, line in documents.blank.items() if isinstance(documents, Documents) else ():
        blank[file] = min(line, blank.get(file, line))
    cut = {document.file: document.root.lines.text.count("\n") + 1 for document in documents if document.is_cut}
    return {"cut": cut, "blank": blank}


def _parts(documents: Sequence[Document], found: Found) -> list[Part]:
    """The documents of the fleet with their templates written out, and what is wrong with the shape of each."""
    foreign.judge([document for document in documents if foreign.is_foreign(document.root)], found)
    templates = Templates()
    parts = []
    for document in documents:
        if foreign.is_foreign(document.root):
            continue
        written, faults = templates.expand(document)
        for fault in faults:
            found.tell(fault, document)
        parts.append(found.judge(written, frozenset(["pools"] if faults else [])))
    return parts


def _check_empty(parts: Sequence[Part], found: Found) -> None:
    """A fleet without pools is more often a lost file than a wish (K045). One of tombstones alone has entries, and each
    says what becomes of a pool; where others left without one, the base stops it."""
    if any(found.explained(Place(part.document), "pools") for part in parts):
        return
    written = next((p.document for p in parts if "pools" in p.document.root), parts[0].document)
    hint = "write pools, or allowEmpty: true if none is meant"
    found.add("fleet.empty", "the fleet has no pool", Place(written), "pools", hint=hint)


def _entry(draft: Draft, root: Roots, caller: str) -> PoolEntry:
    tenant_id = root.get("tenantId")
    pool_id = draft.pool_id or derive("pool", tenant_id, caller, draft.key or "")
    defaults = root.defaults("offer")
    return PoolEntry(
        pool_id=pool_id,
        key=draft.key,
        place=draft.place,
        pool=_wish(draft, root, pool_id),
        adopted=draft.adopted,
        archived=draft.archived,
        released=draft.released,
        protect=draft.fields.get("protect", False),
        previously=draft.fields.get("previously"),
        replaces=draft.fields.get("replaces"),
        offers_are=draft.offers_are,
        offers={tenant: _terms({**defaults, **offer}) for tenant, (_, offer) in sorted(draft.offers.items())},
        offer_places={tenant: place for tenant, (place, _) in sorted(draft.offers.items())},
    )


def _wish(draft: Draft, root: Roots, pool_id: str) -> CreatePool | None:
    """The command that would create the pool; None where one that is archived or released does not say enough."""
    fields = {**root.defaults("pool"), **draft.fields}
    if (draft.archived or draft.released) and not ("siteId" in draft.fields and fields.keys() >= set(POOL_NEEDS)):
        return None
    quota = fields.get("ownerQuota")
    return CreatePool(
        tenant_id=root.get("tenantId"),
        pool_id=pool_id,
        site_id=fields["siteId"],
        class_=fields["class"],
        gpu_model=fields["gpuModel"],
        sharing=fields.get("sharing", DEFAULT_SHARING),
        agent=fields.get("agent", DEFAULT_AGENT),
        policy=_plain(fields.get("policy", {})),
        provider_account_id=fields.get("providerAccountId"),
        owner_quota=None if quota is None else dict(quota),
        idempotency_key=draft.key,
    )


def _terms(fields: Mapping[str, Any]) -> Terms:
    said = {term: fields[name] for name, term in _TERMS.items() if name in fields}
    return Terms(dict(fields["quota"]), **said)


def _plain(value: Json) -> Json:
    """JSON without the places where it was written."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value
