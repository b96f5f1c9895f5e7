"""Everything that can be said about a policy before it is written."""

from __future__ import annotations

from better_compute.domain.policy.general import check_json
from better_compute.domain.policy.rules import check_rules
from better_compute.domain.policy.scope import Scope
from better_compute.domain.policy.secrets import may_be_sensitive, sensitive_paths
from better_compute.domain.policy.shapes import check_fields
from better_compute.domain.problems import INVALID_INPUT, Problem


def check_policy(
    policy: object,
    *,
    sharing: str | None,
    class_: str | None,
    attestors: frozenset[str] | None,
    model: str | None = None,
) -> list[Problem]:
    """What is wrong with a pool's policy, errors, warnings and what could not be judged, with paths from `policy` on.

    `sharing`, `class_` and `model` (a GPU family) are those of the pool, `attestors` the names that the server runs;
    None is not known, and a rule that needs it does not refuse. Errors are INVALID_INPUT. A value that is no JSON
    object, or too large, or too deep, or holds what JSON cannot, is judged no further.
    """
    problems, text = check_json(policy)
    if not isinstance(policy, dict) or not text or any(found.rule == "policy.size" for found in problems):
        return problems
    problems += check_fields(policy)
    problems += check_rules(Scope(policy, sharing, class_, attestors, model))
    for path in sensitive_paths(policy, "policy") if may_be_sensitive(text) else []:
        said = "this looks like a secret, and every tenant that the pool is offered to can read its policy"
        hint = "keep it where only the hosts can read it, and name that place here"
        problems.append(Problem(INVALID_INPUT, "policy.secret", said, path, hint, "warning"))
    return problems
