"""Approval: whether the plan made now is the one that somebody approved before, or the rest of it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from better_compute.domain.problems import OTHER_INSTANCE, ComputeError
from fleetctl import history, paths
from fleetctl.apply.saved import SavedPlan
from fleetctl.apply.staleness import NEW_PLAN, check_again, check_rest, differences, object_name, told
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.live import Live
from fleetctl.override import Override, rule
from fleetctl.plan import Plan
from fleetctl.plan.digest import canonical_after
from fleetctl.words import joined, time

if TYPE_CHECKING:
    from better_compute.client import Client


MAY_MOVE = {
    "n": "the order follows from live facts too, which others may change",
    "dependsOn": "names operations by the order",
    "effects": "tell of reservations, which come and go",
    "gpuModel": "is another's to change where the files leave a pool's terms alone",
    "reason": "may tell a line of the files",
    "source": "is a line of the files, and the same wish may have moved to another",
}
"""Of an operation: what may differ between two plans of one digest, and why."""


def not_repeated(saved: SavedPlan, plan: Plan, override: Override) -> str:
    """The override that the plan file was made with, where a guard blocks because it was not given again; else an empty
    text."""
    lacking = {rule(name) for name, number in saved.allow.items() if override.numbers.get(name) != number}
    if not any(found.severity == "error" and found.rule in lacking for found in plan.findings):
        return ""
    flags = [f"--allow {name}={number}" for name, number in saved.allow.items()]
    reason = f"--reason {shlex.quote(saved.reason or '')}"
    return f"The plan was made with {' '.join((*flags, reason))}: give them again"


def by_digest(expected: str, plan: Plan) -> None:
    """`--expect`: this change against this live state, whenever that state returns. Raises Stop when it is another."""
    if expected != plan.digest:
        message = f"the plan made now is {plan.digest}, and {expected} was expected"
        command = "fleetctl plan" if plan.comparison.asked.undoes is None else "fleetctl plan --undo REPORT"
        hint = f"look at what is to be done now, and give the digest that it shows: {command}"
        raise Stop(EXIT_STALE, message, hint=hint, rule="plan.digest")


def by_hand(shown: Plan, plan: Plan, client: Client) -> None:
    """A plan that somebody was shown, and approved: the live state may have moved while they thought it over. Raises
    Stop with every difference when the plan made since is another, and with what was found since, which may be why."""
    if shown.digest == plan.digest:
        return
    both = (*shown.operations, *plan.operations)
    equal = {o.digest for o in shown.operations} & {o.digest for o in plan.operations}
    names = {o.pool_id: o.name for o in both if o.digest not in equal}
    moved = told(history.read(client, names, after=shown.sequence).of_pools(names), names)
    found = [finding.message for finding in plan.findings if finding not in shown.findings]
    message = "the plan is stale: the live state moved while it was asked about, and nothing was written"
    hint = "apply again, and look at the new plan"
    raise Stop(EXIT_STALE, message, (*differences(shown.operations, plan), *found, *moved), hint, "plan.stale")


def elsewhere(error: ComputeError) -> Stop | None:
    """The end of a run that another control plane answered while it asked; None for any other error. What was approved
    is of the one that answered before."""
    first = error.problems[0]
    if first.rule != OTHER_INSTANCE:
        return None
    return Stop(EXIT_STALE, f"{first.message}; nothing was written", hint=first.hint, rule=first.rule)


def by_file(
    saved: SavedPlan, plan: Plan, live: Live, client: Client, commit: str | None, shown: Mapping[str, Any]
) -> None:
    """`--plan`: equal, or the rest of it after a run that was killed. `commit` is that of the files now, `shown` the
    report of the plan that was made now.

    Raises Stop with every difference otherwise.
    """
    saved.check_target(plan.scope)
    if saved.expires_at is not None and live.instance.now > saved.expires_at:
        message = f"the plan expired at {time(saved.expires_at)}, by the server's clock: make a new one"
        raise Stop(EXIT_STALE, message, rule="plan.expired")
    _check_inputs(saved, plan, live, commit)
    _check_unaltered(saved, plan, shown, live.instance.digest_key)
    if saved.digest == plan.digest:
        check_again(saved, plan, client)
    else:
        check_rest(saved, plan, client, shown)


def _check_inputs(saved: SavedPlan, plan: Plan, live: Live, commit: str | None) -> None:
    """Raises Stop where the plan was made from other files, another base or part, or on another control plane."""
    if saved.inputs == plan.inputs:
        return
    differing = differences(saved.operations, plan)
    is_same = saved.commit is not None and saved.commit == commit and not differing
    is_elsewhere, url = saved.url != live.instance.url, live.instance.url
    where = [f"planned for {saved.url}, this is {url}"] if is_elsewhere else []
    flag = f"give --server {saved.url}" if "://" in saved.url else "leave --server out"
    hint = f"if {saved.url} is meant, {flag}; else {NEW_PLAN}" if is_elsewhere else NEW_PLAN
    details = (*where, *_commits(saved.commit, commit), *differing)
    raise Stop(EXIT_STALE, _other_inputs(is_same=is_same, is_elsewhere=is_elsewhere), details, hint, "plan.inputs")


def _check_unaltered(saved: SavedPlan, plan: Plan, shown: Mapping[str, Any], key: bytes) -> None:
    """Somebody approved what the file shows. The seal tells of every alteration; whoever may read the key as well
    cannot have an operation shown that is another than its digest says."""
    altered = _altered(saved, shown["operations"])
    if saved.digest == plan.digest:
        altered += differences(saved.operations, plan)
    doubled = len(set(saved.operations)) < len(saved.operations)
    if altered or doubled or not saved.is_sealed(key):
        raise Stop(EXIT_STALE, "the plan file was altered since it was made", altered, NEW_PLAN, "plan.file")


def _altered(saved: SavedPlan, shown: Iterable[Mapping[str, Any]]) -> list[str]:
    """Operations that are the same by their digests, and of which the file shows something else."""
    now = {other["digest"]: other for other in shown}
    pairs = zip(saved.operations, saved.report["operations"], strict=True)
    return [
        f"{o.action} {object_name(o.name, o.subject)}: {joined(names)} altered"
        for o, one in pairs
        if (other := now.get(o.digest)) is not None and one != other and (names := _unlike(one, other))
    ]


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The fields that differ between two operations of one digest, and must not."""
    names = [name for name in one if name not in MAY_MOVE and one[name] != other[name]]
    return [name for name in names if _in_one_form(name, one) != _in_one_form(name, other)]


