"""The shape of fleet files: the one definition that reading, its messages and the JSON Schema follow.

The models judge documents; values are taken from the documents themselves, which know where each was written. What a
rule of the domain judges (classes, families, policies) may be any text or map here, and only the schema says more.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag
from pydantic.alias_generators import to_camel

from better_compute.domain.atoms import AGENTS, ATOMS, CLASSES, DEFAULT_AGENT, DEFAULT_SHARING, UNLIMITED
from better_compute.domain.ids import KEY
from better_compute.domain.offers import PRIORITIES
from better_compute.domain.quotas import RESOURCES
from fleetctl.desired import says
from fleetctl.desired.says import Says

API_VERSION = "fleet/v1"
UNMANAGED = "unmanaged"
UNNAMED = "default"
"""The name of the fleet whose documents say none."""
POOL_NEEDS = ("siteId", "class", "gpuModel")
"""What a pool needs, its defaults counted in; a tombstone needs none of them."""

_CHARACTERS = "of A-Z a-z 0-9 . _ : -, beginning with a letter or digit"
_PREFIX = r"^[A-Za-z0-9][A-Za-z0-9._:-]{2,127}$"
_URL = r"^https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~%/-]*)?$"
_LIMITS = (0, UNLIMITED)
_PRIORITIES = (PRIORITIES[0], PRIORITIES[-1])
_SCALAR = "^[a-z][A-Za-z0-9]{0,63}$"

Line = Annotated[str, Field(pattern=r"^[^\n]{1,1024}$")]
Id = Annotated[str, Field(pattern=f"^{KEY.pattern}$"), Says(f"1 to 128 {_CHARACTERS}", says.key)]
Flag = Annotated[bool, Says("true or false", says.flag)]
Path = Annotated[Line, Says("the path of a file", says.text)]
Limit = Annotated[
    int,
    Field(ge=_LIMITS[0], le=_LIMITS[1]),
    Says(
        f"a whole number from {_LIMITS[0]} to {_LIMITS[1]}",
        says.whole(*_LIMITS, too_high=f"the largest value, {UNLIMITED}, reads as unlimited"),
        "quota.value",
    ),
]
Quota = Annotated[
    dict[str, Limit],
    Field(min_length=1, json_schema_extra={"propertyNames": {"anyOf": [{"enum": [*RESOURCES]}, {"pattern": _SCALAR}]}}),
    Says("a map of resources to limits, such as {gpu: 8}", lambda _: "{gpu: 0} grants none"),
]
Priority = Annotated[
    int,
    Field(ge=_PRIORITIES[0], le=_PRIORITIES[1]),
    Says(f"a whole number from {_PRIORITIES[0]} to {_PRIORITIES[1]}", says.whole(*_PRIORITIES), "offer.priority"),
]


def _known(*words: str) -> Any:
    """Words that a rule allows: for the schema alone."""
    return Field(json_schema_extra={"enum": list(words)})


def _required(what: str) -> Any:
    return Field(description=what)


def _optional(what: str, alias: str | None = None) -> Any:
    """A field that may be left out; null is no value of it."""
    return Field(default=None, description=what, alias=alias)


def _text_or_more(value: object) -> str:
    return "text" if isinstance(value, str) else "more"


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
    class_: Annotated[Line, _known(*CLASSES), Says("a pool class", says.text)] = _optional(
        "The role of a machine that joins; metal-host and vps-host add capacity.", alias="class"
    )
    gpu_model: Annotated[
        Line, Field(json_schema_extra={"pattern": "^[A-Z0-9]{1,32}$"}), Says("a GPU family such as H100", says.text)
    ] = _optional("The one GPU family, as inventory derives it: H100 for NVIDIA H100 80GB HBM3.")
    sharing: Annotated[Line, _known(*ATOMS), Says("a sharing mode", says.text)] = _optional(
        f"How a GPU is shared; left out: {DEFAULT_SHARING}. timeslice and mps serve the owner alone."
    )
    agent: Annotated[Line, _known(*AGENTS), Says("an agent", says.text)] = _optional(
        f"What runs on the machines; left out: {DEFAULT_AGENT}."
    )
    provider_account_id: Id = _optional("The provider account, for class provider alone.")


class Pool(PoolDefaults):
    """A pool. An entry with archived: true may hold its key or id alone."""

    model_config = ConfigDict(
        json_schema_extra={"anyOf": [{"required": ["idempotencyKey"]}, {"required": ["id"]}]},
    )
    blank = {
        "policy": "leave it out, or write {} for no policy",
        "ownerQuota": "leave it out, or write the limits, such as {gpu: 8}",
        "offers": "write [] to withdraw all, unmanaged to leave them to others, or leave it out",
    }

    idempotency_key: Id = _optional("The pool's name in the files; its id derives from tenant, caller and this key.")
    id: Id = _optional("Adopts the pool of this id, whatever key or caller made it.")
    policy: Annotated[dict[str, Any], Says("a map of policy fields")] = _optional(
        "What nodes and reservations follow; left out: {}. An update replaces it whole."
    )
    owner_quota: Quota = _optional(
        f"The owner's own quota; left out: {{gpu: {UNLIMITED}}} at creation, unmanaged afterwards."
    )
    offers: Annotated[
        Annotated[Literal["unmanaged"], Tag("text")] | Annotated[list[Offer], Tag("more")],
        Discriminator(_text_or_more),
        Says("a list of offers, or unmanaged", says.word(UNMANAGED)),
    ] = _optional("All offers of the pool; [] withdraws every one, unmanaged leaves them to others.")
    archived: Flag = _optional("A tombstone: the pool is to be archived.")


class Embedded(Record):
    """An embedded control plane; paths are relative to the file that names them."""

    embedded: Path = _required("Its SQLite file.")
    world: Path = _optional("Tenants, sites and machines it starts with.")


class Defaults(Record):
    """Values for fields that entries leave out: scalars alone."""

    pool: PoolDefaults = _optional("For every pool of the fleet.")
    offer: OfferDefaults = _optional("For every offer of the fleet.")


class Root(Record):
    """Fields of the whole fleet: in one document, or in several that agree."""

    api_version: Annotated[Literal["fleet/v1"], Says(API_VERSION, says.word(API_VERSION))] = _optional(
        "The version of the format."
    )
    fleet: Id = _optional(f"The fleet's name; left out: {UNNAMED}.")
    tenant_id: Id = _optional("The tenant that owns the pools, and acts.")
    caller: Id = _optional("The identity that applies; pool ids derive from tenant, caller and key.")
    key_prefix: Annotated[str, Field(pattern=_PREFIX), Says(f"3 to 128 {_CHARACTERS}", says.text)] = _optional(
        "What the keys of this fleet begin with, and those of no other."
    )
    server: Annotated[
        Annotated[str, Field(pattern=_URL), Tag("text")] | Annotated[Embedded, Tag("more")],
        Discriminator(_text_or_more),
        Says("an http or https URL without user, password and query, or {embedded: FILE, world: FILE}", says.url),
    ] = _optional("The control plane: a URL, or an embedded one.")
    defaults: Defaults = _optional("Values for fields that entries leave out.")
    exclude: Annotated[list[Annotated[Line, Says("a glob", says.text)]], Says("a list of globs")] = _optional(
        "Files of the directory that are no fleet documents."
    )
    allow_empty: Flag = _optional("Whether the fleet may have no pool at all; left out: false.")


class Document(Root):
    """A document of a fleet."""

    blank = dict.fromkeys(("pools", "offers"), "write [] for none here, or leave it out")

    pools: Annotated[list[Pool], Says("a list of pools")] = _optional("Pools of the fleet.")
    offers: Annotated[list[ListedOffer], Says("a list of offers")] = _optional(
        "Offers, kept by tenant instead of by pool."
    )


def meaning(record: type[Record], name: str) -> str:
    """What the field `name` of the files means."""
    return next(field.description or "" for field in record.model_fields.values() if field.alias == name)


def names(record: type[Record]) -> list[str]:
    """The fields of a record, as files spell them."""
    return [field.alias or name for name, field in record.model_fields.items()]


DOCUMENT_FIELDS = frozenset(names(Document))
"""The fields of a whole document."""
