"""Whatever is asked in whatever order, both databases answer the same and the invariants hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests import postgres
from tests.better_compute.faults import FAULTS, Fault
from tests.better_compute.pair import Pair, pair_of
from tests.better_compute.sequences import Sequences

LENGTH = 50
"""Steps of a sequence, as hypothesis counts them: some are several."""


@pytest.fixture(scope="module")
def pair(postgres_server: postgres.Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with postgres_server.database() as url, pair_of(tmp_path_factory.mktemp("pair"), url) as pair:
        yield pair


def run(pair: Pair, number: int, sequences: int, *, shrinks: bool = True) -> None:
    """So many sequences, the same for one number."""

    @seed(number)
    class OfPair(Sequences):
        pass

    OfPair.pair = pair
    chosen = settings(
        max_examples=sequences,
        stateful_step_count=LENGTH,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink] if shrinks else [Phase.generate],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(OfPair, settings=chosen)


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_caught_by_the_invariant_that_it_breaks(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, fault: Fault
) -> None:
    fault.plant(monkeypatch, pair)
    with pytest.raises(AssertionError, match=f"^{fault.caught}"):
        run(pair, 0, 30, shrinks=False)
