"""What a test expects against the plan that was made: whatever is missing, other than said, or not expected."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from better_compute.domain.policy import SENSITIVE, mask
from better_compute.domain.values import Json, same_value
from fleetctl.errors import EXIT_CHANGES, EXIT_OK
from fleetctl.fleet_tests.assignment import assigned
from fleetctl.fleet_tests.cases import Case, Expected
from fleetctl.words import count

_PROSE = frozenset({"message", "hint", "sentence", "effects", "why"})
"""Fields of sentences: a part of one is enough."""
_NAMES = ("key", "poolId", "toTenantId", "rule", "path")
"""Fields that tell operations and findings apart best."""
_SIDES = ("before", "after")
"""Values of a change, which stand where its path says."""
_SHOWN = 10
"""Of what is missing, and of what is there besides; more are counted."""
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Made:
    """A plan as its report has it; of files that cannot be read, what is wrong with them."""

    exit_code: int
    operations: Sequence[Mapping[str, Any]]
    findings: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One way in which a plan is not as expected; `path` leads to what the test says of it."""

    message: str
    path: tuple[str | int, ...] = ("expect",)


def mismatches(case: Case, made: Made) -> list[Mismatch]:
    """Everything in which the plan is not as the test expects."""
    return [
        *_of_code(case, made),
        *_of_list("operations", case.operations, made.operations, case.others, _operation),
        *_of_list("findings", case.findings, made.findings, case.others, _finding),
    ]


def _of_code(case: Case, made: Made) -> Iterator[Mismatch]:
    changes = made.exit_code == EXIT_OK and bool(made.operations)
    if case.exit_code in (made.exit_code, EXIT_CHANGES if changes else made.exit_code):
        return
    why = [_finding(finding) for finding in made.findings if finding["severity"] == "error"]
    because = f": {'; '.join(why[:_SHOWN])}" if why else ""
    path = ("expect", "exitCode")
    yield Mismatch(f"the exit code is {made.exit_code}, and {case.exit_code} is expected{because}", path)


def _of_list(
    name: str,
    expected: Sequence[Expected] | None,
    found: Sequence[Mapping[str, Any]],
    others: bool,
    told: Callable[[Mapping[str, Any]], str],
) -> Iterator[Mismatch]:
    """Each expected one must be one of those found, a different one each."""
    if expected is None:
        return
    taken = assigned(_candidates(expected, found))
    used = set(taken.values())
    left = [one for index, one in enumerate(found) if index not in used]
    missing = [index for index in range(len(expected)) if index not in taken]
    for index in missing[:_SHOWN]:
        yield Mismatch(_missing(name, expected[index], left, told), ("expect", name, index))
    if len(missing) > _SHOWN:
        yield Mismatch(f"missing: {_more(missing, name)}", ("expect", name, missing[_SHOWN]))
    rest = [one for one in left if one.get("severity") != "unchecked"] if not others else []
    for one in rest[:_SHOWN]:
        yield Mismatch(f"not expected: {told(one)}", ("expect", name))
    if len(rest) > _SHOWN:
        yield Mismatch(f"not expected: {_more(rest, name)}", ("expect", name))


def _more(them: Sequence[object], name: str) -> str:
    """`20 other operations`."""
    return count(len(them) - _SHOWN, f"other {name.removesuffix('s')}")


def _missing(
    name: str, wanted: Expected, left: Sequence[Mapping[str, Any]], told: Callable[[Mapping[str, Any]], str]
) -> str:
    """What is not there, and in what the nearest of those that are differs."""
    message = f"no {name.removesuffix('s')} is {_spelled(wanted)}{_unlike(wanted)}"
    near = [
        (len(differences), index) for index, one in enumerate(left) if (differences := [*_differences(wanted, one)])
    ]
    fewest, index = min(near, default=(0, 0))
    if not near or fewest >= sum(1 for _ in _leaves(wanted)):
        return message
    differs = "; ".join([*_differences(wanted, left[index])][:_SHOWN])
    return f"{message}; the nearest is {told(left[index])}: {differs}"


