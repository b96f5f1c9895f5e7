"""Reports with one of everything, each in the shape of its form."""

from __future__ import annotations

from typing import Any

import msgspec

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.policy.secrets import SENSITIVE
from fleetctl.report import forms
from tests.builders import NOW

DIGEST = "5f" * 32
COMMIT = "0123456789abcdef0123456789abcdef01234567"
HEAD: dict[str, Any] = {
    "formatVersion": 1,
    "fleet": "platform-fra1",
    "tenantId": "root",
    "caller": "sa_fleet",
    "reader": "sa_ci",
    "server": {
        "url": "https://compute.example.com",
        "instanceId": "inst_1",
        "derivation": "fleetctl/v1",
        "overridden": False,
    },
    "createdAt": NOW,
}


def source(line: int = 8, file: str = "fra1.yaml") -> Any:
    return {"file": file, "line": line, "column": 5}


def problem(**fields: Any) -> Any:
    common = {"code": "CONFLICT", "rule": "guard.archives", "message": "no", "path": "", "hint": ""}
    return {**common, "severity": "error", "source": source(), **fields}


def operation(n: int, action: str, key: str, tenant: str | None = None, **fields: Any) -> Any:
    common: dict[str, Any] = {
        "n": n,
        "action": action,
        "poolId": f"pool_{key}",
        "key": key,
        "toTenantId": tenant,
        "siteId": "site_fra1",
        "gpuModel": "H100",
        "atom": "gpu",
        "before": None,
        "after": None,
        "changes": [],
        "causes": [],
        "reason": {"code": "changed", "sentence": "the files changed it"},
        "effects": [],
        "severity": "safe",
        "dependsOn": [],
        "precondition": {},
        "inverse": {"action": None, "after": None, "why": "nothing does"},
        "source": source(10 + n),
        "digest": DIGEST,
    }
    return {**common, **fields}


def terms(priority: int = 0, **quota: int) -> Any:
    return {"quota": quota, "priority": priority, "includeDescendants": priority > 0}


def archive(n: int, key: str) -> Any:
    return operation(
        n,
        "archive",
        key,
        before={"archived": False},
        after={"archived": True},
        reason={"code": "tombstone", "sentence": "the files mark it archived"},
        effects=["cannot be undone: no pool can have this key again", "withdraws what it offers to initech"],
        severity="irreversible",
        causes=["intent"],
    )


def created(n: int, key: str, site: str = "site_fra1", model: str = "H100", **policy: Any) -> Any:
    common = {"class": "metal-host", "sharing": "exclusive", "agent": "bcd", "ownerQuota": {"gpu": 8}}
    return operation(n, "create", key, after={**common, "siteId": site, "gpuModel": model, "policy": policy})


def raised(n: int, key: str, tenant: str = "acme", before: int = 8) -> Any:
    change = {"path": "quota.gpu", "before": before, "after": 16}
    return operation(n, "offer", key, tenant, before=terms(gpu=before), after=terms(gpu=16), changes=[change])


OPERATIONS = [
    operation(
        1,
        "create",
        "fra1-new",
        after={
            "class": "metal-host",
            "siteId": "site_fra1",
            "agent": "bcd",
            "gpuModel": "H100",
            "sharing": "exclusive",
            "ownerQuota": {"gpu": UNLIMITED},
            "policy": {"registry": {"user": "ci", "password": SENSITIVE}, "note": "zażółć 🚀"},
        },
        reason={"code": "new", "sentence": "no live pool has this key"},
    ),
    operation(
        2,
        "offer",
        "fra1-new",
        "acme",
        after=terms(3, gpu=8, vcpu=64),
        reason={"code": "new", "sentence": "the pool is not offered to acme"},
        dependsOn=[1],
    ),
    operation(
        3,
        "update",
        "fra1-a",
        before={},
        after={},
        changes=[
            {"path": "policy.maxPending", "before": "6h", "after": "12h", "cause": "intent"},
            {"path": "policy.note", "before": "by hand", "cause": "drift"},
            {"path": "policy.password", "before": SENSITIVE, "after": SENSITIVE, "sensitive": True, "cause": "drift"},
        ],
        causes=["intent", "drift"],
    ),
    operation(
        4,
        "offer",
        "fra1-a",
        "acme",
        before=terms(gpu=32, vcpu=512),
        after=terms(gpu=16, vcpu=0),
        changes=[
            {"path": "quota.gpu", "before": 32, "after": 16, "cause": "intent"},
            {"path": "quota.vcpu", "before": 512, "cause": "intent"},
        ],
        causes=["intent"],
        effects=["4 pending reservations of acme will fail with QUOTA_EXCEEDED"],
        severity="lowers",
    ),
    operation(
        5,
        "unoffer",
        "fra1-a",
        "globex",
        before=terms(gpu=16),
        reason={"code": "unstated", "sentence": "the files state this pool's offers and this one is not among them"},
        effects=["globex no longer sees the pool"],
        severity="withdraws",
        causes=["intent"],
    ),
    operation(
        6,
        "setQuota",
        "fra1-q",
        "root",
        before={"quota": {"gpu": UNLIMITED}},
        after={"quota": {"gpu": 4}},
        changes=[{"path": "ownerQuota.gpu", "before": UNLIMITED, "after": 4, "cause": "drift"}],
        severity="lowers",
        causes=["drift"],
    ),
    archive(7, "fra1-old"),
    *(raised(8 + n, f"ams1-{n}", "umbrella") for n in range(4)),
]


