"""Random fleets as plain data, and their files in any split, order and style."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from hypothesis import strategies as st

Json = Any

MODELS = ("H100", "H200", "B200", "L40S", "A100", "RTX6000ADA")
SITES = ("site_fra1", "site_ams1", "site_waw1")
TENANTS = ("acme", "globex", "initech", "no", "on", "umbrella")
"""None of them owns a fleet; `no` and `on` are names like any other."""
ATOMS = {"exclusive": "gpu", "mig": "gpu.mig", "timeslice": "gpu.slot", "mps": "gpu.slot"}
OWNER = "root"
CALLER = "sa_fleet"


@dataclass
class Fleet:
    """Root fields, and pools as their entries would stand in one file, each with all its offers."""

    root: dict[str, Json]
    pools: list[dict[str, Json]] = field(default_factory=list)

    def documents(self) -> list[dict[str, Json]]:
        """The fleet as one document."""
        return [deepcopy({**self.root, "pools": self.pools})]


def quotas(atom: str) -> st.SearchStrategy[dict[str, int]]:
    """Limits with a row for the pool's own atom; 0 and unlimited are among them."""
    limit = st.sampled_from((0, 1, 8, 32, 64, 2147483647))
    others = st.dictionaries(st.sampled_from(("vcpu", "memoryGiB", "diskGiB")), limit, max_size=2)
    return st.builds(lambda gpus, rest: {atom: gpus, **rest}, limit, others)


def policies(sharing: str = "exclusive", single: bool = False) -> st.SearchStrategy[dict[str, Json]]:
    """Policies that every rule allows for a pool of this sharing mode."""
    fixed: dict[str, Json] = {"singleTenant": True} if single else {}
    if sharing in ("timeslice", "mps"):
        fixed["gpu"] = {"slots": 4}
    fields = st.fixed_dictionaries(
        {},
        optional={
            "maxPending": st.sampled_from(("6h", "360m", "90s", "7d")),
            "acceptance": st.permutations(({"kind": "diag.nvml"}, {"kind": "burn.gemm"})),
            "hugepages": st.fixed_dictionaries({"1Gi": st.integers(0, 64)}),
            "hostReserve": st.fixed_dictionaries({"vcpu": st.integers(0, 8), "memoryGiB": st.sampled_from((8, 16.5))}),
            "overcommit": st.sampled_from((1, 1.5, 2)),
            "iommu": st.sampled_from(("on", "off", "pt")),
            "note": st.sampled_from(("keep", "zażółć", "two\nlines\n", " - {x: 1} # no", "null", "0x10", "")),
        },
    )
    return fields.map(lambda policy: {**policy, **fixed})


def offers(sharing: str, single: bool) -> st.SearchStrategy[list[dict[str, Json]]]:
    """Offers that every rule allows for such a pool."""
    if sharing not in ("exclusive", "mig"):
        return st.just([])
    scalars = {"priority": st.integers(-1000, 1000)} | ({} if single else {"includeDescendants": st.booleans()})
    terms = st.fixed_dictionaries({"quota": quotas(ATOMS[sharing])}, optional=scalars)
    by_tenant = st.dictionaries(st.sampled_from(TENANTS), terms, max_size=1 if single else 4)
    return by_tenant.map(lambda offers: [{"toTenantId": tenant, **terms} for tenant, terms in offers.items()])


@st.composite
def pools(draw: st.DrawFn, key: str) -> dict[str, Json]:
    """An entry that every rule allows: a pool with its terms, a provider pool, an adopted one or a tombstone."""
    what = draw(st.sampled_from(("pool", "pool", "pool", "pool", "provider", "adopted", "tombstone")))
    if what == "tombstone":
        return {"idempotencyKey": key, "archived": True}
    sharing = draw(st.sampled_from((*ATOMS, "exclusive", "exclusive")))
    single = draw(st.booleans()) and draw(st.booleans())
    entry: dict[str, Json] = {"idempotencyKey": key, "siteId": draw(st.sampled_from(SITES)), "sharing": sharing}
    entry |= {"class": "metal-host", "gpuModel": draw(st.sampled_from(MODELS))}
    if what == "provider":
        entry |= {"class": "provider", "agent": "none", "providerAccountId": "pa_north"}
    if what == "adopted":
        entry["id"] = f"pool_of-{key}"
    if draw(st.booleans()):
        entry["policy"] = draw(policies(sharing, single))
    elif sharing in ("timeslice", "mps"):
        entry["policy"] = {"gpu": {"slots": 4}}
    if draw(st.booleans()):
        entry["ownerQuota"] = draw(quotas(ATOMS[sharing]))
    if draw(st.booleans()) or draw(st.booleans()):
        single = entry.get("policy", {}).get("singleTenant", False)
        entry["offers"] = draw(st.just("unmanaged") | offers(sharing, single))
    return entry


@st.composite
def fleets(draw: st.DrawFn, *, min_pools: int = 1, max_pools: int = 5) -> Fleet:
    """A fleet without an error in it."""
    root: dict[str, Json] = {"apiVersion": "fleet/v1", "tenantId": OWNER, "caller": CALLER}
    if draw(st.booleans()):
        root |= {"fleet": "platform", "keyPrefix": "fra1-", "server": "https://compute.example.com"}
    if draw(st.booleans()):
        root["defaults"] = {"pool": {"class": "metal-host", "sharing": "exclusive"}, "offer": {"priority": 5}}
    numbers = draw(st.lists(st.integers(0, 99), unique=True, min_size=min_pools, max_size=max_pools))
    return Fleet(root, [draw(pools(f"fra1-p{number:02}")) for number in numbers])


