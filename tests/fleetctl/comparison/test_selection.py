"""Which part of a fleet is looked at, and what becomes of the rest."""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from better_compute.domain.commands import OfferPool
from better_compute.domain.problems import ComputeError
from better_compute.domain.state import Work
from fleetctl.comparison.compare import Asked
from fleetctl.comparison.selection import EVERYTHING, parse
from fleetctl.errors import Stop
from fleetctl.plan import make
from tests.fleetctl.comparison.compared import PREFIX, TOMB, base, findings, planned, told
from tests.fleetctl.test_identity import offered, plane, pool_id
from tests.fleets import OWNER
from tests.model import ControlPlane, entry


def selection(*only: str, exclude: tuple[str, ...] = ()) -> Any:
    return parse(only, exclude)


def many() -> ControlPlane:
    live = plane(offered("fra1-a"), offered("fra1-b"), entry("ams1-c", siteId="site_ams1", offers=[]))
    live.do(OfferPool(tenant_id=OWNER, pool_id=pool_id("fra1-b"), to_tenant_id="globex", quota={"gpu": 1}))
    return live


NEW = (
    offered("fra1-a", 9, policy={"note": "x"}),
    offered("fra1-b", 9),
    entry("ams1-c", siteId="site_ams1", offers=[{"toTenantId": "acme", "quota": {"gpu": 1}}]),
    entry("ams1-d", siteId="site_ams1", gpuModel="H200", offers=[{"toTenantId": "globex", "quota": {"gpu": 1}}]),
)
ALL = [
    "create ams1-d",
    "offer ams1-c to acme",
    "offer ams1-d to globex",
    "offer fra1-a to acme",
    "offer fra1-b to acme",
    "unoffer fra1-b to globex",
    "update fra1-a",
]


@pytest.mark.parametrize(
    ("only", "exclude", "operations", "outside"),
    [
        (["key=*"], [], ALL, 0),
        (["key=fra1-a"], [], ["offer fra1-a to acme", "update fra1-a"], 3),
        (["site=site_ams1"], [], ["create ams1-d", "offer ams1-c to acme", "offer ams1-d to globex"], 2),
        (["site=site_ams1,model=H200"], [], ["create ams1-d", "offer ams1-d to globex"], 3),
        (["key=fra1-a", "model=H200"], [], [ALL[0], ALL[2], ALL[3], ALL[6]], 2),
        (["tenant=globex"], [], ["create ams1-d", "offer ams1-d to globex", "unoffer fra1-b to globex"], 3),
        (["tenant=globex,key=fra1-*"], [], ["unoffer fra1-b to globex"], 4),
        (["tenant=acme"], ["key=ams1-*"], ["offer fra1-a to acme", "offer fra1-b to acme"], 4),
        ([], ["tenant=acme"], [ALL[0], ALL[2], ALL[5], ALL[6]], 3),
        ([], ["key=fra1-?", "model=H200"], ["offer ams1-c to acme"], 3),
        (["file=fleet.yaml"], [], ALL, 0),
    ],
)  # fmt: skip
def test_a_selection_leaves_out_what_is_outside_and_counts_it(
    only: list[str], exclude: list[str], operations: list[str], outside: int
) -> None:
    live = many()
    made = planned(live, *NEW, selected=parse(only, exclude))
    assert sorted(told(made)) == operations
    assert made.comparison.differs_outside == outside
    assert made.findings == ()
    live.run(made)
    rest = planned(live, *NEW)
    assert sorted([*told(made), *told(rest)]) == ALL


def test_an_entry_of_which_the_rest_differs_outside_is_not_unchanged() -> None:
    live = plane(offered("a"), offered("b"))
    made = planned(live, offered("a", policy={"maxPending": "6h"}), offered("b"), selected=selection("tenant=acme"))
    assert (told(made), made.comparison.entries, made.comparison.offers) == ([], 2, 2)
    assert (made.comparison.unchanged, made.comparison.differs_outside) == (1, 1)


