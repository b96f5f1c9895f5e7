"""A base that says nothing of this fleet lets nothing be taken away."""

from __future__ import annotations

from typing import Any

import pytest

from fleetctl import guards
from fleetctl.base.bases import Base
from fleetctl.comparison.compare import Asked
from fleetctl.consequences import Consequences
from fleetctl.override import Override
from fleetctl.plan import make
from tests.builders import NOW
from tests.fleets import CALLER, Fleet
from tests.model import ControlPlane, desired, fleet
from tests.model import entry as bare


def entry(key: str, offers: dict[str, int], **fields: Any) -> dict[str, Any]:
    return bare(
        key, **fields, offers=[{"toTenantId": tenant, "quota": {"gpu": gpus}} for tenant, gpus in offers.items()]
    )


GIVES = fleet(entry("a", {"acme": 8}))
TAKES = fleet(entry("a", {}))


def found(files: Fleet, base: Base) -> list[tuple[str, str]]:
    live = ControlPlane()
    live.run(make(desired(fleet(entry("a", {"acme": 4}))), live.live()))
    made = make(desired(files), live.live(), Asked(base=base))
    problems = guards.guarded(Consequences(made, live.live()), Override({}), NOW).problems
    return [(problem.rule, problem.severity) for problem in problems]


@pytest.mark.parametrize(
    "base",
    [
        Base("main", "c0ffee", None),
        Base("main", "c0ffee", desired(fleet(entry("a", {"acme": 4}), fleet="another"))),
        Base("main", "c0ffee", desired(fleet(entry("a", {"acme": 4}), caller="sa_other"))),
        Base("main", "c0ffee", desired(fleet(entry("aaa", {"acme": 4}), keyPrefix="aaa"))),
        Base("main", "c0ffee", desired(fleet(entry("b", {"acme": 4})))),
    ],
    ids=["none", "name", "caller", "prefix", "pools"],
)
def test_a_base_without_this_fleet_lets_nothing_be_taken(base: Base) -> None:
    assert found(TAKES, base) == [("base.fleet", "error")]
    assert found(GIVES, base) == [("base.fleet", "warning")]


@pytest.mark.parametrize(
    ("was", "files"),
    [
        (GIVES, TAKES),
        (
            fleet(entry("aaa", {}), caller="sa_old", keyPrefix="aaa"),
            fleet(entry("aaa", {}), previousCallers=["sa_old"], keyPrefix="aaa"),
        ),
        (fleet(entry("a", {"acme": 4}), caller="sa_new", previousCallers=[CALLER]), TAKES),
        (fleet(allowEmpty=True), TAKES),
        (GIVES, fleet(entry("b", {}, previously="a"))),
        (fleet(entry("b", {})), fleet(entry("c", {}), {"idempotencyKey": "b", "archived": True})),
    ],
    ids=["the same", "a caller after it", "a caller before it", "empty", "a new key", "other pools"],
)
def test_a_base_of_this_fleet_lets_guards_decide(was: Fleet, files: Fleet) -> None:
    assert found(files, Base("main", "c0ffee", desired(was))) == []


@pytest.mark.parametrize("commit", ["c0ffee", None])
def test_a_base_that_is_the_commit_of_the_files_or_they_themselves_guards_nothing_and_says_so(
    commit: str | None,
) -> None:
    assert found(TAKES, Base("main", commit, desired(TAKES), is_own=True)) == [("base.own", "warning")]
    same = fleet(entry("a", {"acme": 4}))
    assert found(same, Base("main", "c0ffee", desired(same), is_own=True)) == []


@pytest.mark.parametrize("fields", [{"id": "ID"}, {"previously": "old"}])
def test_what_the_base_protects_by_its_entrys_key_is_protected_when_the_entry_is_gone(fields: dict[str, Any]) -> None:
    live = ControlPlane()
    live.run(make(desired(fleet(entry("old", {"acme": 4}))), live.live()))
    pool = next(iter(live.live().pools))
    named = {name: pool if value == "ID" else value for name, value in fields.items()}
    was = desired(fleet({**entry("new", {"acme": 4}), **named}, guards={"protect": ["new"]}))
    made = make(desired(fleet({"id": pool, "archived": True})), live.live(), Asked(base=Base("main", None, was)))
    problems = guards.guarded(Consequences(made, live.live()), Override({}), NOW).problems
    assert [problem.rule for problem in problems if problem.severity == "error"] == ["guard.protect"]
