"""MIG profiles: what each family can be cut into, by the memory of the card."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from better_compute.domain.families import KNOWN_FAMILIES
from better_compute.domain.words import edits


@dataclass(frozen=True, slots=True)
class Profile:
    """One size of instance: how many of it fit a card, and how many compute and memory slices each takes."""

    most: int
    compute: int
    memory: int


Layout = dict[str, Profile]


def _sevens(small: int, double: int, half: int, whole: int, *aliases: str) -> Layout:
    """A card of 7 compute and 8 memory slices; the numbers are GiB in the profiles' names."""
    layout = {
        f"1g.{small}gb": Profile(7, 1, 1),
        f"1g.{small}gb+me": Profile(1, 1, 1),
        f"1g.{double}gb": Profile(4, 1, 2),
        f"2g.{double}gb": Profile(3, 2, 2),
        f"3g.{half}gb": Profile(2, 3, 4),
        f"4g.{half}gb": Profile(1, 4, 4),
        f"7g.{whole}gb": Profile(1, 7, 8),
    }
    return layout | dict.fromkeys(aliases, layout[f"3g.{half}gb"])


_A100_40 = _sevens(5, 10, 20, 40)
_A100_80 = _sevens(10, 20, 40, 80, "3g.39gb")  # drivers 535 and 545 round this one down
_H100_80 = _sevens(10, 20, 40, 80)
_H100_94 = _sevens(12, 24, 47, 94)
_H100_96 = _sevens(12, 24, 48, 96)
_H200_141 = _sevens(18, 35, 71, 141)
_A30_24 = {
    "1g.6gb": Profile(4, 1, 1),
    "1g.6gb+me": Profile(1, 1, 1),
    "2g.12gb": Profile(2, 2, 2),
    "2g.12gb+me": Profile(1, 2, 2),
    "4g.24gb": Profile(1, 4, 4),
}
_RTXPRO6000_96 = {
    "1g.24gb": Profile(4, 1, 1),
    "1g.24gb+me": Profile(1, 1, 1),
    "1g.24gb+gfx": Profile(4, 1, 1),
    "1g.24gb+me.all": Profile(1, 1, 1),
    "1g.24gb-me": Profile(4, 1, 1),
    "2g.48gb": Profile(2, 2, 2),
    "2g.48gb+gfx": Profile(2, 2, 2),
    "2g.48gb+me.all": Profile(1, 2, 2),
    "2g.48gb-me": Profile(2, 2, 2),
    "4g.96gb": Profile(1, 4, 4),
    "4g.96gb+gfx": Profile(1, 4, 4),
}

# A family has a layout for each memory size it is sold with; which one a pool's cards have, only inventory knows.
LAYOUTS: dict[str, tuple[Layout, ...]] = {
    "A100": (_A100_40, _A100_80),
    "A800": (_A100_40, _H100_80),
    "A30": (_A30_24,),
    "H100": (_sevens(8, 16, 32, 64), _H100_80, _H100_94, _H100_96),
    "H800": (_H100_80, _H100_94),
    "H20": (_H100_96, _H200_141),
    "H200": (_H200_141,),
    "GH200": (_H100_96, _sevens(18, 36, 72, 144)),
    "B200": (_sevens(23, 45, 90, 180),),
    "B300": (_sevens(34, 67, 135, 269),),
    "GB200": (_sevens(23, 47, 93, 186), _sevens(24, 47, 95, 189)),
    "GB300": (_sevens(35, 70, 139, 278),),
    "RTXPRO6000": (_RTXPRO6000_96,),
}


def memory_of(layout: Layout) -> int:
    """The memory of a card, in GiB, as its largest profile names it."""
    return _parts(max(layout, key=lambda name: layout[name].compute))[1]


def is_made(family: str, profile: str, memory: int | None) -> bool:
    """Whether cards of the family make instances of a profile, or compute instances within one (`1c.3g.40gb`): those
    with so much memory in GiB, where it is known and a layout is known for it."""
    part, _, whole = profile.rpartition("c.")
    layouts = LAYOUTS.get(family, ())
    sized = [layout for layout in layouts if memory_of(layout) == memory]
    return any(whole in layout and int(part or 1) in range(1, layout[whole].compute + 1) for layout in sized or layouts)


# Of these only the number of instances is known: their profiles are not documented.
MOST_INSTANCES = {"RTXPRO5000": 2, "RTXPRO4500": 2}
_OTHERS = re.compile(r"A100X|A30X|B100|RTXPRO\d+[A-Z]*")


def is_whole(family: str) -> bool:
    """Whether a known family is surely not one that can be cut."""
    return family in KNOWN_FAMILIES and family not in LAYOUTS and not _OTHERS.fullmatch(family)


def fits(layout: Layout, devices: dict[str, int]) -> str:
    """Why one card of this layout cannot hold the devices; empty where it can. Every profile is of the layout."""
    for name, count in devices.items():
        if count > layout[name].most:
            return f"{count} of {name} where a card holds {layout[name].most}"
    if sum(count for name, count in devices.items() if "+me" in name) > 1:
        return "more than one instance with media engines (+me)"
    for kind in ("compute", "memory"):
        asked = sum(getattr(layout[name], kind) * count for name, count in devices.items())
        limit = max(getattr(profile, kind) for profile in layout.values())
        if asked > limit:
            return f"{asked} {kind} slices where a card has {limit}"
    return ""


def nearest(layout: Layout, devices: dict[str, int]) -> dict[str, int]:
    """As many of the devices, in their order, as one card holds."""
    held: dict[str, int] = {}
    for name, count in devices.items():
        for number in range(1, count + 1):
            if fits(layout, held | {name: number}):
                break
            held[name] = number
    return held


def nearest_profile(name: str, known: Iterable[str]) -> str:
    """The known profile nearest to one: by slices, then by what follows the size, then by letters, then by memory."""
    slices, memory, extra = _parts(name)

    def distance(other: str) -> tuple[int, bool, int, int]:
        its_slices, its_memory, its_extra = _parts(other)
        return abs(slices - its_slices), extra != its_extra, edits(name, other, 3), abs(memory - its_memory)

    return min(known, key=distance)


def _parts(name: str) -> tuple[int, int, str]:
    slices, _, rest = name.partition("g.")
    memory, _, extra = rest.partition("gb")
    return int(slices), int(memory), extra


def most_slices(family: str) -> int:
    """How many compute slices a card of the family has; 7 where its layouts are not known here."""
    layouts = LAYOUTS.get(family, (_H100_80,))
    return max(profile.compute for profile in layouts[0].values())