def test_nothing_outside_of_a_selection_counts_as_removed() -> None:
    live = plane(*(offered(f"fra1-{n}") for n in range(4)), offered("fra1-x"))
    was = base(*(offered(f"fra1-{n}") for n in range(4)), offered("fra1-x"))
    everything = {"base": was, "prune": True, **PREFIX}
    whole = planned(live, offered("fra1-x"), **everything)
    assert len(told(whole)) == 4
    for selector, archived in (("key=fra1-[01]", 2), ("key=fra1-x", 0), ("tenant=acme", 0), ("file=fleet.yaml", 4)):
        made = planned(live, offered("fra1-x"), **everything, selected=selection(selector))
        assert (len(told(made)), len(made.comparison.diff.removed)) == (archived, archived)
        assert made.comparison.differs_outside == 4 - archived


def test_an_archive_that_would_take_what_is_left_out_stays_out() -> None:
    live = plane(offered("a"), entry("b", offers=[]))
    dead = [{"idempotencyKey": key, **TOMB} for key in ("a", "b")]
    made = planned(live, *dead, selected=parse((), ("tenant=acme",)))
    assert (told(made), made.comparison.differs_outside) == (["archive b"], 1)


def test_a_replaced_pool_goes_with_the_entry_that_takes_its_place() -> None:
    live = plane(offered("old"))
    new = offered("new", 9, replaces="old")
    assert told(planned(live, new, offered("z"), selected=selection("key=z"))) == ["create z", "offer z to acme"]
    assert told(planned(live, new, selected=selection("key=new")))[-1] == "archive old"
    for spared in (parse((), ("key=old",)), selection("tenant=acme")):
        made = planned(live, new, selected=spared)
        assert (told(made), made.comparison.differs_outside) == (["create new", "offer new to acme"], 1)
    alone = planned(live, new, selected=selection("key=old"))
    assert (told(alone), alone.comparison.differs_outside) == ([], 2)


def test_a_pool_that_cannot_become_as_wished_blocks_only_where_it_is_selected() -> None:
    live = plane(offered("a"), offered("b"))
    wishes = (offered("a", siteId="site_ams1"), offered("b", 9))
    assert planned(live, *wishes).blocked
    assert not planned(live, *wishes, selected=selection("key=b")).blocked
    assert planned(live, *wishes, selected=selection("tenant=acme")).blocked


def test_counts_are_of_what_is_selected() -> None:
    made = planned(many(), *NEW, selected=selection("site=site_ams1"))
    assert (made.comparison.entries, made.comparison.unchanged) == (2, 0)
    made = planned(many(), *NEW, selected=selection("tenant=globex"))
    assert (made.comparison.entries, made.comparison.unchanged) == (2, 0)


@pytest.mark.parametrize(
    ("only", "exclude", "hint"),
    [
        (["key=fra1-aa"], [], 'did you mean "fra1-a"?'),
        (["model = H100 , key = fra1-aa"], [], 'did you mean "fra1-a"?'),
        (["site=site_fra2"], [], 'did you mean "site_fra1"?'),
        ([], ["tenant=acmee"], 'did you mean "acme"?'),
        (["key=zzz-*"], [], "no pool of this fleet has such a key"),
        (["key=fra1-a,site=site_ams1"], [], "of no pool all of them"),
    ],
)
def test_a_selector_that_selects_nothing_is_a_slip_and_nothing_in_sync(
    only: list[str], exclude: list[str], hint: str
) -> None:
    with pytest.raises(ComputeError) as raised:
        planned(many(), *NEW, selected=parse(only, exclude))
    [problem] = raised.value.problems
    assert problem.rule == "fleet.selection"
    assert hint in problem.hint


