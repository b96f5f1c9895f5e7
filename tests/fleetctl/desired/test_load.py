"""What fleet files wish, and why they are refused."""

from pathlib import Path

import pytest

from better_compute.domain.commands import CreatePool
from better_compute.domain.ids import derive
from better_compute.domain.problems import Source
from better_compute.domain.state import Terms
from fleetctl.desired import Embedded
from fleetctl.desired.load import load
from fleetctl.files import FilesError
from tests.reading import HEAD, POOL, desired, refusal, refused, said

ID = derive("pool", "root", "sa_fleet", "fra1-a")
OFFER = "    offers: [{toTenantId: acme, quota: {gpu: 8}}]\n"
LISTED = "offers: [{pool: fra1-a, toTenantId: acme, quota: {gpu: 8}}]\n"


def pool(**fields: str) -> str:
    """A fleet of one pool, with more fields or others."""
    given = {"idempotencyKey": "fra1-a", "siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100"} | fields
    return HEAD + "pools:\n  - {" + ", ".join(f"{name}: {value}" for name, value in given.items()) + "}\n"


def offer(**fields: str) -> str:
    """A fleet of one pool with one offer, with more fields or others."""
    given = {"toTenantId": "acme", "quota": "{gpu: 8}"} | fields
    return pool(offers="[{" + ", ".join(f"{name}: {value}" for name, value in given.items()) + "}]")


# What a pool and its offers become


def test_what_an_entry_leaves_out_has_the_defaults_of_the_api() -> None:
    entry = desired(HEAD + "pools:\n" + POOL + OFFER).entries[ID]
    assert entry.pool == CreatePool(
        tenant_id="root",
        pool_id=ID,
        site_id="site_fra1",
        class_="metal-host",
        gpu_model="H100",
        sharing="exclusive",
        agent="bcd",
        policy={},
        idempotency_key="fra1-a",
    )
    assert entry.offers == {"acme": Terms({"gpu": 8}, priority=0, include_descendants=False)}
    assert (entry.key, entry.adopted, entry.archived, entry.offers_are) == ("fra1-a", False, False, "stated")


def test_the_defaults_of_the_fleet_fill_what_entries_and_offers_leave_out() -> None:
    defaults = "defaults: {pool: {class: vps-host, sharing: mig, agent: none}, offer: {priority: 7}}\n"
    entry = "pools: [{idempotencyKey: fra1-a, siteId: site_fra1, gpuModel: H100, agent: bcd, offers: [%s, %s]}]"
    offers = "{toTenantId: acme, quota: {gpu: 8}}", "{toTenantId: globex, quota: {gpu: 8}, priority: 0}"
    read = desired(HEAD + defaults + entry % offers).entries[ID]
    assert read.pool
    assert (read.pool.class_, read.pool.sharing, read.pool.agent) == ("vps-host", "mig", "bcd")
    assert {tenant: terms.priority for tenant, terms in read.offers.items()} == {"acme": 7, "globex": 0}


def test_a_policy_is_plain_data_with_its_nulls() -> None:
    read = desired(pool(policy="{note: null, acceptance: [{kind: diag.nvml}]}")).entries[ID].pool
    assert read
    assert read.policy == {"note": None, "acceptance": [{"kind": "diag.nvml"}]}
    assert type(read.policy) is dict
    assert type(read.policy["acceptance"]) is list


def test_offers_of_an_entry_and_of_lists_are_united_whatever_the_documents() -> None:
    lists = "offers: [{pool: fra1-a, toTenantId: globex, quota: {gpu: 1}}]"
    by_id = f"offers: [{{pool: {ID}, toTenantId: initech, quota: {{gpu: 2}}}}]"
    entry = desired(lists, HEAD + "pools:\n" + POOL + OFFER, by_id).entries[ID]
    assert {tenant: terms.quota["gpu"] for tenant, terms in entry.offers.items()} == {
        "acme": 8,
        "globex": 1,
        "initech": 2,
    }
    assert entry.offer_places["globex"].source("quota", "gpu") == Source("0.yaml", 1, 58)
    assert entry.offer_places["acme"].source() == Source("1.yaml", 9, 14)


def test_a_list_alone_states_the_offers_of_a_pool() -> None:
    lists = "offers: [{pool: fra1-a, toTenantId: globex, quota: {gpu: 1}}]"
    assert desired(pool(), lists).entries[ID].offers_are == "stated"


@pytest.mark.parametrize(
    ("offers", "are"), [(None, "unstated"), ("[]", "stated"), ("unmanaged", "unmanaged")], ids=["absent", "[]", "word"]
)
def test_three_ways_to_state_no_offer_are_three_things(offers: str | None, are: str) -> None:
    entry = desired(pool(offers=offers) if offers else pool()).entries[ID]
    assert (entry.offers_are, entry.offers) == (are, {})


