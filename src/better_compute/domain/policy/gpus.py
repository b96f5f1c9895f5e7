"""Rules on how the GPUs of a pool are split: slots for timeslice and mps, MIG profiles for mig."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from better_compute.domain.families import is_before_turing
from better_compute.domain.policy.fields import FIELDS
from better_compute.domain.policy.mig import (
    LAYOUTS,
    MOST_INSTANCES,
    Layout,
    fits,
    is_whole,
    memory_of,
    nearest,
    nearest_profile,
)
from better_compute.domain.policy.paths import below
from better_compute.domain.policy.scope import Scope, problem
from better_compute.domain.policy.shown import shown
from better_compute.domain.problems import Problem, ask

_MPS_SLOTS, _MPS_SLOTS_BEFORE_TURING = 48, 16


def check_slots(scope: Scope) -> Iterator[Problem]:
    """`policy.gpu.slots`: there in a timeslice or mps pool, absent in any other, and not above what MPS can do."""
    sharing, gpu, slots = scope.sharing, scope.policy.get("gpu", {}), scope.get("gpu.slots")
    if sharing in ("timeslice", "mps"):
        if slots is None and isinstance(gpu, dict) and "slots" not in gpu:
            said = f"a {sharing} pool must say into how many slots each GPU is split"
            yield problem("gpu.slots", said, "add gpu: {slots: 4}")
        limit = _MPS_SLOTS_BEFORE_TURING if scope.model and is_before_turing(scope.model) else _MPS_SLOTS
        if sharing == "mps" and isinstance(slots, int) and limit < slots <= 64:
            whose = scope.model if limit == _MPS_SLOTS_BEFORE_TURING else "a GPU"
            yield problem("gpu.slots", f"MPS splits {whose} into at most {limit} slots, not {slots}", f"use {limit}")
    elif sharing is not None and slots is not None:
        yield problem("gpu.slots", f"GPUs of a pool that is {sharing} are not split into slots", "leave it out")


def check_mig(scope: Scope) -> Iterator[Problem]:
    """`policy.gpu.mig.*`: only in a mig pool, and only what one card of the family can be cut into."""
    strategy, devices = scope.get("gpu.mig.strategy"), scope.get("gpu.mig.devices")
    if scope.sharing not in (None, "mig"):
        if isinstance(strategy, str) and strategy != "none":
            said = f"a pool that is {scope.sharing} has no MIG strategy"
            yield problem("gpu.mig.strategy", said, "use none, or leave it out")
        if devices is not None:
            said = f"GPUs of a pool that is {scope.sharing} are not cut into MIG devices"
            yield problem("gpu.mig.devices", said, "leave it out")
    elif devices == {} and scope.sharing == "mig":
        yield problem("gpu.mig.devices", "no MIG device is named", "name one, such as {3g.40gb: 2}, or leave it out")
    elif isinstance(devices, dict):
        yield from _devices(devices, scope)


def _devices(devices: dict[str, Any], scope: Scope) -> Iterator[Problem]:
    model = scope.model
    counts = {name: count for name, count in devices.items() if type(count) is int and 0 < count <= 7}
    if model is not None and model not in LAYOUTS:
        yield from _uncharted(counts, model)
        return
    for whose, layouts in _cards(model, frozenset() if scope.bounds is None else scope.bounds.cards):
        yield from _on_card(devices, counts, whose, layouts)


def _cards(model: str | None, sizes: frozenset[int]) -> list[tuple[str, tuple[Layout, ...]]]:
    """What one card may be, in words and as layouts of which one must do: of each memory size that is there, or, where
    none is known, of any that the family is sold with."""
    if model is None:
        return [("any GPU", tuple(layout for each in LAYOUTS.values() for layout in each))]
    there = [layout for layout in LAYOUTS[model] if memory_of(layout) in sizes]
    return [(f"{model} of {memory_of(layout)} GB", (layout,)) for layout in there] or [(model, LAYOUTS[model])]


def _on_card(
    devices: dict[str, Any], counts: dict[str, int], whose: str, layouts: tuple[Layout, ...]
) -> Iterator[Problem]:
    known = sorted({name for layout in layouts for name in layout})
    unknown = [name for name in devices if name not in known]
    for name in unknown:
        if not re.fullmatch(FIELDS["gpu.mig.devices"].keys, name):
            continue  # named already as no profile at all
        said = f"{shown(name)} is not a MIG profile of {whose}"
        if len(layouts) < len(LAYOUTS):
            said += f", whose profiles are {', '.join(known)}"
        hint = ask(nearest_profile(name, known))
        yield problem("gpu.mig.devices", said, hint, below("policy.gpu.mig.devices", name))
    if not unknown and (refusal := _refusal(layouts, counts)):
        yield problem("gpu.mig.devices", f"one card of {whose} cannot hold these: {refusal[0]}", refusal[1])


def _uncharted(counts: dict[str, int], model: str) -> Iterator[Problem]:
    """A family whose profiles are not known here, or that has none."""
    most, asked = MOST_INSTANCES.get(model), sum(counts.values())
    if is_whole(model):
        yield problem("gpu.mig.devices", f"{model} cannot be cut into MIG devices", "use another sharing mode")
    elif most is not None and asked > most:
        said = f"one card of {model} is cut into at most {most} instances, not {asked}"
        yield problem("gpu.mig.devices", said, f"use {most} in all")
    else:
        said = f"which profiles {shown(model)} can be cut into is not known here"
        yield problem("gpu.mig.devices", said, severity="unchecked")


def _refusal(layouts: tuple[Layout, ...], devices: dict[str, int]) -> tuple[str, str] | None:
    """Why no layout holds the devices, and what it holds of them; None where one does."""
    whole = [layout for layout in layouts if devices.keys() <= layout.keys()]
    reasons = [fits(layout, devices) for layout in whole]
    if not reasons:
        return "the profiles belong to cards of different memory sizes", ""
    if "" in reasons:
        return None
    near = ", ".join(f"{name}: {count}" for name, count in nearest(whole[0], devices).items())
    return reasons[0], f"for example {{{near}}}"
