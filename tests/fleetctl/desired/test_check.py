"""The rules on desired state, offline: what they say, and where it stands in the files."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.problems import Problem
from fleetctl.desired import check
from tests.fleets import Fleet, fleets
from tests.reading import HEAD, desired, judged, said


def pool(fields: str = "", offers: str = "") -> str:
    """A pool in block style, with more fields; one line each."""
    entry = "pools:\n  - idempotencyKey: fra1-a\n    siteId: s\n"
    lines = [line for line in fields.splitlines() if line]
    given = {line.split(":")[0] for line in lines}
    usual = [f"{name}: {value}" for name, value in (("class", "metal-host"), ("gpuModel", "H100")) if name not in given]
    return (
        HEAD + entry + "".join(f"    {line}\n" for line in usual + lines) + (f"    offers:\n{offers}" if offers else "")
    )


def offer(tenant: str, quota: str = "{gpu: 8}", more: str = "") -> str:
    return f"      - {{toTenantId: {tenant}, quota: {quota}{more}}}\n"


def only(text: str) -> tuple[str, str, str]:
    """Severity, rule and path of the one problem there is; its source is the line that holds its last word."""
    (problem,) = found = judged(text)
    assert problem.source, said(found)
    word = problem.path.split(".")[-1].split("[")[0]
    line = text.splitlines()[problem.source.line - 1]
    assert word in line or "fra1-a" in line, said(found)
    return problem.severity, problem.rule, problem.path


def test_a_sound_fleet_has_no_problem() -> None:
    assert judged(pool("policy: {maxPending: 6h}", offer("acme") + offer("globex"))) == []


@pytest.mark.parametrize(
    ("fields", "rule", "path"),
    [
        ("class: Metal-Host", "pool.class", "class"),
        ("gpuModel: h100", "pool.model", "gpuModel"),
        ("sharing: MIG", "pool.sharing", "sharing"),
        ("agent: BCD", "pool.agent", "agent"),
        ("providerAccountId: pa_north", "pool.provider", "providerAccountId"),
        ("ownerQuota: {gpu: 1, gpus: 2}", "quota.value", "ownerQuota.gpus"),
    ],
)
def test_what_a_pool_says_against_a_rule_is_found_where_it_stands(fields: str, rule: str, path: str) -> None:
    assert only(pool(fields)) == ("error", rule, f"pools[fra1-a].{path}")


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        (
            "sharing: migg\nownerQuota: {gpu.mig: 4}\npolicy: {gpu: {mig: {strategy: mixed, devices: {3g.40gb: 2}}}}",
            "sharing",
        ),
        ("sharing: timeslce\npolicy: {gpu: {slots: 4}, cpu: {mitigations: off}}", "sharing"),
        ("class: provder\nagent: none\nproviderAccountId: pa", "class"),
        ("class: vps-hst\npolicy: {overcommit: {diskGiB: 2}}", "class"),
        ("class: provider\nagent: non\nproviderAccountId: pa", "agent"),
        ("ownerQuota: {gpus: 2}", "ownerQuota.gpus"),
        ("sharing: mig\nownerQuota: {gpu.mgi: 2}", "ownerQuota.gpu.mgi"),
    ],
)
def test_a_slip_in_a_word_that_other_rules_stand_on_is_one_finding(fields: str, path: str) -> None:
    (problem,) = found = judged(pool(fields, offer("acme", "{gpu.mig: 8}" if "mig" in fields else "{gpu: 8}")))
    assert (problem.severity, problem.path) == ("error", f"pools[fra1-a].{path}"), said(found)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [("sharing: migg", "sharing: mig"), ("gpuModel: h100", "gpuModel: H100"), ("agent: b", "agent: bcd")],
)
def test_a_slip_in_the_defaults_is_one_finding_where_it_stands(wrong: str, right: str) -> None:
    entries = "".join(f"  - {{idempotencyKey: fra1-{n}, class: metal-host}}\n" for n in range(3))
    own = f"  - {{idempotencyKey: fra1-own, class: metal-host, {right}, ownerQuota: {{gpu: 8, gpu.mig: 8}}}}\n"
    text = f"{HEAD}defaults: {{pool: {{siteId: s, gpuModel: H100, {wrong}}}}}\npools:\n{entries}{own}"
    text = text.replace("gpuModel: H100, gpuModel", "gpuModel")
    errors = [problem for problem in judged(text) if problem.severity == "error"]
    name = wrong.partition(":")[0]
    column = text.splitlines()[3].index(wrong) + len(name) + 3
    assert [(p.path, str(p.source)) for p in errors] == [(f"defaults.pool.{name}", f"0.yaml:4:{column}")], said(errors)


def test_a_word_of_the_defaults_that_does_not_go_with_an_entry_is_found_at_the_entry() -> None:
    entry = "pools: [{idempotencyKey: fra1-a, siteId: s, class: provider, gpuModel: H100, providerAccountId: pa}]\n"
    (problem,) = judged(HEAD + "defaults: {pool: {agent: bcd}}\n" + entry)
    assert (problem.rule, problem.path) == ("pool.provider", "pools[fra1-a].agent")


def test_a_provider_pool_says_its_agent_outright() -> None:
    assert only(pool("class: provider\nproviderAccountId: pa")) == ("error", "pool.provider", "pools[fra1-a].agent")
    assert judged(pool("class: provider\nproviderAccountId: pa\nagent: none")) == []


def test_a_value_inside_a_policy_is_found_where_it_stands() -> None:
    text = pool("policy:\n  acceptance:\n    - {kind: diag.nvml}\n    - {kind: 3}\n  hugepages: {1Gi: -1}")
    problems = judged(text)
    assert [(p.path, str(p.source)) for p in problems] == [
        ("pools[fra1-a].policy.acceptance[1].kind", "0.yaml:12:18"),
        ("pools[fra1-a].policy.hugepages.1Gi", "0.yaml:13:24"),
    ], said(problems)


def test_what_is_missing_is_found_where_its_parent_stands() -> None:
    problems = judged(pool("sharing: timeslice\nownerQuota: {gpu.slot: 8}\npolicy: {gpu: {driver: {}}}"))
    assert [(p.severity, p.path, str(p.source)) for p in problems] == [
        ("error", "pools[fra1-a].policy.gpu.slots", "0.yaml:11:19")
    ], said(problems)


@pytest.mark.parametrize(
    ("quota", "path"), [("{gpu: 8, gpu.mgi: 1}", "quota.gpu.mgi"), ("{gpu: 8, VCPU: 1}", "quota.VCPU")]
)
def test_a_misspelt_resource_of_an_offer_is_found_at_its_row(quota: str, path: str) -> None:
    text = pool(offers=offer("acme", quota))
    (problem,) = judged(text)
    assert (problem.rule, problem.path) == ("quota.value", f"pools[fra1-a].offers[acme].{path}")
    assert problem.source
    assert problem.source.column == text.splitlines()[problem.source.line - 1].index("1}") + 1


def test_an_offer_of_a_list_is_named_by_its_pool_and_found_in_its_list() -> None:
    (problem,) = judged(pool(), "offers: [{pool: fra1-a, toTenantId: acme, quota: {gpu.mig: 1, gpu: 1}}]")
    assert (problem.severity, problem.path) == ("warning", "pools[fra1-a].offers[acme].quota.gpu.mig")
    assert str(problem.source) == "1.yaml:1:60"


# Offering rules


def test_a_pool_that_does_not_isolate_is_offered_to_nobody() -> None:
    fields = "sharing: timeslice\nownerQuota: {gpu.slot: 8}\npolicy: {gpu: {slots: 4}}"
    quota = "{gpu.slot: 8}"
    problems = judged(pool(fields, offer("acme", quota) + offer("globex", quota)))
    assert [(p.code, p.rule, p.path) for p in problems] == [
        ("INVALID_STATE", "offer.sharing", "pools[fra1-a].offers[acme].toTenantId"),
        ("INVALID_STATE", "offer.sharing", "pools[fra1-a].offers[globex].toTenantId"),
    ]


def test_a_single_tenant_pool_is_offered_once_and_without_descendants() -> None:
    policy = "policy: {singleTenant: true}"
    twice = judged(pool(policy, offer("globex") + offer("acme")))
    assert [(p.rule, p.path) for p in twice] == [("offer.single", "pools[fra1-a].offers[globex].toTenantId")]
    wide = judged(pool(policy, offer("acme", more=", includeDescendants: true")))
    assert [(p.rule, p.path) for p in wide] == [("offer.single", "pools[fra1-a].offers[acme].includeDescendants")]
    assert judged(pool(policy, offer("acme"))) == []


def test_offering_rules_are_judged_although_the_pool_itself_is_refused() -> None:
    broken = "class: metal\ngpuModel: h100\nsharing: mps\nownerQuota: {gpu: 0}"
    rules = {p.rule for p in judged(pool(broken, offer("acme", "{gpu.slot: 1}"))) if p.severity == "error"}
    assert {"pool.class", "pool.model", "offer.sharing"} <= rules
    single = judged(pool("class: metal\npolicy: {singleTenant: true}", offer("acme") + offer("globex")))
    assert [p.rule for p in single] == ["pool.class", "offer.single"]
    assert [p.rule for p in judged(pool("sharing: solo", offer("acme")))] == ["pool.sharing"]


def test_every_problem_of_an_offer_is_found() -> None:
    text = pool("policy: {singleTenant: true}", offer("acme", "{gpu: 1, gpus: 1}", ", includeDescendants: true"))
    assert sorted(p.path.rsplit(".", 1)[-1] for p in judged(text)) == ["gpus", "includeDescendants"]


# What is not said


def test_what_only_a_server_knows_is_not_reported() -> None:
    assert judged(pool("policy: {joinAttestors: [tpm]}", offer("nobody"))) == []


def test_nothing_is_said_twice() -> None:
    anchored = "pools: [&a {idempotencyKey: fra1-a, siteId: s, class: metal, gpuModel: H100}]\nx-a: *a"
    assert len(judged(HEAD + anchored)) == 1


def test_pools_of_one_shape_each_have_their_own_problems() -> None:
    entries = "".join(f"  - {{idempotencyKey: fra1-{n}, siteId: s, class: metal, gpuModel: H100}}\n" for n in range(3))
    problems = judged(HEAD + "pools:\n" + entries)
    assert sorted(p.path for p in problems) == [f"pools[fra1-{n}].class" for n in range(3)]
    assert sorted(p.source.line for p in problems if p.source) == [5, 6, 7]


def test_a_tombstone_that_holds_its_key_alone_is_not_judged() -> None:
    assert judged(HEAD + "pools: [{idempotencyKey: fra1-a, archived: true}]") == []


def errors(problems: list[Problem]) -> list[Problem]:
    return [p for p in problems if p.severity == "error"]


@given(fleets())
def test_generated_fleets_break_no_rule(fleet: Fleet) -> None:
    problems = judged("\n---\n".join(json.dumps(document) for document in fleet.documents()))
    assert errors(problems) == [], said(problems)


@pytest.mark.parametrize(
    "difference",
    [
        {"class": "metal"},
        {"gpuModel": "h100"},
        {"sharing": "mig"},
        {"agent": "all"},
        {"providerAccountId": "pa_north"},
        {"policy": {"maxPending": 6}},
        {"ownerQuota": {"gpus": 1}},
        {"ownerQuota": {"vcpu": 1}},
        {"offers": [{"toTenantId": "acme", "quota": {"vcpu": 8}}]},
        {"offers": [{"toTenantId": "acme", "quota": {"gpu": 8}, "includeDescendants": True}]},
        {"offers": [{"toTenantId": tenant, "quota": {"gpu": 8}} for tenant in ("acme", "globex")]},
    ],
    ids=json.dumps,
)
def test_a_sound_twin_does_not_hide_a_problem(difference: dict[str, Any]) -> None:
    """Pools of one shape are judged once; the shape tells apart all that a rule looks at."""
    sound: dict[str, Any] = {"siteId": "s", "class": "metal-host", "gpuModel": "H100", "policy": {"singleTenant": True}}
    sound["offers"] = [{"toTenantId": "acme", "quota": {"gpu": 8}}]
    root = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet"}
    pools = [{"idempotencyKey": f"fra1-{n}", **sound} for n in range(20)]
    pools[10] |= difference
    problems = judged(json.dumps({**root, "pools": pools}))
    assert {problem.path.split(".")[0] for problem in problems} == {"pools[fra1-10]"}, said(problems)


_QUOTAS = st.fixed_dictionaries({"gpu": st.sampled_from((0, 8))}, optional={"gpu.mig": st.sampled_from((0, 8))})
_OFFERS = st.builds(
    lambda quota, wide, tenants: [{"toTenantId": t, "quota": quota, "includeDescendants": wide} for t in tenants],
    _QUOTAS | st.just({"licences": 8}),
    st.booleans(),
    st.sampled_from((("acme",), ("globex",), ("acme", "globex"), ())),
)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "sharing": st.sampled_from(("exclusive", "mig", "mps", "migg")),
    "agent": st.sampled_from(("bcd", "none", "non")),
    "providerAccountId": st.just("pa"),
    "policy": st.sampled_from(({}, {"singleTenant": True}, {"singleTenant": 1}, {"gpu": {"slots": 4}})),
    "ownerQuota": _QUOTAS,
    "offers": _OFFERS,
}


@st.composite
def alike(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Pools that differ in one field alone; of the others they have two at most, so that some of them are sound."""
    names = draw(st.lists(st.sampled_from(sorted(_FIELDS)), max_size=2))
    base = {name: draw(_FIELDS[name]) for name in names}
    name = draw(st.sampled_from(sorted(_FIELDS)))
    values = draw(st.lists(_FIELDS[name], min_size=2, max_size=6))
    return [{**base, name: value} for value in values]


