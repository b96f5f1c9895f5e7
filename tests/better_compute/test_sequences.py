"""Whatever is asked in whatever order, both databases answer the same and the invariants hold."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from tests import postgres
from tests.better_compute.pair import Pair, pair_of
from tests.better_compute.sequences import Sequences

LENGTH = 50
"""Steps of a sequence."""


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
    phases = [Phase.generate, Phase.shrink] if shrinks else [Phase.generate]
    chosen = settings(
        max_examples=sequences, stateful_step_count=LENGTH, database=None, phases=phases, report_multiple_bugs=False
    )
    run_state_machine_as_test(OfPair, settings=chosen)


@pytest.mark.parametrize("number", range(2))
def test_any_sequence_keeps_the_invariants(pair: Pair, number: int) -> None:
    run(pair, number, 50)
    print(pair.steps)
    print("\n".join(f"{k} {v}" for k, v in sorted(pair.seen.items())))