def drifted_operation(n: int, **fields: Any) -> Any:
    event = {"since": NOW, "actorId": "sa_ci", "eventType": "quota.updated", "viaFleet": "platform", "undoes": None}
    return {"n": n, "kind": "pending", **event, **fields}


UNDONE = [
    drifted_operation(3, kind="changed", actorId="sa_ops", eventType="pool.updated", viaFleet=None),
    drifted_operation(6),
]

FOREIGN = [
    {"poolId": "pool_x", "key": "ams1-x", "createdBy": "sa_other", "siteId": "site_ams1", "gpuModel": "L4"},
    {"poolId": "pool_y", "key": None, "createdBy": "", "siteId": "site_ams1", "gpuModel": "L4"},
]

FINDINGS = [
    problem(
        message="1 pool would be archived, and none may",
        hint='if that is meant: --allow archives=1 --reason "why"',
        source=source(17),
    ),
    problem(
        severity="warning",
        rule="policy.secret",
        path="pools[0].policy.registry.password",
        message="looks like a secret",
        source=source(9, "ams1.yaml"),
    ),
    problem(severity="unchecked", rule="guard.oversell", message="no machines joined", source=None),
]


def share(tenant: str, site: str, before: int, after: int, **fields: Any) -> Any:
    common = {"gpuModel": "H100", "atom": "gpu", "siteId": site, "tenantId": tenant, "before": before, "after": after}
    return {**common, "inUse": 0, "frozen": 0, "costBefore": before * 2.5, "costAfter": after * 2.5, **fields}


SHARES = [
    share("acme", "site_ams1", 8, 16),
    share("acme", "site_fra1", 32, 16, inUse=20, frozen=4),
    share("globex", "site_fra1", 16, 0),
    share("umbrella", "site_ams1", UNLIMITED, UNLIMITED, costBefore=None, costAfter=None),
]


def stock(site: str, schedulable: int | None, **fields: Any) -> Any:
    common = {"gpuModel": "H100", "atom": "gpu", "siteId": site, "before": 48, "after": 96}
    return {
        **common,
        "schedulable": schedulable,
        "schedulableAfter": schedulable,
        "inUse": 20,
        "oversellBefore": 0.75,
        "oversellAfter": 1.5,
        **fields,
    }


STOCK = [stock("site_ams1", None, oversellBefore=None, oversellAfter=None), stock("site_fra1", 64)]

NO_ACTIONS = dict.fromkeys(("create", "update", "offer", "setQuota", "unoffer", "archive"), 0)
TOGETHER = {
    "blocked": True,
    "revisions": [
        {"ref": "main", "commit": COMMIT, "plan": None},
        {
            "ref": "origin/more-h100",
            "commit": COMMIT,
            "plan": {"operations": 4, "actions": {**NO_ACTIONS, "create": 3, "archive": 1}, "blocked": True},
        },
        {
            "ref": "site-ams1",
            "commit": COMMIT[::-1],
            "plan": {"operations": 1, "actions": {**NO_ACTIONS, "offer": 1}, "blocked": False},
        },
    ],
    "findings": [
        {
            **problem(rule="together.wish", path="pools[fra1-a].policy.password", message="it is wished differently"),
            "parties": [
                {"ref": None, "source": source(9), "wish": SENSITIVE},
                {"ref": "origin/more-h100", "source": source(12), "wish": {"from": "vault"}},
                {"ref": "site-ams1", "source": None},
            ],
        },
        {
            **problem(severity="warning", rule="together.oversell", message="all pools promise 72 H100 GPUs"),
            "source": None,
            "parties": [{"ref": "site-ams1", "source": source(3, "ams1.yaml")}, {"ref": None, "source": None}],
        },
    ],
}


