"""The states of reservations, which SQL spells by itself."""

from __future__ import annotations

import re
from typing import get_args

from sqlalchemy import CheckConstraint

from better_compute.domain.reservations import LIVE, State
from better_compute.storage import tables as t
from better_compute.storage.tables import work


def states_in(text: object) -> tuple[str, ...]:
    return tuple(re.findall(r"'(\w+)'", str(text)))


def test_the_partial_index_holds_the_states_that_are_not_over() -> None:
    assert states_in(work.LIVE) == LIVE


def test_a_row_may_have_every_state_and_no_other() -> None:
    [check] = [each for each in t.reservations.constraints if isinstance(each, CheckConstraint)]
    assert states_in(check.sqltext) == get_args(State)
