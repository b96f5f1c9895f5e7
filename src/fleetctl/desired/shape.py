"""The shape of fleet files: the one definition that reading, its messages and the JSON Schema follow.

The models judge documents; values are taken from the documents themselves, which know where each was written. What a
rule of the domain judges (classes, families, policies) may be any text or map here, and only the schema says more.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel

from better_compute.domain.atoms import AGENTS, ATOMS, CLASSES, DEFAULT_AGENT, DEFAULT_SHARING, UNLIMITED
from fleetctl.desired import says
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
from fleetctl.desired.says import Says

API_VERSION = "fleet/v1"
UNMANAGED = "unmanaged"
UNNAMED = "default"
"""The name of the fleet whose documents say none."""
POOL_NEEDS = ("siteId", "class", "gpuModel")
"""What a pool needs, its defaults counted in; one that is archived or released needs none of them."""

_URL = r"^https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%/-]*)?$"


def _required(what: str) -> Any:
    return Field(description=what)


def _optional(what: str, alias: str | None = None) -> Any:
    """A field that may be left out; null is no value of it."""
    return Field(default=None, description=what, alias=alias)


class Record(BaseModel):
    """A map of known fields; `blank` holds, by field, what to write instead of null, `missing` what else may be wrong
    where it is not there."""

    model_config = ConfigDict(extra="forbid", strict=True, alias_generator=to_camel)
    blank: ClassVar[dict[str, str]] = {}
    missing: ClassVar[dict[str, str]] = {}


class OfferDefaults(Record):
    """Scalars of offers, for those that leave them out."""

    priority: Priority = _optional("Stored with the offer; left out: 0.")
    include_descendants: Flag = _optional("Stored with the offer; left out: false.")


class Offer(OfferDefaults):
    """An offer of the pool to a tenant."""

    blank = {"quota": "write the limits, such as {gpu: 8}; {gpu: 0} grants none"}

    to_tenant_id: Id = _required("The tenant that may use the pool; never the fleet's own.")
    quota: Quota = _required("What the tenant may book, by resource; a resource without a row grants 0.")


class ListedOffer(Offer):
    """An offer of a pool to a tenant, kept by tenant instead of by pool."""

    missing = {"pool": "or indent offers: under its pool's entry, if they are that pool's own"}

    pool: Id = _required("The key, or the id, of a pool that has an entry in this fleet.")


class PoolDefaults(Record):
    """Scalars of pools, for those that leave them out."""

    site_id: Id = _optional("The site the pool lives in; it belongs to the fleet's tenant.")
    class_: Annotated[Line, known(*CLASSES), Says("a pool class", says.text)] = _optional(
        "The role of a machine that joins; metal-host and vps-host add capacity.", alias="class"
    )
    gpu_model: Annotated[
        Line, Field(json_schema_extra={"pattern": MODEL}), Says("a GPU family such as H100", says.text)
    ] = _optional("The one GPU family, as inventory derives it: H100 for NVIDIA H100 80GB HBM3.")
    sharing: Annotated[Line, known(*ATOMS), Says("a sharing mode", says.text)] = _optional(
        f"How a GPU is shared; left out: {DEFAULT_SHARING}. timeslice and mps serve the owner alone."
    )
    agent: Annotated[Line, known(*AGENTS), Says("an agent", says.text)] = _optional(
        f"What runs on the machines; left out: {DEFAULT_AGENT}."
    )
    provider_account_id: Id = _optional("The provider account, for class provider alone.")


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

    idempotency_key: Id = _optional("The pool's name in the files; its id derives from tenant, caller and this key.")
    id: Id = _optional("Adopts the pool of this id, whatever key or caller made it.")
    for_each: Variables = _optional(
        "Makes one entry of each combination: ${site} is replaced in the texts of this entry, $${ writes ${."
    )
    previously: Id = _optional("The key under which the pool was made, where the entry was renamed.")
    replaces: Id = _optional(
        "The key of the pool that this one takes the place of; it is archived once it has no reservation."
    )
    policy: Policy = _optional(
        "What nodes and reservations follow; left out: {}. An update replaces it whole. With policyRef it is merged"
        " over that policy (RFC 7396): null removes a field."
    )
    policy_ref: Id = _optional("The name of one of the policies, which policy is merged over.")
    owner_quota: Quota = _optional(
        f"The owner's own quota; left out: {{gpu: {UNLIMITED}}} at creation, unmanaged afterwards."
    )
    offers: Annotated[
        Annotated[Literal["unmanaged"], Tag("text")] | Annotated[list[Offer], Tag("more")],
        Discriminator(text_or_more),
        Says("a list of offers, or unmanaged", says.word(UNMANAGED)),
    ] = _optional("All offers of the pool; [] withdraws every one, unmanaged leaves them to others.")
    archived: Flag = _optional("A tombstone: the pool is to be archived.")
    released: Flag = _optional("This fleet lets the pool go: nothing is called for it, and prune leaves it alone.")
    protect: Flag = _optional("Never archived; no offer withdrawn, no GPU quota lowered to 0.")


class Embedded(Record):
    """An embedded control plane; paths are relative to the file that names them."""

    embedded: Path = _required("Its SQLite file.")
    world: Path = _optional("Tenants, sites and machines it starts with.")


class Defaults(Record):
    """Values for fields that entries leave out: scalars alone."""

    pool: PoolDefaults = _optional("For every pool of the fleet.")
    offer: OfferDefaults = _optional("For every offer of the fleet.")


class Freeze(Record):
    """A window in which every operation is blocked."""

    from_: Time = Field(description="When it begins.", alias="from")
    to: Time = _required("When it ends; then operations run again.")
    reason: Sentence = _required("Why nothing is to change.")


class Guards(Record):
    """Limits on what one apply may do; one that is left out keeps its default."""

    blank = {
        "protect": "write [] to protect none here, or leave it out",
        "freeze": "write [] for no window, or leave it out",
    }

    max_archives: Count = _optional("Pools that one apply may archive; 0 refuses all; left out: 1.")
    max_archive_percent: Percent = _optional("The same as a share of the fleet's live pools; left out: 10.")
    max_withdrawals: Count = _optional("Offers that one apply may withdraw; left out: 10.")
    max_gpus_withdrawn: Count = _optional("GPUs (atoms) that one apply may take from tenants; left out: 256.")
    max_oversell: Oversell = _optional(
        "Tenants' quota of a pool per schedulable GPU, at the end; null or left out: no limit."
    )
    allow_below_use: Flag = _optional("Whether a quota may drop under what is in use; left out: false.")
    allow_archive_in_use: Flag = _optional("Whether a pool with reservations may be archived; left out: false.")
    allow_model_change: Flag = _optional("Whether the GPU model of a pool may change; left out: false.")
    protect: Annotated[list[Id], Says("a list of keys or ids", says.listed)] = _optional(
        "Keys or ids of pools that nothing is taken from, also when their entry is gone."
    )
    freeze: Annotated[list[Freeze], Says("a list of windows, such as {from: …, to: …, reason: …}")] = _optional(
        "Windows in which every operation is blocked."
    )


class Check(Record):
    """A rule of the fleet's own on its plans: an expression in CEL that is true where all is well."""

    name: Id = _required("What the check is called, in this fleet alone.")
    severity: Annotated[Literal["deny", "warn"], Says("deny or warn", says.word("deny", "warn"))] = _required(
        "What follows where it is false: deny blocks the plan, warn tells."
    )
    each: Annotated[
        Literal["pool", "offer", "operation", "tenant"],
        Says("one of pool, offer, operation, tenant", says.word("pool", "offer", "operation", "tenant")),
    ] = _optional("What the expression sees one at a time; left out: lists of all.")
    expr: Annotated[
        str,
        Field(pattern=r"[^\s]", max_length=16384),
        Says("an expression in CEL, of 16384 characters at most", says.text),
    ] = _required("Variables: pools, offers, operations and capacity (lists), or the one that each names.")
    message: Sentence = _required("What is wrong where it is false.")


