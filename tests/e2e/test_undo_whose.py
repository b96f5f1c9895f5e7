"""The plan of an undo says whose values it brings back, where no apply of its caller had set them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from better_compute.wire.views import EventView
from fleetctl import history
from fleetctl.undo.whose import _Search
from fleetctl.words import time
from tests.e2e.homes import Home, entry, phrase, pool_id, unchanged
from tests.e2e.test_laws import ALLOWED
from tests.e2e.test_undo import applied, undone
from tests.fleets import OWNER

Json = Any
FIRST = [entry("a", {"acme": 8, "globex": 8}, policy={"maxPending": "6h"}, ownerQuota={"gpu": 64})]
LAST = [entry("a", {"acme": 16}, policy={"maxPending": "1h"}, ownerQuota={"gpu": 32})]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fleet that was applied; its files are to be wished otherwise."""
    made = Home(tmp_path, fleet="web")
    made.wish(*FIRST)
    made.apply()
    return made


def by(
    home: Home, operation: str, identity: str = "sa_hand", via: Json = None, key: str = "a", **body: Any
) -> EventView:
    """What somebody does beside the fleet, as its event tells."""
    with home.hand(identity) as client:
        (client.under(via) if via else client).call(operation, {"poolId": pool_id(key), **body})
    return home.events()[-1]


def offer(home: Home, gpus: int, to: str = "acme", **more: Any) -> EventView:
    return by(home, "pools/offer", toTenantId=to, quota={"gpu": gpus}, **more)


def last(home: Home, *pools: Json) -> Path:
    """The report of the apply that is to be taken back."""
    home.wish(*(pools or LAST))
    return applied(home)


def told(home: Home, file: Path) -> dict[str, list[str]]:
    """What the plan of its undo says of whose values come back, by operation."""
    with unchanged(home):
        report = home.plan("--undo", file, *ALLOWED).report
    return {phrase(o): [it for it in o["effects"] if "brings back" in it] for o in report["operations"]}


def of(event: EventView, *paths: str, how: str = "by no apply") -> str:
    part = f": {' and '.join(paths)}" if paths else ""
    return f"brings back what {event.actor_id} set at {time(event.time)} ({how}){part}"


# Whose it was.


def test_values_of_every_kind_that_a_hand_had_set(home: Home) -> None:
    raised, other = offer(home, 12), offer(home, 9, "globex", priority=3)
    updated = by(home, "pools/update", policy={"maxPending": "8h"})
    owner = by(home, "quotas/set", toTenantId=OWNER, quota={"gpu": 48})
    assert told(home, last(home)) == {
        "offer a to acme": [of(raised)],
        "offer a to globex": [of(other, "quota.gpu", "priority")],
        "update a": [of(updated)],
        "setQuota a": [of(owner)],
    }


def test_rows_that_were_set_by_themselves_and_a_model(home: Home) -> None:
    quota = by(home, "quotas/set", toTenantId="acme", quota={"gpu": 12})
    model = by(home, "pools/update", gpuModel="H200")
    found = told(home, last(home, entry("a", {"acme": 16, "globex": 8}, policy={"maxPending": "6h"})))
    assert found == {"offer a to acme": [of(quota)], "update a": [of(model)]}


def test_nothing_is_said_where_the_fleet_had_set_it(home: Home) -> None:
    assert set(map(str, told(home, last(home)).values())) == {"[]"}


def test_nothing_is_said_where_the_fleet_set_it_again_after_the_hand(home: Home) -> None:
    offer(home, 12)
    home.apply(*ALLOWED)
    assert told(home, last(home))["offer a to acme"] == []


def test_an_apply_between_that_left_the_field_alone_hides_no_hand(home: Home) -> None:
    raised = offer(home, 12)
    home.wish(entry("a", [{"toTenantId": "acme", "quota": {"gpu": 12}, "priority": 5}], ownerQuota={"gpu": 64}))
    home.apply(*ALLOWED)
    assert told(home, last(home, entry("a", {"acme": 16}))) == {"offer a to acme": [of(raised, "quota.gpu")]}


def test_only_the_fields_that_the_hand_changed_are_told(home: Home) -> None:
    home.wish(entry("a", {"acme": 8}, policy={"maxPending": "6h", "labels": {"team": "x", "tier": "1"}}))
    home.apply(*ALLOWED)
    first = by(home, "pools/update", policy={"maxPending": "360m", "labels": {"team": "y", "tier": "1"}})
    file = last(home, entry("a", {"acme": 8}, policy={"maxPending": "1h"}))
    assert told(home, file) == {"update a": [of(first, "policy.labels.team")]}, "6h and 360m are one value"