def _unlike(wanted: Expected) -> str:
    """What to write instead of a sensitive value: a plan has none that it could be held against."""
    if _spelled(wanted).count(SENSITIVE) <= json.dumps(wanted).count(SENSITIVE):
        return ""
    return f" (sensitive values cannot be compared: write {SENSITIVE}, as plans do)"


def _candidates(expected: Sequence[Expected], found: Sequence[Any]) -> list[list[int]]:
    """Those that match, by number; looked for among those of the same name alone where a name is said."""
    named: dict[tuple[str, Any], list[int]] = defaultdict(list)
    for index, one in enumerate(found):
        for name in _NAMES:
            if isinstance(one, Mapping) and isinstance(one.get(name), str):
                named[name, one[name]].append(index)
    everything = range(len(found))
    result = []
    for wanted in expected:
        keys = [(n, wanted[n]) for n in _NAMES if isinstance(wanted, Mapping) and isinstance(wanted.get(n), str)]
        among: Sequence[int] = min((named.get(key, []) for key in keys), key=len) if keys else everything
        result.append([index for index in among if _fits(wanted, found[index])])
    return result


def _differences(wanted: Json, found: Json, path: str = "", prose: bool = False) -> Iterator[str]:
    """In what a value is not as a test says: nothing where it is, or is more."""
    at = path or "it"
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for name, inner in wanted.items():
            below = f"{path}.{name}" if path else name
            if name not in found:
                yield f"{below} is not there, and {_spelled(inner, below)} is expected"
            else:
                yield from _differences(inner, found[name], below, name in _PROSE)
    elif isinstance(wanted, list) and isinstance(found, list):
        taken = assigned([[i for i, it in enumerate(found) if _fits(one, it, prose)] for one in wanted])
        yield from (f"{at} has no {_spelled(one, path)}" for index, one in enumerate(wanted) if index not in taken)
        if not wanted and found:
            yield f"{at} is {_spelled(found)}, and [] is expected"
    elif not ((prose and _is_part(wanted, found)) or same_value(wanted, found)):
        yield f"{at} is {_spelled(found, path)}, and {_spelled(wanted, path)} is expected"


def _fits(wanted: Json, found: Json, prose: bool = False) -> bool:
    return next(_differences(wanted, found, "", prose), None) is None


def _is_part(wanted: Json, found: Json) -> bool:
    return isinstance(wanted, str) and isinstance(found, str) and bool(wanted) and wanted in found


def _leaves(value: Json) -> Iterator[Json]:
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from _leaves(inner)
    else:
        yield value


def _operation(operation: Mapping[str, Any]) -> str:
    """`offer fra1-a to acme (quota.gpu 8 -> 4)`."""
    to = f" to {operation['toTenantId']}" if operation["toTenantId"] is not None else ""
    changes = ", ".join(
        f"{change['path']} {_spelled(change.get('before', '-'))} -> {_spelled(change.get('after', '-'))}"
        for change in operation["changes"][:3]
    )
    return f"{operation['action']} {operation['key'] or operation['poolId']}{to}" + (f" ({changes})" if changes else "")


def _finding(finding: Mapping[str, Any]) -> str:
    return f"{finding['severity']} {finding['rule']}: {finding['message']}"


def _spelled(value: Json, path: str = "") -> str:
    """A value, which stands at `path`, as files would say it; without what no output may show."""
    value = mask(value, path.rpartition(".")[2])
    if isinstance(value, Mapping):
        # A change says by its path what its values are.
        place = value["path"] if isinstance(value.get("path"), str) else ""
        parts = (f"{name}: {_spelled(inner, place if name in _SIDES else '')}" for name, inner in value.items())
        text = f"{{{', '.join(parts)}}}"
    elif isinstance(value, list):
        text = f"[{', '.join(map(_spelled, value))}]"
    else:
        text = value if isinstance(value, str) and _is_plain(value) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_plain(text: str) -> bool:
    """Whether a text needs no quotes: without them it is neither nothing nor a number or a flag."""
    try:
        json.loads(text[: _LONGEST + 1])
    except (ValueError, RecursionError):
        return bool(text)
    return False
