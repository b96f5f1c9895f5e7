"""What no single field can say: fields that need or exclude each other, and what the pool around a policy allows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from better_compute.domain.policy import hosts
from better_compute.domain.policy.fields import FIELDS
from better_compute.domain.policy.paths import below, element
from better_compute.domain.policy.scope import Scope, doubles, problem, text_of
from better_compute.domain.policy.shapes import is_allowed
from better_compute.domain.policy.shown import shown
from better_compute.domain.policy.values import effective_ratio
from better_compute.domain.problems import Problem, did_you_mean
from better_compute.domain.words import slips

JOIN_TOKEN = "join-token"
_ATTESTOR, _KIND = FIELDS["joinAttestors[]"], FIELDS["acceptance[].kind"]
KNOWN_KIND = _KIND.example
"""The check that every pool may ask for; which others there are, only the one who runs them knows."""

Rule = Callable[[Scope], Iterator[Problem]]


def _acceptance(scope: Scope) -> Iterator[Problem]:
    kinds = [text_of(entry, "kind") for entry in scope.items("acceptance")]
    yield from doubles("acceptance.kind", "acceptance", kinds, "kind")
    for index, kind in enumerate(kinds):
        if is_allowed(kind, _KIND) and KNOWN_KIND not in kinds and _is_slip(str(kind), KNOWN_KIND):
            said = f"{shown(kind)} is nearly the name of another check; it is stored as given"
            place = below(element("policy.acceptance", index), "kind")
            yield problem("acceptance.kind", said, f'did you mean "{KNOWN_KIND}"?', place, "warning")


def _is_slip(word: str, known: str) -> bool:
    """Whether a name is one letter off another one, or has two letters the wrong way round. Names are open, so another
    word of the same family is none."""
    return any(steps == 1 or sorted(word) == sorted(known) for steps, _ in slips(word, (known,)) if steps)


def _attestors(scope: Scope) -> Iterator[Problem]:
    names = [name if is_allowed(name, _ATTESTOR) else None for name in scope.items("joinAttestors")]
    yield from doubles("joinAttestors", "joinAttestors", names)
    for index, name in enumerate(names):
        place = element("policy.joinAttestors", index)
        if name is None or name == JOIN_TOKEN:
            continue
        if scope.attestors is None:
            said = f"whether the server runs the attestor {shown(name)} is not known here"
            yield problem("joinAttestors", said, path=place, severity="unchecked")
        elif name not in scope.attestors:
            allowed = sorted(scope.attestors | {JOIN_TOKEN})
            said = f"the server runs no attestor {shown(name)}, only {', '.join(allowed)}"
            yield problem("joinAttestors", said, did_you_mean(name[:64], allowed), place)


def _overcommit(scope: Scope) -> Iterator[Problem]:
    if scope.class_ not in (None, "vps-host") and scope.get("overcommit.diskGiB") is not None:
        said = "only vps-host pools have diskGiB rows: the ratio does nothing here"
        yield problem("overcommit.diskGiB", said, "leave it out", severity="warning")
    whole = scope.get("overcommit")
    rule = "overcommit.memoryGiB" if isinstance(whole, dict) else "overcommit"
    exact = scope.sharing == "exclusive" or hosts.has_huge_pages(scope)
    if exact and (effective_ratio(scope.get(rule)) or 0) > 1:
        said = "more memory is sold than is installed, on a pool that sells whole GPUs or huge pages"
        hint = "use 1" if isinstance(whole, dict) else "use {memoryGiB: 1} beside the others"
        yield problem(rule, said, hint, severity="warning")


# By the field that must be there for a rule to have something to say; "" for always.
RULES: tuple[tuple[str, Rule], ...] = (
    ("acceptance", _acceptance),
    ("joinAttestors", _attestors),
    ("overcommit", _overcommit),
    *hosts.RULES,
)
