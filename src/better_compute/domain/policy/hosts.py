"""Rules on the fields that configure hosts: what the provision module refuses beyond types and ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from better_compute.domain.families import is_grace
from better_compute.domain.policy.drivers import check_driver
from better_compute.domain.policy.fields import FIELDS
from better_compute.domain.policy.fixes import turned
from better_compute.domain.policy.gpus import check_mig, check_slots
from better_compute.domain.policy.installed import SETS, check_installed, cpu_set, pages_of
from better_compute.domain.policy.scope import Scope, doubles, problem, text_of
from better_compute.domain.policy.shapes import is_allowed
from better_compute.domain.policy.values import cpu_count, overlap
from better_compute.domain.problems import Problem

_VERSION = FIELDS["kubernetes.version"]


def has_huge_pages(scope: Scope) -> bool:
    """Whether the hosts set huge pages aside."""
    return any(pages_of(scope).values())


def _huge_pages(scope: Scope) -> Iterator[Problem]:
    entries = [entry for entry in scope.items("hugepages.numa") if isinstance(entry, dict)]
    words = [
        f"{text_of(e, 'size')} on node {e.get('node')}" if isinstance(e.get("node"), int) else None for e in entries
    ]
    yield from doubles("hugepages.numa", "hugepages.numa", words)
    for size in ("2Mi", "1Gi"):
        if scope.get(f"hugepages.{size}") and any(entry.get("size") == size for entry in entries):
            said = f"pages of {size} are counted for the whole host and for single nodes: use one of the two"
            yield problem("hugepages.numa", said, f"leave hugepages.{size} out")
    large = scope.get("hugepages.1Gi") or any(entry.get("size") == "1Gi" for entry in entries)
    if large and scope.model is not None and is_grace(scope.model):
        said = f"hosts of {scope.model} whose kernel has pages of 64 KiB have no huge pages of 1Gi"
        yield problem("hugepages.1Gi", said, "use 2Mi, unless the kernel's pages are of 4 KiB", severity="warning")


def _modules(scope: Scope) -> Iterator[Problem]:
    entries = scope.items("kernelModules")
    names = [name.replace("-", "_") if (name := text_of(entry, "name")) else None for entry in entries]
    yield from doubles("kernelModules.name", "kernelModules", names, "name")
    for index, entry in enumerate(entries):
        if names[index] == "nouveau" and entry.get("state") != "blacklist" and scope.get("gpu.driver") is not None:
            said = "nouveau and the driver of gpu.driver cannot hold the same GPUs"
            hint = "leave nouveau out, or set its state to blacklist"
            yield problem("kernelModules.name", said, hint, f"policy.kernelModules[{index}].name")
        listed = entry.get("parameters") if isinstance(entry, dict) else None
        if isinstance(listed, list):
            keys = [word.partition("=")[0] if isinstance(word, str) else None for word in listed]
            yield from doubles("kernelModules.parameters", f"kernelModules[{index}].parameters", keys)


def _cpu(scope: Scope) -> Iterator[Problem]:
    sets = {}
    for name in SETS:
        if (ids := cpu_set(scope, name)) is not None:
            sets[name] = ids
        elif isinstance(text := scope.get(f"cpu.{name}"), str) and is_allowed(text, FIELDS[f"cpu.{name}"]):
            yield problem(f"cpu.{name}", "a range of CPUs runs backwards", turned(text))
    if len(sets) == 2 and (shared := overlap(sets["isolated"], sets["reserved"])) is not None:
        yield problem("cpu.reserved", f"CPU {shared} is both isolated and reserved", "keep it in one of the two")
    kept_back = scope.get("hostReserve.vcpu")
    if "reserved" in sets and isinstance(kept_back, int) and (count := cpu_count(sets["reserved"])) < kept_back:
        said = f"{count} CPUs are reserved, fewer than the {kept_back} of hostReserve.vcpu that are not sold"
        yield problem("cpu.reserved", said, f"use {kept_back} CPUs or more", severity="warning")
    if scope.get("cpu.mitigations") == "off" and scope.may_be_shared():
        said = "CPU mitigations are off in a pool that more than one tenant may use"
        yield problem("cpu.mitigations", said, "use auto, or singleTenant: true", severity="warning")


def _iommu(scope: Scope) -> Iterator[Problem]:
    if scope.get("iommu") == "off" and scope.class_ == "vps-host" and scope.sharing == "exclusive":
        yield problem("iommu", "whole GPUs cannot be passed to virtual machines with the IOMMU off", "use pt")


def _modes(scope: Scope) -> Iterator[Problem]:
    if scope.sharing == "timeslice" and scope.get("gpu.computeMode") == "exclusive-process":
        said = "time slicing needs more than one process a GPU"
        yield problem("gpu.computeMode", said, "use default")
    if scope.get("gpu.ecc") is False and scope.may_be_shared():
        said = "ECC is off in a pool that more than one tenant may use"
        yield problem("gpu.ecc", said, "use true, or singleTenant: true", severity="warning")


def _kubernetes(scope: Scope) -> Iterator[Problem]:
    if scope.agent == "none":
        said = "nobody sets kubernetes up in a pool of agent none: it does nothing"
        yield problem("kubernetes", said, "leave it out, or use agent bcd", severity="warning")
    yield from _downgrade(scope)
    taints = scope.items("kubernetes.taints")
    words = [f"{key}:{text_of(t, 'effect')}" if (key := text_of(t, "key")) else None for t in taints]
    yield from doubles("kubernetes.taints", "kubernetes.taints", words)


def _downgrade(scope: Scope) -> Iterator[Problem]:
    wanted, had = scope.get("kubernetes.version"), replace(scope, policy=dict(scope.before)).get("kubernetes.version")
    if is_allowed(wanted, _VERSION) and is_allowed(had, _VERSION) and _release(wanted) < _release(had):
        said = f"the nodes have {had}, and kubernetes is not made to go back"
        yield problem("kubernetes.version", said, f"use {had}, or a later one", severity="warning")


def _release(version: str) -> list[int]:
    return [int(part) for part in version[1:].split(".")]


RULES: tuple[tuple[str, Callable[[Scope], Iterator[Problem]]], ...] = (
    ("hugepages", _huge_pages),
    ("kernelModules", _modules),
    ("cpu", _cpu),
    ("iommu", _iommu),
    ("", check_slots),
    ("gpu", check_mig),
    ("gpu", check_driver),
    ("gpu", _modes),
    ("kubernetes", _kubernetes),
    ("", check_installed),
)
