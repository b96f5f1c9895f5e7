"""Kinds of single values in fleet files: what each must be, and in which words."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.ids import KEY
from better_compute.domain.offers import PRIORITIES
from better_compute.domain.quotas import RESOURCES
from fleetctl.desired import says, times
from fleetctl.desired.says import Says

MODEL = "^[A-Z0-9]{1,32}$"
"""What a GPU family is called."""

_CHARACTERS = "of A-Z a-z 0-9 . _ : -, beginning with a letter or digit"
_PREFIX = r"^[A-Za-z0-9][A-Za-z0-9._:-]{2,127}$"
_VARIABLE = "^[A-Za-z][A-Za-z0-9_]{0,63}$"
_LIMITS = (0, UNLIMITED)
_PRIORITIES = (PRIORITIES[0], PRIORITIES[-1])
_MOST = 1_000_000
"""The most that a price or a ratio may be: what is reckoned with them stays a number that people can read."""
_LONGEST = 1024
"""The most characters of a line. Not a count in its pattern: to compile one takes longer than to read most fleets."""
_SCALAR = "^[a-z][A-Za-z0-9]{0,63}$"


def known(*words: str) -> Any:
    """Words that a rule allows: for the schema alone."""
    return Field(json_schema_extra={"enum": list(words)})


def text_or_more(value: object) -> str:
    """Which member of a union a value is judged by."""
    return "text" if isinstance(value, str) else "more"


def _number(low: float, high: float, what: str) -> Any:
    return Field(ge=low, le=high, allow_inf_nan=False), Says(what, says.number(low, high))


Line = Annotated[str, Field(pattern=r"^[^\n]+$", max_length=_LONGEST)]
Sentence = Annotated[Line, Says("text of one line", says.text)]
Id = Annotated[str, Field(pattern=f"^{KEY.pattern}$"), Says(f"1 to 128 {_CHARACTERS}", says.key)]
Prefix = Annotated[str, Field(pattern=_PREFIX), Says(f"3 to 128 {_CHARACTERS}", says.text)]
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
    Says(
        f"a whole number from {_PRIORITIES[0]} to {_PRIORITIES[1]}",
        says.whole(*_PRIORITIES, instead="write a number, such as 10; 0 is the default"),
        "offer.priority",
    ),
]
Policy = Annotated[dict[str, Any], Says("a map of policy fields", says.policy)]
Count = Annotated[
    int,
    Field(ge=_LIMITS[0], le=_LIMITS[1]),
    Says(f"a whole number from {_LIMITS[0]} to {_LIMITS[1]}", says.whole(*_LIMITS)),
]
Percent = Annotated[float, *_number(0, 100, "a number from 0 to 100")]
Price = Annotated[float, *_number(0, _MOST, f"a number from 0 to {_MOST}")]
Oversell = Annotated[
    Annotated[float, Field(ge=0, le=_MOST, allow_inf_nan=False)] | None,
    Says(f"a number from 0 to {_MOST}, or null for no limit", says.number(0, _MOST)),
]
Model = Annotated[str, Field(pattern=MODEL), Says("a GPU family such as H100", says.model)]
Time = Annotated[
    str,
    Field(pattern=times.PATTERN),
    AfterValidator(times.checked),
    Says("a time with its offset, such as 2026-12-20T00:00Z", times.hint),
]
Variable = Annotated[
    str,
    Field(pattern=_VARIABLE),
    Says("1 to 64 of A-Z a-z 0-9 _, beginning with a letter", says.text),
]
_Text = Annotated[str, Field(pattern=r"^[^\n]*$", max_length=_LONGEST)]
Values = Annotated[
    list[
        Annotated[
            Annotated[_Text, Tag("text")] | Annotated[int, Tag("more")],
            Discriminator(text_or_more),
            Says("text of one line, or a whole number", says.text),
        ]
    ],
    Field(min_length=1, json_schema_extra={"uniqueItems": True}),
    Says("a list of values, one at least", says.listed),
]
Variables = Annotated[
    dict[Variable, Values],
    Field(min_length=1),
    Says("a map of variables to their values, such as {site: [fra1, ams1]}"),
]
