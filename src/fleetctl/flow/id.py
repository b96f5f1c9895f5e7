"""Id: what a key derives."""

from __future__ import annotations

from better_compute.domain.ids import KEY, derive, is_key
from fleetctl.errors import EXIT_OK, EXIT_USAGE, Stop
from fleetctl.flow.finished import Finished
from fleetctl.report.of_id import of_id
from fleetctl.request import CALLER, TENANT, Request


def derived_id(request: Request, key: str, tenant: str | None, caller: str | None) -> Finished:
    """The pool id that a key derives; with tenant and caller given no fleet is read. It is the same on every server, so
    that none is asked for and the environment may name any."""
    for what, name in (("key", key), ("tenant", tenant), ("caller", caller)):
        if name is not None and not is_key(name):
            raise Stop(EXIT_USAGE, f"a {what} is {KEY.pattern}: no pool has this one")
    if tenant is None or caller is None:
        tenant, caller = _of_files(request, key, tenant, caller)
    return Finished(of_id(derive("pool", tenant, caller, key), key, tenant, caller), EXIT_OK)


def _of_files(request: Request, key: str, tenant: str | None, caller: str | None) -> tuple[str, str]:
    """Tenant and caller, of the files where they are not given. Raises FilesError, ComputeError, Stop."""
    from fleetctl import target  # not at the top, nor below: what is given whole needs no files
    from fleetctl.desired.load import load

    wished = load(request.path, caller=caller or request.caller)
    asked = {name for name, given in ((TENANT, tenant), (CALLER, caller)) if given is None}
    target.check_pins(wished, request.environ, request.directory, asked)
    own = tenant in (None, wished.tenant_id) and caller in (None, wished.caller)
    if own and (remark := wished.remark_on(key)):
        request.tell(remark)
    return tenant or wished.tenant_id, caller or target.caller_of(wished)
