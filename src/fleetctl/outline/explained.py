"""Explanations in words: what a name says, why and what to do; or a pool in the files, live, and what happened last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from better_compute.domain.escape import escape
from fleetctl.outline import values
from fleetctl.outline.problems import place
from fleetctl.outline.shape import Fact, Item, Outline, Section, Words, filled
from fleetctl.words import count, short, time

if TYPE_CHECKING:
    from fleetctl.report.forms import (
        ExplainedEntry,
        ExplainedEvent,
        ExplainedLive,
        ExplainedPool,
        ExplanationReport,
        Machines,
        Tenancy,
        Topic,
    )

_EVENTS = 5


def outline(report: ExplanationReport, *, verbose: bool) -> Outline:
    if report["topic"] is not None:
        return _topic(report["topic"])
    return _pool(report["pool"], verbose) if report["pool"] is not None else Outline(kind="explanation")


def _topic(topic: Topic) -> Outline:
    facts = [Fact("says", escape(topic["says"])), Fact("why", escape(topic["why"])), Fact("do", escape(topic["act"]))]
    if topic["source"]:
        facts.append(Fact("at", place(topic["source"])))
    title = (Words(f"The {topic['kind']} "), Words(escape(topic["name"]), foreign=True))
    return Outline(kind="explanation", title=title, facts=tuple(facts))


def _pool(pool: ExplainedPool, verbose: bool) -> Outline:
    entry, live = pool["entry"], pool["live"]
    facts = [Fact("id", escape(pool["poolId"]))]
    facts.append(Fact("files", "no entry" if entry is None else place(entry["source"])))
    facts.append(Fact("live", _state(pool), "plain" if live or pool["server"] is None else "notice"))
    return Outline(
        kind="explanation",
        title=(Words("The pool "), Words(escape(pool["key"] or pool["poolId"]), foreign=True)),
        facts=tuple(facts),
        sections=filled(
            *(_in_files(entry, verbose) if entry else ()),
            *(_is_live(live, verbose) if live else ()),
            _events(pool["events"], verbose),
        ),
    )


def _state(pool: ExplainedPool) -> str:
    if pool["server"] is None:
        return "nobody was asked"
    live, at = pool["live"], escape(pool["server"])
    if live is None:
        return f"not at {at}"
    made = f"made {time(live['createdAt'])} by {escape(live['createdBy'])}"
    gone = f", archived {time(live['archivedAt'])}" if live["archivedAt"] is not None else ""
    return f"at {at}: {made}{gone}, version {live['version']}"


def _in_files(entry: ExplainedEntry, verbose: bool) -> Iterator[Section]:
    items = [Item(subject=escape(said)) for said in entry["says"]]
    if entry["pool"] is not None:
        items.append(Item(subject="terms", details=tuple(_terms(entry["pool"]))))
        quota = entry["ownerQuota"]
        items.append(Item(subject="owner's quota", details=("not stated" if quota is None else _rows(quota),)))
    if entry["offersAre"] != "stated":
        items.append(Item(subject="offers", details=(entry["offersAre"],)))
    yield Section(title="In the files", items=tuple(items), in_columns=True)
    policy = (
        Item(
            subject=escape(part["name"]),
            details=(_value(part["value"], verbose),),
            where=place(part["source"]),
        )
        for part in entry["policy"]
    )
    yield Section(title="Policy in the files", items=tuple(policy), in_columns=True)
    offers = (
        Item(
            subject=escape(offer["toTenantId"]),
            details=(_rows(offer["quota"]), *_extras(offer["priority"], offer["includeDescendants"])),
            where=place(offer["source"]),
        )
        for offer in entry["offers"]
    )
    yield Section(title="Offers in the files", items=tuple(offers), in_columns=True)


def _is_live(live: ExplainedLive, verbose: bool) -> Iterator[Section]:
    policy = (f"{escape(name)} {_value(value, verbose)}" for name, value in live["policy"].items())
    items = [
        Item(subject="terms", details=tuple(_terms(live["pool"]))),
        Item(subject="policy", details=tuple(policy) or ("none",)),
        Item(subject="machines", details=tuple(_machines(live["machines"], live["atom"]))),
    ]
    yield Section(title="Live", items=tuple(items), in_columns=True)
    tenants = (
        Item(subject=escape(one["tenantId"]), details=tuple(_tenancy(one, is_owner=n == 0)))
        for n, one in enumerate(live["tenants"])
    )
    yield Section(title="Tenants", items=tuple(tenants), in_columns=True)


def _terms(terms: dict[str, Any]) -> Iterator[str]:
    yield from (f"{escape(name)} {values.value(value)}" for name, value in terms.items())


def _rows(rows: dict[str, int]) -> str:
    return values.quota(rows, None) or "no rows (grants 0)"


def _extras(priority: int | None, descendants: bool | None) -> Iterator[str]:
    if priority:
        yield f"priority {priority}"
    if descendants:
        yield "with descendants"


def _machines(machines: Machines, atom: str) -> Iterator[str]:
    if not machines["nodes"]:
        yield "none joined"
        return
    yield f"{count(machines['nodes'], 'machine')}, {count(machines['hostNodes'], 'host')}"
    yield from (f"{hosts:,} with {escape(model)}" for model, hosts in sorted(machines["models"].items()))
    if machines["schedulable"] is not None:
        yield f"{machines['schedulable']:,} {escape(atom)}"
    if machines["tenantOwnedNodes"]:
        yield f"{machines['tenantOwnedNodes']:,} owned by tenants"


def _tenancy(one: Tenancy, *, is_owner: bool) -> Iterator[str]:
    """The owner needs no offer; what others have without one is left of a withdrawal."""
    rows = one["rows"]
    if not (one["offered"] or is_owner):
        yield "no offer"
    yield ", ".join(f"{escape(r['resource'])} {r['used']:,} of {values.limit(r['max'])}" for r in rows) or "no rows"
    yield from _extras(one["priority"], one["includeDescendants"])
    work = {"pending": one["pending"], "placed": one["placed"], "active": one["active"]}
    yield from (f"{number:,} {name}" for name, number in work.items() if number)


def _events(events: list[ExplainedEvent], verbose: bool) -> Section:
    shown = events if verbose else events[:_EVENTS]
    left = len(events) - len(shown)
    more = (Words(f"and {left:,} more (--verbose)", "quiet"),) if left else ()
    items = (Item(subject=time(event["time"]), details=tuple(_event(event))) for event in shown)
    return Section(title="Last changes", items=tuple(items), more=more, in_columns=True)


def _event(event: ExplainedEvent) -> Iterator[str]:
    to = f" {escape(event['toTenantId'])}" if event["toTenantId"] else ""
    yield f"{escape(event['type'])}{to} by {escape(event['actorId'])}"
    via = event["via"] if isinstance(event["via"], dict) else {}
    if "fleet" in via:
        yield f"fleet {escape(str(via['fleet']))}"
    if via.get("commit"):
        yield f"commit {escape(short(str(via['commit'])))}"
    if via.get("undoes"):
        yield f"undoes apply {escape(short(str(via['undoes'])))}"
    if via.get("heir"):
        yield f"{escape(str(via['heir']))} took its place"
    if via.get("reason"):
        yield f"reason: {escape(str(via['reason']))}"
    if not via:
        yield "by hand"


def _value(value: Any, verbose: bool) -> str:
    text = values.value(value)
    return text if verbose else values.cut(text)
