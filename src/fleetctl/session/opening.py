"""A session is opened: files read, target chosen, control plane reached, live state read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from better_compute.domain.problems import STRANGE_ANSWER, UNAVAILABLE, ComputeError, Problem, did_you_mean
from fleetctl import history
from fleetctl import live as reading
from fleetctl.base import bases, trees
from fleetctl.base.bases import Base
from fleetctl.comparison import selection
from fleetctl.comparison.compare import NOTHING, Asked
from fleetctl.desired import Desired, worlds
from fleetctl.desired.declared import Declared
from fleetctl.desired.load import load
from fleetctl.files import FilesError
from fleetctl.history import History
from fleetctl.live import Live
from fleetctl.machine import collector, disk
from fleetctl.request import Request
from fleetctl.session import target

if TYPE_CHECKING:
    from better_compute.bootstrap import Connection
    from better_compute.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Files and live state, both read. `client` of None: the live state stood in a file, and nobody can be asked.
    `read_history` reads the last events of pools' objects. `commit` is the one that the files are of; see
    `trees.commit_of`. `declared`: what the world file has, which need not be in the database. `asked`: the files as
    they were, and the part that is looked at. `database`: the file that an embedded control plane was opened in."""

    request: Request
    desired: Desired
    target: target.Target
    client: Client | None
    live: Live
    read_history: history.Reader
    commit: str | None
    declared: Declared
    asked: Asked = NOTHING
    database: disk.Identity | None = None

    @property
    def plane(self) -> Client:
        """The control plane, of a session that has one."""
        assert self.client is not None, "a session on a snapshot asks nobody"
        return self.client

    def asking(self, request: Request) -> Session:
        """The same session, of the base and the part that another request of these files names. Raises Stop where they
        cannot be read."""
        return replace(self, request=request, asked=_asked(request, self.desired, self.commit))


def read(request: Request, *, empty_ok: bool = False) -> Desired:
    """Read the files; `empty_ok`: they may have no pool, whatever they say of that. Raises FilesError."""
    return load(request.path, caller=request.caller, tell=request.tell, empty_ok=empty_ok)


def read_again(session: Session) -> Session:
    """The session on the live state as it is now. Raises ComputeError, and Stop where an embedded control plane is in
    another file by now."""
    target.check_same(session.target.server, session.database, session.request.directory)
    live = reading.read(session.plane, session.live.instance.url, session.live.tenant_id)
    return replace(session, live=live, read_history=_history(session.plane, live))


@contextmanager
def opened(request: Request, wished: Desired, *, is_planned: bool = False) -> Iterator[Session]:
    """Choose the target of files that were read just now, and read the live state: of the control plane, or of the
    request's snapshot. Raises ComputeError, FilesError for a world file, and Stop for a pin that does not match.

    With `is_planned` the live state must tell first whether what a plan file asks for may be heard: then the control
    plane is one that is there, and neither base nor part is asked for yet; see `Session.asking`."""
    target.check_caller(wished)
    commit = trees.commit_of(request.directory, wished.files)
    asked = NOTHING if is_planned else _asked(request, wished, commit)
    if request.snapshot is not None:
        yield replace(_on_snapshot(request, request.snapshot, wished, commit), asked=asked)
        return
    chosen = target.choose(wished, request.environ, request.server, request.token_file, request.directory)
    with connected(wished, chosen, request, create=not is_planned) as connection:
        url, declared = target.shown(chosen.server, request.directory), Declared(chosen.server, wished.tenant_id)
        with _at("tenantId", "server.rights", wished, lambda _: _nearest_tenant(declared, connection.client)):
            live = reading.read(connection.client, url, wished.tenant_id)
        collector.resume()
        yield Session(
            request=request,
            desired=wished,
            target=chosen,
            client=connection.client,
            live=live,
            read_history=_history(connection.client, live),
            commit=commit,
            declared=declared,
            asked=asked,
            database=None if isinstance(chosen.server, str) else disk.identity(Path(chosen.server.database)),
        )


def _history(client: Client, live: Live) -> history.Reader:
    """Reads of last events, complete or not at all, since every pool that is there was made by one; and those of the
    live state, whatever happens while a plan is made of it."""

    def read(pool_ids: Collection[str], after: int) -> History:
        found = history.read(client, pool_ids, after)
        if lost := [i for i in pool_ids if not after and i in live.pools and (i, None) not in found.events]:
            message = f"events/list of {live.instance.url} tells nothing of {min(lost)}, which is there"
            hint = "a part of the events is not taken for all: find out what answers there"
            raise ComputeError(Problem(UNAVAILABLE, STRANGE_ANSWER, message, hint=hint))
        return history.as_of(client, found, live.sequence)

    return read


