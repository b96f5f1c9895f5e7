"""The shape of fleet files: the one definition that reading, its messages and the JSON Schema follow.

The models judge documents; values are taken from the documents themselves, which know where each was written. What a
rule of the domain judges (classes, families, policies) may be any text or map here, and only the schema says more.
"""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import ConfigDict, Discriminator, Field, Tag

from better_compute.domain.atoms import AGENTS, ATOMS, CLASSES, DEFAULT_AGENT, DEFAULT_SHARING, UNLIMITED
from better_compute.domain.state import Terms
from fleetctl.desired import guards, says
from fleetctl.desired.kinds import (
    MODEL,
    Count,
    Flag,
    Id,
    Line,
    Model,
    Oversell,
    Path,
    Percent,
    Policy,
    Prefix,
    Price,
    Priority,
    Quota,
    Sentence,
    Time,
    Variables,
    known,
    text_or_more,
)
from fleetctl.desired.model import CheckSeverity, Each
from fleetctl.desired.records import Record, names, optional, required
from fleetctl.desired.says import Says

API_VERSION = "fleet/v1"
UNMANAGED = "unmanaged"
UNNAMED = "default"
"""The name of the fleet whose documents say none."""
EXPR_MOST = 2_000
"""So long may the expression of a check be."""
POOL_NEEDS = ("siteId", "class", "gpuModel")
"""What a pool needs, its defaults counted in; one that is archived or released needs none of them."""

_URL = r"^https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%/-]*)?$"
_GUARDS, _TERMS = guards.Guards(), Terms({})


class OfferDefaults(Record):
    """Scalars of offers, for those that leave them out."""

    priority: Priority = optional("Stored with the offer", default=_TERMS.priority)
    include_descendants: Flag = optional("Stored with the offer", default=_TERMS.include_descendants)


class Offer(OfferDefaults):
    """An offer of the pool to a tenant."""

    blank = {"quota": "write the limits, such as {gpu: 8}; {gpu: 0} grants none"}

    to_tenant_id: Id = required("The tenant that may use the pool; never the fleet's own.")
    quota: Quota = required("What the tenant may book, by resource; a resource without a row grants 0.")


class ListedOffer(Offer):
    """An offer of a pool to a tenant, kept by tenant instead of by pool."""

    missing = {"pool": "or indent offers: under its pool's entry, if they are that pool's own"}

    pool: Id = required("The key, or the id, of a pool that has an entry in this fleet.")


class PoolDefaults(Record):
    """Scalars of pools, for those that leave them out."""

    site_id: Id = optional("The site the pool lives in; it belongs to the fleet's tenant.")
    class_: Annotated[Line, known(*CLASSES), Says("a pool class", says.text)] = optional(
        "The role of a machine that joins; metal-host and vps-host add capacity.", alias="class"
    )
    gpu_model: Annotated[
        Line, Field(json_schema_extra={"pattern": MODEL}), Says("a GPU family such as H100", says.text)
    ] = optional("The one GPU family, as inventory derives it (H100 for NVIDIA H100 80GB HBM3).")
    sharing: Annotated[Line, known(*ATOMS), Says("a sharing mode", says.text)] = optional(
        f"How a GPU is shared; left out: {DEFAULT_SHARING}. timeslice and mps serve the owner alone."
    )
    agent: Annotated[Line, known(*AGENTS), Says("an agent", says.text)] = optional(
        f"What runs on the machines; left out: {DEFAULT_AGENT}."
    )
    provider_account_id: Id = optional("The provider account, for class provider alone.")


