"""Root's first token, and tokens for identities."""

import fcntl
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM, tokens
from better_compute.bootstrap.plane import ControlPlane, opened
from better_compute.bootstrap.tokens import first_token, new_token, token_in_file
from better_compute.domain.problems import ComputeError, Problem
from better_compute.iam import Tokens
from better_compute.service.actions import ROOT_ADMIN
from better_compute.service.ports import Credential, Identity, Tx
from better_compute.storage.store import SqlTx

Write = Callable[..., Path]

PEOPLE = """\
tenants: [{id: acme}]
identities: [{id: sa_acme, tenantId: acme}, {id: sa_fleet, tenantId: root}]
"""


def who(plane: ControlPlane, token: str) -> tuple[str, str]:
    caller = Tokens(plane.store, plane.service.clock)(token)
    return caller.identity_id, caller.tenant_id


def credentials(plane: ControlPlane) -> int:
    return len(plane.store.view(lambda tx: tx.credentials(ROOT_ADMIN, 100, None)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "root.token"


def test_the_first_token_is_roots_and_for_its_owner_alone(plane: ControlPlane, file: Path) -> None:
    assert first_token(plane, file) is True
    assert who(plane, file.read_text().strip()) == (ROOT_ADMIN, "root")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_the_same_again_changes_nothing(plane: ControlPlane, file: Path) -> None:
    first_token(plane, file)
    before = file.read_text()
    assert first_token(plane, file) is False
    assert file.read_text() == before
    assert credentials(plane) == 1


TOKEN = "bc_" + "0" * 64


def crash(*_: object) -> None:
    raise KeyboardInterrupt


def pending(plane: ControlPlane, identity: str = ROOT_ADMIN, token: str = TOKEN) -> str:
    return f"{token}\npending {plane.store.view(lambda tx: tx.instance_id())} {identity}\n"


def holding(file: Path, text: str) -> Path:
    file.write_text(text)
    file.chmod(0o600)
    return file


def test_after_a_crash_the_token_that_was_written_comes_to_count(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(tokens, "_credential", crash)
        with pytest.raises(KeyboardInterrupt):
            first_token(plane, file)
    left = file.read_text()
    token, _, _ = left.partition("\n")
    assert left == pending(plane, token=token)
    assert first_token(plane, file) is True
    assert file.read_text() == f"{token}\n"
    assert who(plane, token)[0] == ROOT_ADMIN
    assert first_token(plane, file) is False


@pytest.mark.parametrize("step", ["_finish", "os.ftruncate"])
def test_after_a_crash_once_the_token_counts_the_file_is_finished(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(f"better_compute.bootstrap.tokens.{step}", crash)
        with pytest.raises(KeyboardInterrupt):
            first_token(plane, file)
    token, _, rest = file.read_text().partition("\n")
    assert rest.startswith("pending ")
    assert first_token(plane, file) is False
    assert file.read_text() == f"{token}\n"
    assert who(plane, token)[0] == ROOT_ADMIN
    assert credentials(plane) == 1


def dying_at(step: int, patched: pytest.MonkeyPatch, plane: ControlPlane) -> None:
    """This many calls that change something are carried out; instead of the next the process ends."""
    left = step

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*arguments: Any) -> Any:
            nonlocal left
            if left == 0:
                crash()
            left -= 1
            return call(*arguments)

        return counting

    for name in ("open", "write", "fsync", "ftruncate"):
        patched.setattr(os, name, counted(getattr(os, name)))
    patched.setattr(fcntl, "flock", counted(fcntl.flock))
    patched.setattr(type(plane.store), "transact", counted(type(plane.store).transact))


def test_wherever_a_process_dies_the_next_one_finishes_what_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, died = 0, True
    while died:
        file = tmp_path / f"{step}.token"
        with opened(str(tmp_path / f"{step}.db"), SYSTEM) as plane:
            with monkeypatch.context() as patched:
                dying_at(step, patched, plane)
                try:
                    assert first_token(plane, file) is True
                    died = False
                except KeyboardInterrupt:
                    died = True
            first_token(plane, file)
            assert who(plane, file.read_text().removesuffix("\n")) == (ROOT_ADMIN, "root")
            assert credentials(plane) == 1
        step += 1
    assert step > 10


def test_a_token_that_this_database_does_not_know_is_not_made_roots(plane: ControlPlane, file: Path) -> None:
    """It is of another database, where others may know it."""
    holding(file, f"{TOKEN}\n")
    with pytest.raises(ComputeError, match="holds a token that this database does not know") as caught:
        first_token(plane, file)
    assert caught.value.code == "CONFLICT"
    assert caught.value.problems[0].hint == "give another file, or remove this one"
    assert file.read_text() == f"{TOKEN}\n"
    assert credentials(plane) == 0


def test_nor_any_identitys(plane: ControlPlane, write: Write, file: Path) -> None:
    plane.add_world(write(base=PEOPLE))
    with pytest.raises(ComputeError, match="holds a token that this database does not know"):
        token_in_file(plane, "sa_acme", holding(file, TOKEN))
    assert plane.store.view(lambda tx: tx.credentials("sa_acme", 10, None)) == []


def test_nor_one_that_another_database_or_identity_began(plane: ControlPlane, write: Write, file: Path) -> None:
    plane.add_world(write(base=PEOPLE))
    for text, says in (
        (
            f"{TOKEN}\npending inst_other {ROOT_ADMIN}\n",
            f"an unfinished token of {ROOT_ADMIN} in the instance inst_other",
        ),
        (pending(plane, "sa_acme"), "an unfinished token of sa_acme in the instance inst_"),
    ):
        with pytest.raises(ComputeError, match=says) as caught:
            first_token(plane, holding(file, text))
        assert caught.value.code == "CONFLICT"
        assert file.read_text() == text
        assert TOKEN not in repr(caught.value.problems)
    assert credentials(plane) == 0
    assert token_in_file(plane, "sa_acme", file) is True
    assert who(plane, TOKEN) == ("sa_acme", "acme")


@pytest.mark.parametrize(
    "end", ["", "\npending", "\npending {} x", "\npending {}\n", "\npending {} root-admin"], ids=ascii
)
def test_what_is_left_of_a_half_written_file_never_counts(plane: ControlPlane, file: Path, end: str) -> None:
    holding(file, TOKEN + end.format(plane.store.view(lambda tx: tx.instance_id())))
    with pytest.raises(ComputeError, match=r"is not overwritten|does not know"):
        first_token(plane, file)
    assert credentials(plane) == 0


def test_a_file_that_was_removed_before_it_was_finished_is_there_again(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = tokens._finish

    def late(*arguments: Any) -> None:
        file.unlink()
        finish(*arguments)

    monkeypatch.setattr(tokens, "_finish", late)
    assert first_token(plane, file) is True
    assert who(plane, file.read_text().removesuffix("\n")) == (ROOT_ADMIN, "root")


def test_a_file_that_another_process_finished_is_not_removed(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transact = plane.store.transact

    def fail_after_the_other(*_: object) -> bool:
        with monkeypatch.context() as patched:
            patched.setattr(type(plane.store), "transact", lambda _, work: transact(work))
            assert first_token(plane, file) is True
        raise ComputeError(Problem("INTERNAL_ERROR", "storage", "the disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr(type(plane.store), "transact", fail_after_the_other)
        with pytest.raises(ComputeError, match="the disk is full"):
            first_token(plane, file)
    assert who(plane, file.read_text().strip()) == (ROOT_ADMIN, "root")


def test_a_file_that_holds_another_token_by_the_end_is_told(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish = tokens._finish

    def late(*arguments: Any) -> None:
        holding(file, TOKEN)
        finish(*arguments)

    monkeypatch.setattr(tokens, "_finish", late)
    with pytest.raises(ComputeError, match="was written by another meanwhile"):
        first_token(plane, file)
    assert file.read_text() == TOKEN


@pytest.mark.parametrize(
    "held",
    [b"\n", b"my notes\n", b"\xb5\xff", b"bc_" + "é".encode() * 64, b"bc_" + b"x" * 64, b"bc_" + b"0" * 63],
    ids=ascii,
)
def test_a_file_that_holds_anything_else_is_not_overwritten(plane: ControlPlane, file: Path, held: bytes) -> None:
    file.write_bytes(held)
    file.chmod(0o600)
    with pytest.raises(ComputeError, match="is not overwritten"):
        first_token(plane, file)
    assert file.read_bytes() == held
    assert credentials(plane) == 0


def test_an_empty_file_is_what_a_crash_left_and_is_written(plane: ControlPlane, file: Path) -> None:
    file.touch(0o600)
    assert first_token(plane, file) is True
    assert who(plane, file.read_text().strip()) == (ROOT_ADMIN, "root")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600


def test_a_disk_that_is_full_leaves_no_half_of_a_token(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda opened, data: write(opened, data[:20]))
        with pytest.raises(ComputeError, match="cannot be written: No space left on device"):
            first_token(plane, file)
    assert file.read_bytes() == b""
    assert credentials(plane) == 0
    assert first_token(plane, file) is True


def test_who_comes_second_with_another_file_leaves_none(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other, make = file.with_name("other.token"), tokens._credential

    def second(*arguments: Any) -> Credential:
        # The other bootstrap comes between the writing of this one's file and its transaction.
        monkeypatch.setattr(tokens, "_credential", make)
        assert first_token(plane, other) is True
        return make(*arguments)

    monkeypatch.setattr(tokens, "_credential", second)
    with pytest.raises(ComputeError, match="root-admin has a token already"):
        first_token(plane, file)
    assert list(file.parent.glob("*.token")) == [other]
    assert who(plane, other.read_text().strip()) == (ROOT_ADMIN, "root")
    assert credentials(plane) == 1


def test_who_fails_and_finds_its_file_gone_makes_none(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        file.unlink()
        raise ComputeError(Problem("INTERNAL_ERROR", "storage", "the disk is full"))

    monkeypatch.setattr(type(plane.store), "transact", fail)
    with pytest.raises(ComputeError, match="the disk is full"):
        first_token(plane, file)
    assert not file.exists()


def test_a_lock_that_is_had_on_a_file_that_was_removed_meanwhile_is_none(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = fcntl.flock

    def lock_after_the_other(*arguments: int) -> None:
        if file.exists() and arguments[1] == fcntl.LOCK_EX:
            monkeypatch.setattr(fcntl, "flock", lock)
            file.unlink()
        lock(*arguments)

    monkeypatch.setattr(fcntl, "flock", lock_after_the_other)
    assert first_token(plane, file) is True
    assert who(plane, file.read_text().removesuffix("\n")) == (ROOT_ADMIN, "root")


def test_who_comes_second_with_the_same_file_finds_its_token(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    look = tokens._held

    def look_before_the_other(path: Path) -> tokens.Held | None:
        found = look(path)
        monkeypatch.setattr(tokens, "_held", look)
        assert first_token(plane, file) is True
        return found

    monkeypatch.setattr(tokens, "_held", look_before_the_other)
    assert first_token(plane, file) is False
    assert credentials(plane) == 1


def test_a_file_whose_token_may_count_by_now_is_kept(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transact = plane.store.transact

    def lost(work: Any) -> bool:
        transact(work)
        raise ComputeError(Problem("UNAVAILABLE", "storage", "the connection was lost"))

    with monkeypatch.context() as patched:
        patched.setattr(type(plane.store), "transact", lambda _, work: lost(work))
        with pytest.raises(ComputeError, match="the connection was lost"):
            first_token(plane, file)
    assert first_token(plane, file) is False
    assert who(plane, file.read_text().strip()) == (ROOT_ADMIN, "root")


@pytest.mark.parametrize("step", ["credential_by_hash", "locked_identity", "credentials"])
def test_wherever_another_process_stores_the_token_of_this_file_it_is_there_as_before(
    postgres_url: str, file: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """On PostgreSQL the other does not wait: what this one read before may be old by now."""
    read, other = getattr(SqlTx, step), iter([first_token])

    def read_before_the_other(tx: SqlTx, *arguments: Any) -> Any:
        found = read(tx, *arguments)
        if tx._writes and (first := next(other, None)):
            assert first(second, file) is True
        return found

    monkeypatch.setattr(SqlTx, step, read_before_the_other)
    with opened(postgres_url, SYSTEM) as plane, opened(postgres_url, SYSTEM) as second:
        assert first_token(plane, file) is False
        assert who(plane, file.read_text().removesuffix("\n")) == (ROOT_ADMIN, "root")
        assert credentials(plane) == 1


def test_a_file_whose_token_another_process_may_store_yet_is_kept(
    plane: ControlPlane, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> bool:
        raise ComputeError(Problem("INTERNAL_ERROR", "storage", "the disk is full"))

    with monkeypatch.context() as patched:
        patched.setattr(type(plane.store), "transact", fail)
        with pytest.raises(ComputeError, match="the disk is full"):
            first_token(plane, file)
    token, _, _ = file.read_text().partition("\n")
    assert first_token(plane, file) is True
    assert who(plane, token) == (ROOT_ADMIN, "root")


def test_a_root_admin_of_another_tenant_gets_no_token_of_roots(plane: ControlPlane, write: Write, file: Path) -> None:
    acmes = Identity(id=ROOT_ADMIN, tenant_id="acme", kind="user", created_at=0)
    plane.add_world(write(base="tenants: [{id: acme}]\n"))
    plane.store.transact(lambda tx: tx.add_identity(acmes))
    with pytest.raises(ComputeError, match="root-admin is an identity of acme") as caught:
        first_token(plane, file)
    assert caught.value.code == "CONFLICT"
    assert not file.exists()
    assert token_in_file(plane, ROOT_ADMIN, file) is True
    with pytest.raises(ComputeError, match="root-admin is an identity of acme"):
        first_token(plane, file)
    assert who(plane, file.read_text().strip()) == (ROOT_ADMIN, "acme")


@pytest.mark.parametrize("same", [True, False], ids=["one file", "a file each"])
def test_of_processes_that_bootstrap_one_new_database_at_once_each_file_left_counts(tmp_path: Path, same: bool) -> None:
    database = str(tmp_path / "new.db")
    files = [tmp_path / ("root.token" if same else f"{n}.token") for n in range(4)]
    program = str(Path(sys.executable).with_name("better-compute"))
    racing = [
        subprocess.Popen(
            [program, "bootstrap", "--database", database, "--token-file", str(file)], stderr=subprocess.PIPE, text=True
        )
        for file in files
    ]
    said = [process.communicate(timeout=60)[1] for process in racing]
    assert [process.returncode for process in racing].count(0) == (4 if same else 1), said
    [left] = {file for file in files if file.exists()}
    with opened(database, SYSTEM, create=False) as plane:
        assert who(plane, left.read_text().removesuffix("\n")) == (ROOT_ADMIN, "root")
        assert credentials(plane) == 1


def test_of_those_who_bootstrap_at_once_a_world_with_its_own_root_admin_one_makes_the_token(
    database_url: str, write: Write, tmp_path: Path
) -> None:
    world = write(base=f"identities: [{{id: {ROOT_ADMIN}, tenantId: root, kind: user}}]\n")
    count, rounds = 4, 10
    start = threading.Barrier(count, timeout=20)

    def race(plane: ControlPlane, file: Path) -> bool:
        start.wait()
        try:
            return first_token(plane, file)
        except ComputeError as error:
            if error.code != "CONFLICT":
                raise
            return False

    def revoke(tx: Tx) -> None:
        for credential in tx.credentials(ROOT_ADMIN, 10, None):
            tx.put_credential(replace(credential, identity_id="sa_past"))

    with ExitStack() as stack, ThreadPoolExecutor(count) as threads:
        planes = [stack.enter_context(opened(database_url, SYSTEM, world)) for _ in range(count)]
        past = Identity(id="sa_past", tenant_id="root", kind="user", created_at=0)
        planes[0].store.transact(lambda tx: tx.add_identity(past))
        for number in range(rounds):
            files = [tmp_path / f"{number}.{n}.token" for n in range(count)]
            assert list(threads.map(race, planes, files)).count(True) == 1
            assert [file.exists() for file in files].count(True) == credentials(planes[0]) == 1
            planes[0].store.transact(revoke)


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
    plane.add_world(write(base=PEOPLE))
    one, two = new_token(plane, "sa_acme"), new_token(plane, "sa_acme")
    assert one != two
    assert who(plane, one) == who(plane, two) == ("sa_acme", "acme")


def test_a_token_of_an_identity_in_a_file_is_made_once(plane: ControlPlane, write: Write, file: Path) -> None:
    plane.add_world(write(base=PEOPLE))
    assert token_in_file(plane, "sa_acme", file) is True
    held = file.read_text()
    assert who(plane, held.strip()) == ("sa_acme", "acme")
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    assert token_in_file(plane, "sa_acme", file) is False
    assert file.read_text() == held


@pytest.mark.parametrize("ended", [{"revoked_at": 1}, {"expires_at": 1}], ids=["revoked", "expired"])
def test_a_file_whose_token_is_of_another_or_does_not_count_is_refused(
    plane: ControlPlane, write: Write, file: Path, ended: dict[str, Any]
) -> None:
    plane.add_world(write(base=PEOPLE))
    token_in_file(plane, "sa_acme", file)
    held = file.read_text()
    with pytest.raises(ComputeError, match="revoked, has expired, or is of another identity"):
        token_in_file(plane, "sa_fleet", file)
    with pytest.raises(ComputeError, match="revoked, has expired, or is of another identity"):
        first_token(plane, file)

    def end(tx: Tx) -> None:
        [credential] = tx.credentials("sa_acme", 10, None)
        tx.put_credential(replace(credential, **ended))

    plane.store.transact(end)
    with pytest.raises(ComputeError, match="revoked, has expired, or is of another identity"):
        token_in_file(plane, "sa_acme", file)
    assert file.read_text() == held
    assert credentials(plane) == 0


def test_a_first_token_that_expired_is_not_there_as_before(plane: ControlPlane, file: Path) -> None:
    first_token(plane, file)

    def expire(tx: Tx) -> None:
        [credential] = tx.credentials(ROOT_ADMIN, 10, None)
        tx.put_credential(replace(credential, expires_at=plane.service.clock()))

    plane.store.transact(expire)
    with pytest.raises(ComputeError, match="holds none that counts"):
        first_token(plane, file)


def test_an_identity_that_is_not_there_gets_no_file(plane: ControlPlane, file: Path) -> None:
    with pytest.raises(ComputeError, match="no identity sa_nobody"):
        token_in_file(plane, "sa_nobody", file)
    assert not file.exists()


def test_an_identity_that_is_not_there_gets_none(plane: ControlPlane, write: Write) -> None:
    plane.add_world(write(base=PEOPLE))
    with pytest.raises(ComputeError) as caught:
        new_token(plane, "sa_acne")
    assert caught.value.problems[0].hint == 'did you mean "sa_acme"?'
    assert credentials(plane) == 0


@pytest.mark.parametrize("name", ["", " ", "\udcff"], ids=ascii)
def test_what_is_the_id_of_none_gets_none(plane: ControlPlane, name: str) -> None:
    with pytest.raises(ComputeError, match="no identity") as caught:
        new_token(plane, name)
    assert caught.value.code == "NOT_FOUND"