def _asked(request: Request, wished: Desired, commit: str | None) -> Asked:
    """What the request asks of the comparison; `commit` is that of today's files. Raises Stop."""
    base = _base(request, wished, commit)
    held = bases.before(request.path, caller=wished.caller, files_are_of=commit) if request.before else ()
    return Asked(
        base=base,
        held=tuple(each for each in held if base is None or each.commit != base.commit),
        prune=request.frame.prune,
        selected=selection.parse(request.frame.only, request.frame.exclude),
        renames=request.override.numbers.get("rename"),
    )


def _base(request: Request, wished: Desired, commit: str | None) -> Base | None:
    """The files that the request names to compare with; `commit` is that of today's. Raises Stop where they
    cannot be read."""
    ref, directory = request.frame.base_ref, request.frame.base_dir
    if ref is not None:
        return bases.at_ref(request.path, ref, caller=wished.caller, files_are_of=commit)
    if directory is None:
        return None
    # Seen from where the fleet is, not from a link that leads to it: the system follows links before it goes up.
    name = os.path.relpath(os.path.realpath(directory), os.path.realpath(request.directory))
    return bases.at_dir(directory, name, caller=wished.caller, files=request.path)


def _on_snapshot(request: Request, path: Path, wished: Desired, commit: str | None) -> Session:
    """No server is reached, and no token needed. Raises ComputeError, and Stop for a snapshot of another target."""
    from fleetctl import snapshot  # not at the top: a session on a server reads none

    saved = snapshot.read(path)
    chosen = target.of_snapshot(wished, request.environ, request.server, request.directory, saved.live.instance.url)
    snapshot.check(saved, wished, target.shown(chosen.server, request.directory))
    return offline(request, wished, saved.live, saved.history.among, chosen, commit)


def offline(
    request: Request,
    wished: Desired,
    live: Live,
    read_history: history.Reader,
    chosen: target.Target,
    commit: str | None = None,
) -> Session:
    """A session on live state that nobody was asked for just now."""
    collector.resume()
    return Session(
        request=request,
        desired=wished,
        target=chosen,
        client=None,
        live=live,
        read_history=read_history,
        commit=commit,
        declared=Declared(chosen.server, wished.tenant_id),
    )


@contextmanager
def connected(wished: Desired, chosen: target.Target, request: Request, *, create: bool = True) -> Iterator[Connection]:
    """A connection to the target, as the fleet's tenant. Raises ComputeError, and FilesError where a new control plane
    has no world file to start with; without `create` Stop where there is none."""
    from better_compute import bootstrap  # not at the top: `validate` needs no server

    server = chosen.server
    if remark := target.exposed(request.token_file):
        request.tell(remark)
    if chosen.token is not None and not isinstance(server, str):
        believed = "an embedded control plane believes the files' caller"
        request.tell(f"The token of {chosen.token_from} is not used: {believed}")
    if found := worlds.misnamed(wished) if isinstance(server, str) else worlds.problems(wished):
        raise FilesError(found)
    if not isinstance(server, str) and not bootstrap.is_there(server.database):
        if not create:
            raise target.missing(server, request.directory)
        request.tell(target.made(server, request.directory))
    declared = Declared(server, wished.tenant_id)
    try:
        with _at("caller", "world.identity", wished, lambda p: declared.hint(p.rule, wished.caller or "") or p.hint):
            connection = bootstrap.connect(
                server
                if isinstance(server, str)
                else bootstrap.Embedded(server.database, Path(server.world) if server.world else None, create),
                tenant_id=wished.tenant_id,
                token=chosen.token,
                caller=wished.caller,
                timeout=request.timeout,
            )
        with connection:
            chosen.check_token()
            yield connection
    except ComputeError as error:
        if (told := chosen.told(error)) is error:
            raise
        raise told from error


@contextmanager
def _at(field: str, rule: str, wished: Desired, advice: Callable[[Problem], str]) -> Iterator[None]:
    """What the control plane refuses by `rule` is wrong with a root field: told where it stands in the files."""
    try:
        yield
    except ComputeError as error:
        first, place = error.problems[0], wished.places.get(field)
        if first.rule != rule:
            raise
        source = place.source() if place else None
        raise ComputeError(replace(first, path=field, hint=advice(first), source=source)) from error


def _nearest_tenant(declared: Declared, client: Client) -> str:
    """The tenant that a slip means: the identity's own, or one that it may list; or how to bring in one that is not
    there, which is known to those who may list root."""
    tenant_id = declared.tenant_id
    with suppress(ComputeError):
        own = client.identities.whoami().tenant_id
        there = reading.tenant_ids(client.acting_as(own))
        missing = tenant_id not in there and "root" in there
        hint = declared.hint("server.rights", tenant_id) if missing else ""
        return hint or did_you_mean(tenant_id, [own]) or did_you_mean(tenant_id, there)
    return ""
