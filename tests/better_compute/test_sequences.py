"""Whatever is asked in whatever order, both databases answer the same and the invariants hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from better_compute.service.actions import ACTIONS
from tests import postgres
from tests.better_compute.faults import FAULTS, Fault
from tests.better_compute.pair import Pair, pair_of
from tests.better_compute.sequences import Sequences

LENGTH = 50
"""Steps of a sequence as hypothesis counts them: some are several operations, each of which is judged."""
SEQUENCES = 38
STEPS = 2_500
"""Operations that one test asks for at least: two tests are the normal run, eight more the long one."""

OFTEN = [
    *((operation, "OK") for operation in ACTIONS if operation.partition("/")[0] in ("pools", "quotas", "nodes")),
    *((f"reservations/{name}", "OK") for name in ("create", "get", "list", "end")),
    ("events/list", "OK"),
    ("usage/list", "OK"),
    *((state, "") for state in ("placed", "active", "ended")),
    ("pending", "no-capacity"),
]
"""What comes about in every test again and again: operations that are done, states of reservations."""
CODES = {
    "ACCESS_DENIED",
    "CONFLICT",
    "INVALID_INPUT",
    "INVALID_STATE",
    "LIMIT_EXCEEDED",
    "NOT_FOUND",
    "SPEND_LIMIT_REACHED",
    "TENANT_INACTIVE",
    "UNAVAILABLE",
    "VERSION_CONFLICT",
}
RULES = {
    *("node.busy", "node.inventory", "node.join", "node.model", "node.token"),
    *("offer.sharing", "offer.single", "offer.tenant", "offer.tenantOwned"),
    *("pool.key", "pool.owner", "pool.update", "quota.exact", "quota.missing", "quota.value"),
    *("reservation.atoms", "reservation.key", "reservation.resources", "reservation.selectors"),
}


@pytest.fixture(scope="module")
def pair(postgres_server: postgres.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with postgres_server.database() as url, pair_of(tmp_path_factory.mktemp("pair"), url) as pair:
        yield pair


def run(pair: Pair, number: int, sequences: int, length: int, *, shrinks: bool = True) -> None:
    """So many sequences, the same for one number."""

    @seed(number)
    class OfPair(Sequences):
        pass

    OfPair.pair = pair
    chosen = settings(
        max_examples=sequences,
        stateful_step_count=length,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(OfPair, settings=chosen)


def search(pair: Pair, fault: Fault) -> None:
    """First where it was met before."""
    run(pair, *fault.soonest, shrinks=False)
    for number in range(3):
        run(pair, number, 60, LENGTH, shrinks=False)


@pytest.mark.parametrize(
    "numbers", [range(2), *(pytest.param(range(n, n + 2), marks=pytest.mark.long) for n in range(2, 10, 2))], ids=str
)
def test_any_sequence_keeps_the_invariants(pair: Pair, numbers: range) -> None:
    pair.steps = 0
    pair.seen.clear()
    for number in numbers:
        run(pair, number, SEQUENCES, LENGTH)
    assert pair.steps >= STEPS * len(numbers)
    assert {what: pair.seen[what] for what in OFTEN if pair.seen[what] < 2} == {}, "comes too seldom"
    codes = Counter[str]()
    for (operation, code), count in pair.seen.items():
        codes[code] += count * (operation in ACTIONS)
    assert CODES - {code for code, count in codes.items() if count} == set(), "no operation says so"
    assert RULES - {rule for kind, rule in pair.seen if kind == "rule"} == set(), "nothing breaks the rule"
    assert any(state == "failed" for state, _ in pair.seen), "no reservation fails"


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_caught_by_the_invariant_that_it_breaks(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    fault.plant(monkeypatch, pair)
    with pytest.raises(AssertionError, match=f"^{fault.caught}"):
        search(pair, fault)
