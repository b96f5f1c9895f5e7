"""Tokens made directly in a database: the first one of root, and one for any identity."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

from better_compute.bootstrap.plane import ControlPlane
from better_compute.domain.ids import is_key
from better_compute.domain.problems import CONFLICT, INVALID_INPUT, NOT_FOUND, ComputeError, Problem, did_you_mean
from better_compute.service import tokens
from better_compute.service.actions import ROOT
from better_compute.service.identities import issue
from better_compute.service.ports import Credential, Identity, Tx

ADMIN = "root-admin"
"""The identity of root's first token."""

_TOKEN = re.compile(rb"%b_[0-9a-f]{64}" % tokens.ACCESS.encode())


def first_token(plane: ControlPlane, file: Path) -> bool:
    """Make root's first token and write it to `file`, mode 0600; False when all of that is so already.

    The file is written first: after a crash in between the same call makes the token in it count. Raises ComputeError
    for a file that holds anything else, or that others can read, and when the first token is in another file.
    """
    token = _held(file)
    if token is None:
        plane.store.view(lambda tx: _check_none(tx, file))
        token = tokens.mint(tokens.ACCESS, plane.service.entropy)
        _write(file, token)
    credential, now = _credential(plane, token), plane.service.clock()

    def work(tx: Tx) -> bool:
        there = tx.credential_by_hash(credential.token_hash)
        if there is not None and there.identity_id == ADMIN and there.revoked_at is None:
            return False
        _check_none(tx, file)
        if tx.identity(ADMIN) is None:
            tx.add_identity(Identity(id=ADMIN, tenant_id=ROOT, kind="user", created_at=now))
        tx.put_credential(credential)
        return True

    return plane.store.transact(work)


def new_token(plane: ControlPlane, identity_id: str) -> str:
    """A new token of an identity; it is nowhere but in this answer. Raises ComputeError when there is none such."""
    credential, token = issue(plane.service, identity_id, None)

    def work(tx: Tx) -> None:
        if not is_key(identity_id) or tx.identity(identity_id) is None:
            known = [identity.id for identity in tx.identities(None, 1000, None)]
            hint = did_you_mean(identity_id, known) or "`better-compute world FILE` adds identities"
            raise ComputeError(Problem(NOT_FOUND, "identity.owner", f"no identity {identity_id}", hint=hint))
        tx.put_credential(credential)

    plane.store.transact(work)
    return token


def _credential(plane: ControlPlane, token: str) -> Credential:
    return Credential(
        id=plane.service.new_id("cred"),
        identity_id=ADMIN,
        token_hash=tokens.digest(token),
        created_at=plane.service.clock(),
    )


def _check_none(tx: Tx, file: Path) -> None:
    """Raises ComputeError when root's first token was made before, and is not the one in the file."""
    if tx.credentials(ADMIN, 1, None):
        message = f"{ADMIN} has a token already, and {file} does not hold it"
        hint = f"`better-compute token {ADMIN}` makes another one"
        raise ComputeError(Problem(CONFLICT, "bootstrap.token", message, hint=hint))


def _held(file: Path) -> str | None:
    """The token in the file; None without a file. Raises ComputeError for a file that is not such a one."""
    try:
        # Opening a pipe would wait for its other end.
        opened = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refused(f"{file} cannot be read: {error.strerror}") from error
    with os.fdopen(opened, "rb") as stream:
        state = os.fstat(opened)
        if not stat.S_ISREG(state.st_mode) or state.st_mode & 0o077 or state.st_uid != os.geteuid():
            raise _refused(f"{file} is not a file that you alone can read")
        held = _TOKEN.fullmatch(stream.read(1024).strip())
    if held is None:
        raise _refused(f"{file} is there and holds no token; it is not overwritten")
    return held[0].decode("ascii")


def _write(file: Path, token: str) -> None:
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(opened, "w") as stream:
            stream.write(f"{token}\n")
            stream.flush()
            os.fsync(opened)
    except OSError as error:
        raise _refused(f"{file} cannot be written: {error.strerror}") from error


def _refused(message: str) -> ComputeError:
    return ComputeError(Problem(INVALID_INPUT, "bootstrap.token", message))