def test_an_adopted_pool_keeps_its_id_and_its_key_may_lie_outside_the_prefix() -> None:
    read = desired(pool(id="pool_old", idempotencyKey="ams1-b").replace("caller", "keyPrefix: fra1-\ncaller"))
    entry = read.entries["pool_old"]
    assert (entry.key, entry.adopted, entry.pool and entry.pool.pool_id) == ("ams1-b", True, "pool_old")


def test_an_adopted_pool_needs_no_key() -> None:
    text = HEAD + "pools: [{id: pool_old, siteId: site_fra1, class: metal-host, gpuModel: H100}]"
    assert desired(text).entries["pool_old"].key is None


def test_a_tombstone_holds_its_key_or_its_id_alone() -> None:
    text = "pools: [{idempotencyKey: fra1-a, archived: true}, {id: pool_old, archived: true}]"
    read = desired(HEAD + "defaults: {pool: {siteId: s, class: metal-host, gpuModel: H100}}\n" + text).entries
    assert {i: (entry.key, entry.archived, entry.pool) for i, entry in read.items()} == {
        ID: ("fra1-a", True, None),
        "pool_old": (None, True, None),
    }


def test_a_tombstone_may_keep_what_it_was() -> None:
    entry = desired(pool(archived="true", offers="[]")).entries[ID]
    assert entry.archived
    assert entry.pool is not None
    assert desired(HEAD + "pools: [{idempotencyKey: fra1-a, archived: true, siteId: s}]").entries[ID].pool is None


def test_archived_false_is_no_tombstone() -> None:
    assert not desired(pool(archived="false")).entries[ID].archived


def test_entries_stand_in_the_order_of_their_ids() -> None:
    texts = [POOL.replace("fra1-a", f"fra1-{n}") for n in range(20)]
    ids = [*desired(HEAD + "pools:\n" + "".join(texts)).entries]
    assert ids == sorted(ids)
    assert len(ids) == 20


# Root fields


def test_root_fields_are_gathered_from_all_documents() -> None:
    read = desired("fleet: platform\nkeyPrefix: fra1-\nserver: https://compute.example.com\n", HEAD, "pools:\n" + POOL)
    assert (read.fleet, read.tenant_id, read.caller) == ("platform", "root", "sa_fleet")
    assert (read.key_prefix, read.server) == ("fra1-", "https://compute.example.com")


def test_a_fleet_without_a_name_is_called_default() -> None:
    read = desired(pool())
    assert (read.fleet, read.key_prefix, read.server) == ("default", None, None)


def test_root_fields_may_be_repeated_as_long_as_they_agree() -> None:
    again = "tenantId: root\ndefaults: {offer: {priority: 1, includeDescendants: true}}\n"
    first = HEAD + "defaults: {offer: {includeDescendants: true, priority: 1}}\n"
    assert desired(first, again, "pools:\n" + POOL).tenant_id == "root"


@pytest.mark.parametrize(
    ("field", "here", "there"),
    [
        ("tenantId", "root", "acme"),
        ("caller", "sa_fleet", "sa_other"),
        ("fleet", "a", "b"),
        ("keyPrefix", "fra1-", "fra1"),
        ("server", "https://a.example", "{embedded: a.db}"),
        ("defaults", "{offer: {priority: 0}}", "{offer: {priority: 1}}"),
        ("exclude", "[a, b]", "[b, a]"),
        ("allowEmpty", "true", "false"),
    ],
)
def test_root_fields_that_disagree_are_refused_with_both_places(field: str, here: str, there: str) -> None:
    head = "apiVersion: fleet/v1\ntenantId: root\n" if field != "tenantId" else "apiVersion: fleet/v1\n"
    problem = refusal(f"{head}pools:\n{POOL}", f"{field}: {here}", f"\n{field}: {there}")
    assert problem.rule == "fleet.agree"
    assert problem.source == Source("2.yaml", 2, len(field) + 3)
    assert f"1.yaml:1:{len(field) + 3}" in problem.message


@pytest.mark.parametrize("field", ["apiVersion", "tenantId"])
def test_a_required_root_field_that_no_document_has_is_missed(field: str) -> None:
    text = "".join(line for line in HEAD.splitlines(keepends=True) if not line.startswith(field))
    problem = refusal("pools:\n" + POOL, text)
    assert (problem.rule, problem.path, problem.source) == ("fleet.required", field, Source("1.yaml", 1, 1))
    assert field in problem.hint


def test_without_a_caller_the_one_that_is_given_stands_in() -> None:
    bare = pool().replace("caller: sa_fleet\n", "")
    assert [*desired(bare, caller="sa_fleet").entries] == [ID]
    assert desired(pool(), caller="sa_other").caller == "sa_fleet"
    assert desired(bare).caller is None


def test_paths_of_an_embedded_server_are_relative_to_their_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "root.yaml").write_text(HEAD + "server: {embedded: .fleet/c.db, world: ../w.yml}\n")
    (tmp_path / "pools.yaml").write_text("pools:\n" + POOL)
    monkeypatch.chdir(tmp_path.parent)
    home = tmp_path / "deep"
    wanted = Embedded(str(home / ".fleet" / "c.db"), str(home / ".." / "w.yml"))
    assert load(Path(tmp_path.name)).server == wanted
    assert load(tmp_path).server == wanted


