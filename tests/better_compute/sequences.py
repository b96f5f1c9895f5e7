"""Sequences of all that a control plane is asked and does by itself, on both databases: answers and rows are equal, and
the invariants hold after every step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from better_compute.reconcilers import admission, placer, rounds
from better_compute.reconcilers.hosts import Keeper
from tests.better_compute import wishes
from tests.better_compute.bills import down, no, yes
from tests.better_compute.pair import Pair
from tests.better_compute.plane import CARD, IDENTITIES
from tests.better_compute.wishes import Body
from tests.invariants import ATOMS, HOUR, LIVE, misstepped, told, unsettled, used_hours

OWNERS = {"root": "sa_fleet", "acme": "sa_acme", "globex": "sa_globex"}
"""Who acts for a tenant that owns pools."""
SITES = {"root": "site_fra1", "acme": "site_acme", "globex": "site_globex"}
ABSENT = "pool_00000000000000000000000000"

one_of = st.sampled_from
N = st.integers(0, 999)
"""Which of what there is."""
SOMEBODY = one_of([*["sa_fleet"] * 4, *["sa_acme"] * 2, "sa_globex", "sa_eu"])
ASKER = one_of([*[None] * 14, "sa_other", "sa_acme", "sa_globex", "sa_eu"])
"""Who asks for something; None: who owns it."""
BOOKER = one_of([*["sa_acme", "sa_globex", "sa_fleet"] * 3, "sa_acme2", "sa_eu"])
TENANT = one_of([*["acme", "globex"] * 3, "root", "acme-eu", *["sleepy"] * 2, "nobody"])
EXPECTED = one_of([*[None] * 8, 0, 0, -1])
"""A version: none, or one so far from that of today."""
PASSING = one_of([1, 61_000, HOUR, 25 * HOUR])
LISTS = [
    "pools/list",
    "pools/listOffers",
    "quotas/list",
    "nodes/list",
    "reservations/list",
    "events/list",
    "usage/list",
]
WISH = st.fixed_dictionaries(
    {
        "n": N,
        "atoms": one_of(wishes.AMOUNTS),
        "scalars": one_of(wishes.SCALARS),
        "selectors": one_of(wishes.SELECTORS),
        "key": one_of([None, None, None, "j1", "j2", "j3"]),
    }
)
WISHES = st.lists(st.tuples(BOOKER, WISH), min_size=1, max_size=4)


_EVENTS: list[Body] = [{}, {"order": "desc"}, {"types": ["pool.*", "node.joined"]}, {"after": 9}, {"latest": True}]


class Step(NamedTuple):
    name: str
    given: Body

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{name}={value!r}' for name, value in self.given.items())})"


_STEPS: dict[str, tuple[int, st.SearchStrategy[Body]]] = {}
"""Name -> how often of a hundred times, about, and with what."""
F = TypeVar("F", bound=Callable[..., None])


def step(often: int, **given: st.SearchStrategy[Any]) -> Callable[[F], F]:
    """Steps are drawn as one rule: of many rules hypothesis would leave out half in each sequence."""

    def add(work: F) -> F:
        _STEPS[work.__name__] = often, st.fixed_dictionaries(given)
        return work

    return add


@st.composite
def steps(draw: st.DrawFn) -> Step:
    name = draw(one_of([name for name, (often, _) in sorted(_STEPS.items()) for _ in range(often)]))
    return Step(name, draw(_STEPS[name][1]))


class Sequences(RuleBasedStateMachine):
    """`pair` is given by a subclass."""

    pair: Pair

    def __init__(self) -> None:
        super().__init__()
        self.pair.begin(wakes=False)
        self.found = self.pair.found()
        self.tokens: list[str] = []
        self.booked: list[tuple[str, Body]] = []

    @initialize(shapes=st.lists(one_of(wishes.POOLS), min_size=1, max_size=2), wakes=st.booleans(), booked=WISHES)
    def a_fleet(self, shapes: list[Body], wakes: bool, booked: list[tuple[str, Body]]) -> None:
        self.pair.begin(wakes=wakes)
        for i, shape in enumerate(shapes):
            self.create_pool(None, shape, f"k{i}")
            self.holds()
            pool = max(self.found.pools.values(), key=lambda pool: int(pool["created_at"]))
            for tenant_id in ("acme", "globex"):
                body = {**self.quota_of(pool, wishes.QUOTAS[0]), "poolId": pool["id"], "toTenantId": tenant_id}
                self.pair.ask("sa_fleet", "pools/offer", body)
                self.holds()
            self.come(pool, wishes.INVENTORIES[0], {})
            self.holds()
        self.reserve(booked)

    @rule(step=steps())
    def does(self, step: Step) -> None:
        getattr(self, step.name)(**step.given)

    # What is asked

    @step(4, who=ASKER, shape=one_of(wishes.SHAPES), key=one_of([None, "k0", "k1", "k2"]))
    def create_pool(self, who: str | None, shape: Body, key: str | None) -> None:
        who = who or "sa_fleet"
        tenant_id = IDENTITIES[who]
        body = {**shape, "siteId": SITES.get(tenant_id, "site_ams2")}
        if key is not None:
            body["idempotencyKey"] = key
        if "providerAccountId" in shape and tenant_id == "acme":
            body["providerAccountId"] = "pa_acme"
        self.pair.ask(who, "pools/create", body)

    @step(
        8,
        n=N,
        who=ASKER,
        policy=one_of([*wishes.POLICIES, None]),
        model=one_of([*[None] * 8, *wishes.MODELS, "h100"]),
        expected=EXPECTED,
    )
    def update(self, n: int, who: str | None, policy: Body | None, model: str | None, expected: int | None) -> None:
        pool = self.pool(n)
        body: Body = {"poolId": pool["id"]}
        if model is not None:
            body["gpuModel"] = model
        if policy is not None:
            kept = {"gpu": pool["policy"]["gpu"]} if "gpu" in pool["policy"] else {}
            body["policy"] = {**kept, **policy}
        self.pair.ask(who or self.owner(pool), "pools/update", body | _version(expected, pool["version"]))

    @step(3, n=N, who=ASKER, expected=EXPECTED)
    def archive(self, n: int, who: str | None, expected: int | None) -> None:
        pool = self.pool(n)
        body = {"poolId": pool["id"], **_version(expected, pool["version"])}
        self.pair.ask(who or self.owner(pool), "pools/archive", body)

    @step(
        7,
        n=N,
        who=ASKER,
        tenant_id=TENANT,
        quota=one_of(wishes.QUOTAS),
        terms=one_of(wishes.TERMS),
        expected=EXPECTED,
    )
    def offer(self, n: int, who: str | None, tenant_id: str, quota: Body, terms: Body, expected: int | None) -> None:
        pool = self.pool(n)
        body = {"poolId": pool["id"], "toTenantId": tenant_id, **self.quota_of(pool, quota), **terms}
        version = _version(expected, self.offer_version(pool, tenant_id))
        self.pair.ask(who or self.owner(pool), "pools/offer", body | version)

    @step(3, n=N, who=ASKER, tenant_id=TENANT, expected=EXPECTED)
    def unoffer(self, n: int, who: str | None, tenant_id: str, expected: int | None) -> None:
        pool = self.pool(n)
        version = _version(expected, self.offer_version(pool, tenant_id))
        body = {"poolId": pool["id"], "toTenantId": tenant_id, **version}
        self.pair.ask(who or self.owner(pool), "pools/unoffer", body)

    @step(6, n=N, who=ASKER, tenant_id=TENANT, quota=one_of(wishes.QUOTAS), expected=EXPECTED)
    def set_quota(self, n: int, who: str | None, tenant_id: str, quota: Body, expected: int | None) -> None:
        pool = self.pool(n)
        is_owner = tenant_id == pool["owner_id"]
        held = pool["owner_quota_version"] if is_owner else self.offer_version(pool, tenant_id)
        body = {"poolId": pool["id"], "toTenantId": tenant_id, **self.quota_of(pool, quota)}
        self.pair.ask(who or self.owner(pool), "quotas/set", body | _version(expected, held))

    @step(7, n=N, inventory=one_of(wishes.INVENTORIES), more=one_of(wishes.MACHINES))
    def machine_comes(self, n: int, inventory: Body, more: Body) -> None:
        self.come(self.pool(n), inventory, more)

    @step(2, n=N, who=ASKER, passing=PASSING)
    def machine_knocks(self, n: int, who: str | None, passing: int) -> None:
        """With a token that may be used up, expired by now, or of another pool."""
        if not self.tokens:
            return
        pool = self.pool(n)
        self.pair.turn(passing)
        body = {"poolId": pool["id"], "joinToken": self.tokens[n // 7 % len(self.tokens)], "inventory": {}}
        self.pair.ask(who or self.owner(pool), "nodes/join", body)

    @step(5, n=N, who=ASKER, inventory=one_of(wishes.INVENTORIES))
    def report(self, n: int, who: str | None, inventory: Body) -> None:
        if not self.found.nodes:
            return
        node, pool = self.node(n)
        body = {"nodeId": node["id"], "inventory": _inventory(pool, inventory)}
        self.pair.ask(who or self.owner(pool), "nodes/report", body)

    @step(4, n=N, who=ASKER, stated=one_of(wishes.CONTROLS))
    def set_control(self, n: int, who: str | None, stated: Body) -> None:
        if not self.found.nodes:
            return
        node, pool = self.node(n)
        self.pair.ask(who or self.owner(pool), "nodes/setControl", {"nodeId": node["id"], **stated})

    @step(8, n=N, who=ASKER)
    def remove_machine(self, n: int, who: str | None) -> None:
        if not self.found.nodes:
            return
        node, pool = self.node(n)
        self.pair.ask(who or self.owner(pool), "nodes/remove", {"nodeId": node["id"]})

    @step(12, booked=WISHES)
    def reserve(self, booked: list[tuple[str, Body]]) -> None:
        for who, wish in booked:
            self.reserve_one(who, **wish)
            self.holds()

    @step(3, who=BOOKER, wish=WISH, many=st.integers(2, 5))
    def reserve_the_same(self, who: str, wish: Body, many: int) -> None:
        """Several that are alike, until something has no more room."""
        for _ in range(many):
            self.reserve_one(who, **wish | {"key": None, "selectors": None})
            self.holds()

    @step(4, n=N, other=one_of([{}, {}, {"resources": {"gpu": 7}}, {"selectors": {"rack": "r7"}}]))
    def reserve_again(self, n: int, other: Body) -> None:
        if not self.booked:
            return
        who, body = self.booked[-1 - n % min(4, len(self.booked))]
        self.pair.ask(who, "reservations/create", {"idempotencyKey": "j4", **body, **other})

    @step(10, n=N, who=ASKER)
    def end(self, n: int, who: str | None) -> None:
        if not self.found.reservations:
            return
        every = [*self.found.reservations.values()]
        live = [r for r in every if r["state"] in LIVE]
        r = live[n % len(live)] if live and n % 5 else every[n % len(every)]
        whose = r["created_by"] if n % 2 else self.owner(self.found.pools[r["pool_id"]])
        self.pair.ask(who or whose, "reservations/end", {"reservationId": r["id"]})

    @step(4, n=N, who=SOMEBODY)
    def look(self, n: int, who: str) -> None:
        things = (self.found.pools, wishes.OF_A_POOL["pools/get"], "pools/get")
        of_machines = (self.found.nodes, wishes.OF_A_MACHINE["nodes/get"], "nodes/get")
        of_reservations = (self.found.reservations, wishes.OF_A_RESERVATION["reservations/get"], "reservations/get")
        for found, body, operation in (things, of_machines, of_reservations):
            if ids := [*found]:
                self.pair.ask(who, operation, body(ids[n % len(ids)]))

    @step(6, operation=one_of(LISTS), n=N, who=SOMEBODY, limit=st.integers(1, 4))
    def walk(self, operation: str, n: int, who: str, limit: int) -> None:
        """A list in small pages is the list in one."""
        body = self.listing(operation, n)
        whole = self.pair.ask(who, operation, {**body, "limit": 1000})
        if whole.code != "OK":
            assert (whole.code, "poolId" in body) == ("NOT_FOUND", True)
            return
        assert [*self.pages(who, operation, {**body, "limit": limit})] == whole.data["items"]

    @step(2, who=SOMEBODY, n=N)
    def use(self, who: str, n: int) -> None:
        """Hours are what the stretches of usage come to."""
        start, end = self.pair.now - n * HOUR // 100, self.pair.now + n % 3 * HOUR + 1
        items = self.pair.ask(who, "usage/list", {"from": start, "to": end, "limit": 1000}).data["items"]
        hours = used_hours(self.found, IDENTITIES[who], start, min(end, self.pair.now))
        wanted = {key: _decimal(amount) for key, amount in hours.items()}
        assert {(i["poolId"], i["tenantId"], i["meter"]): i["hours"] for i in items} == wanted, "usage"

    @step(2)
    def events_are_numbered(self) -> None:
        self.pair.number()

    # What happens by itself

    @step(5, passing=PASSING)
    def time_passes(self, passing: int) -> None:
        self.pair.turn(passing)

    @step(3, word=one_of([yes, yes, no, down]))
    def billing_says(self, word: Any) -> None:
        self.pair.say(word)

    @step(4)
    def hosts_are_kept(self) -> None:
        self.pair.keep(Keeper.vps_hosts)
        self.pair.keep(Keeper.capacity_hosts)
        self.holds()
        said = [*unsettled(self.found)]
        assert not said, "\n".join(["2: hosts are not kept", *said])
        assert self.pair.do(lambda service: rounds.keep_hosts(Keeper(service))) == 0

    @step(6)
    def placer_tries(self) -> None:
        self.pair.do(placer.place_all)

    @step(10, word=one_of([no, down]), who=BOOKER, wish=WISH)
    def billing_says_no_yes(self, word: Any, who: str, wish: Body) -> None:
        """Neither to what is placed nor to what is asked for."""
        self.pair.say(word)
        self.admit()
        self.holds()
        self.reserve_one(who, **wish | {"atoms": 1, "scalars": {}, "selectors": None, "key": None})
        self.pair.say(yes)

    @step(7)
    def admission_lets_in(self) -> None:
        self.admit()

    def admit(self) -> None:
        """It goes through the pools in an order of chance: only time tells in which order their events came."""
        with self.pair.ticking():
            self.pair.do(admission.admit_all)

    @step(3)
    def round_is_done(self) -> None:
        with self.pair.ticking():
            self.pair.do(rounds.everywhere)

    # How it is judged

    @invariant()
    def holds(self) -> None:
        before, self.found = self.found, self.pair.found()
        said = [*told(self.found), *misstepped(before, self.found)]
        assert not said, "\n".join(said)
        self.pair.steps += 1
        for reservation_id, r in self.found.reservations.items():
            then = before.reservations.get(reservation_id)
            if then is None or (then["state"], then["reason"]) != (r["state"], r["reason"]):
                self.pair.seen[r["state"], r["reason"] or ""] += 1
        if len(before.events) != len(self.found.events):
            self.hides()
        self.pair.turn()

    def hides(self) -> None:
        """What a stranger is told of something is what it is told of nothing."""
        chance = Random(self.pair.turns)
        tenant_id, who = chance.choice([*OWNERS.items(), ("acme-eu", "sa_eu")])
        if something := [(ids, operations) for ids, operations in self.hidden_from(tenant_id) if ids]:
            ids, operations = chance.choice(something)
            operation, body = chance.choice([*operations.items()])
            there = self.pair.ask(who, operation, body(chance.choice(ids)))
            absent = self.pair.ask(who, operation, body(ABSENT))
            assert there.raw == absent.raw, f"9: {operation} says {there.value} of what is hidden, {absent.value}"

    def hidden_from(self, tenant_id: str) -> list[tuple[list[str], wishes.Bodies]]:
        """Ids, and what to ask of them."""
        found = self.found
        its = {p for p, pool in found.pools.items() if pool["owner_id"] == tenant_id}
        booked = {r["pool_id"] for r in found.reservations.values() if r["tenant_id"] == tenant_id}
        unseen = [p for p in found.pools if not found.is_seen(p, tenant_id) and p not in booked]
        others = [p for p in found.pools if p not in its]
        machines = [
            n["id"] for n in found.nodes.values() if n["pool_id"] not in its and n["owner_tenant_id"] != tenant_id
        ]
        reservations = [
            r["id"] for r in found.reservations.values() if r["pool_id"] not in its and r["tenant_id"] != tenant_id
        ]
        return [
            (unseen, wishes.OF_A_POOL),
            (others, wishes.OF_ITS_OWNER),
            (machines, wishes.OF_A_MACHINE),
            (reservations, wishes.OF_A_RESERVATION),
        ]

    # What there is

    def pool(self, n: int) -> Any:
        """The older ones more often: there is more in them."""
        pools = sorted(self.found.pools.values(), key=lambda pool: pool["created_at"])
        return pools[min(n % len(pools), n // 10 % len(pools))]

    def node(self, n: int) -> tuple[Any, Any]:
        """A machine and its pool."""
        nodes = [*self.found.nodes.values()]
        node = nodes[n % len(nodes)]
        return node, self.found.pools[node["pool_id"]]

    def owner(self, pool: Any) -> str:
        return OWNERS[pool["owner_id"]]

    def quota_of(self, pool: Any, quota: Body) -> Body:
        """The `quota` of a body."""
        return {"quota": {ATOMS[pool["sharing"]] if name == "atoms" else name: most for name, most in quota.items()}}

    def offer_version(self, pool: Any, tenant_id: str) -> int:
        held = (o for o in self.found.offers if (o["pool_id"], o["tenant_id"]) == (pool["id"], tenant_id))
        return next((o["version"] for o in held), 0)

    def come(self, pool: Any, inventory: Body, more: Body) -> None:
        """A machine comes with a fresh token."""
        who = self.owner(pool)
        made = self.pair.ask(who, "nodes/createJoinToken", {"poolId": pool["id"]})
        if made.code == "OK":
            self.tokens.append(made.data["joinToken"])
            body = {"poolId": pool["id"], "joinToken": self.tokens[-1], "inventory": _inventory(pool, inventory)}
            self.pair.ask(who, "nodes/join", body | more)

    def reserve_one(self, who: str, n: int, atoms: int, scalars: Body, selectors: Body | None, key: str | None) -> None:
        hosted = {node["pool_id"] for node in self.found.nodes.values()} if n % 3 else self.found.pools.keys()
        pools = [p for p in self.found.pools.values() if p["archived_at"] is None and p["id"] in hosted]
        seen = [p for p in pools if self.found.is_seen(p["id"], IDENTITIES[who])]
        pool = seen[n % len(seen)] if seen and n % 12 != 7 else self.pool(n)
        atom = "gpu.slot" if n % 16 == 5 else ATOMS[pool["sharing"]]
        body: Body = {"poolId": pool["id"], "resources": {atom: atoms, **scalars}}
        if selectors is not None:
            body["selectors"] = selectors
        if key is not None:
            body["idempotencyKey"] = key
        self.pair.ask(who, "reservations/create", body)
        self.booked.append((who, body))

    def listing(self, operation: str, n: int) -> Body:
        body: Body = {"include": ["offers", "rollup"]} if operation == "pools/list" else {}
        if operation == "usage/list":
            body = {"from": 0, "to": self.pair.now}
        if operation == "nodes/list" or (n % 3 == 0 and operation in ("quotas/list", "reservations/list")):
            body["poolId"] = self.pool(n)["id"]
        if operation == "reservations/list" and n % 4 == 0:
            body["states"] = ["placed", "ended"]
        if operation == "events/list":
            body = _EVENTS[n % len(_EVENTS)]
        return body

    def pages(self, who: str, operation: str, body: Body) -> Iterator[Any]:
        cursor: Body = {}
        while True:
            page = self.pair.ask(who, operation, body | cursor).data
            yield from page["items"]
            if page["nextCursor"] is None:
                return
            cursor = {"cursor": page["nextCursor"]}


def _version(expected: int | None, version: int) -> Body:
    return {} if expected is None else {"expectedVersion": abs(version + expected)}


def _inventory(pool: Any, inventory: Body) -> Body:
    gpus = inventory.get("gpus", 0)
    name = wishes.MODELS.get(pool["gpu_model"], CARD)
    return {**inventory, "gpus": [name] * gpus if isinstance(gpus, int) else gpus}


def _decimal(amount: Fraction) -> str:
    """Six digits, half rounded up."""
    millionths = int(amount * 10**6 + Fraction(1, 2))
    return f"{millionths // 10**6}.{millionths % 10**6:06}"
