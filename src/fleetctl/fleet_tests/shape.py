"""The shape of fleet tests: the one definition that reading, its messages and the JSON Schema follow."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field

from better_compute.bootstrap.world_schema import tidy
from better_compute.domain.problems import Severity as FindingSeverity
from fleetctl.desired.faults import IGNORED
from fleetctl.desired.kinds import Flag, Path, Sentence, Time
from fleetctl.desired.records import Record
from fleetctl.desired.says import Says, word
from fleetctl.diff import Cause
from fleetctl.plan.operation import Action, ReasonCode, Severity
from fleetctl.words import joined


def _optional(what: str) -> Any:
    """A field that may be left out; null is no value of it, unless it may be anything."""
    return Field(default=None, description=what)


def _one_of(words: Any) -> Says:
    """A word of a closed list: another one could never stand in a plan."""
    known = get_args(words)
    return Says(f"one of {joined(known)}", word(*known))


class ExpectedReason(Record):
    """Why there is an operation, as far as it is said here."""

    code: Annotated[ReasonCode, _one_of(ReasonCode)] = _optional(f"One of {joined(get_args(ReasonCode))}.")
    sentence: Any = _optional("A part of the sentence.")


class ExpectedOperation(Record):
    """An operation of the plan, as far as it is said here: fields of the plan's report. A map may say a part of the
    map, a list a part of the list; of a sentence a part is enough."""

    action: Annotated[Action, _one_of(Action)] = _optional("create, update, offer, setQuota, unoffer or archive.")
    key: Any = _optional("The pool's key; null where it has none.")
    pool_id: Any = _optional("The pool's id.")
    to_tenant_id: Any = _optional("The tenant; null where the operation is about the pool itself.")
    site_id: Any = _optional("The pool's site.")
    gpu_model: Any = _optional("The pool's model before the plan.")
    atom: Any = _optional("The resource the pool's GPUs are counted in.")
    before: Any = _optional("What is there; null where there is nothing.")
    after: Any = _optional("What is wished, such as {quota: {gpu: 8}}.")
    changes: Any = _optional("Differences, such as [{path: quota.gpu, after: 8}].")
    causes: Annotated[list[Annotated[Cause, _one_of(Cause)]], Says("a list of causes, such as [drift]")] = _optional(
        "intent, drift, or both; where there is a base."
    )
    reason: ExpectedReason = _optional(
        "Why, such as {code: changed}: one of new, changed, unstated, replaced, removed, tombstone and undo."
    )
    effects: Any = _optional("What it does to what runs: sentences, or parts of them.")
    severity: Annotated[Severity, _one_of(Severity)] = _optional("safe, lowers, withdraws or irreversible.")
    depends_on: Any = _optional("Operations that come first, by number.")
    precondition: Any = _optional("What must hold when it runs.")
    inverse: Any = _optional("What would undo it.")
    source: Any = _optional("The place in the files, such as {file: fleet.yaml, line: 7}.")


class ExpectedFinding(Record):
    """A finding of the plan, as far as it is said here."""

    code: Any = _optional("Such as BLOCKED.")
    rule: Any = _optional("Such as guard.archives, or a check's.")
    message: Any = _optional("A part of the message.")
    path: Any = _optional("The field, such as pools[fra1-a].policy.")
    hint: Any = _optional("A part of the hint.")
    severity: Annotated[FindingSeverity, _one_of(FindingSeverity)] = _optional("error, warning or unchecked.")
    source: Any = _optional("The place in the files, such as {line: 7}.")


class Expectation(Record):
    """What the plan is to be. What is left out is not looked at, but for the exit code."""

    blank: ClassVar[dict[str, str]] = dict.fromkeys(("operations", "findings"), "write [] for none, or leave it out")

    exit_code: Annotated[Literal[0, 1, 2, 3], Says("one of 0, 1, 2 and 3")] = _optional(
        "That of plan; left out: 0. 1: the files cannot be read; 2: there are changes; 3: the plan is blocked."
    )
    operations: Annotated[
        list[Annotated[ExpectedOperation, Says("a map of an operation's fields, such as {action: create}")]],
        Says("a list of operations"),
    ] = _optional("The plan's operations, in any order; [] for none.")
    findings: Annotated[
        list[Annotated[ExpectedFinding, Says("a map of a finding's fields, such as {rule: guard.archives}")]],
        Says("a list of findings"),
    ] = _optional("The plan's errors and warnings, in any order; [] for none. What was not checked need not be named.")
    others: Flag = _optional("Whether there may be others than those named here; left out: false.")


class FleetTest(Record):
    """A test of a fleet: the plan of its files against a live state."""

    name: Sentence = _optional("What is tested; left out: the file's name.")
    fleet: Path = _optional("The fleet's directory or file, from here; left out: this directory.")
    live: Path = _optional(
        "The live state, from here: a snapshot, or fleet files (a directory, or one file) that stand for it; left out:"
        " there is nothing yet."
    )
    now: Time = _optional("The time for freeze windows; left out: the snapshot's, or before all of them.")
    expect: Expectation = Field(description="What the plan is to be; {}: it is not blocked.")


def schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of one document of a fleet test."""
    made: dict[str, Any] = tidy(FleetTest.model_json_schema())
    return {"title": "Fleet test", **made, "patternProperties": {f"^{IGNORED}": True}}
