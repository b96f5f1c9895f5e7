"""One mistake is one finding: what merely follows from it is not told, and what does not follow is."""

from __future__ import annotations

from pathlib import Path

import pytest

from better_compute.domain.problems import Problem
from fleetctl.desired.load import load
from fleetctl.files import FilesError
from tests.reading import HEAD, POOL, refused, said

LISTED = "offers:\n" + "".join(
    f"  - {{pool: fra1-{name}, toTenantId: {tenant}, quota: {{gpu: 8}}}}\n"
    for name, tenant in [("a", "acme"), ("a", "globex"), ("b", "acme")]
)
FLEET = HEAD + "pools:\n" + POOL + POOL.replace("fra1-a", "fra1-b") + LISTED


def only(problems: list[Problem], rule: str = "") -> Problem:
    assert len(problems) == 1, said(problems)
    assert rule in ("", problems[0].rule)
    return problems[0]


@pytest.mark.parametrize(
    "server",
    [
        "sever: {embedded: plane.db, world: world.yaml}",
        "servers: {embedded: plane.db, world: world.yaml}",
        "zqzqzq: {embedded: plane.db, world: world.yaml}",
        "server: {embedded: plane.db, wrold: world.yaml}",
        "server: {embedded: plane.db, worlds: world.yaml}",
        "server: {embedded: plane.db, zqzqzq: world.yaml}",
        "server: {embedded: plane.db, world: }",
        'server: {embedded: plane.db, world: ""}',
        "server: {world: world.yaml}",
        "server: {zqzqzq: plane.db, world: world.yaml}",
        "server: {}",
        "server:",
    ],
)
def test_where_the_server_is_faulty_no_world_file_is_missed_in_it(server: str, tmp_path: Path) -> None:
    (tmp_path / "fleet.yaml").write_text(f"{HEAD}{server}\npools:\n{POOL}")
    (tmp_path / "world.yaml").write_text("tenants: [{id: acme}]\n")
    with pytest.raises(FilesError) as error:
        load(tmp_path)
    assert str(only(list(error.value.problems)).source).startswith("fleet.yaml:4:")


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("pools:", "poolss:"),
        ("pools:", "zqzqzq:"),
        ("pools:\n", "pools: null\nx-pools:\n"),
        ("pools:\n", "pools: 5\nx-pools:\n"),
        ("pools:\n", "pools: []\nx-pools:\n"),
    ],
)
def test_where_the_pools_are_faulty_no_offer_misses_its_own(written: str, instead: str) -> None:
    only(refused(FLEET.replace(written, instead, 1)))


@pytest.mark.parametrize(
    "key",
    [
        "idempotencyKey:",
        'idempotencyKey: ""',
        "idempotencyKey: 5",
        "idempotencykey: fra1-a",
        "key: fra1-a",
        "zqzqzq: fra1-a",
        "idempotencyKey: fra1_ä",
        "x1: 1\n    id: ",
    ],
)
def test_where_a_key_is_faulty_its_offers_do_not_miss_it(key: str) -> None:
    text = FLEET.replace("idempotencyKey: fra1-a", key, 1)
    assert "fleet.pool" not in {p.rule for p in refused(text)}
    if "x1" not in key:
        only(refused(text))


def test_an_entry_that_is_none_may_be_the_one_that_was_offered() -> None:
    only(refused(FLEET.replace("pools:\n" + POOL, "pools:\n  - null\n")))


def test_a_key_with_a_wrong_prefix_is_one_finding() -> None:
    only(refused("keyPrefix: fra1-\n" + FLEET.replace("Key: fra1-a", "Key: fr1-a")), "fleet.keyPrefix")


def test_more_pools_that_are_missed_than_keys_that_are_faulty_are_told() -> None:
    text = FLEET.replace("idempotencyKey: fra1-a", "idempotencyKey:", 1) + LISTED.replace("fra1-a", "fra1-c")[8:]
    assert [p.rule for p in refused(text)].count("fleet.pool") == 4


def test_with_no_pools_by_intent_an_offer_misses_its_own() -> None:
    only(refused(HEAD + "allowEmpty: true\npools: []\n" + LISTED.partition("\n  - {pool: fra1-a, toTenantId: g")[0]))


@pytest.mark.parametrize(
    ("written", "missing"),
    [
        ("apiVersion: fleet/v1", "apiVersion"),
        ("tenantId: root", "tenantId"),
        ("idempotencyKey: fra1-a", "idempotencyKey"),
        ("siteId: site_fra1", "siteId"),
        ("gpuModel: H100", "gpuModel"),
        ("toTenantId: acme", "toTenantId"),
        ("quota: {gpu: 8}", "quota"),
        ("pools:", "pools"),
    ],
)
def test_a_field_like_none_in_the_place_of_a_missing_one_is_one_finding_that_names_it(
    written: str, missing: str
) -> None:
    problem = only(refused(FLEET.replace(written, "zqzqzq:" + written.partition(":")[2], 1)), "fleet.unknown")
    assert problem.hint == f'did you mean "{missing}"? It is missing'


@pytest.mark.parametrize("more", ["zqzqzq: 5\n", "zqzqzq: [a]\n", "zqzqzq: fleet/v1\n", "x-tenant: root\n"])
def test_a_field_that_cannot_be_the_missing_one_explains_nothing(more: str) -> None:
    problems = refused(more + FLEET.replace("tenantId: root\n", ""))
    assert "no document of the fleet says tenantId" in {p.message for p in problems}


def test_a_field_explains_one_that_is_missing_and_not_two() -> None:
    text = FLEET.replace("siteId: site_fra1", "zqzqzq: site_fra1", 1).replace("    gpuModel: H100\n", "", 1)
    assert [(p.rule, p.path) for p in refused(text)] == [
        ("fleet.required", "pools[fra1-a].gpuModel"),
        ("fleet.unknown", "pools[fra1-a].zqzqzq"),
    ]


@pytest.mark.parametrize("name", ["zqzqzq", "defalts"])
def test_defaults_that_nobody_finds_are_missed_once(name: str) -> None:
    bare = "".join(f"  - idempotencyKey: fra1-{n}\n" for n in range(50))
    defaults = f"{name}: {{pool: {{siteId: site_fra1, class: metal-host, gpuModel: H100}}}}\n"
    only(refused(HEAD + defaults + "pools:\n" + bare), "fleet.unknown")
