"""Export: whatever is live, the files that say it have an empty plan."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from better_compute.domain.atoms import ATOMS, UNLIMITED
from better_compute.domain.ids import derive
from better_compute.domain.state import Offer, PoolState, QuotaRow, Rollup
from fleetctl import export
from fleetctl.cli import schemas
from fleetctl.desired import Desired, Embedded
from fleetctl.desired.load import assemble, load
from fleetctl.desired.records import names
from fleetctl.desired.shape import Root
from fleetctl.errors import Stop
from fleetctl.files import read_text
from fleetctl.formatting import format_fleet, format_text
from fleetctl.live import ORIGIN, Instance, Live
from fleetctl.plan import make
from tests.builders import NOW, a_pool, a_site
from tests.e2e.homes import Home, entry, pool_id, served
from tests.fleetctl.files.hostile import VALUES
from tests.timing import times_as_long

SERVER = "https://compute.example.com"
LIMITS = st.sampled_from((0, 1, 8, 2147483647))
ROWS = st.dictionaries(st.sampled_from(("gpu", "gpu.mig", "gpu.slot", "vcpu", "no", "1")), LIMITS, max_size=4)
TENANTS = st.sampled_from(("acme", "globex", "no", "1e3", "0010", "12:30", "null"))
OFFERS = st.dictionaries(TENANTS, st.tuples(ROWS, st.integers(-1000, 1000), st.booleans()), max_size=3)
KEYS = st.none() | st.sampled_from(("fra1-a", "fra1-b", "no", "1", "fleet", "pool_1", "fra1-a:b"))
POLICIES = st.dictionaries(st.text("ab${}< .:\n\u202e", max_size=4), VALUES, max_size=3)
LONG = "a" * 1000
DERIVED_FROM = ("sa_fleet", "sa_other")


@st.composite
def states(draw: st.DrawFn, number: int) -> PoolState:
    """A pool that the fleet's caller made, or another one, with a key or without, with whatever terms."""
    key, creator = draw(KEYS), draw(st.sampled_from(DERIVED_FROM))
    pool = a_pool(
        derive("pool", "root", creator, key) if key and draw(st.booleans()) else f"pool_{number}",
        idempotency_key=key,
        created_by=creator,
        site_id=draw(st.sampled_from(("site_fra1", "fleet", "FLEET", "a.fleet-test", "expected"))),
        sharing=draw(st.sampled_from(tuple(ATOMS))),
        agent=draw(st.sampled_from(("bcd", "none"))),
        provider_account_id=draw(st.none() | st.just("pa_north")),
        policy=draw(POLICIES),
        archived_at=draw(st.none() | st.none() | st.just(NOW)),
    )
    terms = draw(OFFERS) | ({"root": ({"gpu": 1}, 5, False)} if draw(st.booleans()) else {})
    rows = {tenant: {name: QuotaRow(limit) for name, limit in quota.items()} for tenant, (quota, _, _) in terms.items()}
    owner = draw(st.just({"gpu": UNLIMITED}) | ROWS)
    rows["root"] = {name: QuotaRow(limit) for name, limit in owner.items()}
    offers = {tenant: Offer(tenant, priority, wide, 2) for tenant, (_, priority, wide) in terms.items()}
    return PoolState.whole(pool, offers, rows, Rollup())


def a_live(*found: PoolState) -> Live:
    instance = Instance(
        url=SERVER,
        id="i",
        derivation="typeid-sha256-v1",
        capabilities=frozenset({ORIGIN}),
        digest_key=bytes(32),
        now=NOW,
    )
    return Live(
        instance=instance,
        reader_id="sa_read",
        tenant_id="root",
        sequence=1,
        pools={state.pool.id: state for state in found if state.pool},
        sites={"site_fra1": a_site()},
    )


def a_fleet(**fields: Any) -> Desired:
    usual: dict[str, Any] = {"fleet": "platform", "tenant_id": "root", "caller": "sa_fleet", "key_prefix": None}
    return Desired(**{**usual, "server": None, "entries": {}, **fields})


def root_of(desired: Desired) -> dict[str, Any]:
    return export.root_fields(desired, SERVER, Path("/fleet"))


def check_empty(read_back: Desired, live: Live, wished: Desired) -> None:
    plan = make(read_back, live)
    assert plan.operations == ()
    assert [p for p in plan.findings if p.severity != "warning"] == []
    assert plan.comparison.diff.removed == ()
    assert plan.comparison.diff.foreign == ()
    assert (read_back.fleet, read_back.caller, read_back.key_prefix) == (wished.fleet, "sa_fleet", wished.key_prefix)