def test_a_world_may_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(pool() + "server: {embedded: c.db}\n")
    assert load(tmp_path / "one.yaml").server == Embedded(str(tmp_path / "c.db"), None)


@pytest.mark.parametrize("name", ["x-", "x-anchors", "x-pools"])
def test_names_that_begin_with_x_are_ignored_at_the_root_alone(name: str) -> None:
    assert desired(pool() + f"{name}: {{pools: 3, q: &q {{gpu: 0}}}}\n").entries
    assert refusal(pool(**{name: "1"})).rule == "fleet.unknown"


# The table of what is absent, empty and null


def test_pools_may_be_absent_or_empty_in_a_document() -> None:
    assert len(desired(pool(), "pools: []", "x-a: 1").entries) == 1


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        (HEAD + "pools:\n", "pools", "write [] for none here"),
        (pool() + "offers:\n", "offers", "write [] for none here"),
        (pool(offers="null"), "pools[fra1-a].offers", "write [] to withdraw all"),
        (pool(policy="null"), "pools[fra1-a].policy", "leave it out, or write {}"),
        (pool(ownerQuota="null"), "pools[fra1-a].ownerQuota", "leave it out"),
        (offer(quota="null"), "pools[fra1-a].offers[acme].quota", "{gpu: 0} grants none"),
        (offer(priority="null"), "pools[fra1-a].offers[acme].priority", "leave it out"),
        (offer(includeDescendants="~"), "pools[fra1-a].offers[acme].includeDescendants", "leave it out"),
        (pool(agent=""), "pools[fra1-a].agent", "leave it out"),
        (pool(sharing="Null"), "pools[fra1-a].sharing", "leave it out"),
        (pool(siteId=""), "pools[fra1-a].siteId", "give it a value"),
        (pool(archived=""), "pools[fra1-a].archived", "leave it out"),
        (pool(released=""), "pools[fra1-a].released", "leave it out"),
        (pool(protect=""), "pools[fra1-a].protect", "leave it out"),
        (pool(previously=""), "pools[fra1-a].previously", "the key that the pool was made under"),
        (pool(replaces=""), "pools[fra1-a].replaces", "the key of the pool that this one takes the place of"),
        (pool(policyRef=""), "pools[fra1-a].policyRef", "the name of one of the policies"),
        (pool(forEach=""), "pools[fra1-a].forEach", "such as {site: [fra1, ams1]}"),
        (pool(id=""), "pools[fra1-a].id", "leave it out"),
        (pool(providerAccountId=""), "pools[fra1-a].providerAccountId", "leave it out"),
        (pool() + "fleet:\n", "fleet", "leave it out"),
        (pool() + "keyPrefix:\n", "keyPrefix", "leave it out"),
        (pool() + "server:\n", "server", "leave it out"),
        (pool() + "server: {embedded: a, world: }\n", "server.world", "leave it out"),
        (pool() + "defaults:\n", "defaults", "leave it out"),
        (pool() + "defaults: {pool: }\n", "defaults.pool", "leave it out"),
        (pool() + "defaults: {offer: {priority: }}\n", "defaults.offer.priority", "leave it out"),
        (pool() + "exclude:\n", "exclude", "leave it out"),
        (pool() + "allowEmpty:\n", "allowEmpty", "leave it out"),
    ],
)
def test_null_is_refused_wherever_it_is_not_inside_a_policy(text: str, path: str, hint: str) -> None:
    problem = refusal(text)
    assert (problem.rule, problem.path) == ("fleet.null", path)
    assert hint in problem.hint


def test_an_empty_policy_is_no_policy() -> None:
    assert desired(pool(policy="{}")).entries[ID].pool == desired(pool()).entries[ID].pool


def test_the_owners_quota_is_unmanaged_when_it_is_absent() -> None:
    absent, zero = desired(pool()).entries[ID].pool, desired(pool(ownerQuota="{gpu: 0}")).entries[ID].pool
    assert absent
    assert zero
    assert (absent.owner_quota, zero.owner_quota) == (None, {"gpu": 0})


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (pool(ownerQuota="{}"), "pools[fra1-a].ownerQuota"),
        (offer(quota="{}"), "pools[fra1-a].offers[acme].quota"),
        (pool() + "offers: [{pool: fra1-a, toTenantId: acme, quota: {}}]", "offers[0].quota"),
    ],
)
def test_an_empty_quota_is_refused(text: str, path: str) -> None:
    problem = refusal(text)
    assert (problem.rule, problem.path) == ("fleet.type", path)


@pytest.mark.parametrize("missing", ["toTenantId", "quota"])
def test_an_offer_needs_a_tenant_and_a_quota(missing: str) -> None:
    given = {"toTenantId": "acme", "quota": "{gpu: 8}"}
    del given[missing]
    fields = ", ".join(f"{name}: {value}" for name, value in given.items())
    problem = refusal(pool(offers=f"[{{{fields}}}]"))
    assert problem.rule == "fleet.required"
    assert problem.path.endswith(missing)


