"""Rules on what a policy takes of every host, against the smallest host of the pool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import ceil

from better_compute.domain.bounds import HostBounds
from better_compute.domain.families import is_grace
from better_compute.domain.inventory import MIB_PER_GIB, MIB_PER_PAGE
from better_compute.domain.policy.fields import FIELDS
from better_compute.domain.policy.mig import LAYOUTS
from better_compute.domain.policy.scope import Scope, problem
from better_compute.domain.policy.values import Ranges, cpu_ranges, spell_ranges, within
from better_compute.domain.problems import Problem

SETS = ("isolated", "reserved")
_TAKES = ("hostReserve.vcpu", "hostReserve.memoryGiB", *(f"cpu.{name}" for name in SETS), "hugepages")
"""The fields that say how much of a host they take."""


def check_installed(scope: Scope) -> Iterator[Problem]:
    """What the policy takes must leave something of each host. Where hosts are there and not known, that is told once:
    whoever knows them judges."""
    if scope.bounds is None:
        takes = (*_TAKES, "gpu.mig.devices") if len(LAYOUTS.get(scope.model or "", ())) > 1 else _TAKES
        if named := [path for path in takes if scope.get(path) is not None]:
            yield problem(named[0], "what the hosts of the pool have is not known here", severity="unchecked")
        return
    if scope.bounds.vcpu is not None:
        yield from _reserved_cpus(scope, scope.bounds.vcpu)
        yield from _cpu_ids(scope, scope.bounds.vcpu)
    if scope.bounds.memory_mib is not None:
        yield from _memory(scope, scope.bounds, scope.bounds.memory_mib)


def cpu_set(scope: Scope, name: str) -> Ranges | None:
    """The ids of `cpu.isolated` or `cpu.reserved`; None where it is not there, or not as the table wants it."""
    text = scope.get(f"cpu.{name}")
    if not isinstance(text, str) or not re.fullmatch(FIELDS[f"cpu.{name}"].pattern, text):
        return None
    return cpu_ranges(text)


def pages_of(scope: Scope) -> dict[str, int]:
    """What the hosts set aside in MiB, by the field that says so."""
    taken = {}
    for size, each in MIB_PER_PAGE.items():
        whole = scope.get(f"hugepages.{size}")
        taken[f"hugepages.{size}"] = each * whole if _is_count(whole) else 0
    taken["hugepages.numa"] = sum(
        MIB_PER_PAGE[entry["size"]] * entry["count"]
        for entry in scope.items("hugepages.numa")
        if isinstance(entry, dict) and _is_size(entry.get("size")) and _is_count(entry.get("count"))
    )
    return taken


def _is_size(value: object) -> bool:
    return isinstance(value, str) and value in MIB_PER_PAGE


def _is_count(value: object) -> bool:
    return type(value) is int and value > 0


def _reserved_cpus(scope: Scope, vcpu: int) -> Iterator[Problem]:
    kept = scope.get("hostReserve.vcpu")
    if _is_count(kept) and kept >= vcpu:
        said = f"{kept} CPUs kept back leave none of the {vcpu} of the smallest host"
        yield problem("hostReserve.vcpu", said, _at_most(vcpu - 1))


def _cpu_ids(scope: Scope, vcpu: int) -> Iterator[Problem]:
    for name in SETS:
        if (ids := cpu_set(scope, name)) is None:
            continue
        # Only what is isolated must not name siblings.
        stay = ceil(vcpu / 2) if name == "isolated" and _turns_smt_off(scope) else vcpu
        if ids[-1][1] >= vcpu:
            said = f"CPU {ids[-1][1]} is beyond the smallest host, whose CPUs are 0 to {vcpu - 1}"
        elif ids[-1][1] >= stay:
            said = f"CPU {ids[-1][1]} is a sibling that goes with smt off: those that stay are 0 to {stay - 1}"
        else:
            continue
        yield problem(f"cpu.{name}", said, f"use {spell_ranges(within(ids, stay) or [(0, stay - 1)])}")


def _turns_smt_off(scope: Scope) -> bool:
    """Whether the hosts still count siblings, which the policy takes away: where it was off before, they do not any
    more; and Grace CPUs have none."""
    if scope.get("cpu.smt") != "off" or (scope.model is not None and is_grace(scope.model)):
        return False
    before = scope.before.get("cpu")
    return not (isinstance(before, dict) and before.get("smt") == "off")


def _memory(scope: Scope, bounds: HostBounds, installed: int) -> Iterator[Problem]:
    """Huge pages and what is kept back, beside each other. Pages that the policy does not speak of are those that the
    hosts have."""
    kept_gib = scope.get("hostReserve.memoryGiB")
    is_kept = isinstance(kept_gib, int | float) and not isinstance(kept_gib, bool) and kept_gib > 0
    kept = ceil(kept_gib * MIB_PER_GIB) if is_kept else 0
    pages = {field: mib for field, mib in pages_of(scope).items() if mib}
    if scope.get("hugepages") is None and bounds.room_mib is not None:
        installed, what = bounds.room_mib, "beside its huge pages"
    else:
        what = "that are installed"
    if kept and kept >= installed:
        said = f"{kept_gib} GiB kept back leave none of the {_gib(installed)} GiB {what} on the smallest host"
        yield problem("hostReserve.memoryGiB", said, _at_most((installed - 1) // MIB_PER_GIB))
    # With something kept back for the host, something must be left to sell; all of the memory may be pages.
    elif pages and (over := sum(pages.values()) + kept + bool(kept) - installed) > 0:
        field = max(pages, key=lambda name: pages[name])
        taken = f"{_gib(sum(pages.values()))} GiB of huge pages" + (f" and {kept_gib} GiB kept back" if kept else "")
        said = f"{taken} do not fit into the {_gib(installed)} GiB of the smallest host"
        yield problem(field, said, _fewer(field, max(0, pages[field] - over)))


def _fewer(field: str, mib: int) -> str:
    each = MIB_PER_PAGE.get(field.rpartition(".")[2])
    return _at_most(mib // each) if each else f"use {_gib(mib)} GiB in all"


def _gib(mib: int) -> str:
    return f"{mib / MIB_PER_GIB:.10g}"


def _at_most(most: int) -> str:
    return f"use {most}" if most > 0 else "leave it out"