def test_the_tenants_of_removed_pools_are_known() -> None:
    live = plane(offered("fra1-a"), entry("fra1-x", offers=[{"toTenantId": "initech", "quota": {"gpu": 1}}]))
    fleet: dict[str, Any] = {"base": base(offered("fra1-a"), offered("fra1-x")), **PREFIX}
    everything = planned(live, offered("fra1-a"), **fleet, prune=True)
    assert told(everything) == ["archive fra1-x"]
    for prune, outside in ((True, 1), (False, 0)):
        spared = planned(live, offered("fra1-a"), **fleet, prune=prune, selected=parse((), ("tenant=initech",)))
        assert told(spared) == []
        assert spared.comparison.differs_outside >= outside
    for only, exclude, hint in (
        (("tenant=initech",), (), "removed pools alone"),
        (("tenant=initec",), (), 'did you mean "initech"?'),
        ((), ("tenant=initec",), 'did you mean "initech"?'),
        ((), ("tenant=initech,key=fra1-a",), "of no pool all of them"),
    ):
        with pytest.raises(ComputeError) as raised:
            planned(live, offered("fra1-a"), **fleet, prune=True, selected=parse(only, exclude))
        [problem] = raised.value.problems
        assert hint in problem.hint


def test_what_selects_and_leaves_out_the_same_is_refused() -> None:
    with pytest.raises(ComputeError, match="nothing of this fleet is left"):
        planned(many(), *NEW, selected=parse(("key=fra1-a",), ("site=site_fra1",)))


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("fra1-*", 'did you mean "key=fra1-*"?'),
        ("sites=x", 'did you mean "site"?'),
        ("", "fields are key, site"),
        ("key=", "key=* selects all"),
        ("key=a,key=b", "twice"),
        ("key=a,", "fields are"),
    ],
)
def test_what_is_no_selector_is_a_usage_error(text: str, hint: str) -> None:
    with pytest.raises(Stop) as stopped:
        parse((text,), ())
    assert stopped.value.exit_code == 64
    assert hint in stopped.value.hint


def test_offers_are_selected_by_the_file_they_stand_in(tmp_path: Path) -> None:
    from fleetctl.desired.load import load

    (tmp_path / "fleet.yaml").write_text("{apiVersion: fleet/v1, tenantId: root, caller: sa_fleet}\n")
    pool = "{idempotencyKey: a, siteId: site_fra1, class: metal-host, gpuModel: H100}"
    (tmp_path / "pools.yaml").write_text(f"pools: [{pool}]\n")
    for tenant in ("acme", "globex"):
        offer = f"{{pool: a, toTenantId: {tenant}, quota: {{gpu: 1}}}}"
        (tmp_path / f"{tenant}.yaml").write_text(f"offers: [{offer}]\n")
    live = ControlPlane()
    one = make(load(tmp_path), live.live(), Asked(selected=selection("file=acme.yaml")))
    assert told(one) == ["create a", "offer a to acme"]
    rest = make(load(tmp_path), live.live(), Asked(selected=parse((), ("file=acme.yaml",))))
    assert told(rest) == ["create a", "offer a to globex"]
    assert len(told(make(load(tmp_path), live.live(), Asked(selected=selection("file=pools.yaml"))))) == 3


def test_a_pool_is_not_archived_before_all_of_what_takes_its_place_is_there(tmp_path: Path) -> None:
    from fleetctl.desired.load import load

    live = plane(offered("old"))
    (tmp_path / "fleet.yaml").write_text("{apiVersion: fleet/v1, tenantId: root, caller: sa_fleet}\n")
    pool = "{idempotencyKey: new, replaces: old, siteId: site_fra1, class: metal-host, gpuModel: H100}"
    (tmp_path / "pools.yaml").write_text(f"pools: [{pool}]\n")
    (tmp_path / "acme.yaml").write_text("offers: [{pool: new, toTenantId: acme, quota: {gpu: 8}}]\n")
    made = make(load(tmp_path), live.live(), Asked(selected=parse((), ("file=acme.yaml",))))
    assert (told(made), made.comparison.differs_outside) == (["create new"], 2)