@pytest.mark.parametrize("missing", ["siteId", "class", "gpuModel"])
def test_a_pool_needs_what_no_default_gives(missing: str) -> None:
    lines = [line for line in POOL.splitlines(keepends=True) if missing not in line]
    problem = refusal(HEAD + "pools:\n" + "".join(lines))
    assert (problem.rule, problem.path) == ("fleet.required", f"pools[fra1-a].{missing}")
    assert problem.source == Source("0.yaml", 5, 5)
    assert desired(HEAD + f"defaults: {{pool: {{{missing}: H100}}}}\npools:\n" + "".join(lines)).entries


def test_a_pool_needs_a_key_or_an_id() -> None:
    problem = refusal(HEAD + "pools: [{siteId: site_fra1, class: metal-host, gpuModel: H100}]")
    assert (problem.rule, problem.path) == ("fleet.required", "pools[0].idempotencyKey")


# What stands twice, and what contradicts itself


def test_a_key_that_stands_twice_is_refused_with_both_places() -> None:
    problem = refusal(HEAD + "pools:\n" + POOL, "\npools:\n" + POOL)
    assert (problem.rule, problem.source) == ("fleet.twice", Source("1.yaml", 3, 21))
    assert "0.yaml:5:21" in problem.message


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("id: pool_x", "id: pool_x"),
        ("idempotencyKey: fra1-a", f"id: {ID}"),
        (f"id: {ID}", "idempotencyKey: fra1-a"),
        ("id: pool_x, idempotencyKey: fra1-a", "idempotencyKey: fra1-a"),
        ("id: pool_x", "idempotencyKey: pool_x"),
    ],
)
def test_two_entries_never_stand_for_one_pool_or_name(first: str, second: str) -> None:
    entry = "pools: [{%s, siteId: site_fra1, class: metal-host, gpuModel: H100}]"
    problem = refusal(HEAD + entry % first, entry % second)
    assert problem.rule == "fleet.twice"
    assert problem.source
    assert problem.source.file == "1.yaml"
    assert "0.yaml:4:" in problem.message


def test_an_entry_may_adopt_the_very_id_that_its_key_derives() -> None:
    assert [*desired(pool(id=ID)).entries] == [ID]


@pytest.mark.parametrize(
    "texts",
    [
        (HEAD + "pools:\n" + POOL + OFFER.replace("}]", "}, {quota: {vcpu: 1}, toTenantId: acme}]"),),
        (HEAD + "pools:\n" + POOL + OFFER, "offers: [{pool: fra1-a, toTenantId: acme, quota: {gpu: 8}}]"),
        (pool(), *["offers: [{pool: fra1-a, toTenantId: acme, quota: {gpu: 8}}]"] * 2),
        (
            pool(),
            f"offers: [{{pool: {ID}, toTenantId: acme, quota: {{gpu: 8}}}}]",
            "offers: [{toTenantId: acme, pool: fra1-a, quota: {gpu: 8}}]",
        ),
    ],
    ids=["in an entry", "in an entry and a list", "in two lists", "by key and by id"],
)
def test_a_pool_that_is_offered_to_a_tenant_twice_is_refused_with_both_places(texts: tuple[str, ...]) -> None:
    problem = refusal(*texts)
    assert problem.rule == "fleet.twice"
    assert "acme" in problem.message
    assert ".yaml:" in problem.message


@pytest.mark.parametrize("written", ["[]", "unmanaged"])
def test_a_list_offers_no_pool_whose_entry_says_otherwise(written: str) -> None:
    problem = refusal(pool(offers=written), "offers: [{pool: fra1-a, toTenantId: acme, quota: {gpu: 8}}]")
    assert (problem.rule, problem.source) == ("fleet.offers", Source("1.yaml", 1, 10))
    assert f"offers: {written} (0.yaml:5:" in problem.message


def test_a_list_offers_only_pools_that_have_an_entry() -> None:
    problem = refusal(pool(), "offers: [{pool: fra1-b, toTenantId: acme, quota: {gpu: 8}}]")
    assert (problem.rule, problem.path) == ("fleet.pool", "offers[0].pool")
    assert problem.hint == 'did you mean "fra1-a"?'


def test_thousands_of_unknown_pools_cost_no_more_than_one_look_each() -> None:
    pools = "".join(POOL.replace("fra1-a", f"fra1-{n}") for n in range(2000))
    offers = "".join(f"  - {{pool: ams1-{n}, toTenantId: acme, quota: {{gpu: 8}}}}\n" for n in range(2000))
    problems = refused(HEAD + "pools:\n" + pools, "offers:\n" + offers)
    assert len(problems) == 2000
    assert sum("did you mean" in problem.hint for problem in problems) <= 50


