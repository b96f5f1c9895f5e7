"""Both sides of an operation, by its action, and what takes it back: what a file must hold that is acted on."""

from __future__ import annotations

from typing import Any, Final, Literal, TypedDict

import msgspec

from fleetctl.report.forms import Operation, Outcome

Quota = dict[str, int]
Policy = dict[str, Any] | Literal["(sensitive)"]
"""One that holds a secret in a name is shown as a whole to nobody."""

_Spec = TypedDict(
    "_Spec",
    {"siteId": str, "class": str, "gpuModel": str, "sharing": str, "agent": str, "policy": Policy, "ownerQuota": Quota},
)


class _Pool(_Spec, total=False):
    providerAccountId: str  # noqa: N815 (JSON is camelCase)


class _Terms(TypedDict, total=False):
    gpuModel: str
    policy: Policy


class _Rows(TypedDict):
    quota: Quota


class _Offer(_Rows):
    priority: int
    includeDescendants: bool


class _Archived(TypedDict):
    archived: bool


class _Create(TypedDict):
    before: None
    after: _Pool


class _Update(TypedDict):
    before: _Terms
    after: _Terms


class _Offering(TypedDict):
    before: _Offer | None
    after: _Offer


class _SetQuota(TypedDict):
    before: _Rows
    after: _Rows


class _Unoffer(TypedDict):
    before: _Offer
    after: None


class _Archive(TypedDict):
    before: _Archived
    after: _Archived


_FORMS: Final[dict[str, Any]] = {
    "create": _Create,
    "update": _Update,
    "offer": _Offering,
    "setQuota": _SetQuota,
    "unoffer": _Unoffer,
    "archive": _Archive,
}


class _Restored(TypedDict, total=False):
    gpuModel: str
    policy: dict[str, Any]


_INVERSES: Final[dict[str, Any]] = {
    "update": _Restored,
    "offer": _Offer,
    "setQuota": _Rows,
    "unoffer": None,
    "archive": _Archived,
}
"""What an inverse leaves, by its action."""


def check(operations: list[Operation]) -> None:
    """Raises msgspec.ValidationError, with the path in the plan, where an operation's sides are none of its action."""
    for index, operation in enumerate(operations):
        try:
            sides = msgspec.convert(operation, _FORMS[operation["action"]])
        except msgspec.ValidationError as error:
            raise msgspec.ValidationError(str(error).replace("`$", f"`$.operations[{index}]")) from error
        for side in ("before", "after"):
            if sides[side] != operation[side]:
                raise msgspec.ValidationError(
                    f"it holds what no {operation['action']} does - at `$.operations[{index}].{side}`"
                )


def check_inverse(outcome: Outcome) -> None:
    """Raises msgspec.ValidationError where an operation has no inverse and it is not said why, or one that is none."""
    action, after = outcome["inverse"]["action"], outcome["inverse"]["after"]
    if action is None:
        if not outcome["inverse"]["why"]:
            raise msgspec.ValidationError("an operation has no inverse, and it is not said why")
    elif (
        action not in _INVERSES
        or msgspec.convert(after, _INVERSES[action]) != after
        or (outcome["toTenantId"] is None) != (action in ("update", "archive"))
    ):
        raise msgspec.ValidationError(f"no {action} takes an operation back so")
