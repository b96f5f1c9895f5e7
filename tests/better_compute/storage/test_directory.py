"""Tenants, identities, credentials, sites, accounts and join tokens come back as they were put in."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from better_compute.domain.problems import ComputeError
from better_compute.service.ports import Account, Credential, JoinToken, Tx
from better_compute.storage import SqlStore
from tests.better_compute.storage.changes import carry_out, opened, populate
from tests.builders import NOW, a_site, a_tenant, an_identity
from tests.decisions import create

CREDENTIAL = Credential(id="cred_1", identity_id="sa_fleet", token_hash=b"\x00\xff" * 16, created_at=NOW)
TOKEN = JoinToken(id="jt_1", pool_id="pool_1", token_hash=b"\x01" * 32, created_at=NOW, expires_at=NOW + 1)


def put(store: SqlStore, *steps: Callable[[Tx], None]) -> None:
    def work(tx: Tx) -> None:
        for step in steps:
            step(tx)

    store.transact(work)


def test_a_tenant_comes_back_whole(store: SqlStore) -> None:
    child = a_tenant("child", parent_id="root", status="inactive", digest_key=bytes(range(32)), created_at=1)
    put(store, lambda tx: tx.add_tenant(child))
    assert store.view(lambda tx: tx.tenant("child")) == child
    assert store.view(lambda tx: tx.tenant("nobody")) is None


def test_a_child_may_be_added_before_its_parent(store: SqlStore) -> None:
    child, parent = a_tenant("child", parent_id="parent"), a_tenant("parent")
    put(store, lambda tx: tx.add_tenant(child), lambda tx: tx.add_tenant(parent))
    assert store.view(lambda tx: tx.tenant("child")) == child


def test_statuses_are_those_of_the_tenants_that_there_are(store: SqlStore) -> None:
    put(store, lambda tx: tx.add_tenant(a_tenant("gone", status="inactive")))
    asked = ["root", "gone", "nobody"]
    assert store.view(lambda tx: tx.tenant_statuses(asked)) == {"root": "active", "gone": "inactive"}
    assert store.view(lambda tx: tx.tenant_statuses([])) == {}


def test_identities_are_listed_by_tenant(store: SqlStore) -> None:
    fleet, other = an_identity("sa_fleet"), an_identity("sa_other", tenant_id="acme", kind="user")
    put(store, lambda tx: tx.add_identity(other), lambda tx: tx.add_identity(fleet))
    assert store.view(lambda tx: tx.identity("sa_other")) == other
    assert store.view(lambda tx: tx.identities(None, 10, None)) == [fleet, other]
    assert store.view(lambda tx: tx.identities("acme", 10, None)) == [other]
    assert store.view(lambda tx: tx.identities("globex", 10, None)) == []


def test_a_credential_is_found_by_its_hash_and_can_be_revoked(store: SqlStore) -> None:
    put(store, lambda tx: tx.add_identity(an_identity()), lambda tx: tx.put_credential(CREDENTIAL))
    assert store.view(lambda tx: tx.credential_by_hash(CREDENTIAL.token_hash)) == CREDENTIAL
    assert store.view(lambda tx: tx.credential_by_hash(b"\x00" * 32)) is None
    revoked = replace(CREDENTIAL, revoked_at=NOW + 5, expires_at=NOW + 9)
    put(store, lambda tx: tx.put_credential(revoked))
    assert store.view(lambda tx: tx.credential("cred_1")) == revoked
    assert store.view(lambda tx: tx.credentials("sa_fleet", 10, None)) == [revoked]
    assert store.view(lambda tx: tx.credentials("sa_other", 10, None)) == []
    assert store.view(lambda tx: tx.credentials(None, 10, None)) == [revoked]


def test_a_token_hash_belongs_to_one_credential(store: SqlStore) -> None:
    put(store, lambda tx: tx.add_identity(an_identity()), lambda tx: tx.put_credential(CREDENTIAL))
    with pytest.raises(Exception, match=r"(?i)unique"):
        put(store, lambda tx: tx.put_credential(replace(CREDENTIAL, id="cred_2")))
    assert store.view(lambda tx: tx.credentials("sa_fleet", 10, None)) == [CREDENTIAL]


def test_sites_and_accounts_are_a_tenants_own(store: SqlStore) -> None:
    site = a_site("site_acme", tenant_id="acme", kind="custom", region="eu-West", name="Zürich \U0001f3d4")
    account = Account(id="pa_acme", tenant_id="acme", name="Ätna")
    put(store, lambda tx: tx.add_site(site), lambda tx: tx.add_account(account))
    assert store.view(lambda tx: tx.site("site_acme")) == site
    assert store.view(lambda tx: tx.sites("acme", 10, None)) == [site]
    assert store.view(lambda tx: tx.sites_by_id(["site_acme", "site_no"])) == {"site_acme": site}
    assert store.view(lambda tx: tx.account("pa_acme")) == account
    assert store.view(lambda tx: tx.accounts("acme", 10, None)) == [account]
    assert store.view(lambda tx: tx.accounts("root", 10, None)) == []
    assert store.view(lambda tx: tx.account_owners(["pa_acme", "pa_no"])) == {"pa_acme": "acme"}


def test_a_join_token_is_found_by_its_hash_and_can_be_used_up(store: SqlStore) -> None:
    carry_out(store, create())
    put(store, lambda tx: tx.put_join_token(TOKEN))
    assert store.view(lambda tx: tx.join_token_by_hash(TOKEN.token_hash)) == TOKEN
    put(store, lambda tx: tx.put_join_token(replace(TOKEN, used_at=NOW)))
    assert store.transact(lambda tx: tx.join_token_by_hash(TOKEN.token_hash)) == replace(TOKEN, used_at=NOW)


def test_a_join_token_is_used_by_one_at_a_time(database_url: str) -> None:
    with opened(database_url) as one, opened(database_url, wait_seconds=0.2) as other:
        populate(one)
        carry_out(one, create())
        put(one, lambda tx: tx.put_join_token(TOKEN))

        def use(tx: Tx) -> None:
            assert tx.join_token_by_hash(TOKEN.token_hash) == TOKEN
            with ThreadPoolExecutor(1) as threads, pytest.raises(ComputeError, match="busy"):
                threads.submit(other.transact, lambda tx: tx.join_token_by_hash(TOKEN.token_hash)).result()

        one.transact(use)


def test_lists_are_cut_and_go_on_in_the_order_of_bytes(store: SqlStore) -> None:
    names = ["B", "Z-1", "a", "a-", "a.", "a0", "aB", "a_b", "b"]
    put(store, *(lambda tx, name=name: tx.add_site(a_site(name, tenant_id="acme")) for name in reversed(names)))
    walked: list[str] = []
    after: str | None = None
    while page := store.view(lambda tx: tx.sites("acme", 2, after)):  # noqa: B023
        assert len(page) <= 2
        walked += [site.id for site in page]
        after = walked[-1]
    assert walked == sorted(names) == sorted(names, key=str.encode)


def test_the_instance_has_an_id_that_stays(store: SqlStore) -> None:
    first = store.view(lambda tx: tx.instance_id())
    assert first.startswith("inst_")
    assert store.transact(lambda tx: tx.instance_id()) == first
