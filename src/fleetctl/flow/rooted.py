"""The root fields of a fleet that need not have a pool yet, nor be there at all."""

from __future__ import annotations

from better_compute.domain.ids import KEY_SAYS, is_key
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem
from fleetctl.desired import Desired
from fleetctl.desired.load import load
from fleetctl.desired.shape import UNNAMED
from fleetctl.files import FilesError
from fleetctl.request import CALLER, TENANT, Request


def rooted(request: Request) -> Desired:
    """The fleet at the request's path, whether or not it has pools; where there is no document, what the environment
    says of one. Raises FilesError, and ComputeError where it says too little."""
    try:
        return load(request.path, caller=request.caller, tell=request.tell, empty_ok=True)
    except FilesError as error:
        if any(problem.rule != "files.empty" for problem in error.problems) or not request.path.is_dir():
            raise
    tenant_id = request.environ.get(TENANT) or ""
    if not is_key(tenant_id):
        message = f"no fleet is here, and {TENANT} names no tenant"
        hint = f"name a fleet's directory, or set {TENANT} and {CALLER}; {KEY_SAYS}"
        raise ComputeError(Problem(INVALID_INPUT, "fleet.tenantId", message, hint=hint))
    return Desired(fleet=UNNAMED, tenant_id=tenant_id, caller=request.caller, key_prefix=None, server=None, entries={})
