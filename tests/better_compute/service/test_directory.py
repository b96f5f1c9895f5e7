"""Sites, provider accounts, tenants, identities and credentials."""

from __future__ import annotations

from typing import Any

import pytest

from better_compute.service.actions import NAMES, ROOT_ADMIN
from tests.better_compute.plane import Plane


def test_a_site_is_made_and_read(either: Plane) -> None:
    site = either.ask("sa_acme", "sites/create", name="Amsterdam 2", kind="custom", region="eu-west").data
    assert (site["tenantId"], site["name"], site["kind"], site["region"]) == (
        "acme",
        "Amsterdam 2",
        "custom",
        "eu-west",
    )
    assert either.ask("sa_acme", "sites/get", siteId=site["id"]).data == site
    assert site in either.ask("sa_acme", "sites/list").data["items"]
    assert site not in either.ask("sa_fleet", "sites/list").data["items"]
    assert either.pool("sa_acme", siteId=site["id"])


@pytest.mark.parametrize(
    ("who", "tenant", "kind", "code"),
    [
        ("sa_fleet", "root", "shared", "OK"),
        ("sa_fleet", "root", "dedicated", "OK"),
        ("sa_fleet", "root", "custom", "INVALID_INPUT"),
        ("sa_acme", "acme", "custom", "OK"),
        ("sa_acme", "acme", "shared", "INVALID_INPUT"),
        ("sa_fleet", "acme", "shared", "INVALID_INPUT"),
        ("sa_fleet", "acme", "custom", "OK"),
        ("sa_fleet", "nobody", "custom", "NOT_FOUND"),
        ("sa_fleet", "root", "private", "INVALID_INPUT"),
    ],
)
def test_root_has_shared_and_dedicated_sites_and_others_custom_ones(
    plane: Plane, who: str, tenant: str, kind: str, code: str
) -> None:
    answer = plane.ask(who, "sites/create", {"tenantId": tenant}, name="x", kind=kind, region="eu")
    assert answer.code == code
    assert code != "INVALID_INPUT" or answer.error["field"] == "kind"


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "a\u0000", "a\u0085", "a\u2028", "x" * 201], ids=ascii)
def test_a_name_is_printable(plane: Plane, name: str) -> None:
    error = plane.ask("sa_fleet", "sites/create", name=name, kind="shared", region="eu").error
    assert (error["code"], error["field"]) == ("INVALID_INPUT", "name")
    assert plane.ask("sa_fleet", "sites/create", name="Frankfurt №1", kind="shared", region="eu").code == "OK"


def test_an_account_is_made_and_sold_from(plane: Plane) -> None:
    account = plane.ask("sa_fleet", "providerAccounts/create", name="North").data
    assert account == {"id": account["id"], "tenantId": "root", "name": "North"}
    assert account in plane.ask("sa_fleet", "providerAccounts/list").data["items"]
    assert plane.pool(**{"class": "provider", "agent": "none", "providerAccountId": account["id"]})
    assert plane.ask("sa_fleet", "providerAccounts/create", {"tenantId": "nobody"}, name="x").code == "NOT_FOUND"


def test_a_tenant_is_made_once_under_its_id(either: Plane) -> None:
    made = either.ask("sa_fleet", "tenants/create", id="initech", parentId="acme").data
    assert made == {"id": "initech", "parentId": "acme", "status": "active", "createdAt": either.time.now}
    either.time.now += 1
    assert either.ask("sa_fleet", "tenants/create", id="initech", parentId="acme").data == made
    assert either.ask("sa_fleet", "tenants/get", id="initech").data == made
    assert either.ask("sa_fleet", "tenants/create", id="initech").code == "CONFLICT"
    assert either.ask("sa_fleet", "tenants/create", id="y", parentId="nobody").code == "NOT_FOUND"
    assert either.ask("sa_fleet", "tenants/get", id="nobody").code == "NOT_FOUND"