@pytest.mark.parametrize(
    "text", [offer(toTenantId="root"), pool() + "offers: [{pool: fra1-a, toTenantId: root, quota: {gpu: 8}}]"]
)
def test_an_offer_to_the_fleets_own_tenant_is_refused(text: str) -> None:
    problem = refusal(text)
    assert problem.rule == "fleet.ownTenant"
    assert "ownerQuota" in problem.hint


def test_a_tombstone_is_not_offered() -> None:
    assert refusal(offer().replace("{idem", "{archived: true, idem")).rule == "offer.archived"
    listed = (
        "pools: [{idempotencyKey: fra1-a, archived: true}]\noffers: [{pool: fra1-a, toTenantId: acme, quota: {gpu: 8}}]"
    )
    problem = refusal(HEAD + listed)
    assert (problem.code, problem.rule, problem.path) == ("INVALID_STATE", "offer.archived", "offers[0]")
    assert "0.yaml:4:44" in problem.message


def test_offers_that_name_no_pool_may_be_meant_for_the_one_above() -> None:
    problem = refusal(pool() + "offers: [{toTenantId: acme, quota: {gpu: 8}}]\n")
    assert (problem.path, problem.hint) == (
        "offers[0].pool",
        "or indent offers: under its pool's entry, if they are that pool's own",
    )


def test_a_key_outside_of_the_prefix_is_refused() -> None:
    problem = refusal(pool(idempotencyKey="ams1-a") + "keyPrefix: fra1-\n")
    assert (problem.rule, problem.path) == ("fleet.keyPrefix", "pools[ams1-a].idempotencyKey")
    assert "fra1-" in problem.message
    assert desired(pool() + "keyPrefix: fra\n").key_prefix == "fra"


def test_a_prefix_that_no_key_has_is_one_mistake() -> None:
    keys = ["fra1-a", "fra1-b"]
    pools = "".join(POOL.replace("fra1-a", key) for key in keys)
    problem = refusal(f"{HEAD}keyPrefix: ams1-\npools:\n{pools}")
    assert (problem.rule, problem.path, problem.hint) == (
        "fleet.keyPrefix",
        "keyPrefix",
        "the first key is fra1-a",
    )
    assert problem.message == "no key of this fleet begins with its keyPrefix, ams1-"
    some = refused(f"{HEAD}keyPrefix: ams1-\npools:\n{pools}{POOL.replace('fra1-a', 'ams1-a')}")
    assert [p.path for p in some] == [f"pools[{key}].idempotencyKey" for key in keys]


# Shapes


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        (offer(quota='{gpu: "32"}'), "quota.gpu", "write 32, without quotes"),
        (offer(quota="{gpu: 32.0}"), "quota.gpu", "write 32"),
        (offer(quota="{gpu: 31.9}"), "quota.gpu", "write 31 or 32"),
        (offer(quota="{gpu: 1e3}"), "quota.gpu", "write 1000"),
        (offer(quota="{gpu: true}"), "quota.gpu", ""),
        (offer(quota="{gpu: null}"), "quota.gpu", ""),
        (offer(quota="{gpu: unlimited}"), "quota.gpu", "write 2147483647, which reads as unlimited"),
        (offer(quota="{vcpu: Max}"), "quota.vcpu", "write 2147483647, which reads as unlimited"),
        (offer(quota="{gpu: none}"), "quota.gpu", ""),
        (offer(quota="{gpu: 16Gi}"), "quota.gpu", "write 16: it counts, and has no unit"),
        (offer(quota="{vcpu: 8 GPUs}"), "quota.vcpu", "write 8: it counts, and has no unit"),
        (offer(quota="{memoryGiB: 64Gi}"), "quota.memoryGiB", "a whole number of GiB: 64"),
        (offer(quota="{diskGiB: 2 TiB}"), "quota.diskGiB", "a whole number of GiB: 2048"),
        (offer(quota="{memoryGiB: 512Mi}"), "quota.memoryGiB", ""),
        (offer(quota="{memoryGiB: 64G}"), "quota.memoryGiB", ""),
        (offer(quota="{gpu: [8]}"), "quota.gpu", ""),
        (offer(quota="{gpu: -1}"), "quota.gpu", "the least is 0, and 2147483647 is unlimited"),
        (offer(quota="{gpu: -0}"), "quota.gpu", "write 0"),
        (offer(quota="{gpu: +8}"), "quota.gpu", "write 8"),
        (offer(quota="{memoryGiB: 1_000}"), "quota.memoryGiB", "write 1000"),
        (offer(quota="{memoryGiB: 12 000}"), "quota.memoryGiB", "write 12000"),
        (offer(quota="{gpu: 2147483648}"), "quota.gpu", "the largest value, 2147483647, reads as unlimited"),
        (offer(quota="{gpu: 100000000000000000000}"), "quota.gpu", "the largest value, 2147483647, reads as unlimited"),
        (offer(quota='{gpu.mig: "-7"}'), "quota.gpu.mig", "write 0, without quotes"),
        (offer(priority='"10"'), "priority", "write 10, without quotes"),
        (offer(priority="1.0e+1"), "priority", "write 10"),
        (offer(priority="+3"), "priority", "write 3"),
        (offer(priority="-0"), "priority", "write 0"),
        (offer(priority="1001"), "priority", "write 1000"),
        (offer(priority="high"), "priority", "write a number, such as 10; 0 is the default"),
        (offer(priority="-1001"), "priority", "write -1000"),
        (offer(priority="false"), "priority", ""),
        (offer(includeDescendants="yes"), "includeDescendants", "write true"),
        (offer(includeDescendants="Off"), "includeDescendants", "write false"),
        (offer(includeDescendants="1"), "includeDescendants", "write true"),
        (offer(includeDescendants="[]"), "includeDescendants", ""),
    ],
)
def test_numbers_and_flags_are_exact(text: str, path: str, hint: str) -> None:
    problem = refusal(text)
    assert (problem.path, problem.hint) == (f"pools[fra1-a].offers[acme].{path}", hint)
    assert "whole number from" in problem.message or "true or false" in problem.message or "sign" in problem.message


