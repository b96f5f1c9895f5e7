"""Tokens made directly in a database: the first one of root, and one for any identity.

A token's file reads `TOKEN`, and a second line `pending INSTANCE IDENTITY` until the token is stored. So what a crash
left is finished by the database that it was made for, and a token of another database never comes to count.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from better_compute.bootstrap.plane import ControlPlane
from better_compute.domain.ids import is_key
from better_compute.domain.problems import (
    CONFLICT,
    INVALID_INPUT,
    NOT_FOUND,
    ComputeError,
    Problem,
    did_you_mean,
)
from better_compute.service import tokens
from better_compute.service.actions import ROOT, ROOT_ADMIN
from better_compute.service.identities import issue
from better_compute.service.ports import Credential, Identity, Tx

_FILE = re.compile(rb"(%b_[0-9a-f]{64})(?:\npending ([!-~]+ [!-~]+)\n|\s*)" % tokens.ACCESS.encode())
_LIMIT = 1024
"""Bytes of a file that are read: more than any that this module writes."""

_OTHER_FILE = "give another file, or remove this one"


@dataclass(frozen=True, slots=True)
class Held:
    """What a file holds: a token, and the instance and the identity that it is to be stored for, unless it is."""

    token: str
    pending: str | None = None

    def text(self) -> bytes:
        rest = "" if self.pending is None else f"pending {self.pending}\n"
        return f"{self.token}\n{rest}".encode()


def first_token(plane: ControlPlane, file: Path) -> bool:
    """Make root's first token and write it to `file`, as `token_in_file` does. Raises ComputeError also when the first
    token is in another file, and when its identity is another tenant's."""

    def work(tx: Tx) -> None:
        # Of those who find no token at the same time one makes it. Without an identity to lock, one alone can add it.
        _check_admin(tx.locked_identity(ROOT_ADMIN))
        if tx.credentials(ROOT_ADMIN, 1, None):
            message = f"{ROOT_ADMIN} has a token already, and {file} holds none that counts"
            raise _conflict(message, _another(ROOT_ADMIN))

    def add(tx: Tx) -> None:
        if tx.identity(ROOT_ADMIN) is None:
            tx.add_identity(Identity(id=ROOT_ADMIN, tenant_id=ROOT, kind="user", created_at=plane.service.clock()))

    _check_admin(plane.store.view(lambda tx: tx.identity(ROOT_ADMIN)))  # whatever the file holds
    return _token_in_file(plane, ROOT_ADMIN, file, work, add)


def _check_admin(admin: Identity | None) -> None:
    if admin is not None and admin.tenant_id != ROOT:
        message = f"{ROOT_ADMIN} is an identity of {admin.tenant_id}, and root's first token is none of its"
        raise _conflict(message, "`better-compute token IDENTITY` makes a token of an identity of root")


def token_in_file(plane: ControlPlane, identity_id: str, file: Path) -> bool:
    """Make a token of an identity and write it to `file`, mode 0600; False when the file holds one of its already.

    The file is written first: after a crash in between the same call makes the token in it count. Raises ComputeError
    for a file that holds anything else, such as a token that this database does not know or one that does not count,
    for one that others can read, and when there is no such identity. A file that this call wrote is gone again when
    its token can never count.
    """
    return _token_in_file(plane, identity_id, file, lambda tx: _check_identity(tx, identity_id), lambda _: None)


def new_token(plane: ControlPlane, identity_id: str) -> str:
    """A new token of an identity; it is nowhere but in this answer. Raises ComputeError when there is none such."""
    credential, token = issue(plane.service, identity_id, None)

    def work(tx: Tx) -> None:
        _check_identity(tx, identity_id)
        tx.put_credential(credential)

    plane.store.transact(work)
    return token


def _token_in_file(
    plane: ControlPlane, identity_id: str, file: Path, check: Callable[[Tx], None], prepare: Callable[[Tx], None]
) -> bool:
    """`check` raises when there may be no new token, and locks what it depends on; `prepare` runs before one is
    stored."""
    owner = f"{plane.store.view(lambda tx: tx.instance_id())} {identity_id}"
    held, written = _begun(plane, owner, file, check)
    if held.pending not in (None, owner):
        instance, _, identity = held.pending.partition(" ")
        raise _conflict(f"{file} holds an unfinished token of {identity} in the instance {instance}", _OTHER_FILE)
    credential = _credential(plane, identity_id, held.token)

    def work(tx: Tx) -> bool:
        refused = _raised(check, tx)
        # Not before: what another process stored while this one waited may be this very token.
        there = tx.credential_by_hash(credential.token_hash)
        if there is not None and there.identity_id == identity_id and there.counts(credential.created_at):
            return False
        if refused is not None:
            raise refused
        if there is not None:
            message = f"the token in {file} was revoked, has expired, or is of another identity"
            raise _conflict(message, _another(identity_id))
        if held.pending is None:
            raise _conflict(f"{file} holds a token that this database does not know", _OTHER_FILE)
        prepare(tx)
        tx.put_credential(credential)
        return True

    try:
        made = plane.store.transact(work)
    except ComputeError as error:
        # Another process was first, and this token will never count. After any other error one may come to count.
        if written and error.code == CONFLICT:
            _remove(file, held)
        raise
    if held.pending is not None:
        _finish(file, held.token, identity_id)
    return made