def test_a_renamed_entry_is_found_also_where_the_old_pool_is_not_selected() -> None:
    live = plane(offered("fra1-old"))
    made = planned(live, offered("fra1-new"), **PREFIX, selected=selection("key=fra1-new"))
    assert (findings(made), made.comparison.diff.removed) == ([("fleet.rename", "error")], ())


# Every name that a pool goes by.

LIVE = [f"fra1-{n}" for n in range(4)]
MEANT: dict[str, Any] = {
    "key": lambda key, fields: {"idempotencyKey": key, **fields},
    "id": lambda key, fields: {"id": pool_id(key), **fields},
    "id, new key": lambda key, fields: {"id": pool_id(key), "idempotencyKey": f"{key}-adopted", **fields},
    "renamed": lambda key, fields: {"idempotencyKey": f"{key}-new", "previously": key, **fields},
    "absent": lambda *_: None,
}
"""How files and a base may mean a live pool."""
BECOMES: dict[str, dict[str, Any]] = {
    "stays": offered("", 8),
    "changes": offered("", 9, policy={"note": "x"}),
    "ends": TOMB,
    "is replaced": {},
}
WAYS = st.tuples(st.sampled_from(sorted(MEANT)), st.sampled_from(sorted(MEANT)), st.sampled_from(sorted(BECOMES)))


def written(key: str, how: str, becomes: str) -> dict[str, Any] | None:
    fields = {name: value for name, value in BECOMES[becomes].items() if name != "idempotencyKey"}
    made: dict[str, Any] | None = MEANT[how](key, fields)
    return offered(f"{key}-heir", replaces=key) if becomes == "is replaced" and how != "absent" else made


def called(pool: str, *entries: dict[str, Any] | None) -> set[str]:
    said = [each for each in entries if each and "replaces" not in each]
    keys = {each[name] for each in said for name in ("idempotencyKey", "previously", "id") if name in each}
    return {pool, pool_id(pool), *keys}


@given(st.lists(WAYS, min_size=len(LIVE), max_size=len(LIVE)))
@settings(max_examples=60, deadline=None)
def test_each_name_that_a_pool_goes_by_selects_it_and_spares_it(ways: list[tuple[str, str, str]]) -> None:
    live, pairs = plane(*map(offered, LIVE), offered("fra1-z")), list(zip(LIVE, ways, strict=True))
    was = {key: written(key, before, "stays") for key, (before, _, _) in pairs}
    now = {key: written(key, after, becomes) for key, (_, after, becomes) in pairs}
    fleet: dict[str, Any] = {"prune": True, "base": base(*filter(None, was.values()), offered("fra1-z")), **PREFIX}

    def of(key: str, selected: Any = EVERYTHING) -> list[str]:
        made = planned(live, *filter(None, now.values()), offered("fra1-z"), **fleet, selected=selected)
        return [each for each, o in zip(told(made), made.operations, strict=True) if o.pool_id == pool_id(key)]

    for key, (_, after, becomes) in pairs:
        everything = [] if becomes == "is replaced" and after != "absent" else of(key)  # that one goes with its heir
        for name in called(key, was[key], now[key]):
            assert of(key, parse((), (f"key={name}",))) == [], name
            assert of(key, selection(f"key={name}")) == everything, name


def test_a_replaced_pool_that_waits_is_spared_by_name() -> None:
    live = plane(offered("old"))
    state = live.pools[pool_id("old")]
    state.rollup = replace(state.rollup, work={"acme": Work(pending=1)})
    spared = planned(live, offered("new", replaces="old"), selected=parse((), ("key=old",)))
    assert told(spared) == ["create new", "offer new to acme"]


# Globs are about names that people gave.

GLOBS = st.text(st.sampled_from("*?fra1-0ol"), max_size=6).map(lambda text: f"*{text}")


