"""GPU families: the model a machine counts as, derived by rule from the name that NVML reports (`pool.model`)."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from better_compute.domain.problems import INVALID_INPUT, Problem
from better_compute.domain.words import edits

# Numbers of data-centre parts. A letter glued to one makes another model (L40 and L40S), a separate word a variant.
_DATA_CENTRE = (
    "A2|A10|A16|A30|A40|A100|A800|B100|B200|B300|GB10|GB200|GB300|GH200|H20|H100|H200|H800|L2|L4|L20|L40"
    "|T4|T10|T400|T500|T550|T600|T1000|T1200|T2000|V100|P4|P6|P40|P100|M4|M6|M10|M40|M60|K8|K10|K20|K40|K80"
)
_GRID_BOARD = "K1|K2|K340|K520"

# Words beside the model that do not make another family: form factor, link, memory, edition.
_VARIANT = (
    r"\d+GB?|HBM\d+e?|3e|SXM\d?|PCI[Ee]|NVL\d*|NVLINK|DGXS|FHHL|LS|AC|PG\d{3}|Active|OEM|SHARED|DC|SFF|Blackwell"
    r"|(?:(?:SFF|Server|Workstation|Max Q Workstation|JHH Special|CEO|COLLECTORS) (?:Edition|EDITION))"
)
_TAIL = rf"(?: (?:{_VARIANT}))*"
# Laptop and embedded parts share the desktop name as a prefix and are never the same family.
_SMALL = r"(?P<small> (?:Laptop|Embedded) GPU| with Max Q Design)?"

# One line each: how a brand spells its models. The named groups m1..m4, glued, are the family.
_LINES = (
    rf"(?:Tesla )?(?P<m1>(?:{_DATA_CENTRE})[A-Z]?){_TAIL}{_SMALL}",
    r"Tesla (?P<m1>K\d0X?)[a-z]",  # K20m, K20Xm, K40t: the lower-case tail is the cooling
    rf"GRID (?P<m1>{_GRID_BOARD})",
    rf"GeForce (?P<m1>RTX|GTX|GT) (?P<m2>\d{{3,4}}[A-Z]?)(?P<m3>(?: (?:Ti|SUPER|Super|D|v\d))*){_TAIL}{_SMALL}",
    rf"Quadro (?P<m2>GP100|GV100|[KMPT]\d{{3,4}}[A-Z]?){_TAIL}{_SMALL}",
    rf"(?P<m1>Quadro RTX) (?P<m2>\d{{4}}){_TAIL}{_SMALL}",
    rf"(?P<m1>RTX) ?(?P<m2>A\d{{3,4}}[A-Z]?|\d{{4}}[A-Z]){_TAIL}{_SMALL}",
    rf"(?P<m1>RTX) ?(?P<m2>\d{{3,4}})(?: SFF)?(?P<m3> Ada)(?: Generation)?{_TAIL}{_SMALL}",
    rf"(?P<m1>RTX (?:PRO|Pro)) (?P<m2>\d{{3,4}}[A-Z]?){_TAIL}{_SMALL}",
    rf"(?P<m1>TITAN) (?P<m2>V|Xp|RTX|X \(Pascal\)){_TAIL}",
    r"(?P<m1>CMP) (?P<m2>\d{2,3}HX)",
)
# A guest sees a vGPU: letters after a data-centre number name the board (A100DX, H100XM), not the model.
_VGPU_LINE = rf"(?:Tesla |GRID |(?:GRID |GeForce )RTX )?(?P<m1>(?:{_DATA_CENTRE})[A-Z]??)(?:D?X[LMS]?|[CDLx])?"
_VGPU_TAIL = r"-(?:\d-)?[12]?\d{1,2}(?:A|B4?|C|CME|Q)?"
_MIG_PROFILE = r"(?:(?P<c>\d+)c\.)?(?P<g>\d+)g\.(?P<gib>\d+)gb(?:[+-][a-z.]+)?"
_MIG_TAIL = rf"[ -]MIG[ -](?P<profile>{_MIG_PROFILE})"

# Families seen in the field beside those; `pool.model` warns about a name outside of the table.
_MORE_FAMILIES = (
    "A10G A10M A100X GP100 GV100 K20X L40G L40S T4G T400E V100S "
    "RTXA400 RTXA1000 RTXA2000 RTXA4000 RTXA4000H RTXA4500 RTXA5000 RTXA5500 RTXA6000 RTX6000D "
    "RTX2000ADA RTX4000ADA RTX4500ADA RTX5000ADA RTX5880ADA RTX6000ADA "
    "RTXPRO2000 RTXPRO4000 RTXPRO4500 RTXPRO5000 RTXPRO5000EMBEDDED RTXPRO6000 "
    "QUADRORTX4000 QUADRORTX5000 QUADRORTX5000LAPTOP QUADRORTX6000 QUADRORTX8000 M6000 P2000 P4000 P5000 P6000 "
    "RTX2050 RTX2060 RTX2060SUPER RTX2070 RTX2070SUPER RTX2080 RTX2080SUPER RTX2080TI "
    "RTX3050 RTX3060 RTX3060TI RTX3070 RTX3070TI RTX3080 RTX3080TI RTX3090 RTX3090TI "
    "RTX4060 RTX4060TI RTX4070 RTX4070SUPER RTX4070TI RTX4070TISUPER RTX4080 RTX4080SUPER "
    "RTX4090 RTX4090D RTX4090LAPTOP "
    "RTX5050 RTX5060 RTX5060TI RTX5070 RTX5070TI RTX5080 RTX5090 RTX5090D RTX5090DV2 "
    "GTX1050TI GTX1060 GTX1070 GTX1070TI GTX1080 GTX1080TI GTX1650 GTX1660 GTX1660SUPER GTX1660TI "
    "TITANRTX TITANV TITANXP TITANXPASCAL CMP30HX CMP40HX CMP50HX CMP90HX CMP170HX "
)
KNOWN_FAMILIES = frozenset(f"{_DATA_CENTRE}|{_GRID_BOARD}".split("|")) | frozenset(_MORE_FAMILIES.split())

# Kepler to Volta: no open kernel module, no driver branch after 580, 16 MPS clients.
_BEFORE_TURING = r"[KMP]\d+[A-Z]?|V100S?|G[PV]100|TITANV|TITANXP|TITANXPASCAL|GTX10\d\d(?:TI)?"
# Blackwell and Grace: the open kernel module only.
_OPEN_ONLY = r"G?B\d+[A-Z]?|GH\d+[A-Z]?|RTXPRO\d+[A-Z]*|RTX50[5-9]\d[A-Z0-9]*"
# Grace: an Arm host. Its CPUs have no siblings.
_GRACE = r"G[BH]\d+[A-Z]?"
# The oldest driver branch of a generation, for those that 450 is too old for: Ada and Hopper, Blackwell, its refresh.
_OLDEST_BRANCH = {
    r"L\d+[A-Z]?|RTX40\d\d[A-Z0-9]*|RTX\d+ADA|G?H\d+[A-Z]?": 520,
    r"G?B[12]00|RTXPRO\d+[A-Z]*|RTX50[5-9]\d[A-Z0-9]*": 570,
    r"G?B300|GB10": 575,
}
_LONGEST_NAME = 128
_ALIKE = str.maketrans("OILSB", "01158")
_PATTERN = re.compile(r"[A-Z0-9]{1,32}")


@lru_cache(maxsize=2)
def _lines(flags: int) -> tuple[re.Pattern[str], ...]:
    """Compiled at the first name, not at import: most commands never read one."""
    return tuple(re.compile(line, flags) for line in (_VGPU_LINE, *_LINES))


def family_of(nvml_name: str) -> str | None:
    """The family of the GPU that NVML calls `nvml_name`: `H100` for `NVIDIA H100 80GB HBM3`.

    Every word of the name must be understood; where one is not, the answer is None and the machine is quarantined:
    a guess would bill and authorize wrongly. Node labels (dashes or underscores for spaces), MIG devices and vGPU
    types give the family of the card behind them.
    """
    return _derive(nvml_name)


class Instance(NamedTuple):
    """A MIG instance as its profile spells it: how many compute slices it takes, and its memory in GiB. A compute
    instance within one (`1c.3g.40gb`) takes its own."""

    profile: str
    slices: int
    vram_gib: int


def instance_of(profile: str) -> Instance | None:
    """The instance that a profile such as `3g.40gb` spells; None where it spells none."""
    found = re.fullmatch(_MIG_PROFILE, profile)
    return None if found is None else _instance(profile, found)


def cut(nvml_name: str) -> tuple[str, Instance | None]:
    """The card that a name tells of, and the MIG instance of it where its tail names one (`… MIG 3g.40gb`)."""
    found = re.search(rf"{_MIG_TAIL}\Z", nvml_name) if "MIG" in nvml_name else None
    return (nvml_name, None) if found is None else (nvml_name[: found.start()], _instance(found["profile"], found))


def _instance(profile: str, found: re.Match[str]) -> Instance:
    return Instance(profile, int(found["c"] or found["g"]), int(found["gib"]))


def _derive(name: str, flags: int = 0) -> str | None:
    if len(name) > _LONGEST_NAME or not name.isascii():
        return None
    whole = re.sub(rf"{_MIG_TAIL}\Z", "", name, flags=flags)
    card = re.sub(rf"{_VGPU_TAIL}\Z", "", whole, flags=flags)
    vgpu, *physical = _lines(flags)
    if card != whole and (found := vgpu.fullmatch(_spaced(card, flags))):
        return _glue(found)
    for text in (whole, card):
        for line in physical:
            if found := line.fullmatch(_spaced(text, flags)):
                return _glue(found)
    return None


def _spaced(name: str, flags: int) -> str:
    """One blank between words, without the vendor in front: tools double it, and test mocks precede it."""
    return re.sub(r"\A(?:Mock )?(?:NVIDIA )*", "", re.sub("[-_ ]+", " ", name), flags=flags)


def _glue(found: re.Match[str]) -> str:
    groups = found.groupdict()
    small = groups.pop("small", None) or ""
    suffix = "EMBEDDED" if "embedded" in small.lower() else "LAPTOP" if small else ""
    return re.sub(r"[^A-Z0-9]", "", "".join(part or "" for part in groups.values()).upper()) + suffix


def is_before_turing(family: str) -> bool:
    """Whether the family is of the generations that end with Volta (compute capability below 7.5)."""
    return re.fullmatch(_BEFORE_TURING, family) is not None


def needs_open_module(family: str) -> bool:
    """Whether only the open kernel module drives the family."""
    return re.fullmatch(_OPEN_ONLY, family) is not None


def is_grace(family: str) -> bool:
    """Whether the family's hosts are Arm ones of Grace."""
    return re.fullmatch(_GRACE, family) is not None