def _raised(check: Callable[[Tx], None], tx: Tx) -> ComputeError | None:
    try:
        check(tx)
    except ComputeError as error:
        return error
    return None


def _begun(plane: ControlPlane, owner: str, file: Path, check: Callable[[Tx], None]) -> tuple[Held, bool]:
    """What the file holds, and whether this call wrote it: a token that is still to be stored for its owner."""
    held = _held(file)
    if held is not None:
        return held, False
    try:
        plane.store.view(check)
    except ComputeError:
        held = _held(file)  # which another process may have written meanwhile
        if held is None:
            raise
        return held, False
    return _filled(file, Held(tokens.mint(tokens.ACCESS, plane.service.entropy), owner))


def _credential(plane: ControlPlane, identity_id: str, token: str) -> Credential:
    return Credential(
        id=plane.service.new_id("cred"),
        identity_id=identity_id,
        token_hash=tokens.digest(token),
        created_at=plane.service.clock(),
    )


def _another(identity_id: str) -> str:
    return f"`better-compute token {identity_id}` makes another one"


def _check_identity(tx: Tx, identity_id: str) -> None:
    if not is_key(identity_id) or tx.identity(identity_id) is None:
        known = [identity.id for identity in tx.identities(None, 1000, None)]
        hint = did_you_mean(identity_id, known) or "`better-compute world FILE` adds identities"
        raise ComputeError(Problem(NOT_FOUND, "identity.owner", f"no identity {identity_id}", hint=hint))


def _held(file: Path) -> Held | None:
    """What the file holds; None without a file, or with an empty one: what a crash left before it was written.
    Raises ComputeError for a file that is not such a one."""
    try:
        with _locked(file, os.O_RDONLY, fcntl.LOCK_SH) as opened:
            return _read(opened, file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(f"{file} cannot be read: {error.strerror}") from error


def _filled(file: Path, new: Held) -> tuple[Held, bool]:
    """What the file holds now, and whether it is what was given: of several processes the first writes."""
    with _writable(file) as opened:
        held = _read(opened, file)
        if held is None:
            _write(opened, new.text())
        return held or new, held is None


def _finish(file: Path, token: str, identity_id: str) -> None:
    """The token is stored: its file, which may be finished already, holds it alone from now on. One that was
    removed meanwhile is written again."""
    with _writable(file) as opened:
        held = _read(opened, file)
        if held is None:
            _write(opened, Held(token).text())
        elif held.token != token:
            message = f"{file} was written by another meanwhile, and the token made for it is lost"
            raise _conflict(message, _another(identity_id))
        elif held.pending is not None:
            os.ftruncate(opened, len(Held(token).text()))
            os.fsync(opened)


def _remove(file: Path, held: Held) -> None:
    """Unless another process finished it. A file that cannot be removed harms nobody: its token does not count."""
    with suppress(OSError, ComputeError), _locked(file, os.O_RDWR, fcntl.LOCK_EX) as opened:
        if _read(opened, file) == held:
            file.unlink()


@contextmanager
def _writable(file: Path) -> Iterator[int]:
    try:
        with _locked(file, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX) as opened:
            yield opened
    except OSError as error:
        raise _refused(f"{file} cannot be written: {error.strerror}") from error


@contextmanager
def _locked(file: Path, flags: int, lock: int) -> Iterator[int]:
    """The file, open and locked: whoever reads it does not see it half written, and one at a time writes it."""
    while True:
        # Opening a pipe would wait for its other end.
        opened = os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            state = os.fstat(opened)
            if not stat.S_ISREG(state.st_mode) or state.st_mode & 0o077 or state.st_uid != os.geteuid():
                raise _refused(f"{file} is not a file that you alone can read")
            fcntl.flock(opened, lock)
            if _is_still(file, state):
                yield opened
                return
        finally:
            os.close(opened)


def _is_still(file: Path, state: os.stat_result) -> bool:
    """Whether the file is the one that was opened: while its lock was awaited, another process may have removed it."""
    try:
        return os.path.samestat(os.lstat(file), state)
    except FileNotFoundError:
        return False


def _read(opened: int, file: Path) -> Held | None:
    data = os.read(opened, _LIMIT)
    if not data:
        return None
    found = _FILE.fullmatch(data)
    if found is None:
        raise _refused(f"{file} is there and holds no token; it is not overwritten")
    return Held(found[1].decode("ascii"), found[2].decode("ascii") if found[2] else None)


def _write(opened: int, data: bytes) -> None:
    """All of it or nothing."""
    try:
        if os.write(opened, data) < len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        os.fsync(opened)
    except OSError:
        os.ftruncate(opened, 0)
        raise


def _refused(message: str) -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, "bootstrap.token", message))


def _conflict(message: str, hint: str) -> ComputeError:
    return ComputeError(Problem(CONFLICT, "bootstrap.token", message, hint=hint))
