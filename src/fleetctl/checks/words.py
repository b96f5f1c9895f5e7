"""What the engine says of an expression, in this project's words: where it is wrong, and why it came to nothing.

Values that an expression saw are never repeated: they may be secrets.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from better_compute.domain.policy.fields import FIELDS
from better_compute.domain.problems import did_you_mean
from better_compute.domain.quotas import RESOURCES
from fleetctl.checks import apart
from fleetctl.checks.engine import LOOPS, MEMORY, STEPS, Failure, Mistake
from fleetctl.desired import Check
from fleetctl.desired.variables import LISTS, VARIABLES, Kind

_FUNCTIONS = (
    *(*LOOPS, "has", "size", "type", "dyn"),
    *("contains", "endsWith", "matches", "startsWith"),
    *("bool", "bytes", "double", "duration", "int", "string", "timestamp", "uint"),
    *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getHours", "getMilliseconds"),
    *("getMinutes", "getMonth", "getSeconds"),
)
_OPERATORS = {"=": "==", "and": "&&", "or": "||", "&": "&&", "|": "||", "not": "!", "is": "=="}
"""What people write from other languages."""
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_OVERLOAD = re.compile(r"found no matching overload for '([^']*)' applied to '([^']*)'")
_TOKEN = re.compile(r"'([^']*)'")
_HALF = re.compile(r"'([&|=])(?:\\[nrt]|[^'])'")
"""The half of an operator, and the character behind it."""
_EXPECTED = re.compile(r" expecting \{.*")
_END = re.compile(r"(?:(missing .*) at|mismatched input) '<EOF>'.*")
_NO_KEY = re.compile(r'NOT_FOUND: Key not found in map : "(.*)"')
_TYPES = re.compile(r"UNKNOWN: No matching overloads found : (\S+?)(\([\w, <>.]*\))?")
_KNOWN_FAILURES = {
    "INTERNAL: Iteration budget exceeded [INTERNAL]": f"it takes more than {STEPS:,} steps",
    MEMORY: f"it takes more than {apart.MEMORY // 1024**3} GiB of memory",
    "INVALID_ARGUMENT: Applying SELECT to non-message type": "it asks for a field of something that has none",
    "INVALID_ARGUMENT: divide by zero": "it divides by zero",
    "INVALID_ARGUMENT: modulus by zero": "it divides by zero",
    "OUT_OF_RANGE: integer overflow": "a number is too large",
}


@dataclass(frozen=True, slots=True)
class Said:
    """A message with its hint; `column` is where it points to in the expression's line."""

    message: str
    hint: str = ""
    column: int = 1


ENDED = Said(
    f"all checks may take {apart.SECONDS} seconds and {apart.MEMORY // 1024**3} GiB together, and took more with this",
    "no other check is judged: ask for fewer steps, shorter texts, or a simpler pattern",
)
"""Of the check that was judged when the checks came to their end."""


def of_mistake(mistake: Mistake, check: Check) -> Said:
    """What is wrong with the expression of a check before it runs."""
    lines = check.expr.split("\n")
    line = lines[mistake.line - 1] if mistake.line <= len(lines) else ""
    if found := _UNDECLARED.match(mistake.message):
        return _undeclared(found[1], line, mistake.column, check)
    if "recursion limit" in mistake.message or "recursion depth" in mistake.message:
        return Said("it is nested too deeply", "split it into several checks")
    if found := _OVERLOAD.match(mistake.message):
        return Said(f"{found[1].strip('_')} does not take {found[2]}", column=mistake.column)
    if mistake.message.endswith("cannot be the operand of a select operation"):
        return Said("it asks for a field of something that has none", "of a list: pools.all(p, …)", mistake.column)
    if not mistake.message.startswith("Syntax error"):
        return Said(mistake.message, column=mistake.column)
    return _unreadable(mistake.message.removeprefix("Syntax error: "), line, mistake.column)


def of_kind(kind: str) -> Said:
    """Of an expression that yields something else than true or false."""
    return Said(f"it comes to a value of type {kind.lower()}, not to true or false", "compare it with something")


def of_failure(failure: Failure, check: Check) -> Said:
    """Why a check came to no result."""
    if known := _KNOWN_FAILURES.get(failure.message):
        hint = "with `each` it sees one object at a time" if "steps" in known and check.each is None else ""
        return Said(known, hint)
    if found := _NO_KEY.fullmatch(failure.message):
        return no_field(found[1], check)
    if found := _TYPES.fullmatch(failure.message):
        types = f": {found[1].strip('_')}{found[2]}" if found[2] else ""
        return Said(f"an operator or function does not take what it is given{types}")
    if failure.message.startswith("UNKNOWN: Index error"):
        return Said("it asks for an item that a list has not", "ask for its size() first")
    return Said("a function cannot work with what it is given")


def _unreadable(message: str, line: str, column: int) -> Said:
    message, what = _HALF.sub(r"'\1'", _EXPECTED.sub("", message)), "it is no CEL from here on"
    if found := _END.fullmatch(message):
        message, what = found[1] or "something is missing", "it ends too early"
    words = [token.strip() for token in _TOKEN.findall(message)] + line[: column - 1].split()[-1:]
    meant = next((_OPERATORS[word] for word in words if word in _OPERATORS), "")
    return Said(f"{what}: {message}", f"write {meant}" if meant else "", column)


def _undeclared(name: str, line: str, column: int, check: Check) -> Said:
    """Names of functions are found at the parenthesis, those with dots at the last of them."""
    if line[column - 1 : column] == "(":
        column -= len(name)
        if name in _FUNCTIONS:
            return Said(f"{name} does not take these arguments", column=column)
        near = did_you_mean(name, _FUNCTIONS)
        return Said(f"there is no function {name}", near or f"there are {', '.join(_FUNCTIONS)}", column)
    if "." in name and line[column - 1 : column] == ".":
        column -= name.rindex(".")
    first, known = name.partition(".")[0], tuple(LISTS) if check.each is None else (check.each,)
    return Said(f"there is no variable {first}", _nearest_variable(first, known, check), max(column, 1))


def _nearest_variable(name: str, known: Collection[str], check: Check) -> str:
    if check.each is None and name in VARIABLES:
        return f"write `each: {name}`, or ask for all of {', '.join(known)}"
    if check.each is not None and name in {*LISTS, *VARIABLES}:
        return f"with `each: {check.each}` it sees {check.each} alone"
    near = did_you_mean(name, known)
    return near or f"it sees {', '.join(known)}"


def no_field(name: str, check: Check) -> Said:
    """Of a field that is not there, or that nothing has. Its name is repeated where the expression writes it: what it
    computes may be a secret."""
    if not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", check.expr):
        return Said("it asks for a field that is not there", "ask whether it is there first: `name in map`")
    kinds: list[Kind] = [check.each] if check.each else list(LISTS.values())
    fields = {field for kind in kinds for field in VARIABLES[kind]}
    inner = {*RESOURCES, *(part for path in FIELDS for part in path.split("."))}
    near = "" if name in fields | inner else did_you_mean(name, fields) or did_you_mean(name, inner)
    return Said(f"there is no field {name} in what it looks at", near or f"where it may be missing: has(….{name})")
