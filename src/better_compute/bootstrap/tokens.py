"""Tokens made directly in a database: the first one of root, and one for any identity."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from better_compute.bootstrap.plane import ControlPlane
from better_compute.domain.ids import is_key
from better_compute.domain.problems import (
    CONFLICT,
    INVALID_INPUT,
    NOT_FOUND,
    UNAVAILABLE,
    ComputeError,
    Problem,
    did_you_mean,
)
from better_compute.service import tokens
from better_compute.service.actions import ROOT
from better_compute.service.identities import issue
from better_compute.service.ports import Credential, Identity, Tx

ADMIN = "root-admin"
"""The identity of root's first token."""

_TOKEN = re.compile(rb"%b_[0-9a-f]{64}" % tokens.ACCESS.encode())


def first_token(plane: ControlPlane, file: Path) -> bool:
    """Make root's first token and write it to `file`, as `token_in_file` does. Raises ComputeError also when the first
    token is in another file."""

    def work(tx: Tx) -> None:
        # Of those who find no token at the same time one makes it. Without an identity to lock, one alone can add it.
        tx.locked_identity(ADMIN)
        if tx.credentials(ADMIN, 1, None):
            message = f"{ADMIN} has a token already, and {file} holds none that counts"
            raise ComputeError(Problem(CONFLICT, "bootstrap.token", message, hint=_another(ADMIN)))

    def add(tx: Tx) -> None:
        if tx.identity(ADMIN) is None:
            tx.add_identity(Identity(id=ADMIN, tenant_id=ROOT, kind="user", created_at=plane.service.clock()))

    return _token_in_file(plane, ADMIN, file, work, add)


def token_in_file(plane: ControlPlane, identity_id: str, file: Path) -> bool:
    """Make a token of an identity and write it to `file`, mode 0600; False when the file holds one of its already.

    The file is written first: after a crash in between the same call makes the token in it count. Raises ComputeError
    for a file that holds anything else, or that others can read, and when there is no such identity; then a file that
    this call wrote is gone again.
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
    """`check` raises when there may be no new token, `prepare` runs before one is stored."""
    token, written = _held(file), False
    if token is None:
        try:
            plane.store.view(check)
        except ComputeError:
            token = _held(file)  # which another process may have written meanwhile
            if token is None:
                raise
        else:
            token, written = _filled(file, tokens.mint(tokens.ACCESS, plane.service.entropy))
    credential = _credential(plane, identity_id, token)

    def work(tx: Tx) -> bool:
        there = tx.credential_by_hash(credential.token_hash)
        if there is not None and there.identity_id == identity_id and there.counts(credential.created_at):
            return False
        check(tx)
        if there is not None:
            message = f"the token in {file} was revoked, has expired, or is of another identity"
            raise ComputeError(Problem(CONFLICT, "bootstrap.token", message, hint=_another(identity_id)))
        prepare(tx)
        tx.put_credential(credential)
        return True

    try:
        return plane.store.transact(work)
    except ComputeError as error:
        # Another process was first, and this token will never count. One that may count by now is kept.
        if written and error.code != UNAVAILABLE and _held(file) == token:
            file.unlink()
        raise


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


def _held(file: Path) -> str | None:
    """The token in the file; None without a file, or with an empty one: what a crash left before it was written.
    Raises ComputeError for a file that is not such a one."""
    try:
        with _locked(file, os.O_RDONLY, fcntl.LOCK_SH) as opened:
            return _read(opened, file)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(f"{file} cannot be read: {error.strerror}") from error


def _filled(file: Path, token: str) -> tuple[str, bool]:
    """The token that the file holds now, and whether it is the given one: of several processes the first writes."""
    try:
        with _locked(file, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX) as opened:
            held = _read(opened, file)
            if held is None:
                _write(opened, f"{token}\n".encode())
            return held or token, held is None
    except OSError as error:
        raise _refused(f"{file} cannot be written: {error.strerror}") from error


@contextmanager
def _locked(file: Path, flags: int, lock: int) -> Iterator[int]:
    """The file, open and locked: whoever reads it does not see it half written, and one at a time writes it."""
    # Opening a pipe would wait for its other end.
    opened = os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        state = os.fstat(opened)
        if not stat.S_ISREG(state.st_mode) or state.st_mode & 0o077 or state.st_uid != os.geteuid():
            raise _refused(f"{file} is not a file that you alone can read")
        fcntl.flock(opened, lock)
        yield opened
    finally:
        os.close(opened)


def _read(opened: int, file: Path) -> str | None:
    data = os.read(opened, 1024)
    held = _TOKEN.fullmatch(data.strip())
    if data and held is None:
        raise _refused(f"{file} is there and holds no token; it is not overwritten")
    return held and held[0].decode("ascii")


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