def a_plan(operations: list[Any] | None = None, **fields: Any) -> Any:
    """A blocked plan with one of everything; with `operations` one that does those and finds nothing."""
    rich = operations is None
    done = OPERATIONS if operations is None else operations
    actions = {action: sum(o["action"] == action for o in done) for action in forms.Action.__args__}  # type: ignore[attr-defined]
    found = FINDINGS if rich else []
    report: dict[str, Any] = {
        **HEAD,
        "kind": "plan",
        "sequence": 412,
        "base": {"ref": "origin/main", "commit": COMMIT} if rich else None,
        "prune": rich,
        "commit": COMMIT,
        "selection": {"only": ["key=fra1-*", "site=site_ams1"], "exclude": ["tenant=hooli"], "outside": 3}
        if rich
        else None,
        "inputs": "ab" * 32,
        "digest": DIGEST,
        "checksum": "cd" * 32,
        "seal": "ef" * 32,
        "expiresAt": NOW + 86_400_000 if rich else None,
        "allow": {"withdrawals": 12} if rich else {},
        "reason": "site closes" if rich else None,
        "operations": done,
        "findings": found,
        "notes": [{"kind": "caller", "sentence": "fra1-a means the pool that fra1-was made", "source": source(12)}]
        if rich
        else [],
        "drift": UNDONE if rich else None,
        "foreign": FOREIGN if rich else [],
        "snapshot": rich,
        "losses": [
            {"tenantId": "acme", "sentence": "loses 16 H100 GPUs and 512 vcpu in fra1-a", "operations": [4]},
            {"tenantId": "globex", "sentence": "loses 16 H100 GPUs and 1 offer in fra1-a", "operations": [5]},
        ]
        if rich
        else [],
        "gains": [
            {"tenantId": "umbrella", "sentence": "gains 32 H100 GPUs in ams1-0", "operations": [8]},
            {"tenantId": "acme", "sentence": "gains 8 H100 GPUs and 1 offer in fra1-new", "operations": [2]},
        ]
        if rich
        else [],
        "guards": [{"guard": "archives", "number": 1, "limit": 0}] if rich else [],
        "capacity": {"shares": SHARES, "stock": STOCK} if rich else {"shares": [], "stock": []},
        "summary": {
            "operations": len(done),
            "actions": actions,
            "entries": 60,
            "offers": 900,
            "changedPools": 8,
            "unchanged": 52,
            "foreign": 2,
            "removed": ["fra1-gone"] if rich else [],
            "waiting": ["fra1-full"] if rich else [],
            "drift": {"changed": 1, "pending": 1} if rich else None,
            "errors": sum(f["severity"] == "error" for f in found),
            "warnings": sum(f["severity"] == "warning" for f in found),
            "unchecked": sum(f["severity"] == "unchecked" for f in found),
            "blocked": rich,
        },
    }
    asked = {"together": TOGETHER} if rich else {}
    return msgspec.convert({**report, **asked, **fields}, forms.PlanReport)


def outcome(n: int, status: str = "done", **fields: Any) -> Any:
    common = {"n": n, "action": "offer", "poolId": "pool_1", "key": f"fra1-{n}", "toTenantId": "acme", "digest": DIGEST}
    rest: dict[str, Any] = {"note": "", "problem": None, "waitsFor": [], "attempts": 1, "source": source(n)}
    rest["meanwhile"] = []
    inverse = {"action": "unoffer", "after": None, "why": ""}
    return {**common, "status": status, "found": False, **rest, "inverse": inverse, **fields}


COMPARED = {"entries": 60, "offers": 900, "unchanged": 55, "removed": [], "waiting": []}
LEFT = {"removed": ["fra1-gone"], "waiting": ["fra1-full"]}