class Pool(PoolDefaults):
    """A pool. An entry with archived: true or released: true may hold its key or id alone."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["idempotencyKey"]}, {"required": ["id"]}]},
    )
    blank = {
        "policy": "leave it out, or write {} for no policy",
        "policyRef": "leave it out, or write the name of one of the policies",
        "previously": "leave it out, or write the key that the pool was made under",
        "replaces": "leave it out, or write the key of the pool that this one takes the place of",
        "forEach": "leave it out, or write variables with their values, such as {site: [fra1, ams1]}",
        "ownerQuota": "leave it out, or write the limits, such as {gpu: 8}",
        "offers": "write [] to withdraw all, unmanaged to leave them to others, or leave it out",
    }

    idempotency_key: Id = optional("The pool's name in the files; its id derives from tenant, caller and this key.")
    id: Id = optional("Adopts the pool of this id, whatever key or caller made it.")
    for_each: Variables = optional(
        "Makes one entry of each combination: ${site} is replaced in the texts of this entry, $${ writes ${."
    )
    previously: Id = optional("The key under which the pool was made, where the entry was renamed.")
    replaces: Id = optional(
        "The key of the pool that this one takes the place of; it is archived once it has no reservation."
    )
    policy: Policy = optional(
        "What nodes and reservations follow; left out: {}. An update replaces it whole. With policyRef it is merged"
        " over that policy (RFC 7396): null removes a field."
    )
    policy_ref: Id = optional("The name of one of the policies, which policy is merged over.")
    owner_quota: Quota = optional(
        f"The owner's own quota; left out: {{gpu: {UNLIMITED}}} at creation, unmanaged afterwards."
    )
    offers: Annotated[
        Annotated[Literal["unmanaged"], Tag("text")] | Annotated[list[Offer], Tag("more")],
        Discriminator(text_or_more),
        Says("a list of offers, or unmanaged", says.word(UNMANAGED)),
    ] = optional("All offers of the pool; [] withdraws every one, unmanaged leaves them to others.")
    archived: Flag = optional("A tombstone: the pool is to be archived.")
    released: Flag = optional("This fleet lets the pool go: nothing is called for it, and prune leaves it alone.")
    protect: Flag = optional("Never archived; no offer withdrawn, no GPU quota lowered to 0.")


class Embedded(Record):
    """An embedded control plane; paths are relative to the file that names them."""

    embedded: Path = required("Its SQLite file.")
    world: Path = optional("Tenants, sites and machines it starts with.")


class Defaults(Record):
    """Values for fields that entries leave out: scalars alone."""

    pool: PoolDefaults = optional("For every pool of the fleet.")
    offer: OfferDefaults = optional("For every offer of the fleet.")


class Freeze(Record):
    """A window in which every operation is blocked."""

    from_: Time = Field(description="When it begins.", alias="from")
    to: Time = required("When it ends; then operations run again.")
    reason: Sentence = required("Why nothing is to change.")


class Guards(Record):
    """Limits on what one apply may do; one that is left out keeps its default."""

    blank = {
        "protect": "write [] to protect none here, or leave it out",
        "freeze": "write [] for no window, or leave it out",
    }

    max_archives: Count = optional("Pools that one apply may archive; 0 refuses all", default=_GUARDS.max_archives)
    max_archive_percent: Percent = optional(
        "The same as a share of the fleet's live pools", default=_GUARDS.max_archive_percent
    )
    max_withdrawals: Count = optional("Offers that one apply may withdraw", default=_GUARDS.max_withdrawals)
    max_gpus_withdrawn: Count = optional(
        "GPUs (atoms) that one apply may take from tenants", default=_GUARDS.max_gpus_withdrawn
    )
    max_oversell: Oversell = optional(
        "Tenants' quota of a pool per schedulable GPU, at the end; null or left out: no limit."
    )
    allow_below_use: Flag = optional("Whether a quota may drop under what is in use", default=_GUARDS.allow_below_use)
    allow_archive_in_use: Flag = optional(
        "Whether a pool with reservations may be archived", default=_GUARDS.allow_archive_in_use
    )
    allow_model_change: Flag = optional(
        "Whether the GPU model of a pool may change", default=_GUARDS.allow_model_change
    )
    protect: Annotated[list[Id], Says("a list of keys or ids", says.listed)] = optional(
        "Keys or ids of pools that nothing is taken from, also when their entry is gone."
    )
    freeze: Annotated[list[Freeze], Says("a list of windows, such as {from: …, to: …, reason: …}")] = optional(
        "Windows in which every operation is blocked."
    )


class Check(Record):
    """A rule of the fleet's own on its plans: an expression in CEL that is true where all is well."""

    name: Id = required("What the check is called, in this fleet alone.")
    severity: Annotated[CheckSeverity, Says("deny or warn", says.word(*get_args(CheckSeverity)))] = required(
        "What follows where it is false, deny (the plan is blocked) or warn (it is told)."
    )
    each: Annotated[Each, Says(f"one of {', '.join(get_args(Each))}", says.word(*get_args(Each)))] = optional(
        "What the expression sees one at a time; left out: lists of all."
    )
    expr: Annotated[
        str,
        Field(pattern=r"[^\s]", max_length=EXPR_MOST),
        Says(f"an expression in CEL, of {EXPR_MOST:,} characters at most", says.text),
    ] = required(
        "What is to be true, of pools, offers, operations and capacity (lists), or of the one that each names."
    )
    message: Sentence = required("What is wrong where it is false.")