def test_what_the_hand_took_away_is_his_too(home: Home) -> None:
    pools = [entry("a", [{"toTenantId": "acme", "quota": {"gpu": 8, "vcpu": 5}}], policy={"maxPending": "6h"})]
    home.wish(*pools)
    home.apply(*ALLOWED)
    policy = by(home, "pools/update", policy={})
    row = by(home, "pools/offer", toTenantId="acme", quota={"vcpu": 0})
    assert told(home, last(home, *pools)) == {
        "update a": [of(policy)],
        "offer a to acme": [of(row)],
    }


def test_a_row_that_was_not_there_nobody_had_set(home: Home) -> None:
    """What a hand once granted and withdrew is none of the offer that the fleet made after it."""
    made = by(home, "pools/offer", toTenantId="initech", quota={"gpu": 9, "vcpu": 0})
    by(home, "pools/offer", toTenantId="umbrella", quota={"gpu": 9, "vcpu": 5})
    by(home, "pools/unoffer", toTenantId="umbrella")
    home.wish(entry("a", {"acme": 8, "initech": 9, "umbrella": 9}))
    home.apply(*ALLOWED)
    rows = {"gpu": 16, "vcpu": 7}
    file = last(home, entry("a", [{"toTenantId": tenant, "quota": rows} for tenant in ("initech", "umbrella")]))
    found = told(home, file)
    assert (found["offer a to initech"], found["offer a to umbrella"]) == ([of(made, "quota.gpu")], [])


def test_several_hands_are_told_each(home: Home) -> None:
    one, other = offer(home, 12), by(home, "pools/offer", "sa_other", toTenantId="acme", quota={}, priority=4)
    file = last(home)
    assert told(home, file)["offer a to acme"] == [of(one, "quota.gpu"), of(other, "priority")]


def test_whoever_calls_as_the_fleet_without_an_apply_is_a_hand(home: Home) -> None:
    event = by(home, "pools/offer", "sa_fleet", toTenantId="acme", quota={"gpu": 12})
    assert told(home, last(home))["offer a to acme"] == [of(event)]


def test_the_apply_of_another_caller_is_told_as_one_and_of_the_same_caller_it_is_not(home: Home) -> None:
    via = {"fleet": "blue", "digest": "d" * 64}
    event = by(home, "pools/offer", "sa_other", via, toTenantId="acme", quota={"gpu": 12})
    by(home, "pools/offer", "sa_fleet", via, toTenantId="globex", quota={"gpu": 12})
    found = told(home, last(home))
    assert found["offer a to acme"] == [of(event, how="by an apply: fleet blue, digest dddddddddddd")]
    assert found["offer a to globex"] == []


def test_a_pool_that_a_hand_made_is_his_with_its_owners_rows(tmp_path: Path) -> None:
    home = Home(tmp_path)
    body = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "idempotencyKey": "mine"}
    with home.hand() as client:
        made = client.call("pools/create", {**body, "policy": {"maxPending": "6h"}})
    event = home.events()[-1]
    policy = {"maxPending": "1h", "maxHold": "1h"}
    file = last(home, entry("mine", [], id=made["id"], policy=policy, ownerQuota={"gpu": 5}))
    assert told(home, file) == {"update mine": [of(event, "policy.maxPending")], "setQuota mine": [of(event)]}


def test_what_an_undo_had_brought_back_is_still_the_hands(home: Home) -> None:
    raised = offer(home, 12)
    withdrawn = offer(home, 9, "globex", priority=1, includeDescendants=True)
    undone(home, last(home))
    file = last(home)
    found = told(home, file)
    assert (found["offer a to acme"], found["offer a to globex"]) == ([of(raised)], [of(withdrawn)])
    back = home.directory.parent / "back.json"
    undone(home, file, "--report", back)
    assert not any(told(home, back).values()), "what comes back with it the apply had set"


def test_what_happened_after_the_apply_brought_nothing_back(home: Home) -> None:
    raised, file = offer(home, 12), last(home)
    home.wish(entry("a", {"acme": 17}, policy={"maxPending": "1h"}, ownerQuota={"gpu": 32}))
    undone(home, applied(home, "later.json"))
    assert told(home, file)["offer a to acme"] == [of(raised)]


# Where it is said.