def write(fleet: Fleet, directory: Path, random: Random) -> None:
    """Write the fleet's files: split, ordered and styled by chance, with the same meaning each time."""
    documents = _split(fleet, random)
    files = [f"{random.choice(('', 'a/', 'b/c/'))}{n}{random.choice(('.yaml', '.yml'))}" for n in range(len(documents))]
    shared = [random.choice(files) for _ in documents]
    for name in dict.fromkeys(shared):
        parts = [yaml(document, random) for document, home in zip(documents, shared, strict=True) if home == name]
        text = "---\n".join(parts)
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        ends = random.choice(("\n", "\n", "\r\n"))
        path.write_bytes(random.choice((b"", b"\xef\xbb\xbf")) + text.replace("\n", ends).encode())


def _split(fleet: Fleet, random: Random) -> list[dict[str, Json]]:
    """Documents that together say what the fleet does: entries and offers in any of them, some root fields twice."""
    documents: list[dict[str, Json]] = [{} for _ in range(random.randint(1, 4))]
    documents[0] |= fleet.root
    for name in random.sample(sorted(fleet.root), random.randint(0, 2)):
        random.choice(documents)[name] = fleet.root[name]
    defaults = fleet.root.get("defaults", {})
    for pool in random.sample(fleet.pools, len(fleet.pools)):
        entry = _undefaulted(pool, defaults.get("pool", {}), random)
        random.choice(documents).setdefault("pools", []).append(entry)
        if not isinstance(pool.get("offers"), list) or not pool["offers"]:
            continue
        offers = [_undefaulted(o, defaults.get("offer", {}), random) for o in pool["offers"]]
        own = random.randint(0, len(offers))
        random.shuffle(offers)
        for offer in offers[own:]:
            random.choice(documents).setdefault("offers", []).append({"pool": pool["idempotencyKey"], **offer})
        entry["offers"] = offers[:own]
        if not own:
            del entry["offers"]
    return [document for document in documents if document]


def _undefaulted(entry: Mapping[str, Json], defaults: Mapping[str, Json], random: Random) -> dict[str, Json]:
    """The entry, without some of the fields that the fleet's defaults fill in anyway."""
    return {k: v for k, v in entry.items() if k not in defaults or v != defaults[k] or random.random() < 0.5}


def yaml(document: Mapping[str, Json], random: Random) -> str:
    """One document in YAML, in a style that chance picks for every part."""
    anchors: list[str] = []
    body = _Writer(random, anchors).block(document, "")
    return "".join(f"x-{number}: {text}\n" for number, text in enumerate(anchors)) + body


@dataclass
class _Writer:
    random: Random
    anchors: list[str]

    def block(self, value: Mapping[str, Json] | Sequence[Json], indent: str) -> str:
        """Lines of a block map or list that is not empty."""
        lines = ""
        if isinstance(value, Mapping):
            for key in self.random.sample(sorted(value), len(value)):
                lines += self._gap(indent) + indent + self.scalar(key) + ":" + self._below(value[key], indent)
            return lines
        for item in value:
            nested = isinstance(item, dict) and item and self.random.random() < 0.6
            lines += self._gap(indent) + indent + "-"
            lines += f" {self.block(item, indent + '  ').lstrip()}" if nested else self._below(item, indent)
        return lines

    def flow(self, value: Json) -> str:
        space = self.random.choice(("", " "))
        if isinstance(value, dict):
            keys = self.random.sample(sorted(value), len(value))
            return "{" + space + f",{space} ".join(f"{self.scalar(k)}: {self.flow(value[k])}" for k in keys) + "}"
        if isinstance(value, list):
            return "[" + space + ", ".join(self.flow(item) for item in value) + "]"
        return self.scalar(value)

    def scalar(self, value: Json) -> str:
        if not isinstance(value, str):
            return json.dumps(value)
        styles = [json.dumps(value), json.dumps(value, ensure_ascii=False)]
        if not re.search(r"[\n\t]", value):
            styles.append("'" + value.replace("'", "''") + "'")
        if re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*|[0-9]+[a-zA-Z]+", value) and value.lower() not in _WORDS:
            styles += [value] * 4
        return self.random.choice(styles)

    def _below(self, value: Json, indent: str) -> str:
        """What follows a colon or a dash."""
        whole = isinstance(value, dict | list) and value
        if whole and self.random.random() < 0.7:
            return "\n" + self.block(value, indent + self.random.choice(("  ", "    ")))
        text = self.flow(value)
        if whole and self.random.random() < 0.2:
            self.anchors.append(f"&a{len(self.anchors)} {text}")
            text = f"*a{len(self.anchors) - 1}"
        return f" {text}" + self.random.choice(("", "", "  # why")) + "\n"

    def _gap(self, indent: str) -> str:
        return self.random.choice(("", "", "", "", "\n", f"{indent}# about this\n"))


_WORDS = ("null", "true", "false")