@pytest.mark.parametrize("limit", [0, 1, 2147483647])
def test_the_limits_of_a_quota_are_taken(limit: int) -> None:
    assert desired(offer(quota=f"{{gpu: {limit}}}")).entries[ID].offers["acme"].quota == {"gpu": limit}


@pytest.mark.parametrize("priority", [-1000, 0, 1000])
def test_a_priority_may_be_negative(priority: int) -> None:
    assert desired(offer(priority=str(priority))).entries[ID].offers["acme"].priority == priority


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("fra1 h100", "write fra1-h100"),
        ("zażółć", "write zazo-c"),
        ("-fra1", "write fra1"),
        ("a" * 129, f"write {'a' * 128}"),
        ('"a\\n"', "write a"),
        ("漢字", ""),
        ('""', ""),
        ("12", 'in quotes it is text: "12"'),
        ("true", 'in quotes it is text: "true"'),
        ("1.5", ""),
        ("[a]", ""),
    ],
)
def test_a_key_is_ascii_of_at_most_128_characters(key: str, hint: str) -> None:
    problem = refusal(pool(idempotencyKey=key))
    assert (problem.rule, problem.path, problem.hint) == ("fleet.type", "pools[0].idempotencyKey", hint)
    assert "1 to 128 of A-Z a-z 0-9 . _ : -" in problem.message


@pytest.mark.parametrize("value", ["fr", '"fr 1"', "3"])
def test_a_key_prefix_has_at_least_three_characters(value: str) -> None:
    problem = refusal(pool() + f"keyPrefix: {value}\n")
    assert problem.path == "keyPrefix"
    assert "3 to 128" in problem.message


@pytest.mark.parametrize(
    ("text", "path", "says"),
    [
        (pool() + "server: ftp://a.example\n", "server", "http or https URL"),
        (pool() + "server: https://u:hunter2@a.example\n", "server", "without user, password and query"),
        (pool() + "server: 3\n", "server", "embedded"),
        (pool() + "server: {world: w.yaml}\n", "server.embedded", "missing"),
        (pool() + "server: {embedded: a.db, wrld: b}\n", "server.wrld", "no such field"),
        (pool() + "allowEmpty: yes\n", "allowEmpty", "true or false"),
        (pool() + "exclude: a\n", "exclude", "a list of globs"),
        (pool() + "exclude: [3]\n", "exclude[0]", "a glob"),
        (pool() + "defaults: {pool: {idempotencyKey: a}}\n", "defaults.pool.idempotencyKey", "known: siteId, class"),
        (pool() + "defaults: {offer: {quota: {gpu: 1}}}\n", "defaults.offer.quota", "known: priority"),
        (HEAD.replace("fleet/v1", "fleet/v2") + "pools: []\nallowEmpty: true", "apiVersion", "fleet/v1"),
        (pool() + "offers: {acme: {gpu: 8}}\n", "offers", "a list of offers"),
        (HEAD + "pools: {a: {}}\n", "pools", "a list of pools"),
        (HEAD + "pools: [a]\n", "pools[0]", "a map of siteId, class"),
        (pool(offers="[acme]"), "pools[fra1-a].offers[0]", "a map of priority, includeDescendants, toTenantId"),
        (pool(offers="unmanagd"), "pools[fra1-a].offers", "a list of offers, or unmanaged"),
        (pool(offers="3"), "pools[fra1-a].offers", "a list of offers, or unmanaged"),
        (pool(policy="h100-standard"), "pools[fra1-a].policy", "a map of policy fields"),
        (pool(policy="[]"), "pools[fra1-a].policy", "a map of policy fields"),
        (pool(released="yes"), "pools[fra1-a].released", "true or false"),
        (pool(protect="1"), "pools[fra1-a].protect", "true or false"),
        (pool(previously="[a]"), "pools[fra1-a].previously", "1 to 128 of"),
        (pool(previously='""'), "pools[fra1-a].previously", "not empty"),
        (pool(replaces="true"), "pools[fra1-a].replaces", "1 to 128 of"),
        (pool(**{"class": "3"}), "pools[fra1-a].class", "a pool class"),
        (offer(quota="8"), "pools[fra1-a].offers[acme].quota", "such as {gpu: 8}"),
    ],
)  # fmt: skip
def test_what_has_the_wrong_shape_is_refused_with_what_is_allowed(text: str, path: str, says: str) -> None:
    problem = refusal(text)
    assert problem.path == path
    assert says in problem.message
    assert "hunter2" not in problem.message + problem.hint


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        (pool() + "tenantID: root\n", "tenantID", "tenantId"),
        (pool() + "pool: []\n", "pool", "pools"),
        (pool(gpumodel="H100"), "pools[fra1-a].gpumodel", "gpuModel"),
        (pool(gpu_model="H100"), "pools[fra1-a].gpu_model", "gpuModel"),
        (pool(previous="a"), "pools[fra1-a].previous", "previously"),
        (pool(replace="a"), "pools[fra1-a].replace", "replaces"),
        (pool(protected="true"), "pools[fra1-a].protected", "protect"),
        (pool(foreach="{a: [b]}"), "pools[fra1-a].foreach", "forEach"),
        (offer(priorty="1"), "pools[fra1-a].offers[acme].priorty", "priority"),
        (pool() + "offers: [{pol: a, pool: fra1-a, toTenantId: acme, quota: {gpu: 1}}]", "offers[0].pol", "pool"),
        (pool() + "defaults: {ofer: {}}\n", "defaults.ofer", "offer"),
    ],
)
def test_an_unknown_field_is_refused_at_its_name_with_the_nearest_one(text: str, path: str, hint: str) -> None:
    problem = refusal(text)
    assert (problem.rule, problem.path, problem.hint) == ("fleet.unknown", path, f'did you mean "{hint}"?')
    name = path.split(".")[-1]
    line = text.splitlines()[problem.source.line - 1] if problem.source else ""
    assert problem.source
    assert line[problem.source.column - 1 :].startswith(f"{name}:")