@given(alike())
def test_a_pool_among_others_is_judged_as_it_is_alone(pools: list[dict[str, Any]]) -> None:
    """Pools of one shape are judged once; what any rule looks at is in the shape."""
    root = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet"}
    usual = {"siteId": "s", "class": "metal-host", "gpuModel": "H100"}
    entries = [{"idempotencyKey": f"fra1-{n}", **usual, **fields} for n, fields in enumerate(pools)]
    wished = desired(json.dumps({**root, "pools": entries}))
    alone = (check.problems(replace(wished, entries={pool_id: entry})) for pool_id, entry in wished.entries.items())
    assert check.problems(wished) == [problem for problems in alone for problem in problems]


def test_a_row_of_0_does_not_hide_a_row_that_grants_nothing() -> None:
    entries = "".join(
        f"  - {{idempotencyKey: fra1-{n}, siteId: s, class: metal-host, gpuModel: H100, offers: [{{toTenantId: acme,"
        f" quota: {{gpu: 8, gpu.mig: {limit}}}}}]}}\n"
        for n, limit in enumerate((0, 4, 0, 4))
    )
    found = judged(f"{HEAD}pools:\n{entries}")
    assert sorted((p.severity, p.path) for p in found) == [
        ("warning", f"pools[fra1-{n}].offers[acme].quota.gpu.mig") for n in (1, 3)
    ], said(found)
