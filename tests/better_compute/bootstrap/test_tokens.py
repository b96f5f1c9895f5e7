"""Root's first token, and tokens for identities."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from better_compute.bootstrap import tokens
from better_compute.bootstrap.plane import ControlPlane
from better_compute.bootstrap.tokens import ADMIN, first_token, new_token
from better_compute.domain.problems import ComputeError
from better_compute.iam import Tokens

Write = Callable[..., Path]


def who(plane: ControlPlane, token: str) -> tuple[str, str]:
    caller = Tokens(plane.store, plane.service.clock)(token)
    return caller.identity_id, caller.tenant_id


def credentials(plane: ControlPlane) -> int:
    return len(plane.store.view(lambda tx: tx.credentials(ADMIN, 100, None)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "root.token"


def test_the_first_token_is_roots_and_for_its_owner_alone(plane: ControlPlane, file: Path) -> None:
    assert first_token(plane, file) is True
    assert who(plane, file.read_text().strip()) == (ADMIN, "root")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_the_same_again_changes_nothing(plane: ControlPlane, file: Path) -> None:
    first_token(plane, file)
    before = file.read_text()
    assert first_token(plane, file) is False
    assert file.read_text() == before
    assert credentials(plane) == 1


def test_after_a_crash_the_token_that_was_written_comes_to_count(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(tokens, "_credential", crash)
        with pytest.raises(KeyboardInterrupt):
            first_token(plane, file)
    token = file.read_text()
    assert first_token(plane, file) is True
    assert file.read_text() == token
    assert who(plane, token.strip())[0] == ADMIN


@pytest.mark.parametrize(
    "held",
    [b"", b"my notes\n", b"\xb5\xff", b"bc_" + "é".encode() * 64, b"bc_" + b"x" * 64, b"bc_" + b"0" * 63],
    ids=ascii,
)
def test_a_file_that_holds_anything_else_is_not_overwritten(plane: ControlPlane, file: Path, held: bytes) -> None:
    file.write_bytes(held)
    file.chmod(0o600)
    with pytest.raises(ComputeError, match="is not overwritten"):
        first_token(plane, file)
    assert file.read_bytes() == held
    assert credentials(plane) == 0


def test_a_pipe_is_no_place_for_a_token_and_nobody_waits_for_it(plane: ControlPlane, file: Path) -> None:
    os.mkfifo(file, 0o600)
    with pytest.raises(ComputeError, match="not a file that you alone can read"):
        first_token(plane, file)
    assert credentials(plane) == 0


def test_a_file_that_others_can_read_is_no_place_for_a_token(plane: ControlPlane, file: Path) -> None:
    file.write_text("bc_" + "0" * 64)
    file.chmod(0o644)
    with pytest.raises(ComputeError, match="not a file that you alone can read"):
        first_token(plane, file)
    link = file.with_suffix(".link")
    link.symlink_to(file)
    with pytest.raises(ComputeError, match="cannot be read"):
        first_token(plane, link)
    assert credentials(plane) == 0


def test_there_is_only_one_first_token(plane: ControlPlane, file: Path) -> None:
    first_token(plane, file)
    other = file.with_name("other.token")
    with pytest.raises(ComputeError, match="root-admin has a token already"):
        first_token(plane, other)
    assert not other.exists()
    other.write_text("bc_" + "0" * 64)
    other.chmod(0o600)
    with pytest.raises(ComputeError, match="root-admin has a token already"):
        first_token(plane, other)
    assert credentials(plane) == 1


def test_an_identity_may_have_many_tokens(plane: ControlPlane, write: Write) -> None:
    plane.add_world(write(base="tenants: [{id: acme}]\nidentities: [{id: sa_acme, tenantId: acme}]\n"))
    one, two = new_token(plane, "sa_acme"), new_token(plane, "sa_acme")
    assert one != two
    assert who(plane, one) == who(plane, two) == ("sa_acme", "acme")


def test_an_identity_that_is_not_there_gets_none(plane: ControlPlane, write: Write) -> None:
    plane.add_world(write(base="tenants: [{id: acme}]\nidentities: [{id: sa_acme, tenantId: acme}]\n"))
    with pytest.raises(ComputeError) as caught:
        new_token(plane, "sa_acne")
    assert caught.value.problems[0].hint == 'did you mean "sa_acme"?'
    assert credentials(plane) == 0


@pytest.mark.parametrize("name", ["", " ", "\udcff"], ids=ascii)
def test_what_is_the_id_of_none_gets_none(plane: ControlPlane, name: str) -> None:
    with pytest.raises(ComputeError, match="no identity") as caught:
        new_token(plane, name)
    assert caught.value.code == "NOT_FOUND"
