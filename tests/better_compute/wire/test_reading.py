from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct
from pydantic import TypeAdapter, ValidationError

from better_compute.bootstrap.world_file import Name
from better_compute.domain.problems import ComputeError, Problem
from better_compute.wire import inputs
from better_compute.wire.reading import given, read

OFFER = {"tenantId": "root", "poolId": "pool_x", "toTenantId": "acme", "quota": {"gpu": 1}}
JOIN = {"tenantId": "root", "poolId": "pool_x", "joinToken": "t", "inventory": {}}


def problem(kind: type[Struct], value: dict[str, Any]) -> Problem:
    with pytest.raises(ComputeError) as caught:
        read(kind, value)
    assert caught.value.code == "INVALID_INPUT"
    return caught.value.problems[0]


def test_what_is_stated_is_told_from_what_is_not() -> None:
    assert given(read(inputs.PoolsOffer, OFFER)) == {
        "tenant_id": "root",
        "pool_id": "pool_x",
        "to_tenant_id": "acme",
        "quota": {"gpu": 1},
    }
    stated = given(read(inputs.PoolsOffer, {**OFFER, "priority": 0, "includeDescendants": False}))
    assert (stated["priority"], stated["include_descendants"]) == (0, False)


def test_an_error_does_not_repeat_all_that_was_sent() -> None:
    found = problem(inputs.PoolsList, {"tenantId": "root", "include": ["x" * 500_000]})
    assert found.message.startswith("invalid enum value 'xxx")
    assert len(found.message) < 400


@pytest.mark.parametrize(
    "field", ["priority", "includeDescendants", "expectedVersion", "quota", "toTenantId", "tenantId"]
)
def test_null_is_not_absent(field: str) -> None:
    assert problem(inputs.PoolsOffer, {**OFFER, field: None}).path == field


@pytest.mark.parametrize("value", [True, 1.0, "1", -1, 2**53, [], {}])
def test_a_version_is_an_exact_whole_number(value: Any) -> None:
    assert problem(inputs.PoolsOffer, {**OFFER, "expectedVersion": value}).path == "expectedVersion"


@pytest.mark.parametrize("value", [True, 1.0, "1", None])
def test_a_priority_is_an_exact_whole_number(value: Any) -> None:
    assert problem(inputs.PoolsOffer, {**OFFER, "priority": value}).path == "priority"


@pytest.mark.parametrize("value", [1, 0, "true", "yes"])
def test_a_truth_value_is_true_or_false(value: Any) -> None:
    assert problem(inputs.PoolsOffer, {**OFFER, "includeDescendants": value}).path == "includeDescendants"


@pytest.mark.parametrize(
    "value", ["", " ", "a b", "a\n", "a\0", "é", "-a", ".", "a/b", "x" * 129, 7, "a\u0661"], ids=ascii
)
def test_an_id_is_ascii_letters_digits_and_a_few_signs(value: Any) -> None:
    found = problem(inputs.PoolsOffer, {**OFFER, "poolId": value})
    assert found.path == "poolId"
    assert value == 7 or found.message.startswith("an id is 1 to 128 ASCII letters")


def test_an_id_may_have_128_letters() -> None:
    assert read(inputs.PoolsGet, {"tenantId": "root", "poolId": "x" * 128}).pool_id == "x" * 128


def test_an_unknown_field_is_named_with_the_nearest_known() -> None:
    found = problem(inputs.PoolsOffer, {**OFFER, "priorty": 1})
    assert (found.path, found.hint) == ("priorty", 'did you mean "priority"?')
    assert problem(inputs.PoolsOffer, {**OFFER, "to_tenant_id": "x"}).hint == 'did you mean "toTenantId"?'
    inner = problem(inputs.NodesJoin, {**JOIN, "inventory": {"memory": 1}})
    assert (inner.path, inner.hint) == ("inventory.memory", 'did you mean "memoryGiB"?')


def test_the_name_of_an_unknown_field_is_not_repeated_endlessly() -> None:
    assert len(problem(inputs.PoolsOffer, {**OFFER, "x" * 100_000: 1}).path) == 100


def test_a_missing_field_is_named() -> None:
    found = problem(inputs.PoolsOffer, {k: v for k, v in OFFER.items() if k != "quota"})
    assert (found.path, found.message) == ("quota", "this field is missing")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"gpus": [1]}, "inventory.gpus[0]"),
        ({"vcpu": "4"}, "inventory.vcpu"),
        ({"attributes": {"a b": "x"}}, "inventory.attributes"),
    ],
)
def test_a_place_inside_is_named(value: dict[str, Any], place: str) -> None:
    assert problem(inputs.NodesJoin, {**JOIN, "inventory": value}).path == place


@pytest.mark.parametrize(
    "name", ["a` - at `$.quota`", "x - at `$.y`", "x - at `$.y", "x - at `key` in `$.y`", "a`", ""]
)
def test_an_unknown_field_of_a_hostile_name_is_only_named(name: str) -> None:
    outer = problem(inputs.PoolsOffer, {**OFFER, name: 1})
    inner = problem(inputs.NodesJoin, {**JOIN, "inventory": {name: 1}})
    assert (outer.message, outer.path) == ("there is no such field", name)
    assert (inner.message, inner.path) == ("there is no such field", f"inventory.{name}")


def test_a_hostile_value_does_not_name_another_place() -> None:
    for value in ("x - at `$.y`", "x' - at `$.y"):
        assert problem(inputs.PoolsList, {"tenantId": "root", "include": [value]}).path == "include[0]"


def test_a_policy_and_a_quota_are_taken_as_they_are() -> None:
    policy = {"x": None, "y": [True, 1.0, "1"]}
    body = {"tenantId": "root", "siteId": "s", "class": "metal-host", "gpuModel": "H100", "policy": policy}
    assert read(inputs.PoolsCreate, {**body, "ownerQuota": {"gpu": True}}).owner_quota == {"gpu": True}
    assert repr(read(inputs.PoolsCreate, body).policy) == repr(policy)


def test_a_name_holds_no_character_that_is_not_printed() -> None:
    """Nor does one of a world file."""
    worlds = TypeAdapter(Name)
    for code in (*range(0x20), *range(0x7F, 0xA0), 0x2028, 0x2029):
        for name in (chr(code), f"a{chr(code)}", f"{chr(code)}a", f"a{chr(code)}b"):
            assert problem(inputs.ProviderAccountsCreate, {"tenantId": "root", "name": name}).path == "name"
            with pytest.raises(ValidationError):
                worlds.validate_python(name)


@pytest.mark.parametrize("name", ["a", " a ", "Zażółć №1", "x" * 200, "\xa0x", "~"])
def test_any_other_may_stand_in_a_name(name: str) -> None:
    body = {"tenantId": "root", "name": name}
    assert TypeAdapter(Name).validate_python(name) == read(inputs.ProviderAccountsCreate, body).name == name