@pytest.mark.parametrize(
    ("text", "path", "hint"),
    [
        (pool(priority="5"), "pools[fra1-a].priority", "a field of its offers[]"),
        (pool(maxPending="6h"), "pools[fra1-a].maxPending", "a field of its policy"),
        (pool(vcpu="64"), "pools[fra1-a].vcpu", "a row of its ownerQuota"),
        (pool(freeze="[]"), "pools[fra1-a].freeze", ""),
        (pool(guards="{}"), "pools[fra1-a].guards", "a field of the document, one level further out"),
        (pool(checks="[]"), "pools[fra1-a].checks", "a field of the document, one level further out"),
        (pool() + "previously: a\n", "previously", "a field of its pools[]"),
        (pool() + "protect: [a]\n", "protect", "a field of its pools[] or guards"),
        (pool() + "defaults: {pool: {policyRef: a}}\n", "defaults.pool.policyRef", ""),
        (pool(tenantId="root"), "pools[fra1-a].tenantId", "a field of the document, one level further out"),
        (offer(gpu="8"), "pools[fra1-a].offers[acme].gpu", "a row of its quota"),
        (offer(siteId="s"), "pools[fra1-a].offers[acme].siteId", "a field of the pool, one level further out"),
        (
            pool() + "offers: [{pool: fra1-a, toTenantId: acme, quota: {gpu: 1}, class: x}]",
            "offers[0].class",
            "a field of pools[]",
        ),
        (pool() + "siteId: s\n", "siteId", "a field of its pools[]"),
        (pool() + "priority: 1\n", "priority", "a field of its offers[]"),
        (pool() + "defaults: {siteId: s}\n", "defaults.siteId", "a field of its pool"),
        (pool() + "defaults: {caller: s}\n", "defaults.caller", "a field of the document, one level further out"),
        (
            pool() + "server: {embedded: p.db, caller: s}\n",
            "server.caller",
            "a field of the document, one level further out",
        ),
    ],
)
def test_a_field_of_another_level_is_refused_with_the_level_it_belongs_to(text: str, path: str, hint: str) -> None:
    problem = refusal(text)
    assert (problem.rule, problem.path, problem.hint) == ("fleet.unknown", path, hint)


@pytest.mark.parametrize(
    ("text", "path", "meant"),
    [
        (pool().replace("idempotencyKey", "key") + LISTED, "pools[0].key", "idempotencyKey"),
        (pool().replace("idempotencyKey", "name") + LISTED, "pools[0].name", "idempotencyKey"),
        (pool() + LISTED.replace("pool:", "key:"), "offers[0].key", "pool"),
    ],
)
def test_another_word_for_a_field_is_one_finding_with_the_field(text: str, path: str, meant: str) -> None:
    problem = refusal(text)
    assert (problem.path, problem.hint) == (path, f'did you mean "{meant}"?')