@given(GLOBS, st.lists(st.sampled_from(["fra1-0", "fra1-1", "ams1-0", "lon1-h2", "p"]), min_size=1, unique=True))
@settings(max_examples=200, deadline=None)
def test_a_glob_takes_the_keys_that_it_matches_and_no_id(glob: str, keys: list[str]) -> None:
    """Ids are random texts, in which any letter may stand."""
    wishes, meant = [offered(key) for key in keys], [key for key in keys if fnmatchcase(key, glob)]
    if meant:
        made = planned(ControlPlane(), *wishes, selected=selection(f"key={glob}"))
        assert sorted(o.name for o in made.operations if o.action == "create") == sorted(meant)
    else:
        with pytest.raises(ComputeError, match="selects nothing"):
            planned(ControlPlane(), *wishes, selected=selection(f"key={glob}"))


@pytest.mark.parametrize("glob", ["p*", "pool_*", f"{pool_id('fra1-a')[:-1]}?", "[op]*", "[!f]*"])
def test_what_only_an_id_matches_is_nothing(glob: str) -> None:
    for only, exclude in (((f"key={glob}",), ()), ((), (f"key={glob}",))):
        with pytest.raises(ComputeError, match="selects nothing"):
            planned(plane(offered("fra1-a")), offered("fra1-a", 9), selected=parse(only, exclude))


def test_an_id_that_is_written_out_whole_is_a_name() -> None:
    live = plane(offered("fra1-a"), offered("fra1-b"))
    made = planned(live, offered("fra1-a", 9), offered("fra1-b", 9), selected=selection(f"key={pool_id('fra1-a')}"))
    assert told(made) == ["offer fra1-a to acme"]


@pytest.mark.parametrize(
    ("glob", "offers"),
    [
        ("old-*", ["offer new-a to acme"]),
        ("new-*", ["offer new-a to acme"]),
        ("[!n]*", ["offer fra1-b to acme"]),
        ("[!o]*", ["offer fra1-b to acme", "offer new-a to acme"]),
        ("[!!of]*", ["offer new-a to acme"]),
        ("[o!]*", ["offer new-a to acme"]),
    ],
)
def test_a_glob_means_a_former_key_too_and_what_it_rules_out_is_the_key_of_now(glob: str, offers: list[str]) -> None:
    live = plane(offered("old-a"), offered("fra1-b"))
    wishes = (offered("new-a", 9, previously="old-a"), offered("fra1-b", 9))
    assert sorted(told(planned(live, *wishes, selected=selection(f"key={glob}")))) == offers
    left = {"offer fra1-b to acme", "offer new-a to acme"} - set(offers)
    if left:
        assert set(told(planned(live, *wishes, selected=parse((), (f"key={glob}",))))) == left


def test_what_a_model_is_not_is_said_of_the_one_that_it_will_be() -> None:
    live = plane(offered("fra1-a"))
    with pytest.raises(ComputeError, match="selects nothing"):
        planned(live, offered("fra1-a", gpuModel="L40S"), selected=selection("model=[!L]*"))
    for model in ("H1*", "L4*"):
        made = planned(live, offered("fra1-a", gpuModel="L40S"), selected=selection(f"model={model}"))
        assert told(made) == ["update fra1-a"]


def test_an_offer_is_not_in_the_file_of_its_pool_where_it_stands_in_its_own(tmp_path: Path) -> None:
    from fleetctl.desired.load import load

    (tmp_path / "fleet.yaml").write_text("{apiVersion: fleet/v1, tenantId: root, caller: sa_fleet}\n")
    pool = "{idempotencyKey: a, siteId: site_fra1, class: metal-host, gpuModel: H100}"
    (tmp_path / "pools.yaml").write_text(f"pools: [{pool}]\n")
    for tenant in ("acme", "globex"):
        (tmp_path / f"{tenant}.yaml").write_text(f"offers: [{{pool: a, toTenantId: {tenant}, quota: {{gpu: 1}}}}]\n")
    made = make(load(tmp_path), ControlPlane().live(), Asked(selected=selection("file=[!a]*")))
    assert told(made) == ["create a", "offer a to globex"]