def oldest_branch(family: str) -> int | None:
    """The driver branch before which the family is not known; None where every branch of today knows it."""
    return next((branch for names, branch in _OLDEST_BRANCH.items() if re.fullmatch(names, family)), None)


def nearest_family(word: str) -> str | None:
    """The family a person most likely meant by `word`; None where nothing is near, as for an architecture's name."""
    if len(word) > _LONGEST_NAME:
        return None
    if (bare := _bare(word)) not in KNOWN_FAMILIES and (alike := _alike().get(bare.translate(_ALIKE))):
        return alike
    if not any(c.isdigit() for c in word):
        return None
    derived = family_of(word) or _derive(word, re.IGNORECASE)
    if derived in KNOWN_FAMILIES:
        return derived
    for candidate in (bare, f"RTX{bare}"):
        if candidate in KNOWN_FAMILIES:
            return candidate
    reach = 1 if len(bare) < 5 else 2
    near = ((edits(bare, known, reach), abs(len(bare) - len(known)), known) for known in KNOWN_FAMILIES)
    steps, _, best = min(near)
    return best if steps <= reach else derived


def _bare(word: str) -> str:
    return re.sub(r"[^A-Z0-9]|NVIDIA|GEFORCE|TESLA", "", word.upper())


@cache
def _alike() -> dict[str, str]:
    """Families by how they look where letters and digits do alike."""
    return {family.translate(_ALIKE): family for family in sorted(KNOWN_FAMILIES)}


def is_family_name(model: str) -> bool:
    """Whether a name is spelled as families are, known or not."""
    return _PATTERN.fullmatch(model) is not None


def check_model(model: str) -> list[Problem]:
    """What is wrong with a pool's gpuModel (`pool.model`); a well-formed name outside the table is only a warning."""
    if not is_family_name(model):
        near = nearest_family(model)
        said = "gpuModel must be one GPU family: 1 to 32 capital letters and digits, such as H100, L40S or RTX6000ADA"
        return [Problem(INVALID_INPUT, "pool.model", said, "gpuModel", f"use {near}" if near else "")]
    return [] if model in KNOWN_FAMILIES else [_unknown(model)]


@lru_cache(maxsize=256)
def _unknown(model: str) -> Problem:
    """The warning about a name outside the table. Remembered: to look for its like takes longer than all other rules of
    a create, and a fleet has few such names."""
    near = nearest_family(model)
    said = f"{model} is not a GPU family known here; no machine will match it unless inventory derives that very name"
    hint = f'did you mean "{near}"?' if near and near != model else ""
    return Problem(INVALID_INPUT, "pool.model", said, "gpuModel", hint, "warning")
