"""A control plane as it is opened: what it does itself, and what follows from a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.plane import opened
from better_compute.reconcilers.rounds import Round
from tests.better_compute.bootstrap.test_arrivals import client_of, create

ONE = "machines: [{pool: k1, gpus: {name: NVIDIA H100 80GB HBM3, count: 1}}]"


def test_what_a_round_did_is_told_whole_and_none_of_it_is_left_to_what_follows_from_calls(
    write: Callable[[str], Path], database_url: str
) -> None:
    with opened(database_url, SYSTEM, write(ONE)) as plane:
        quiet = client_of(replace(plane, service=plane.bare))
        reservation = quiet.reservations.create(create(quiet), {"gpu": 1})
        assert quiet.reservations.get(reservation.id).state == "pending", "the machine waits yet"
        done = plane.reconcile()
        assert (done.refusals, done.round) == ([], Round(0, Counter(placed=1, active=1)))
        assert quiet.reservations.get(reservation.id).state == "active"