@given(st.lists(st.integers(0, 5), unique=True).flatmap(lambda n: st.tuples(*map(states, n))), st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_the_plan_of_an_export_is_empty(found: tuple[PoolState, ...], prefixed: bool) -> None:
    live, wished = a_live(*found), a_fleet(key_prefix="fra1-" if prefixed else None)
    root, entries = root_of(wished), export.entries(live, wished)
    with TemporaryDirectory() as name:
        directory = Path(name)
        export.save(directory, export.by_file(root, entries))
        check_empty(load(directory), live, wished)
        assert {file.status for file in format_fleet(directory, check=True)} == {"unchanged"}
    text = export.one_text(root, entries)
    assert format_text(text) == text
    check_empty(assemble(read_text(text.encode(), "fleet.yaml"), Path("/fleet")), live, wished)
    document = json.dumps(export.one_document(root, entries))
    if LONG in document or "\\u00e9" * 1000 in document:  # no reader of YAML takes JSON with names so long
        return
    check_empty(assemble(read_text(document.encode(), "fleet.yaml"), Path("/fleet")), live, wished)


def one(state: PoolState, **fields: Any) -> dict[str, Any]:
    """The entry of a fleet's one pool."""
    ((_, made),) = export.entries(a_live(state), a_fleet(**fields))
    return made


def a_state(pool: str = "pool_1", offers: Mapping[str, Offer] | None = None, **fields: Any) -> PoolState:
    return PoolState.whole(a_pool(pool, **fields), dict(offers or {}), {"root": {"gpu": QuotaRow(UNLIMITED)}}, Rollup())


class TestNames:
    def test_a_key_stands_alone_where_the_id_derives_from_it(self) -> None:
        own = derive("pool", "root", "sa_fleet", "fra1-a")
        made = one(a_state(own, idempotency_key="fra1-a"))
        assert (made.get("id"), made["idempotencyKey"]) == (None, "fra1-a")

    def test_of_another_caller_or_prefix_the_id_decides(self) -> None:
        own, other = (derive("pool", "root", caller, "fra1-a") for caller in DERIVED_FROM)
        for state, prefix in (
            (a_state(other, idempotency_key="fra1-a"), None),
            (a_state(own, idempotency_key="fra1-a"), "ams1-"),
        ):
            made = one(state, key_prefix=prefix)
            assert made["id"] == state.pool.id  # type: ignore[union-attr]
            assert made["idempotencyKey"] == "fra1-a"

    def test_a_key_that_is_the_id_of_another_pool_names_none(self) -> None:
        own = derive("pool", "root", "sa_fleet", "pool_1")
        found = export.entries(a_live(a_state(own, idempotency_key="pool_1"), a_state("pool_1")), a_fleet())
        assert [(entry["id"], entry.get("idempotencyKey")) for _, entry in found] == [("pool_1", None), (own, None)]

    def test_a_pool_without_a_key_goes_by_its_id_alone(self) -> None:
        made = one(a_state())
        assert (made["id"], "idempotencyKey" in made) == ("pool_1", False)


class TestEntries:
    def test_what_is_a_default_is_left_out_but_for_the_offers(self) -> None:
        assert [*one(a_state())] == ["id", "siteId", "class", "gpuModel", "offers"]
        assert one(a_state())["offers"] == []

    def test_an_offer_of_nothing_still_has_a_quota(self) -> None:
        state = a_state(offers={"acme": Offer("acme", 0, False, 2)}, sharing="mig")
        assert one(state)["offers"] == [{"toTenantId": "acme", "quota": {"gpu.mig": 0}}]

    @pytest.mark.parametrize(
        ("rows", "written"),
        [
            ({"gpu": UNLIMITED, "vcpu": 0}, None),
            ({"gpu": UNLIMITED, "vcpu": 1}, {"gpu": UNLIMITED, "vcpu": 1}),
            ({"gpu": 8}, {"gpu": 8}),
            ({}, {"gpu": 0}),
        ],
    )
    def test_the_owners_quota_is_written_where_it_is_no_default(
        self, rows: dict[str, int], written: dict[str, int] | None
    ) -> None:
        quotas = {"root": {name: QuotaRow(limit) for name, limit in rows.items()}}
        assert one(PoolState.whole(a_pool(), {}, quotas, Rollup())).get("ownerQuota") == written

    def test_archived_pools_are_left_out(self) -> None:
        assert export.entries(a_live(a_state(archived_at=NOW)), a_fleet()) == []

    def test_an_empty_fleet_says_that_it_may_be(self) -> None:
        assert "allowEmpty: true" in export.one_text(root_of(a_fleet()), [])


class TestFiles:
    def test_each_site_has_a_file_that_is_read_whatever_its_name(self) -> None:
        sites = ("site_fra1", "fleet", "FLEET", "a.fleet-test", "a:fleet-test")
        found = [a_state(f"pool_{n}", site_id=site) for n, site in enumerate(sites)]
        files = export.by_file(root_of(a_fleet()), export.entries(a_live(*found), a_fleet()))
        assert len({name.lower() for name in files}) == len(files) == 6
        assert not any(name.endswith(".fleet-test.yaml") for name in files)
        assert all(text.startswith("# yaml-language-server: $schema=") for text in files.values())

    def test_what_is_too_large_for_one_file_goes_on_in_the_next(self, tmp_path: Path) -> None:
        found = [a_state(f"pool_{n:03}", policy={"note": "x" * 60_000}) for n in range(300)]
        live = a_live(*found)
        files = export.by_file(root_of(a_fleet()), export.entries(live, a_fleet()))
        assert len(files) == 4
        assert max(map(len, files.values())) < 16 * 1024 * 1024
        export.save(tmp_path / "new", files)
        assert len(load(tmp_path / "new").entries) == 300

    def test_are_for_their_owner_alone_and_replace_none(self, tmp_path: Path) -> None:
        export.save(tmp_path / "a" / "b", {"x.yaml": "x", "y.yaml": "y"})
        assert {os.stat(path).st_mode & 0o777 for path in (tmp_path / "a" / "b").iterdir()} == {0o600}
        with pytest.raises(Stop, match="is there already: nothing was written"):
            export.save(tmp_path / "a" / "b", {"w.yaml": "w", "y.yaml": "new"})
        assert {path.name: path.read_text() for path in (tmp_path / "a" / "b").iterdir()} == {
            "x.yaml": "x",
            "y.yaml": "y",
        }

    def test_are_all_written_or_none(self, tmp_path: Path) -> None:
        (tmp_path / "dangling.yaml").symlink_to("nowhere")
        with pytest.raises(Stop):
            export.save(tmp_path, {"a.yaml": "a", "dangling.yaml": "b"})
        with pytest.raises(Stop, match="nothing is left of the export"):
            export.save(tmp_path, {"a.yaml": "a", "a.yaml/b.yaml": "b"})
        assert [path.name for path in tmp_path.iterdir()] == ["dangling.yaml"]

    def test_an_embedded_server_is_named_from_where_the_files_are(self) -> None:
        server = Embedded("/fleet/.fleet/plane.db", "/fleet/world.yaml")
        made = export.root_fields(a_fleet(), server, Path("/fleet/exported"))["server"]
        assert made == {"embedded": "../.fleet/plane.db", "world": "../world.yaml"}


LIMITED: dict[str, Any] = {
    "fleet": "platform",
    "keyPrefix": "fra1-",
    "previousCallers": ["sa_other"],
    "defaults": {"pool": {"sharing": "mig"}},
    "exclude": ["notes/**", "site_*"],
    "prices": {"H100": 2.5, "H200": 3},
    "expected": [
        {"key": "fra1-b", "path": "policy.maxPending", "until": "2030-01-01T00:00+01:00", "reason": "a trial: ends"}
    ],
    "guards": {
        "maxArchives": 0,
        "maxOversell": None,
        "allowBelowUse": True,
        "protect": ["fra1-new", "pool_x"],
        "freeze": [{"from": "2026-12-20T00:00Z", "to": "2027-01-02T00:00Z", "reason": "holidays"}],
    },
    "checks": [
        {"name": "b", "severity": "deny", "expr": "pools.all(p, p.gpuModel == 'H100')", "message": "H100 alone"},
        {"name": "a", "severity": "warn", "each": "pool", "expr": "pool.siteId != ''\n", "message": "one: line"},
    ],
}
"""A value for every root field that says something of how a plan is judged."""


class TestRootFields:
    def limits(self, fleet: Desired) -> tuple[Any, ...]:
        return (
            fleet.guards, fleet.checks, fleet.prices, fleet.expected, fleet.previous_callers, fleet.key_prefix,
            fleet.allow_empty,
        )  # fmt: skip

    def test_all_that_limits_a_plan_stays_as_it_is(self, tmp_path: Path) -> None:
        home = Home(tmp_path)
        home.wish(entry("fra1-old", {"acme": 8}), entry("fra1-b", []), fleet="platform")
        home.apply()
        renamed = entry("fra1-new", {"acme": 8}, previously="fra1-old", protect=True, sharing="exclusive")
        home.wish(renamed, entry("fra1-b", [], sharing="exclusive"), **LIMITED)
        wished, out = load(home.directory), tmp_path / "exported"
        ran = home.run("export", "--out", out)
        assert ran.code == 0, ran.said
        assert "Left out of exclude, which would hide files of the export: site_*" in ran.err
        written = load(out)
        assert self.limits(written) == self.limits(wished)
        assert written.places["exclude"].value() == ["notes/**"]
        assert {e.key: e.protect for e in written.entries.values()} == {"fra1-new": True, "fra1-b": False}
        home.directory = out
        report = home.plan().report
        assert report["operations"] == []
        assert [f["message"] for f in report["findings"] if f["rule"] == "guard.protect"] == [
            "pool_x is protected, and neither an entry nor a live pool has this key or id"
        ]
        assert home.run("fmt", "--check").code == 0
        text = tmp_path / "text"
        text.mkdir()
        (text / "fleet.yaml").write_text(home.run("export").out)
        assert self.limits(load(text)) == self.limits(wished)

    def test_every_root_field_is_kept_or_stands_in_the_entries(self) -> None:
        written = {*LIMITED, "apiVersion", "tenantId", "caller", "server", "allowEmpty"}
        assert {*names(Root), "checks"} == written

    def test_a_caller_of_the_environment_is_no_previous_one(self, tmp_path: Path) -> None:
        home = Home(tmp_path)
        home.wish(entry("fra1-b", []))
        home.apply()
        text = (home.directory / "fleet.yaml").read_text()
        root = {name: value for name, value in json.loads(text).items() if name != "caller"}
        (home.directory / "fleet.yaml").write_text(json.dumps({**root, "previousCallers": ["sa_fleet"]}))
        ran = home.run("export", "--out", tmp_path / "exported", FLEETCTL_CALLER="sa_fleet")
        assert ran.code == 0, ran.said
        assert load(tmp_path / "exported").previous_callers == ()


def test_thousands_of_pools_cost_no_square() -> None:
    offers = {f"t{n}": Offer(f"t{n}", 0, False, 2) for n in range(3)}

    def prepared(size: int) -> Callable[[], object]:
        fields = [{"idempotency_key": f"k{n}", "policy": {"maxPending": f"{n}h"}} for n in range(size)]
        live = a_live(*(a_state(f"pool_{n}", offers, **fields[n]) for n in range(size)))
        return lambda: export.by_file(root_of(a_fleet()), export.entries(live, a_fleet()))

    assert times_as_long(prepared, 300, 2_400) < 24, "the square would be 64 times as long"


HAND: list[dict[str, Any]] = [
    {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H200"}
    | {"policy": {"x": None, "no": "no", "a+b": ["x@y", "/dev/x", "a b", "6h", "1e3", "a: b"]}},
    {"siteId": "site_ams1", "class": "provider", "gpuModel": "H100", "providerAccountId": "pa_north", "agent": "none"},
    {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "L40S", "idempotencyKey": "fra1-a"},
    {"siteId": "site_waw1", "class": "metal-host", "gpuModel": "L40S", "sharing": "timeslice", "idempotencyKey": "0010"}
    | {"policy": {"gpu": {"slots": 4}}, "ownerQuota": {"gpu.slot": 0}},
]


class TestCommand:
    @pytest.fixture
    def home(self, tmp_path: Path) -> Home:
        """Pools of the fleet, of a hand, and one archived."""
        home = Home(tmp_path)
        mig = {"sharing": "mig", "policy": {"gpu": {"mig": {"strategy": "single", "devices": {"1g.10gb": 7}}}}}
        single = {"policy": {"singleTenant": True, "note": "two\nlines \U0001f600", "token": "s3cret"}}
        home.wish(
            entry("fra1-a", {"acme": 8, "no": 4}),
            entry("fra1-b", [{"toTenantId": "acme", "quota": {"gpu.mig": 7}, "priority": -5}], **mig),
            entry("fra1-c", {"globex": 2}, **single),
            entry("fra1-d", [{"toTenantId": "on", "quota": {"gpu": 0, "vcpu": 1}, "includeDescendants": True}]),
            entry("fra1-e", []),
            fleet="platform",
        )
        home.apply()
        with home.hand() as client:
            client.call("pools/archive", {"poolId": pool_id("fra1-e")})
            for body in HAND:
                client.call("pools/create", body)
        return home

    def planned(self, home: Home, directory: Path) -> dict[str, Any]:
        home.directory = directory
        ran = home.plan("--detailed-exitcode")
        report: dict[str, Any] = ran.report
        assert report["operations"] == []
        assert report["summary"]["entries"] == 8
        assert report["summary"]["foreign"] == 0
        return report

    def test_over_the_files_of_a_directory(self, home: Home, tmp_path: Path) -> None:
        out = tmp_path / "exported"
        ran = home.run("export", "--out", out)
        assert (ran.code, ran.out) == (0, ""), ran.said
        assert "secrets in clear" in ran.err
        assert sorted(path.name for path in out.iterdir()) == [
            "fleet.yaml", "schemas", "site_ams1.yaml", "site_fra1.yaml", "site_waw1.yaml",
        ]  # fmt: skip
        assert "8 pools in 4 files" in ran.err
        assert "beside their schema" in ran.err
        for path in out.glob("*.yaml"):
            schema = out / path.read_text().partition("\n")[0].removeprefix("# yaml-language-server: $schema=")
            assert schema.read_text() == schemas.text("fleet.v1")
        assert self.planned(home, out)["fleet"] == "platform"
        for command in (("validate",), ("fmt", "--check")):
            ran = home.run(*command)
            assert ran.code == 0, ran.said

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_over_stdout(self, home: Home, tmp_path: Path, form: str) -> None:
        ran = home.run("export", "--format", form)
        assert ran.code == 0
        (tmp_path / "new").mkdir()
        (tmp_path / "new" / "fleet.yaml").write_text(ran.out)
        self.planned(home, tmp_path / "new")

    def test_one_text_leads_to_no_schema_that_is_not_there(self, home: Home) -> None:
        assert "$schema" not in home.run("export").out

    def test_where_a_file_cannot_be_written_no_directory_is_left(self, tmp_path: Path) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, hard))
        try:
            with pytest.raises(Stop, match="nothing is left of the export"):
                export.save(tmp_path / "deep" / "new", {"a.yaml": "a", export.SCHEMA: "b" * 1000})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert not (tmp_path / "deep").exists()

    def test_over_a_network_where_there_is_no_fleet_yet(self, home: Home, tmp_path: Path) -> None:
        empty, out = tmp_path / "empty", tmp_path / "exported"
        empty.mkdir()
        home.directory = empty
        with served(home) as (_, proxy):
            pins = {"FLEETCTL_SERVER": proxy.url, "FLEETCTL_TENANT": "root", "FLEETCTL_CALLER": "sa_fleet"}
            ran = home.run("export", "--out", out, **pins)
            assert ran.code == 0, ran.said
            assert f"server: {json.dumps(proxy.url)}\n" in (out / "fleet.yaml").read_text()
            home.target = ()
            assert self.planned(home, out)["fleet"] == "default"

    def test_what_the_environment_does_not_say_is_asked_for(self, home: Home, tmp_path: Path) -> None:
        (tmp_path / "empty").mkdir()
        out = tmp_path / "exported"
        home.directory = tmp_path / "empty"
        ran = home.run("export", FLEETCTL_TENANT="root", FLEETCTL_CALLER="sa_fleet")
        assert (ran.code, ran.out) == (1, "")
        assert "no server is named" in ran.err
        ran = home.run("export", "--out", out, FLEETCTL_CALLER="sa_fleet")
        assert (ran.code, out.exists()) == (1, False)
        assert "FLEETCTL_TENANT" in ran.err

    def test_never_into_the_fleet_itself(self, home: Home) -> None:
        for out in (home.directory, home.directory / "sub"):
            ran = home.run("export", "--out", out)
            assert (ran.code, ran.out) == (64, "")
        assert [path.name for path in home.directory.iterdir()] == ["fleet.yaml"]
