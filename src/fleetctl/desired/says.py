"""What fleet files say of a value that has the wrong shape: what it must be, and the nearest value that is right."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.families import nearest_family
from better_compute.domain.ids import is_key
from better_compute.domain.problems import ask, nearest

_FLAGS = {"true": "true", "yes": "true", "on": "true", "1": "true"}
_FLAGS |= {"false": "false", "no": "false", "off": "false", "0": "false"}
_UNLIMITED = frozenset({"unlimited", "infinite", "infinity", "inf", "max", "all"})
_ALIASES = {"key": ("idempotencyKey", "pool"), "name": ("idempotencyKey", "fleet")}
"""What people write in the place of a field whose name does not look like it."""
_NUMBER = re.compile(r"(-?[0-9]{1,9}(?:\.[0-9]{1,6})?) ?%?")
_GROUPED = re.compile(r"[0-9]{1,9}(?:_[0-9]{1,9}){1,3}|[0-9]{1,3}(?: [0-9]{3}){1,3}")
_SIZE = re.compile(r"([0-9]{1,9}) ?(Mi|Gi|Ti)B?")
_UNIT = re.compile(r"([1-9][0-9]{0,8}|0) ?(?:[MGT]i?B?|GPUs?|x)", re.IGNORECASE)
_HOST = re.compile(
    r"(?P<host>localhost|[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)(?P<port>:[0-9]{1,5})?(?:/[A-Za-z0-9._~%/-]*)?"
)


def _none(_: object) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Says:
    """`must` completes "it must be …"; `hint` makes advice of the value that was found; `rule` is the rule's name."""

    must: str
    hint: Callable[[object], str] = _none
    rule: str = "fleet.type"

    def message(self, value: object) -> str:
        found = describe(value)
        return f"it must be {self.must}, not {found}" if found else f"it must be {self.must}"


def describe(value: object) -> str:
    """A value in words, with nothing of a text: it may be a secret in the wrong place."""
    match value:
        case str():
            return "" if value else "empty"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value) if -1e24 < value < 1e24 else "this number"
        case None:
            return "null"
        case list():
            return "a list" if value else "an empty list"
    return "a map" if value else "an empty map"


def word(*words: str) -> Callable[[object], str]:
    """The nearest of a few words."""
    return lambda value: near(value, words) if isinstance(value, str) else ""


def whole(low: int, high: int, too_high: str = "", instead: str = "") -> Callable[[object], str]:
    """The nearest whole number; for one above `high` what `too_high` says, for a word what `instead` does."""

    def hint(value: object) -> str:
        match value:
            case bool():
                return ""
            case str() if re.fullmatch(r"-?[0-9]{1,20}", plain := _ungrouped(value)):
                return f"write {min(max(int(plain), low), high)}" + (", without quotes" if plain == value else "")
            case str() if high == UNLIMITED and value.lower() in _UNLIMITED:
                return f"write {high}, which reads as unlimited"
            case str():
                return instead
            case int() if value > high and too_high:
                return too_high
            case int() if value < 0 <= low:
                return f"the least is {low}" + (f", and {high} is unlimited" if high == UNLIMITED else "")
            case float() if low <= value <= high and not value.is_integer():
                return f"write {math.floor(value)} or {math.ceil(value)}"
            case int() | float() if math.isfinite(min(max(value, low), high)):
                return f"write {round(min(max(value, low), high))}"
        return ""

    return hint


def number(low: float, high: float) -> Callable[[object], str]:
    """The nearest number."""

    def hint(value: object) -> str:
        if isinstance(value, str) and (found := _NUMBER.fullmatch(plain := _ungrouped(value))):
            more = ", without quotes or a unit" if plain == value else ""
            return f"write {min(max(float(found[1]), low), high):.15g}{more}"
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            return f"write {min(max(value, low), high):.15g}"
        return ""

    return hint


def _ungrouped(value: str) -> str:
    """`1_000` and `1 000` as digits alone, any other text as it is."""
    return re.sub("[_ ]", "", value) if _GROUPED.fullmatch(value) else value


def listed(value: object) -> str:
    """A value alone stands in a list of one."""
    if isinstance(value, list):
        return "leave the entry out if it is meant for none"
    return "put it in brackets: [fra1]" if isinstance(value, str | int) else ""


def policy(value: object) -> str:
    """A name in the place of a policy is meant for another field."""
    if isinstance(value, str) and value:
        return "the name of one of the policies stands in policyRef"
    return "write {} for no field" if value is None else ""


def model(value: object) -> str:
    """A GPU family that reads like what was found."""
    if is_address(value):
        return ""
    made = nearest_family(value) or re.sub(r"[^A-Z0-9]+", "", value.upper()) if isinstance(value, str) else ""
    return f"write {made}" if 0 < len(made) <= 32 else text(value)


def flag(value: object) -> str:
    """What a word that YAML 1.1 took for a flag meant."""
    meant = _FLAGS.get(str(value).lower()) if isinstance(value, str) or value in (0, 1) else None
    return f"write {meant}" if meant else ""


def text(value: object) -> str:
    """A number or a flag in quotes is text."""
    return f'in quotes it is text: "{describe(value)}"' if isinstance(value, int) else ""


def sized(name: str, value: object) -> str:
    """`64Gi` as a field that counts GiB takes it, where that is a whole number; without its unit for one that counts
    GPUs or processors."""
    if not isinstance(value, str):
        return ""
    if name.startswith("gpu") or name == "vcpu":
        found = _UNIT.fullmatch(value)
        return f"write {found[1]}: it counts, and has no unit" if found else ""
    size = _SIZE.fullmatch(value) if name.endswith("GiB") else None
    if size is None:
        return ""
    mebibytes = int(size[1]) * {"Mi": 1, "Gi": 1024, "Ti": 1024**2}[size[2]]
    whole, rest = divmod(mebibytes, 1024)
    return "" if rest else f"a whole number of GiB: {whole}"


def url(value: object) -> str:
    """What reads like a host is the URL of one. A word alone may be anything, a secret too, and is not repeated."""
    found = _HOST.fullmatch(value) if isinstance(value, str) else None
    if found is None or not (found["port"] or found["host"] == "localhost"):
        return text(value)
    near = found["host"] == "localhost" or re.fullmatch(r"127(?:\.[0-9]{1,3}){3}", found["host"])
    return f'did you mean "{"http" if near else "https"}://{value}"?'


def is_address(value: object) -> bool:
    """Whether a value may be a URL, whose user part is a secret in whatever spelling: nothing is made of it."""
    return isinstance(value, str) and ("//" in value or "@" in value)


def key(value: object) -> str:
    """A key or id that reads like the one that was found."""
    if not isinstance(value, str):
        return text(value)
    if is_address(value):
        return ""
    if "${" in value:
        return "a variable is filled in where the entry has forEach"
    plain = "".join(c for c in unicodedata.normalize("NFKD", value[:256]) if not unicodedata.combining(c))
    made = re.sub(r"[^A-Za-z0-9._:-]+", "-", plain).strip("-_.:")[:128]
    return f"write {made}" if is_key(made) else ""


@lru_cache(maxsize=256)
def meant(name: str, known: tuple[str, ...]) -> str:
    """The known name that `name` may stand for, where it is no longer than names are; else an empty text."""
    if alias := next((each for each in _ALIASES.get(name, ()) if each in known), ""):
        return alias
    return nearest(name, known) if len(name) < 100 else ""


def near(name: str, known: tuple[str, ...]) -> str:
    """`did you mean "x"?` for what is meant."""
    return ask(meant(name, known))
