"""Rules on the fields that configure hosts: what the provision module refuses beyond types and ranges."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from better_compute.domain.families import is_before_turing, needs_open_module
from better_compute.domain.policy.fields import FIELDS
from better_compute.domain.policy.gpus import check_mig, check_slots
from better_compute.domain.policy.scope import Scope, doubles, problem, text_of
from better_compute.domain.policy.values import cpu_count, cpu_ranges, overlap
from better_compute.domain.problems import Problem

_LAST_BRANCH_BEFORE_TURING = 580


def has_huge_pages(scope: Scope) -> bool:
    """Whether the hosts set huge pages aside."""
    return any(isinstance(pages := scope.get(f"hugepages.{size}"), int) and pages > 0 for size in ("2Mi", "1Gi"))


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
    for name in ("isolated", "reserved"):
        text = scope.get(f"cpu.{name}")
        if isinstance(text, str) and re.fullmatch(FIELDS[f"cpu.{name}"].pattern, text):
            ranges = cpu_ranges(text)
            if ranges is None:
                yield problem(f"cpu.{name}", "a range of CPUs runs backwards", "write the lower id first")
            else:
                sets[name] = ranges
    if len(sets) == 2 and (shared := overlap(sets["isolated"], sets["reserved"])) is not None:
        yield problem("cpu.reserved", f"CPU {shared} is both isolated and reserved", "keep it in one of the two")
    kept_back = scope.get("hostReserve.vcpu")
    if "reserved" in sets and isinstance(kept_back, int) and (count := cpu_count(sets["reserved"])) < kept_back:
        said = f"{count} CPUs are reserved, fewer than the {kept_back} of hostReserve.vcpu that are not sold"
        yield problem("cpu.reserved", said, severity="warning")
    if scope.get("cpu.mitigations") == "off" and scope.may_be_shared():
        said = "CPU mitigations are off in a pool that more than one tenant may use"
        yield problem("cpu.mitigations", said, "use auto, or singleTenant: true", severity="warning")


def _iommu(scope: Scope) -> Iterator[Problem]:
    if scope.get("iommu") == "off" and scope.class_ == "vps-host" and scope.sharing == "exclusive":
        yield problem("iommu", "whole GPUs cannot be passed to virtual machines with the IOMMU off", "use pt")


def _driver(scope: Scope) -> Iterator[Problem]:
    module, model = scope.get("gpu.driver.kernelModule"), scope.model
    if model is None:
        return
    if is_before_turing(model):
        version = scope.get("gpu.driver.version")
        major = re.match("[0-9]{3}(?=[.])", version) if isinstance(version, str) else None
        if major and int(major[0]) > _LAST_BRANCH_BEFORE_TURING:
            said = f"the last driver branch for {model} is {_LAST_BRANCH_BEFORE_TURING}"
            yield problem("gpu.driver.version", said, f"use a {_LAST_BRANCH_BEFORE_TURING} version")
        if module == "open":
            yield problem("gpu.driver.kernelModule", f"{model} has no open kernel module", "use proprietary")
    if module == "proprietary" and needs_open_module(model):
        yield problem("gpu.driver.kernelModule", f"{model} needs the open kernel module", "use open")


def _modes(scope: Scope) -> Iterator[Problem]:
    if scope.sharing == "timeslice" and scope.get("gpu.computeMode") == "exclusive-process":
        said = "time slicing needs more than one process a GPU"
        yield problem("gpu.computeMode", said, "use default")
    if scope.get("gpu.ecc") is False and scope.may_be_shared():
        said = "ECC is off in a pool that more than one tenant may use"
        yield problem("gpu.ecc", said, "use true, or singleTenant: true", severity="warning")


def _kubernetes(scope: Scope) -> Iterator[Problem]:
    if scope.class_ == "provider":
        said = "no machine joins a provider pool: there is no node to run kubernetes on"
        yield problem("kubernetes", said, "leave it out", severity="warning")
    taints = scope.items("kubernetes.taints")
    words = [f"{key}:{text_of(t, 'effect')}" if (key := text_of(t, "key")) else None for t in taints]
    yield from doubles("kubernetes.taints", "kubernetes.taints", words)


RULES: tuple[tuple[str, Callable[[Scope], Iterator[Problem]]], ...] = (
    ("hugepages", _huge_pages),
    ("kernelModules", _modules),
    ("cpu", _cpu),
    ("iommu", _iommu),
    ("", check_slots),
    ("gpu", check_mig),
    ("gpu", _driver),
    ("gpu", _modes),
    ("kubernetes", _kubernetes),
)
