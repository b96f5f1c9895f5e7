"""Everything that can be said about a policy before it is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

from better_compute.domain.bounds import NO_HOSTS, HostBounds
from better_compute.domain.policy.general import check_json
from better_compute.domain.policy.rules import RULES
from better_compute.domain.policy.scope import Scope
from better_compute.domain.policy.secrets import may_be_sensitive, sensitive_paths
from better_compute.domain.policy.shapes import check_fields
from better_compute.domain.problems import INVALID_INPUT, ComputeError, Problem


def check_policy(
    policy: object,
    *,
    sharing: str | None,
    class_: str | None,
    attestors: frozenset[str] | None,
    model: str | None = None,
    agent: str | None = None,
    bounds: HostBounds | None = NO_HOSTS,
    before: Mapping[str, Any] | None = None,
) -> list[Problem]:
    """What is wrong with a pool's policy, errors, warnings and what could not be judged, with paths from `policy` on.

    `sharing`, `class_`, `model` (a GPU family), `agent` and the `bounds` of its hosts are those of the pool,
    `attestors` the names that the server runs; None is not known, and a rule that needs it does not refuse. `before` is
    the policy that this one replaces. Errors are INVALID_INPUT. A value that is no JSON object, or too large, or too
    deep, or holds what JSON cannot, is judged no further. A validator that fails refuses too (`policy.validator`), and
    the others still judge.
    """
    problems, text = check_json(policy)
    if not isinstance(policy, dict) or not text or any(found.rule == "policy.size" for found in problems):
        return problems
    scope = Scope(policy, sharing, class_, attestors, model, agent, bounds, before or {})
    problems += _judged("types and ranges", partial(check_fields, policy))
    for top, rule in RULES:
        if not top or top in policy:
            problems += _judged(top or "the pool", partial(rule, scope))
    return problems + _judged("secrets", partial(_secrets, policy, text))


def _judged(what: str, validator: Callable[[], Iterable[Problem]]) -> list[Problem]:
    """What a validator says. A failure of its own is a bug, and no reason to let the policy pass. What the failure says
    is not shown: it may hold a value of the policy."""
    try:
        return list(validator())
    except ComputeError as error:
        return list(error.problems)
    except Exception as error:
        said = f"policy: the validator of {what} failed ({type(error).__name__}), so it could not be judged"
        return [Problem(INVALID_INPUT, "policy.validator", said, "policy", "report it: this is a fault of the program")]


def _secrets(policy: dict[str, Any], text: str) -> Iterator[Problem]:
    for path in sensitive_paths(policy, "policy") if may_be_sensitive(text) else []:
        said = "this looks like a secret, and every tenant that the pool is offered to can read its policy"
        hint = "keep it where only the hosts can read it, and name that place here"
        yield Problem(INVALID_INPUT, "policy.secret", said, path, hint, "warning")