def _in_one_form(name: str, operation: Mapping[str, Any]) -> Any:
    """Files may spell the same in another way since."""
    value, after = operation[name], operation["after"]
    if name == "changes":
        return [{**change, "after": _wished(change, after)} for change in value]
    return canonical_after(value) if name == "after" else value


def _wished(change: Mapping[str, Any], after: Any) -> Any:
    """The later value, if there is one, in one form: below the names that lead to it in what the operation leaves."""
    if "after" not in change:
        return None
    value = change["after"]
    for name in reversed(paths.read(change["path"], after)):
        value = {name: value}
    return canonical_after(value)


def _other_inputs(*, is_same: bool, is_elsewhere: bool) -> str:
    """Inputs are the files under a key of the database: where the files are the same, it is another database. They are
    where their commit is, and all that is to be done: the same commit may hold another fleet."""
    if is_elsewhere:
        return "the files, or the control plane, are not those that the plan was made from"
    if is_same:
        return "the control plane is another than the plan was made for, of the same name: its database was made anew"
    return "files or base are not those that the plan was made from, or the control plane's database was made anew"


def _commits(saved: str | None, now: str | None) -> list[str]:
    """Files that are changed and not committed, or outside git, have none."""
    if saved == now:
        return []
    planned, here = (commit or "files that are not committed" for commit in (saved, now))
    return [f"planned from {planned}, these are {here}"]