@pytest.mark.parametrize("form", ["text", "markdown", "html", "json", "github", "junit", "sarif"])
def test_it_is_said_in_every_format_that_tells_effects(home: Home, form: str) -> None:
    said = f"brings back what sa_hand set at {time(offer(home, 12).time)}"
    file = last(home)
    assert (said in home.run("plan", "--undo", file, *ALLOWED, "--format", form).out) is (form not in NO_EFFECTS)


NO_EFFECTS = ("github", "sarif")
"""They tell findings alone."""


def test_an_undo_says_it_before_it_is_approved_and_its_digest_is_of_what_is_done(home: Home) -> None:
    raised, file = offer(home, 12), last(home)
    digest = home.plan("--undo", file, *ALLOWED).report["digest"]
    ran = home.run("apply", "--undo", file, "--expect", digest, *ALLOWED)
    assert ran.code == 0, ran.said
    assert of(raised) in ran.out


# What it costs, and what it does not know.


def asked(monkeypatch: pytest.MonkeyPatch) -> list[Json]:
    """The requests that look back."""
    from better_compute.client.groups import Events

    real, found = Events.list, list[Json]()

    def listing(self: Events, **given: Any) -> Any:
        found.append(given)
        return real(self, **given)

    monkeypatch.setattr(Events, "list", listing)
    return found


def test_many_pools_are_asked_about_in_one_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, keys = Home(tmp_path), [f"p{n}" for n in range(20)]
    home.wish(*(entry(key, {"acme": 4}) for key in keys))
    home.apply()
    for key in keys[:3]:
        by(home, "pools/offer", key=key, toTenantId="acme", quota={"gpu": 5})
    file, requests = last(home, *(entry(key, {"acme": 6}) for key in keys)), asked(monkeypatch)
    assert sum(bool(said) for said in told(home, file).values()) == 3
    assert [len(one["pool_ids"]) for one in requests] == [20]