class Expected(Record):
    """A difference that drift may ignore."""

    key: Id = _required("The key, or the id, of the pool.")
    path: Sentence = _optional("The field that differs, or one that holds it; left out: whatever differs.")
    until: Time = _optional("When it is no longer expected; left out: never.")
    reason: Sentence = _required("Why it is expected.")


class Root(Record):
    """Fields of the whole fleet: in one document, or in several that agree."""

    api_version: Annotated[Literal["fleet/v1"], Says(API_VERSION, says.word(API_VERSION))] = _optional(
        "The version of the format."
    )
    fleet: Id = _optional(f"The fleet's name; left out: {UNNAMED}.")
    tenant_id: Id = _optional("The tenant that owns the pools, and acts.")
    caller: Id = _optional("The identity that applies; pool ids derive from tenant, caller and key.")
    previous_callers: Annotated[list[Id], Says("a list of identities", says.listed)] = _optional(
        "Callers before this one: pools that they made are adopted. The latest stands first."
    )
    key_prefix: Prefix = _optional("What the keys of this fleet begin with, and those of no other.")
    server: Annotated[
        Annotated[str, Field(pattern=_URL), Tag("text")] | Annotated[Embedded, Tag("more")],
        Discriminator(text_or_more),
        Says("an http or https URL without user, password and query, or {embedded: FILE, world: FILE}", says.url),
    ] = _optional("The control plane: a URL, or an embedded one.")
    defaults: Defaults = _optional("Values for fields that entries leave out.")
    exclude: Annotated[list[Annotated[Line, Says("a glob", says.text)]], Says("a list of globs")] = _optional(
        "Files of the directory that are no fleet documents."
    )
    prices: Annotated[dict[Model, Price], Says("a map of GPU families to prices, such as {H100: 2.10}")] = _optional(
        "Prices per GPU hour, for the ledger."
    )
    expected: Annotated[list[Expected], Says("a list of differences to expect")] = _optional(
        "Differences that drift may ignore."
    )
    guards: Guards = _optional("Limits on what one apply may do.")
    allow_empty: Flag = _optional("Whether the fleet may have no pool at all; left out: false.")


class Document(Root):
    """A document of a fleet."""

    blank = {
        **dict.fromkeys(
            ("pools", "offers", "checks", "expected", "previousCallers", "exclude"),
            "write [] for none here, or leave it out",
        ),
        **dict.fromkeys(("policies", "prices", "guards"), "write {} for none here, or leave it out"),
    }

    pools: Annotated[list[Pool], Says("a list of pools")] = _optional("Pools of the fleet.")
    offers: Annotated[list[ListedOffer], Says("a list of offers")] = _optional(
        "Offers, kept by tenant instead of by pool."
    )
    policies: Annotated[dict[Id, Policy], Says("a map of names to policies")] = _optional(
        "Policies that entries refer to by name."
    )
    checks: Annotated[list[Check], Says("a list of checks")] = _optional("Rules of the fleet's own on its plans.")


def meaning(record: type[Record], name: str) -> str:
    """What the field `name` of the files means."""
    return next(field.description or "" for field in record.model_fields.values() if field.alias == name)


def names(record: type[Record]) -> list[str]:
    """The fields of a record, as files spell them."""
    return [field.alias or name for name, field in record.model_fields.items()]


DOCUMENT_FIELDS = frozenset(names(Document))
"""The fields of a whole document."""
