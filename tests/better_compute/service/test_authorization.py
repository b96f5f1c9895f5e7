"""Who may do what, by table."""

from __future__ import annotations

import pytest

from better_compute.service.actions import ACTIONS, ADMIN, NONE
from tests.better_compute.plane import BODIES, Plane

DENIED = "this identity has no such right as this tenant"
OPERATIONS = [operation for operation, action in ACTIONS.items() if action != NONE]


@pytest.mark.parametrize("operation", ACTIONS)
def test_root_may_act_as_any_tenant_and_others_as_themselves_alone(plane: Plane, operation: str) -> None:
    body = {"tenantId": "acme", **BODIES[operation]}
    action = ACTIONS[operation]
    answers = {who: plane.ask(who, operation, body) for who in ("sa_fleet", "sa_acme", "sa_globex", "sa_eu")}
    denied = {who for who, a in answers.items() if a.code == "ACCESS_DENIED" and a.error["message"].startswith(DENIED)}
    everyone = {"sa_acme", "sa_globex", "sa_eu"}
    assert denied == (set() if action == NONE else everyone if action == ADMIN else everyone - {"sa_acme"})


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_tenant_that_does_not_exist_is_told_with_the_nearest_to_root_alone(plane: Plane, operation: str) -> None:
    answer = plane.ask("sa_fleet", operation, {**BODIES[operation], "tenantId": "acne"})
    assert (answer.code, answer.error["field"]) == ("NOT_FOUND", "tenantId")
    assert answer.error["message"] == 'no such tenant; did you mean "acme"?'
    tenants = ("acne", "acme", "globex")
    first, *others = [plane.ask("sa_eu", operation, {**BODIES[operation], "tenantId": t}).error for t in tenants]
    assert first == {"code": "ACCESS_DENIED", "message": f"{DENIED}; it acts as acme-eu"}
    assert others == [first, first], "a tenant that is hidden is one that is absent"


def test_a_right_that_the_own_tenant_lacks_is_no_matter_of_the_tenant(plane: Plane) -> None:
    assert plane.ask("sa_acme", "tenants/list").error["message"] == DENIED


@pytest.mark.parametrize("operation", ACTIONS)
def test_every_operation_needs_a_token(plane: Plane, operation: str) -> None:
    answer = plane.ask("nobody", operation, BODIES[operation])
    assert (answer.raw.status, answer.code) == (401, "UNAUTHENTICATED")
    assert answer.raw.headers["www-authenticate"] == "Bearer"


def test_whoami_tells_identity_tenant_rights_and_expiry(plane: Plane) -> None:
    own = plane.ask("sa_acme", "identities/whoami", {"tenantId": "acme"}).data
    assert (own["identityId"], own["tenantId"], own["kind"]) == ("sa_acme", "acme", "service")
    assert "compute:pools:create" in own["rights"]
    assert ADMIN not in own["rights"]
    assert "credentialExpiresAt" not in own
    assert plane.ask("sa_acme", "identities/whoami", {"tenantId": "globex"}).data["rights"] == []
    assert ADMIN in plane.ask("sa_fleet", "identities/whoami", {"tenantId": "acme"}).data["rights"]
    assert plane.ask("sa_fleet", "identities/whoami", {"tenantId": "nobody"}).data["rights"] == []


def test_system_info_names_the_instance_and_keeps_the_digest_key_to_those_who_read(plane: Plane) -> None:
    info = plane.ask("sa_acme", "system/info", {"tenantId": "acme"}).data
    assert info["instanceId"] == plane.store.view(lambda tx: tx.instance_id())
    assert (info["derivation"], info["capabilities"]) == ("typeid-sha256-v1", ["pool.origin"])
    assert info["time"] == plane.time.now
    key = bytes.fromhex(info["digestKey"])
    assert len(key) == 32
    assert bytes.fromhex(plane.ask("sa_fleet", "system/info", {"tenantId": "acme"}).data["digestKey"]) == key
    assert bytes.fromhex(plane.ask("sa_fleet", "system/info").data["digestKey"]) != key
    for tenant in ("root", "nobody"):
        assert "digestKey" not in plane.ask("sa_acme", "system/info", {"tenantId": tenant}).data


def test_an_owner_acts_through_any_of_its_identities(plane: Plane) -> None:
    pool_id = plane.pool("sa_acme")
    body = {"poolId": pool_id, "gpuModel": "H200"}
    assert plane.ask("sa_acme2", "pools/update", body).data["gpuModel"] == "H200"
    assert [e["actorId"] for e in plane.events("acme")] == ["sa_acme", "sa_acme2"]
