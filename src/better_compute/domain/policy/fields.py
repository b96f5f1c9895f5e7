"""The fields of a pool policy that the code reads: one table for checks, comparison and schemas.

A policy may hold any other field too; those are stored as given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Module = Literal["capacity", "server", "provision"]
Kind = Literal["object", "map", "list", "string", "boolean", "integer", "number", "duration", "ratio", "ratios"]
Form = Literal["plain", "duration", "ratio", "set"]

MODULES: tuple[Module, ...] = ("capacity", "server", "provision")
RATIO_LOW, RATIO_HIGH = 0.1, 100
LONGEST_DURATION = 90 * 86400
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}

_LABEL = r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_DNS = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_KEY = rf"(?:(?=[^/]{{1,253}}/){_DNS}(?:\.{_DNS})*/)?{_LABEL}"
_KEY_SAYS = "an optional DNS prefix and a slash, then a name of at most 63 letters, digits, -, _ and ."
_NOT_RESERVED = r"(?!(?:[^/]*\.)?kubernetes\.io/|nvidia\.com/gpu\.)"
_CPU_SET = r"[0-9]{1,5}(?:-[0-9]{1,5})?(?:,[0-9]{1,5}(?:-[0-9]{1,5})?)*"

_SWITCH = dict.fromkeys(("true", "yes", "1", "enabled"), "on") | dict.fromkeys(("false", "no", "0", "disabled"), "off")


@dataclass(frozen=True, slots=True)
class Field:
    """What one field may hold.

    `form` says how it compares: a `duration` by its length, a `ratio` by its clamp, a `set` without order or doubles,
    anything else as JSON. `low` and `high` bound numbers and the length of lists (`low` only). `values` lists all
    allowed strings, `meant` which of them other words stand for; `pattern` is for the whole string; `keys` for the keys
    of a map. `says` completes "must be …".
    """

    kind: Kind
    says: str
    form: Form = "plain"
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()
    meant: Mapping[str, str] = field(default_factory=dict)
    pattern: str = ""
    example: str = ""
    required: tuple[str, ...] = ()
    keys: str = ""
    keys_says: str = ""
    default: Any = None
    module: Module = "capacity"


def _object(says: str = "a JSON object", required: tuple[str, ...] = ()) -> Field:
    return Field("object", says, required=required)


def _map(says: str, keys: str, keys_says: str, default: Any = None) -> Field:
    return Field("map", says, keys=keys, keys_says=keys_says, default=default)


def _list(says: str, default: Any = None) -> Field:
    return Field("list", says, default=default)


def _text(says: str, pattern: str, example: str) -> Field:
    return Field("string", says, pattern=pattern, example=example)


def _enum(*values: str, default: str | None = None, meant: Mapping[str, str] | None = None) -> Field:
    return Field("string", "one of " + ", ".join(values), values=values, meant=meant or {}, default=default)


def _flag(default: bool | None = None) -> Field:
    return Field("boolean", "true or false", default=default)


def _integer(low: int, high: int | None = None, default: int | None = None) -> Field:
    says = f"an integer from {low} to {high}" if high is not None else f"an integer, {low} or more"
    return Field("integer", says, low=low, high=high, default=default)


def _ratio() -> Field:
    return Field("ratio", f"a number from {RATIO_LOW} to {RATIO_HIGH}", form="ratio", default=1)


_CAPACITY = {
    "acceptance": _list("a list of checks such as {kind: diag.nvml}, in order", default=[]),
    "acceptance[]": _object("an object with a kind", required=("kind",)),
    "acceptance[].kind": _text(
        "a dotted lower-case name", r"[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9]+(?:-[a-z0-9]+)*)*", "diag.nvml"
    ),
    "maxPending": Field(
        "duration", "a duration: digits and one of s, m, h, d, above 0 and at most 90d", form="duration", example="6h"
    ),
    "singleTenant": _flag(default=False),
    "overcommit": Field(
        "ratios", "a number from 0.1 to 100, or {vcpu, memoryGiB, diskGiB} of such numbers", form="ratio", default=1
    ),
    "overcommit.vcpu": _ratio(),
    "overcommit.memoryGiB": _ratio(),
    "overcommit.diskGiB": _ratio(),
    "hostReserve": _object("an object such as {vcpu: 4, memoryGiB: 16}"),
    "hostReserve.vcpu": _integer(0, default=0),
    "hostReserve.memoryGiB": Field("number", "a number, 0 or more", low=0, default=0),
    "admission": _object("an object such as {budgetCheck: meter}"),
    "admission.budgetCheck": _enum("meter"),
}

_SERVER = {
    "joinAttestors": Field(
        "list", "a set of attestor names such as [join-token]", form="set", low=1, default=["join-token"]
    ),
    "joinAttestors[]": _text("the name of an attestor", r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}", "join-token"),
}

_PROVISION = {
    "hugepages": _object("an object such as {1Gi: 64}"),
    "hugepages.2Mi": _integer(0, default=0),
    "hugepages.1Gi": _integer(0, default=0),
    "hugepages.defaultSize": _enum("2Mi", "1Gi", default="2Mi"),
    "hugepages.numa": _list("a list of {node, size, count}"),
    "hugepages.numa[]": _object("an object {node, size, count}", required=("node", "size", "count")),
    "hugepages.numa[].node": _integer(0, 63),
    "hugepages.numa[].size": _enum("2Mi", "1Gi"),
    "hugepages.numa[].count": _integer(0),
    "kernelModules": _list("a list of modules such as {name: nvme_tcp}, in order", default=[]),
    "kernelModules[]": _object("an object with a name", required=("name",)),
    "kernelModules[].name": _text(
        "a module name: letters, digits, _ and -, at most 55, without path or .ko", r"[A-Za-z0-9_-]{1,55}", "nvme_tcp"
    ),
    "kernelModules[].parameters": _list("a list of key or key=value", default=[]),
    "kernelModules[].parameters[]": _text("key or key=value, without blanks", r"[^\s=]+(?:=\S*)?", "max_queues=8"),
    "kernelModules[].state": _enum("load", "blacklist", default="load"),
    "cpu": _object("an object such as {isolated: 4-63, reserved: 0-3}"),
    "cpu.isolated": _text("CPU ids and ranges", _CPU_SET, "4-63,68"),
    "cpu.reserved": _text("CPU ids and ranges", _CPU_SET, "0-3"),
    "cpu.governor": _enum("performance", "powersave", "schedutil", "ondemand", "conservative", "userspace"),
    "cpu.smt": _enum("on", "off", default="on", meant=_SWITCH),
    "cpu.mitigations": _enum("auto", "auto,nosmt", "off", default="auto"),
    "cpu.numaPolicy": _enum("none", "best-effort", "restricted", "single-numa-node", default="best-effort"),
    "iommu": _enum("off", "on", "pt", meant=_SWITCH | {"passthrough": "pt", "intel": "on", "amd": "on", "arm": "on"}),
    "gpu": _object("an object such as {slots: 4}"),
    "gpu.driver": _object("an object such as {version: 580.65.06}"),
    "gpu.driver.version": _text(
        "a driver version of two or three numbers, the first 450 to 999",
        r"(?:4[5-9][0-9]|[5-9][0-9]{2})\.[0-9]{1,3}(?:\.[0-9]{1,3})?",
        "580.65.06",
    ),
    "gpu.driver.kernelModule": _enum("auto", "open", "proprietary", default="auto"),
    "gpu.mig": _object("an object such as {strategy: mixed, devices: {3g.40gb: 2}}"),
    "gpu.mig.strategy": _enum("none", "single", "mixed", default="single"),
    "gpu.mig.devices": _map(
        "a map of MIG profile to count such as {3g.40gb: 2}",
        r"[1-7]g\.[1-9][0-9]{0,2}gb(?:[+-](?:gfx|me(?:\.all)?))?",
        "a MIG profile such as 3g.40gb",
    ),
    "gpu.mig.devices{}": _integer(1, 7),
    "gpu.slots": _integer(2, 64),
    "gpu.persistence": _flag(default=True),
    "gpu.ecc": _flag(),
    "gpu.powerLimitWatts": _integer(50, 1500),
    "gpu.computeMode": _enum("default", "exclusive-process", "prohibited", default="default"),
    "kubernetes": _object("an object such as {version: v1.31.2}"),
    "kubernetes.version": _text(
        "v1.MINOR.PATCH with a minor from 24 to 99", r"v1\.(?:2[4-9]|[3-9][0-9])\.(?:0|[1-9][0-9]{0,3})", "v1.31.2"
    ),
    "kubernetes.labels": _map(
        "a map of label to text",
        _NOT_RESERVED + _KEY,
        f"a label key: {_KEY_SAYS}; kubernetes.io and nvidia.com/gpu.* are reserved",
        default={},
    ),
    "kubernetes.labels{}": _text(
        "at most 63 letters, digits, -, _ and ., with a letter or digit at both ends", f"(?:{_LABEL})?", "fra1"
    ),
    "kubernetes.taints": _list("a list of {key, value, effect}", default=[]),
    "kubernetes.taints[]": _object("an object {key, value, effect}", required=("key", "effect")),
    "kubernetes.taints[].key": _text(_KEY_SAYS, _KEY, "dedicated"),
    "kubernetes.taints[].value": _text("at most 63 letters, digits, -, _ and .", f"(?:{_LABEL})?", "acme"),
    "kubernetes.taints[].effect": _enum("NoSchedule", "PreferNoSchedule", "NoExecute"),
    "kubernetes.maxPods": _integer(1, 1000, default=110),
}

FIELDS: dict[str, Field] = {
    path: replace(entry, module=module)
    for module, table in zip(MODULES, (_CAPACITY, _SERVER, _PROVISION), strict=True)
    for path, entry in table.items()
}