def test_a_tenant_without_an_id_gets_one(plane: Plane) -> None:
    made = plane.ask("sa_fleet", "tenants/create").data
    assert made["id"].startswith("tenant_")
    assert made["parentId"] == "root"


def test_digest_keys_of_tenants_differ(plane: Plane) -> None:
    keys = set()
    for name in ("t1", "t2"):
        plane.ask("sa_fleet", "tenants/create", id=name)
        keys.add(plane.ask("sa_fleet", "system/info", {"tenantId": name}).data["digestKey"])
    assert len(keys) == 2


def test_an_identity_is_made_once_under_its_id(either: Plane) -> None:
    made = either.ask("sa_fleet", "identities/create", {"tenantId": "acme", "id": "sa_new"}).data
    assert made == {"id": "sa_new", "tenantId": "acme", "kind": "service", "createdAt": either.time.now}
    assert either.ask("sa_fleet", "identities/create", {"tenantId": "acme", "id": "sa_new"}).data == made
    assert made in either.ask("sa_fleet", "identities/list", {"tenantId": "acme"}).data["items"]
    for other in ({"tenantId": "globex"}, {"tenantId": "acme", "kind": "user"}):
        assert either.ask("sa_fleet", "identities/create", {"id": "sa_new", **other}).code == "CONFLICT"
    assert either.ask("sa_fleet", "identities/create", {"tenantId": "nobody"}).code == "NOT_FOUND"


def test_a_name_that_the_control_plane_itself_goes_by_is_not_given_away(plane: Plane) -> None:
    own = [(name, tenant) for name in NAMES for tenant in ("acme", "root")]
    for name, tenant in ((ROOT_ADMIN, "acme"), *own):
        answer = plane.ask("sa_fleet", "identities/create", {"tenantId": tenant, "id": name})
        assert (answer.code, answer.error["field"]) == ("INVALID_INPUT", "id")
        assert answer.error["message"].startswith(f"{name} is ")
        assert plane.ask("sa_acme", "identities/create", {"tenantId": "acme", "id": name}).code == "ACCESS_DENIED"
    assert plane.ask("sa_fleet", "identities/create", id=ROOT_ADMIN, kind="user").data["tenantId"] == "root"


def credential(plane: Plane, identity: str, tenant: str = "acme", **more: Any) -> Any:
    return plane.ask("sa_fleet", "credentials/create", {"tenantId": tenant, "identityId": identity, **more})


def test_a_token_is_shown_once(plane: Plane) -> None:
    made = credential(plane, "sa_acme", expiresAt=plane.time.now + 1000).data
    listed = plane.ask("sa_fleet", "credentials/list", {"tenantId": "acme", "identityId": "sa_acme"}).data["items"]
    assert {k: v for k, v in made.items() if k != "token"} in listed
    assert made["token"] not in str(listed)
    assert len(listed) == 2


def test_a_revoked_credential_stays_listed_and_revoked_as_it_was(plane: Plane) -> None:
    made = credential(plane, "sa_acme").data
    body = {"tenantId": "acme", "credentialId": made["id"]}
    first = plane.ask("sa_fleet", "credentials/revoke", body).data
    assert first["revokedAt"] == plane.time.now
    plane.time.now += 1000
    assert plane.ask("sa_fleet", "credentials/revoke", body).data == first


def test_credentials_are_the_acting_tenants_identities_alone(plane: Plane) -> None:
    assert credential(plane, "sa_acme", "globex").code == "NOT_FOUND"
    assert credential(plane, "nobody").code == "NOT_FOUND"
    body = {"tenantId": "globex", "identityId": "sa_acme"}
    assert plane.ask("sa_fleet", "credentials/list", body).code == "NOT_FOUND"
    assert plane.ask("sa_fleet", "credentials/revoke", {"tenantId": "globex", "credentialId": "cred_sa_acme"}).code == (
        "NOT_FOUND"
    )


def test_a_credential_expires_in_the_future(plane: Plane) -> None:
    assert credential(plane, "sa_acme", expiresAt=plane.time.now).error["field"] == "expiresAt"