@pytest.mark.parametrize(
    ("server", "hint"),
    [
        ("localhost:8080", 'did you mean "http://localhost:8080"?'),
        ("127.0.0.1:8080/", 'did you mean "http://127.0.0.1:8080/"?'),
        ("localhost", 'did you mean "http://localhost"?'),
        ("compute.example.com:8443", 'did you mean "https://compute.example.com:8443"?'),
        ("eyJhbGciOi.eyJzdWIiOi.c2ln", ""),
        ("me:hunter2@example.com:80", ""),
        ("ftp://example.com", ""),
    ],
)
def test_a_server_without_its_scheme_is_met_with_the_url(server: str, hint: str) -> None:
    assert refusal(pool() + f'server: "{server}"\n').hint == hint


TWO = "pools: [{idempotencyKey: fra1-a}, {idempotencyKey: fra1-b}]\n"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (pool().replace("siteId", "siteID"), "pools[fra1-a].siteID"),
        (pool().replace("gpuModel", "model"), "pools[fra1-a].model"),
        (pool().replace("idempotencyKey", "idempotencykey") + LISTED, "pools[0].idempotencykey"),
        (HEAD + "pools: [{idempotencyKey: fra1-a, archvied: true}]\n", "pools[fra1-a].archvied"),
        (HEAD + "pools: [{idempotencyKey: fra1-a, archived: yes}]\n", "pools[fra1-a].archived"),
        (offer().replace("toTenantId", "toTenantID"), "pools[fra1-a].offers[0].toTenantID"),
        (offer().replace("quota", "qouta"), "pools[fra1-a].offers[acme].qouta"),
        (pool() + LISTED.replace("pool:", "pol:"), "offers[0].pol"),
        (HEAD + TWO + "defaults: {pool: {clas: metal-host, siteId: s, gpuModel: H100}}\n", "defaults.pool.clas"),
        (HEAD + TWO + "default: {pool: {class: metal-host, siteId: s, gpuModel: H100}}\n", "default"),
        (pool().replace("pools", "pool"), "pool"),
        (pool().replace("apiVersion", "apiversion"), "apiversion"),
        (pool().replace("tenantId", "tenantid"), "tenantid"),
        (pool() + "server: {embeded: plane.db}\n", "server.embeded"),
    ],
)
def test_what_follows_from_a_slip_is_not_said_beside_it(text: str, path: str) -> None:
    assert refusal(text).path == path


def test_what_is_missing_beside_a_slip_is_still_found() -> None:
    text = pool().replace("siteId: site_fra1, class: metal-host", "siteID: site_fra1")
    assert [problem.path for problem in refused(text)] == ["pools[fra1-a].class", "pools[fra1-a].siteID"]


def test_every_problem_is_found_at_once_in_the_order_of_the_files() -> None:
    first = HEAD + 'fleet: ""\npools:\n' + POOL.replace("gpuModel: H100", "rack: 7") + OFFER.replace("8", "-8")
    second = "\npools:\n" + POOL + "offers: [{pool: nope, toTenantId: root, quota: {}}]\n"
    problems = refused(first, second)
    assert [(str(p.source), p.rule) for p in problems] == [
        ("0.yaml:4:8", "fleet.type"),
        ("0.yaml:6:5", "fleet.required"),
        ("0.yaml:9:5", "fleet.unknown"),
        ("0.yaml:10:46", "quota.value"),
        ("1.yaml:3:21", "fleet.twice"),
        ("1.yaml:7:17", "fleet.pool"),
        ("1.yaml:7:35", "fleet.ownTenant"),
        ("1.yaml:7:48", "fleet.type"),
    ], said(problems)


# Fleets without pools


@pytest.mark.parametrize("text", [HEAD, HEAD + "pools: []\n", HEAD + "pools: []\nallowEmpty: false\n"])
def test_a_fleet_without_pools_is_refused(text: str) -> None:
    problem = refusal(text)
    assert problem.rule == "fleet.empty"
    assert "allowEmpty: true" in problem.hint


@pytest.mark.parametrize("end", ["archived", "released"])
def test_a_fleet_whose_entries_all_end_their_pools_says_so_of_each(end: str) -> None:
    (entry,) = desired(HEAD + f"pools: [{{idempotencyKey: a, {end}: true}}]\n").entries.values()
    assert not entry.stays


def test_a_fleet_may_be_read_before_it_has_a_pool(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(HEAD + "guards: {maxArchives: 2}\n")
    with pytest.raises(FilesError):
        load(tmp_path)
    read = load(tmp_path, empty_ok=True)
    assert (read.entries, read.tenant_id, read.guards.max_archives, read.allow_empty) == ({}, "root", 2, False)


def test_every_file_of_the_fleet_is_known_and_no_other() -> None:
    read = desired(pool(), "x-a: 1", "pools: []", "policies: {std: {}}", "checks: []")
    assert read.files == {f"{n}.yaml" for n in range(5)}


def test_a_fleet_may_be_empty_when_it_says_so() -> None:
    assert desired(HEAD + "allowEmpty: true\n").entries == {}


def test_a_directory_without_a_document_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text("# all of it moved\n")
    with pytest.raises(FilesError):
        load(tmp_path)