def an_apply(*outcomes: Any, **fields: Any) -> Any:
    """One that was interrupted, with an outcome of each status; or the one with these."""
    told = outcomes or (
        outcome(1, action="unoffer", meanwhile=["nobody holds the pool between acme and its next tenant"]),
        outcome(2, found=True),
        outcome(3, "failed", attempts=3, problem=problem(message="the pool moved", hint="plan again", source=None)),
        outcome(4, "blocked", action="unoffer", waitsFor=[3]),
        outcome(5, "notStarted", action="archive", toTenantId=None, note="the server no longer answers"),
    )
    lists = {s: [o for o in told if o["status"] == s] for s in ("done", "failed", "blocked", "notStarted")}
    report: dict[str, Any] = {
        **HEAD,
        "kind": "apply",
        "sequence": 412,
        "digest": DIGEST,
        "checksum": DIGEST,
        "seal": DIGEST,
        "commit": COMMIT,
        "allow": {},
        "reason": None,
        "approvedBy": "plan",
        "interrupted": None if outcomes else "SIGTERM",
        "refused": None,
        "before": [],
        **lists,
        "undo": None,
        "selection": None if outcomes else {"only": ["site=site_fra1"], "exclude": [], "outside": 1},
        "summary": {
            **COMPARED,
            **({} if outcomes else LEFT),
            "operations": len(told),
            **{status: len(found) for status, found in lists.items()},
        },
    }
    return msgspec.convert({**report, **fields}, forms.ApplyReport)


def an_undo() -> Any:
    """An apply that took another one back, as far as that could be."""
    common = {"poolId": "pool_9", "code": "noInverse"}
    left = [
        {"n": n, "action": action, "key": key, "toTenantId": to, "why": why, "source": source(n), **common}
        for n, action, key, to, why in (
            (7, "archive", "fra1-old", None, "an archived pool is not revived"),
            (9, "offer", None, "acme", "its old value is sensitive and is not kept"),
        )
    ]
    outside = [{**one, "n": 8, "key": "fra1-b", "action": "offer", "toTenantId": "acme"} for one in left[:1]]
    for one in outside:
        del one["code"], one["why"]
    undo = {"digest": DIGEST, "commit": COMMIT, "again": False, "already": 2, "left": left, "outside": outside}
    part = {"only": [], "exclude": ["key=fra1-b"], "outside": 0}
    return an_apply(outcome(1, action="unoffer"), undo=undo, selection=part)


def drifted(**fields: Any) -> Any:
    common = {"kind": "changed", "poolId": "pool_1", "key": "fra1-a", "toTenantId": "acme", "source": source()}
    rest = {"what": "the offer differs", "changes": [{"path": "quota.gpu", "before": 64, "after": 32}]}
    event = {"since": NOW, "actorId": "sa_ops", "eventType": "pool.offered", "via": None, "expected": None}
    return {**common, **rest, **event, **fields}


DRIFTED = [
    drifted(via={"fleet": "other", "commit": "abc", "reason": "a b"}),
    drifted(
        key="fra1-b",
        toTenantId=None,
        what="the policy differs",
        changes=[{"path": "policy.token", "before": SENSITIVE, "after": SENSITIVE, "sensitive": True}],
    ),
    drifted(kind="removed", key="fra1-gone", toTenantId=None, source=None, changes=[], what="no entry names it"),
    drifted(kind="pending", key="fra1-c", since=None, actorId=None, eventType=None, what="not applied yet"),
    drifted(key="fra1-d", expected="tried out until Friday"),
]


COVERED = {"livePools": 64, "namedPools": 60, "percent": 93.7, "liveAtoms": 2048, "namedAtoms": 1920}


def unnamed(key: str | None, **fields: Any) -> Any:
    """A live pool that no entry names."""
    where = {"createdBy": "alice", "siteId": "site_ams1", "gpuModel": "H200"}
    return {"poolId": f"pool_{key or 'keyless'}", "key": key, **where, **fields}


def a_drift(*found: Any, **fields: Any) -> Any:
    """One of a part of a fleet, with one of each kind; or the one of these."""
    told = found or tuple(DRIFTED)
    unexpected = [one["kind"] for one in told if one["expected"] is None]
    report: dict[str, Any] = {
        **HEAD,
        "kind": "drift",
        "commit": COMMIT,
        "base": {"ref": "origin/main", "commit": None},
        "selection": None if found else {"only": ["site=site_fra1"], "exclude": [], "outside": 0},
        "snapshot": False,
        "drift": list(told),
        "coverage": {
            **COVERED,
            "unnamed": [unnamed("by-hand"), unnamed(None, createdBy="")],
        },
        "summary": {
            **{kind: unexpected.count(kind) for kind in ("changed", "pending", "removed")},
            "expected": len(told) - len(unexpected),
            "entries": 60,
            "offers": 900,
            "waiting": [] if found else ["fra1-full"],
        },
    }
    return msgspec.convert({**report, **fields}, forms.DriftReport)


