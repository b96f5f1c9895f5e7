"""Id: which pool a key stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from better_compute.domain.ids import KEY, is_key
from fleetctl.errors import EXIT_OK, EXIT_USAGE, Stop
from fleetctl.flow.finished import Finished
from fleetctl.report.of_id import of_adopted, of_id
from fleetctl.request import CALLER, TENANT, Request

if TYPE_CHECKING:
    from fleetctl.desired import Desired, PoolEntry
    from fleetctl.report import forms


def pool_id(request: Request, key: str, tenant: str | None, caller: str | None) -> Finished:
    """The id that a key derives, or of a key that an entry has: that of the pool which the entry means. No server is
    asked for, and the environment may name any; with tenant and caller given no fleet is read either. Raises
    FilesError, ComputeError, Stop."""
    for what, name in (("key", key), ("tenant", tenant), ("caller", caller)):
        if name is not None and not is_key(name):
            raise Stop(EXIT_USAGE, f"a {what} is {KEY.pattern}: no pool has this one")
    if tenant is not None and caller is not None:
        return Finished(of_id(tenant, [(key, caller)]), EXIT_OK)
    return Finished(_of_files(request, key, tenant, caller), EXIT_OK)


def _of_files(request: Request, key: str, tenant: str | None, caller: str | None) -> forms.IdReport:
    from fleetctl.desired.load import load
    from fleetctl.session import target  # not at the top, nor below: what is given whole needs no files

    wished = load(request.path, caller=caller or request.caller)
    asked = {name for name, given in ((TENANT, tenant), (CALLER, caller)) if given is None}
    target.check_pins(wished, request.environ, request.directory, asked)
    derived = [(key, caller or target.caller_of(wished))]
    if tenant in (None, wished.tenant_id) and caller in (None, wished.caller):
        if entry := next((entry for entry in wished.entries.values() if entry.key == key), None):
            return _of_entry(request, wished, entry)
        request.tell(wished.remark_on(key))
    return of_id(tenant or wished.tenant_id, derived)


def _of_entry(request: Request, wished: Desired, entry: PoolEntry) -> forms.IdReport:
    """The pool that an entry means, and what is to be known of it: which one is live, nobody asked."""
    from fleetctl.identity import origins

    if entry.adopted:
        request.tell(f"{entry.key} adopts this pool by its id")
        return of_adopted(entry.pool_id)
    report = of_id(wished.tenant_id, origins(wished, entry))
    derived = [(one["id"], one["derivedFrom"]) for one in report["others"]]
    if others := [f"{pool} ({origin['key']} of {origin['caller']})" for pool, origin in derived]:
        old = f"the pool that was made as {entry.previously}" if entry.previously else "this pool"
        request.tell(f"{entry.key} is {old}; if none with this id is live, it is {' or '.join(others)}")
    return report
