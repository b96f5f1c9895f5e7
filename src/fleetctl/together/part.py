"""What is known of a plan by itself: what it breaks, what it is about, and where its files say so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from better_compute.domain.problems import Problem, Source, errors
from fleetctl.base.revisions import mark
from fleetctl.consequences import Consequences
from fleetctl.consequences.ledger import Stock, StockKey
from fleetctl.guards import Tally, oversell
from fleetctl.guards.oversell import Sold
from fleetctl.guards.tally import Case
from fleetctl.plan.operation import Action
from fleetctl.words import AT_BASE

Key = tuple[str, str]
"""What tells a finding from others: its rule, and what it is about; of guards and checks the rule alone, since they
count all that a plan does."""

_ALL = 1
"""The limit of oversell where no guard names one: more is promised than there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`ref` of None: the files at hand. `actions` counts its operations; `broken` are its errors, and `warned` the
    checks that only warn; `touches` the pools that it has operations on, and `counted` the guards that count something
    in it, each with a place in its own files (None: none is known). `sold` and `stock` are oversold by it: pools, and
    what there is of a model at a site; `is_limited`: by a guard. `keys` are all models and sites that it is about,
    `selected` the ids of the entries that are looked at."""

    ref: str | None
    actions: Counter[Action]
    broken: frozenset[Key]
    warned: frozenset[Key]
    touches: Mapping[str, Source | None]
    counted: Mapping[str, Source | None]
    sold: frozenset[str]
    stock: frozenset[StockKey]
    is_limited: bool
    keys: frozenset[StockKey]
    selected: frozenset[str]

    @property
    def blocked(self) -> bool:
        """Whether the plan is, by what is wrong with it alone."""
        return bool(self.broken)


def part(ref: str | None, does: Consequences, findings: Sequence[Problem], taken: Sequence[Tally]) -> Part:
    """Of a plan that was judged: what it does, all that was found wrong with it, and what guards count; see `Part`."""
    touches: dict[str, Source | None] = {}
    for operation in sorted(does.plan.operations, key=lambda operation: operation.action != "offer"):
        touches.setdefault(operation.pool_id, _own(operation.source, ref))
    return Part(
        ref=ref,
        actions=Counter(operation.action for operation in does.plan.operations),
        broken=frozenset(map(key, errors(findings))),
        warned=frozenset(key(problem) for problem in findings if _is_warning(problem)),
        touches=touches,
        counted={tally.name: _own(tally.first.source, ref) for tally in taken},
        sold=frozenset(oversold(does)),
        stock=frozenset(overdrawn(does)),
        is_limited=is_limited(does),
        keys=frozenset(does.ledger.stock),
        selected=does.plan.comparison.selected,
    )


def wrong(findings: Sequence[Problem]) -> list[Problem]:
    """What a plan breaks: errors, and the checks that only warn."""
    return [problem for problem in findings if problem.severity == "error" or _is_warning(problem)]


def _is_warning(problem: Problem) -> bool:
    return problem.severity == "warning" and problem.rule.startswith("check.")


def key(problem: Problem) -> Key:
    """See `Key`."""
    if problem.rule.startswith(("guard.", "check.")):
        return problem.rule, ""
    return problem.rule, problem.path or problem.message


def is_limited(does: Consequences) -> bool:
    """Whether a guard limits oversell."""
    return does.plan.comparison.in_force.guards.max_oversell is not None


def limit(does: Consequences) -> float:
    """How often what there is may be promised: by the guard, or once."""
    most = does.plan.comparison.in_force.guards.max_oversell
    return _ALL if most is None else most


def oversold(does: Consequences) -> dict[str, Sold]:
    """By id, the pools that are over the limit after the plan, and by it."""
    most = limit(does)
    case = Case(does, replace(does.plan.comparison.in_force.guards, max_oversell=most), does.live.instance.now)
    return {sold.first.pool_id: sold for sold in oversell.over(oversell.touched(case), most) if sold.is_of_plan}


def overdrawn(does: Consequences) -> dict[StockKey, Stock]:
    """Models at sites that are over the limit after the plan, and by it, all pools together; of those that it is
    about."""
    most, found = limit(does), dict[StockKey, Stock]()
    for key, stock in does.ledger.stock.items():
        before, after = stock.oversell
        if after is not None and after > most and (before is None or after > before):
            found[key] = stock
    return found


def _own(source: Source, ref: str | None) -> Source | None:
    """A place in the part's own files, as they name it."""
    if ref is None:
        return None if source.file.startswith(AT_BASE) else source
    its = mark(ref)
    return replace(source, file=source.file.removeprefix(its)) if source.file.startswith(its) else None
