"""Commands that need no live state, and who one is."""

from __future__ import annotations

from better_compute.domain.ids import KEY, derive, is_key
from fleetctl import checks, machine, report, target
from fleetctl.desired import declared
from fleetctl.desired.check import check
from fleetctl.desired.load import load
from fleetctl.errors import EXIT_ERROR, EXIT_OK, EXIT_USAGE, Stop
from fleetctl.files import FilesError
from fleetctl.flow.finished import Finished
from fleetctl.flow.judge import in_files
from fleetctl.session import Request, caller_of, connected


def validate(request: Request) -> Finished:
    """Offline: the files, and every rule that needs no live state. What is wrong is the result, whatever it is."""
    # 1. Read the files.
    try:
        wished = load(request.path, caller=request.caller)
    except FilesError as error:
        return Finished(report.of_validate(error.problems, None), EXIT_ERROR)
    # 2. Judge them by the rules.
    problems = sorted([*declared.check(wished), *check(wished), *checks.problems_of(wished.checks)], key=in_files)
    wrong = any(problem.severity == "error" for problem in problems)
    return Finished(report.of_validate(problems, wished), EXIT_ERROR if wrong else EXIT_OK)


def whoami(request: Request) -> Finished:
    """Who asks whom, and whether that is who the files say."""
    wished = load(request.path, caller=request.caller)
    chosen = target.choose(wished, request.environ, request.server, request.token_file, request.directory)
    with connected(wished, chosen, request) as connection:
        now = machine.clock()
        info, me = connection.client.system.info(), connection.client.identities.whoami()
    url = target.shown(chosen.server, request.directory)
    document = report.of_whoami(info, me, wished, url, overridden=chosen.overridden, now=now)
    return Finished(document, EXIT_OK)


def derived_id(request: Request, key: str, tenant: str | None, caller: str | None) -> Finished:
    """The pool id that a key derives; with tenant and caller given no fleet is read. It is the same on every server, so
    that none is asked for and the environment may name any."""
    for what, name in (("key", key), ("tenant", tenant), ("caller", caller)):
        if name is not None and not is_key(name):
            raise Stop(EXIT_USAGE, f"a {what} is {KEY.pattern}: no pool has this one")
    if tenant is None or caller is None:
        wished = load(request.path, caller=caller or request.caller)
        asked = {name for name, given in ((target.TENANT, tenant), (target.CALLER, caller)) if given is None}
        target.check_pins(wished, request.environ, request.directory, asked)
        own = tenant in (None, wished.tenant_id) and caller in (None, wished.caller)
        if own and (remark := wished.remark_on(key)):
            request.tell(remark)
        tenant, caller = tenant or wished.tenant_id, caller or caller_of(wished)
    return Finished(report.of_id(derive("pool", tenant, caller, key), key, tenant, caller), EXIT_OK)