def test_new_objects_bring_nothing_back_and_nobody_is_asked(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    file = last(home, *FIRST, entry("b", {"acme": 1}))
    requests = asked(monkeypatch)
    assert told(home, file) == {"archive b": []}
    assert requests == []


def test_a_long_history_is_not_read_to_its_end_and_what_is_too_far_back_is_not_told(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_MOST", 2)
    monkeypatch.setattr(history, "_PAGES", 3)
    policy, _ = by(home, "pools/update", policy={"maxPending": "8h"}), offer(home, 10)
    raised = offer(home, 12)
    file, requests = last(home), asked(monkeypatch)
    found = told(home, file)
    assert len(requests) == 3
    assert (found["offer a to acme"], found["update a"]) == ([of(raised)], [])
    monkeypatch.setattr(history, "_PAGES", 30)
    assert told(home, file)["update a"] == [of(policy)]


def rows(gpus: int) -> str:
    return f'{{"quota":{{"gpu":{gpus}}},"priority":0,"includeDescendants":false}}'


@pytest.mark.parametrize(
    "data",
    [
        f'{{"before":{rows(8)},"after":{rows(13)}}}',
        "{}",
        f'{{"after":{rows(12)}}}',
        '{"before":null,"after":null}',
        '{"before":{"quota":7},"after":{"quota":[12]}}',
        '{"before":[],"after":"12"}',
    ],
)
def test_a_value_that_no_event_is_known_to_have_left_is_nobody_s(home: Home, data: str) -> None:
    offer(home, 12)
    home.sql("UPDATE events SET data = ? WHERE actor_id = 'sa_hand'", data)
    assert told(home, last(home))["offer a to acme"] == []


def test_rows_of_an_owner_that_was_offered_its_own_pool_first_are_nobody_s(home: Home) -> None:
    by(home, "pools/offer", toTenantId=OWNER, quota={"gpu": 48}, priority=1)
    assert told(home, last(home))["setQuota a"] == []


# Over histories: it is said exactly where it is so.


Values = dict[str, Json]
"""What each field of one pool is, by its path."""
FIELDS: dict[str, tuple[str, list[Json]]] = {
    "quota.gpu": ("offer a to acme", [4, 5, 6, 7]),
    "quota.vcpu": ("offer a to acme", [0, 7, 8]),
    "priority": ("offer a to acme", [0, 2, 3]),
    "policy.maxPending": ("update a", ["1h", "60m", "2h", "3h"]),
    "policy.maxHold": ("update a", ["1h", "2h", "3h"]),
    "ownerQuota.gpu": ("setQuota a", [30, 40, 50]),
}
"""By path: the operation that brings it back, and what it may be."""


def same(one: Json, other: Json) -> bool:
    return {"60m": "1h"}.get(one, one) == {"60m": "1h"}.get(other, other)


def part(values: Values, name: str) -> Json:
    return {path.partition(".")[2]: value for path, value in values.items() if path.startswith(f"{name}.")}


def wished(values: Values) -> Json:
    terms = {"toTenantId": "acme", "quota": part(values, "quota"), "priority": values["priority"]}
    return entry("a", [terms], policy=part(values, "policy"), ownerQuota=part(values, "ownerQuota"))


def by_hand(home: Home, operation: str, values: Values, **who: Any) -> None:
    quota = {"quota": part(values, "quota"), "priority": values["priority"]}
    match operation:
        case "update a":
            by(home, "pools/update", **who, policy=part(values, "policy"))
        case "setQuota a":
            by(home, "quotas/set", **who, toTenantId=OWNER, quota=part(values, "ownerQuota"))
        case _:
            by(home, "pools/offer", **who, toTenantId="acme", **quota)


def moved(values: Values, random: Random, paths: list[str]) -> Values:
    return values | {path: random.choice(FIELDS[path][1]) for path in paths if random.random() < 0.5}


HANDS: list[Mapping[str, Json]] = [
    {"identity": "sa_hand"},
    {"identity": "sa_fleet"},
    {"identity": "sa_other", "via": {"fleet": "blue", "digest": "d" * 64}},
]


def history_of(home: Home, random: Random) -> tuple[Values, dict[str, EventView | None]]:
    """Some steps of hands, applies, and applies that were taken back: the values, and who set each of them last, if no
    apply of the fleet did."""
    values: Values = {path: choices[0] for path, (_, choices) in FIELDS.items()}
    setters: dict[str, EventView | None] = dict.fromkeys(FIELDS)
    home.wish(wished(values))
    home.apply(*ALLOWED)
    for _ in range(random.randint(1, 5)):
        step = random.choice(["hand", "hand", "hand", "apply", "undone"])
        operation = random.choice([operation for operation, _ in FIELDS.values()])
        mine = [path for path in FIELDS if FIELDS[path][0] == operation]
        after = moved(values, random, mine if step == "hand" else [*FIELDS])
        changed = [path for path in FIELDS if not same(values[path], after[path])]
        if step == "hand":
            by_hand(home, operation, after, **random.choice(HANDS))
            event = home.events()[-1]
            setters |= dict.fromkeys(changed, event)
        else:
            home.wish(wished(after))
            file = applied(home, "step.json")
            if step == "undone":
                undone(home, file)
                continue
            setters |= dict.fromkeys(changed)
        values = after
    return values, setters


def expected(values: Values, after: Values, setters: Mapping[str, EventView | None]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    back = [path for path in FIELDS if not same(values[path], after[path])]
    for path in back:
        operation = FIELDS[path][0]
        said = found.setdefault(operation, set())
        if event := setters[path]:
            mine = [one for one in back if FIELDS[one][0] == operation]
            his = [one for one in mine if (it := setters[one]) and it.sequence == event.sequence]
            how = "by an apply: fleet blue, digest dddddddddddd" if event.actor_id == "sa_other" else "by no apply"
            said.add(of(event, *(his if len(his) < len(mine) else ()), how=how))
    return found


def law(seed: int) -> bool:
    """Whether there was something to be told."""
    random = Random(seed)
    with TemporaryDirectory() as name:
        home = Home(Path(name))
        values, setters = history_of(home, random)
        after = moved(values, random, [*FIELDS])
        found = told(home, last(home, wished(after)))
        assert {operation: set(said) for operation, said in found.items()} == expected(values, after, setters)
        return any(found.values())


SEEDS = (4, 6, 7, 12, 17, 27)
"""Of histories that leave something to be told, or would if it were told of whoever came last."""


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_said_exactly_where_it_is_so(seed: int) -> None:
    law(seed)


@pytest.mark.long
def test_it_is_said_exactly_where_it_is_so_over_hundreds_of_histories() -> None:
    assert sum(map(law, range(100, 400))) > 50


def whoever_came_last(real: Any) -> Any:
    return lambda search, event, sides: real(search, event, sides and ({}, sides[1]))


def nobody(_real: Any) -> Any:
    return lambda *_: None


@pytest.mark.parametrize(("fault", "seed"), [(whoever_came_last, 6), (nobody, 4)])
def test_whoever_is_told_instead_breaks_the_law(
    fault: Callable[[Any], Any], seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted faults."""
    monkeypatch.setattr(_Search, "look", fault(_Search.look))
    with pytest.raises(AssertionError, match="brings back"):
        law(seed)