class Expected(Record):
    """A difference that drift may ignore."""

    key: Id = required("The key, or the id, of the pool.")
    path: Sentence = optional("The field that differs, or one that holds it; left out: whatever differs.")
    until: Time = optional("When it is no longer expected; left out: never.")
    reason: Sentence = required("Why it is expected.")


class Root(Record):
    """Fields of the whole fleet: in one document, or in several that agree."""

    api_version: Annotated[Literal["fleet/v1"], Says(API_VERSION, says.word(API_VERSION))] = optional(
        "The version of the format."
    )
    fleet: Id = optional(f"The fleet's name; left out: {UNNAMED}.")
    tenant_id: Id = optional("The tenant that owns the pools, and acts.")
    caller: Id = optional("The identity that applies; pool ids derive from tenant, caller and key.")
    previous_callers: Annotated[list[Id], Says("a list of identities", says.listed)] = optional(
        "Callers before this one: pools that they made are adopted. The latest stands first."
    )
    key_prefix: Prefix = optional("What the keys of this fleet begin with, and those of no other.")
    server: Annotated[
        Annotated[str, Field(pattern=_URL), Tag("text")] | Annotated[Embedded, Tag("more")],
        Discriminator(text_or_more),
        Says("an http or https URL without user, password and query, or {embedded: FILE, world: FILE}", says.url),
    ] = optional("The control plane: a URL, or an embedded one.")
    defaults: Defaults = optional("Values for fields that entries leave out.")
    exclude: Annotated[list[Annotated[Line, Says("a glob", says.text)]], Says("a list of globs")] = optional(
        "Files of the directory that are no fleet documents."
    )
    prices: Annotated[dict[Model, Price], Says("a map of GPU families to prices, such as {H100: 2.10}")] = optional(
        "Prices per GPU hour, for the ledger."
    )
    expected: Annotated[list[Expected], Says("a list of differences to expect")] = optional(
        "Differences that drift may ignore."
    )
    guards: Guards = optional("Limits on what one apply may do.")
    allow_empty: Flag = optional("Whether the fleet may have no pool at all; left out: false.")


class Document(Root):
    """A document of a fleet."""

    blank = {
        **dict.fromkeys(
            ("pools", "offers", "checks", "expected", "previousCallers", "exclude"),
            "write [] for none here, or leave it out",
        ),
        **dict.fromkeys(("policies", "prices", "guards"), "write {} for none here, or leave it out"),
    }

    pools: Annotated[list[Pool], Says("a list of pools")] = optional("Pools of the fleet.")
    offers: Annotated[list[ListedOffer], Says("a list of offers")] = optional(
        "Offers, kept by tenant instead of by pool."
    )
    policies: Annotated[dict[Id, Policy], Says("a map of names to policies")] = optional(
        "Policies that entries refer to by name."
    )
    checks: Annotated[list[Check], Says("a list of checks")] = optional("Rules of the fleet's own on its plans.")


DOCUMENT_FIELDS = frozenset(names(Document))
"""The fields of a whole document."""
