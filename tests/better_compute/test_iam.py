from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from better_compute.domain.problems import ComputeError
from better_compute.iam import Tokens, Trusted
from tests.better_compute.plane import Plane, open_plane


@pytest.fixture
def plane(tmp_path: Path) -> Iterator[Plane]:
    plane = open_plane(f"sqlite:///{tmp_path / 'plane.sqlite'}")
    yield plane
    plane.store.close()


def make(plane: Plane, **more: int) -> tuple[str, str]:
    """A new credential of sa_acme: its id and its token."""
    made = plane.ask("sa_fleet", "credentials/create", {"tenantId": "acme", "identityId": "sa_acme", **more}).data
    return made["id"], made["token"]


def refused(plane: Plane, token: str) -> str:
    with pytest.raises(ComputeError) as caught:
        Tokens(plane.store, plane.time)(token)
    return f"{caught.value.code}: {caught.value}"


def test_a_token_is_its_identitys(plane: Plane) -> None:
    caller = Tokens(plane.store, plane.time)(make(plane)[1])
    assert (caller.identity_id, caller.tenant_id, caller.credential_expires_at) == ("sa_acme", "acme", None)


def test_a_token_is_kept_as_its_hash_alone(plane: Plane, tmp_path: Path) -> None:
    _, token = make(plane)
    plane.store.close()
    assert token.startswith("bc_")
    files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"cred_sa_acme" in files
    assert token.encode() not in files
    assert bytes.fromhex(token.removeprefix("bc_")) not in files


def test_a_token_counts_until_it_expires(plane: Plane) -> None:
    _, token = make(plane, expiresAt=plane.time.now + 1000)
    plane.time.now += 999
    assert Tokens(plane.store, plane.time)(token).credential_expires_at == plane.time.now + 1
    plane.time.now += 1
    assert refused(plane, token).startswith("UNAUTHENTICATED")


def test_a_revoked_expired_or_unknown_token_is_refused_alike(plane: Plane) -> None:
    revoked_id, revoked = make(plane)
    _, expired = make(plane, expiresAt=plane.time.now + 1)
    plane.ask("sa_fleet", "credentials/revoke", {"tenantId": "acme", "credentialId": revoked_id})
    plane.time.now += 1
    assert len({refused(plane, token) for token in (revoked, expired, "bc_made-up", "")}) == 1


def test_other_tokens_of_the_identity_outlive_a_revocation(plane: Plane) -> None:
    first, second = make(plane), make(plane)
    plane.ask("sa_fleet", "credentials/revoke", {"tenantId": "acme", "credentialId": first[0]})
    assert Tokens(plane.store, plane.time)(second[1]).identity_id == "sa_acme"


def test_in_ones_own_process_the_name_of_an_identity_is_enough(plane: Plane) -> None:
    assert Trusted(plane.store)("sa_acme").tenant_id == "acme"
    with pytest.raises(ComputeError, match="no identity") as caught:
        Trusted(plane.store)("nobody")
    assert caught.value.code == "UNAUTHENTICATED"
