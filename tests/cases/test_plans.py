"""Kind c: saved plans, staleness, races. The whole of each kind stands beside: every move of live state in
`tests/e2e/test_stale.py`, every alteration of a file in `tests/fleetctl/apply/test_altered_plan.py`, rounds of two
applies in `tests/e2e/test_two_applies.py`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from better_compute.client import Client
from fleetctl.flow import running
from tests.e2e.homes import Home, Ran, entry, pool_id, served, unchanged
from tests.repository import Repository

KEY = "pool-fra1-h100"
POOL = entry(KEY, {"acme": 32}, sharing="exclusive", policy={"maxPending": "6h"})


def saved(home: Home, name: str = "plan") -> Path:
    file = home.directory.parent / f"{name}.json"
    home.plan("--out", file)
    return file


def digest_of(file: Path) -> str:
    return str(json.loads(file.read_text())["digest"])


def refused(home: Home, *arguments: str | Path, **environ: str) -> str:
    """What an apply says that ends with 4 and has written nothing."""
    with unchanged(home):
        ran = home.run("apply", *arguments, **environ)
        assert ran.code == 4, f"it ends with {ran.code}: {ran.said}"
    return ran.err


# K027: a saved plan is applied again.

Hand = Callable[[Client], Any]


def call(operation: str, **body: Any) -> Hand:
    return lambda client: client.call(operation, {"poolId": pool_id(KEY), **body})


@pytest.mark.parametrize(
    ("hand", "told"),
    [
        (call("quotas/set", toTenantId="acme", quota={"gpu": 16}), f"{KEY} for acme: quota.updated by sa_hand"),
        (call("pools/unoffer", toTenantId="acme"), f"{KEY} for acme: pool.unoffered by sa_hand"),
        (call("pools/update", policy={}), f"{KEY}: pool.updated by sa_hand"),
        (call("pools/archive"), f"{KEY}: pool.archived by sa_hand"),
    ],
    ids=["less", "none", "a policy", "archived"],
)
def test_k027_what_was_not_there_is_a_precondition_like_any_other(home: Home, hand: Hand, told: str) -> None:
    home.wish(POOL)
    file = saved(home)
    home.apply("--plan", file)
    with home.hand() as client:
        hand(client)
    assert told in refused(home, "--plan", file)
    with home.hand() as client:
        pools, _ = client.pools.all(owned=True)
    assert len(pools) == 1


# K028: a plan, or its digest, runs at what it was made for.


def test_k028_at_another_server_it_is_refused_and_both_are_named(home: Home, tmp_path: Path) -> None:
    """The other one is empty, and would take it."""
    home.wish(POOL)
    file = saved(home)
    other = Home(tmp_path / "production")
    other.sql("UPDATE meta SET value = 'production' WHERE value = 'home'")
    other.wish(POOL)
    with served(other):
        assert "server instance: planned for home, this is production" in refused(other, "--plan", file)
        assert digest_of(file) in refused(other, "--expect", digest_of(file))


def test_k028_an_environment_that_names_another_server_is_refused(home: Home) -> None:
    home.wish(POOL)
    said = refused(home, "--plan", saved(home), FLEETCTL_SERVER="https://production.example.com")
    assert "FLEETCTL_SERVER is https://production.example.com, and the files say" in said


@pytest.mark.parametrize(
    ("root", "said"),
    [
        ({"tenantId": "acme", "caller": "sa_acme"}, "tenant: planned for root, this is acme"),
        ({"caller": "sa_other"}, "caller: planned for sa_fleet, this is sa_other"),
        ({"fleet": "second"}, "fleet: planned for default, this is second"),
    ],
    ids=["tenant", "caller", "fleet"],
)
def test_k028_for_another_tenant_caller_or_fleet_it_is_refused(home: Home, root: dict[str, str], said: str) -> None:
    home.wish(entry(KEY, []))
    file = saved(home)
    home.wish(entry(KEY, []), **root)
    told = refused(home, "--plan", file)
    assert said in told, f"not told: {told}"
    assert digest_of(file) in refused(home, "--expect", digest_of(file))


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("fleetctl.plan.digest.Scope.json", "it ends with 0: "),
        ("fleetctl.apply.saved.Saved.check_target", "not told: "),
    ],
    ids=["a digest", "a plan file"],
)
def test_k028_what_does_not_say_whose_it_is_is_caught(
    home: Home, monkeypatch: pytest.MonkeyPatch, where: str, told: str
) -> None:
    """The planted faults: a digest of operations alone, and a plan file that is not asked what it is of."""
    monkeypatch.setattr(where, lambda *_: {})
    with pytest.raises(AssertionError, match=f"^{told}"):
        test_k028_for_another_tenant_caller_or_fleet_it_is_refused(home, {"fleet": "second"}, "fleet: planned for")


# K030: a plan of an earlier commit lies about.


def test_k030_a_plan_of_an_earlier_commit_is_refused_with_both_commits(home: Home) -> None:
    repository = Repository(home.directory.parent)

    def commit(*pools: dict[str, Any]) -> str:
        home.wish(*pools)
        return repository.commit()

    (home.directory.parent / ".gitignore").write_text("plane.db*\n*.json\n")
    staging = entry("staging", {"acme": 8})
    first = commit(staging, entry("production", {"acme": 8}))
    leftover = saved(home, "plan-production")
    assert json.loads(leftover.read_text())["commit"] == first
    second = commit(staging)
    current = saved(home, "plan-staging")
    said = refused(home, "--plan", leftover)
    assert f"planned from {first}, these are {second}" in said
    assert "planned, and not to be done now: create production" in said
    assert home.apply("--plan", current).report["summary"]["done"] == 2


# K032: two applies at once. Both plan before either writes.


def meanwhile(monkeypatch: pytest.MonkeyPatch, other: Callable[[], Ran]) -> list[Ran]:
    """Between the plan of the next apply and its first write another one runs, from its beginning to its end."""
    ran: list[Ran] = []
    real = running._run

    def run(*given: Any) -> Any:
        if not ran:
            monkeypatch.setattr(running, "_run", real)
            ran.append(other())
        return real(*given)

    monkeypatch.setattr(running, "_run", run)
    return ran


@pytest.mark.parametrize("is_there", [False, True], ids=["both create", "both update"])
def test_k032_one_policy_stands_whole_and_the_loser_ends_otherwise(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_there: bool
) -> None:
    one, other = {"maxPending": "12h"}, {"maxPending": "6h", "overcommit": 2}
    if is_there:
        home.wish(entry(KEY, []))
        home.apply()
    twin = Home(tmp_path / "twin")
    twin.database = home.database
    twin.more = {"server": {"embedded": str(home.database)}}
    twin.wish(entry(KEY, [], policy=other))
    home.wish(entry(KEY, [], policy=one))
    ran = meanwhile(monkeypatch, lambda: twin.run("apply", "--yes", "--format", "json"))
    lost = home.apply(code=1).report
    assert [each.code for each in ran] == [0]
    assert [outcome["problem"]["code"] for outcome in lost["failed"]] == [
        "VERSION_CONFLICT" if is_there else "CONFLICT"
    ]
    with home.hand() as client:
        pools, _ = client.pools.all(owned=True)
    assert [state.pool.policy for state in pools if state.pool] == [other]
    home.apply()
    assert home.is_settled()


# K033: a plan file is altered between review and apply.


def one_number(text: str) -> str:
    return text.replace('"gpu": 32', '"gpu": 320')


def one_operation_more(text: str) -> str:
    plan = json.loads(text)
    plan["operations"].append(plan["operations"][-1])
    return json.dumps(plan, indent=2, sort_keys=True) + "\n"


def one_digest(text: str) -> str:
    plan = json.loads(text)
    plan["digest"] = "0" * 64
    return json.dumps(plan, indent=2, sort_keys=True) + "\n"


ALTERED: dict[str, Callable[[str], str]] = {
    "a number": one_number,
    "an operation more": one_operation_more,
    "a digest": one_digest,
    "cut short": lambda text: text[:-10],
    "cut to nothing": lambda _: "",
    "a blank": lambda text: text + " ",
    "another order": lambda text: json.dumps(json.loads(text), indent=2) + "\n\n",
    "not a plan": lambda _: "[]",
    "not JSON": lambda _: "apiVersion: fleet/v1",
}


@pytest.mark.parametrize("name", ALTERED)
def test_k033_an_altered_plan_does_not_match_its_digest(home: Home, name: str) -> None:
    home.wish(POOL)
    file = saved(home)
    altered = ALTERED[name](file.read_text())
    assert altered != file.read_text()
    file.write_text(altered)
    assert "the plan does not match its digest" in refused(home, "--plan", file)


def test_k033_the_reviewer_sees_the_digest(home: Home) -> None:
    home.wish(POOL)
    file = saved(home)
    assert digest_of(file) in home.run("plan", "--format", "markdown").out
