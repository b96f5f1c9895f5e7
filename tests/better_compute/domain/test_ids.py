"""Derived ids are the contract's vectors; both kinds are TypeIDs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typeid import TypeID

from better_compute.domain.ids import derive, is_id, is_key, random_id

VECTORS = [
    ("pool", "root", "sa_fleet", "pool-fra1-h100", "pool_41ajr0h7xph5z9bavercrty41f"),
    ("pool", "root", "sa_fleet", "pool-fra1-h100-mig", "pool_6hzq943xp5g75v54atmey5tpxt"),
    ("pool", "acme", "sa_fleet", "pool-fra1-h100", "pool_07x43vxv4kgeq82548rb3j9rg0"),
    ("pool", "root", "sa_other", "pool-fra1-h100", "pool_5h9qhpchffgtara16xss3gbwdv"),
    ("pool", "a", "bc", "d", "pool_1mn55whh3ph1jbk5gj0gs035c9"),
    ("pool", "ab", "c", "d", "pool_7v3hbaczmah5msx4n0azp5xjdv"),
    ("rsv", "acme", "sa_jobs", "train-1", "rsv_57dam74abch9b921771gj6ytj5"),
    ("rsv", "acme", "sa_jobs", "pool-fra1-h100", "rsv_6crq39gkd5g31a2rcz2dfkja7a"),
]


@pytest.mark.parametrize(("kind", "tenant", "caller", "key", "expected"), VECTORS)
def test_an_id_derives_as_the_contract_says(kind: str, tenant: str, caller: str, key: str, expected: str) -> None:
    assert derive(kind, tenant, caller, key) == expected


@given(st.lists(st.text(max_size=4), min_size=3, max_size=3), st.lists(st.text(max_size=4), min_size=3, max_size=3))
def test_other_parts_derive_another_id(one: list[str], other: list[str]) -> None:
    assert (derive("pool", *one) == derive("pool", *other)) == (one == other)


@given(st.text(min_size=1, max_size=40))
def test_a_derived_id_is_a_typeid_of_version_8(key: str) -> None:
    parsed = TypeID.from_string(derive("pool", "root", "sa_fleet", key))
    assert (parsed.prefix, parsed.uuid.version) == ("pool", 8)


@given(st.integers(0, 2**48 - 1), st.binary(min_size=10, max_size=10))
def test_a_random_id_is_a_typeid_of_version_7_in_order_of_time(now: int, entropy: bytes) -> None:
    made = random_id("evt", now, entropy)
    parsed = TypeID.from_string(made)
    assert (parsed.prefix, parsed.uuid.version) == ("evt", 7)
    assert int.from_bytes(parsed.uuid.bytes[:6]) == now


@pytest.mark.parametrize("key", ["a", "fra1-h100", "A.b_c:d-1", "x" * 128])
def test_a_key_is_plain(key: str) -> None:
    assert is_key(key)


@pytest.mark.parametrize("key", ["", "-a", ".a", "a b", "a\n", "x" * 129, "montréal", "a/b", "pool-`x`\n@ops"])
def test_a_key_is_not_anything_else(key: str) -> None:
    assert not is_key(key)


def test_an_id_of_a_kind_is_told_by_its_form() -> None:
    assert is_id("pool", derive("pool", "root", "sa", "k"))
    assert is_id("pool", random_id("pool", 1_796_000_000_000, bytes(10)))
    for other in ("fra1-h100", "pool_1", derive("node", "root", "sa", "k"), derive("pool", "root", "sa", "k") + "\n"):
        assert not is_id("pool", other)