def a_validation(*problems: Any) -> Any:
    errors = sum(p["severity"] == "error" for p in problems)
    summary = {"entries": 60, "offers": 900, "errors": errors, "warnings": len(problems) - errors, "unchecked": 0}
    report = {
        "formatVersion": 1,
        "kind": "validation",
        "valid": not errors,
        "problems": list(problems),
        "summary": summary,
    }
    return msgspec.convert(report, forms.ValidationReport)


def an_error(*problems: Any) -> Any:
    return msgspec.convert({"formatVersion": 1, "kind": "error", "problems": list(problems)}, forms.ErrorReport)


def a_difference() -> Any:
    side = {"commit": COMMIT, "fleet": "platform-fra1", "tenantId": "root", "caller": "sa_fleet"}
    offer = {"toTenantId": "acme", "kind": "removed", "changes": [{"path": "quota.gpu", "before": 8}]}
    pool = {"poolId": "pool_1", "key": "fra1-a", "changes": [], "offers": [offer], "looser": True, "source": source()}
    counts = {
        "added": 1,
        "removed": 1,
        "changed": 0,
        "unchanged": 3,
        "offers": 2,
        "fields": 1,
        "limits": 1,
        "looser": 2,
    }
    report = {
        "formatVersion": 1,
        "kind": "diff",
        "before": {**side, "given": "main", "entries": 4, "offers": 2},
        "after": {**side, "given": "fleet/", "entries": 4, "offers": 2},
        "fields": [{"path": "caller", "before": "sa_old", "after": "sa_fleet"}],
        "limits": [{"change": {"path": "guards.maxArchives", "before": 1, "after": 9}, "direction": "looser"}],
        "pools": [{**pool, "kind": "removed"}, {**pool, "kind": "added", "key": "fra1-b", "looser": False}],
        "summary": counts,
    }
    return msgspec.convert(report, forms.FleetDiffReport)


def some_tests() -> Any:
    mismatch = {"message": "expects exit code 3, and it is 0", "path": "expect.exitCode", "source": source()}
    tests = [
        {"name": "a.fleet-test.yaml", "passed": True, "mismatches": [], "source": source()},
        {"name": "b.fleet-test.yaml", "passed": False, "mismatches": [mismatch], "source": source()},
    ]
    summary = {"tests": 2, "passed": 1, "failed": 1}
    report = {"formatVersion": 1, "kind": "tests", "tests": tests, "summary": summary}
    return msgspec.convert(report, forms.FleetTestsReport)


def a_formatting() -> Any:
    files = [
        {"file": "a.yaml", "line": 3, "status": "unformatted", "why": ""},
        {"file": "b.yaml", "line": None, "status": "left", "why": "a comment would be lost"},
    ]
    summary = {"formatted": 0, "unformatted": 1, "left": 1, "unchanged": 0}
    report = {"formatVersion": 1, "kind": "format", "check": True, "files": files, "summary": summary}
    return msgspec.convert(report, forms.FormatReport)


def a_start() -> Any:
    head = {"formatVersion": 1, "kind": "init", "directory": "here", "fleet": "platform-fra1"}
    rest = {
        "files": ["here/fleet.yaml"],
        "toIgnore": ["*.token"],
        "toOwn": {"file": "CODEOWNERS", "lines": ["/fleet/ @your-org/platform"]},
        "server": None,
        "tenantId": "root",
        "caller": "sa_fleet",
    }
    return msgspec.convert({**head, **rest}, forms.InitReport)


def an_explanation() -> Any:
    topic = {"kind": "check", "name": "h100", "says": "each has diag.nvml", "why": "w", "act": "a", "source": source()}
    report = {"formatVersion": 1, "kind": "explanation", "what": "h100", "pool": None, "topic": topic}
    return msgspec.convert(report, forms.ExplanationReport)


def large_plan(number: int, archives: int = 3) -> Any:
    """A plan of so many operations, no two alike, with a few archives in their middle."""
    middle = number // 2
    done = [
        archive(n, f"fra1-{n:05}") if middle <= n < middle + archives else raised(n, f"fra1-{n:05}", f"t{n}", n)
        for n in range(1, number + 1)
    ]
    return a_plan(done)


def every_kind() -> dict[str, Any]:
    """A report of each kind that has anything long to say."""
    return {
        "plan": a_plan(),
        "apply": an_apply(),
        "drift": a_drift(),
        "validation": a_validation(*FINDINGS[:2]),
        "error": an_error(problem(path="a", hint="b", source=None)),
        "diff": a_difference(),
        "tests": some_tests(),
        "format": a_formatting(),
        "init": a_start(),
        "explanation": an_explanation(),
    }
