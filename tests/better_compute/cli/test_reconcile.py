"""`better-compute reconcile`, and what an embedded control plane does by itself."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap.billing_stand_in import stand_in
from better_compute.domain.ids import derive
from better_compute.wire.message import Request, Response
from tests.better_compute.api.served import served
from tests.better_compute.cli.conftest import WORLD, Run

MACHINES = WORLD + "machines: [{pool: k, gpus: {name: NVIDIA H100 80GB HBM3, count: 2}}]\n"
POOL = derive("pool", "root", "sa_fleet", "k")
SPENT = "SPEND_LIMIT_REACHED"
METERED = '{"admission": {"budgetCheck": "meter"}}'


@pytest.fixture
def world(cli: Run, database: str, tmp_path: Path) -> None:
    """A machine of two GPUs waits for its pool."""
    path = tmp_path / "machines.yaml"
    path.write_text(MACHINES)
    assert cli("world", str(path), "--database", database).code == 0


def pool(fleet: Run, policy: str = "{}") -> None:
    flags = ("--site-id", "site_fra1", "--class", "metal-host", "--gpu-model", "H100", "--idempotency-key", "k")
    assert fleet("pools", "create", *flags, "--policy", policy).code == 0


def reserve(fleet: Run, *more: str) -> Any:
    done = fleet("reservations", "create", "--pool-id", POOL, "--resources", "gpu=1", *more, "--format", "compact")
    return json.loads(done.out) if done.code == 0 else done


def state(fleet: Run, reservation: Any) -> tuple[str, str | None]:
    done = fleet("reservations", "get", "--reservation-id", reservation["id"], "--format", "compact")
    found = json.loads(done.out)
    return found["state"], found.get("reason")


def test_where_nothing_is_due_it_says_so(cli: Run, database: str) -> None:
    done = cli("reconcile", "--database", database)
    assert (done.code, done.out, done.err) == (0, "nothing was due\n", "")


@pytest.mark.usefixtures("world")
def test_an_embedded_control_plane_goes_on_by_itself(fleet: Run) -> None:
    pool(fleet)
    first = reserve(fleet)
    assert first["state"] == "placed"
    assert state(fleet, first) == ("active", None)
    held = [reserve(fleet) for _ in range(2)]
    assert [r["state"] for r in held] == ["placed", "pending"]
    fleet("reservations", "end", "--reservation-id", first["id"])
    assert state(fleet, held[1]) == ("active", None)


class Billing:
    """The stand-in, which may be told to say nothing any more."""

    def __init__(self) -> None:
        self.says = stand_in({})

    def __call__(self, request: Request) -> Response:
        return self.says(request)

    def is_silent_after_one(self) -> None:
        says, count = self.says, itertools.count()
        self.says = lambda request: says(request) if next(count) == 0 else Response(500, {}, b"")


@pytest.fixture
def billing(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Billing, str]]:
    """Billing, and where it stands; commands ask it unless they are told to ask another."""
    found = Billing()
    with served(found) as url:
        monkeypatch.setenv("BETTER_COMPUTE_BILLING_URL", url)
        yield found, url


@pytest.mark.parametrize(
    ("limit", "said", "after"),
    [(1, "reservations: 1 active\n", ("active", None)), (0, "reservations: 1 failed\n", ("failed", SPENT))],
)
@pytest.mark.usefixtures("world")
def test_it_does_what_is_due_with_billings_word_and_says_so(
    cli: Run, fleet: Run, database: str, billing: tuple[Billing, str], limit: int, said: str, after: Any
) -> None:
    stands, url = billing
    pool(fleet, METERED)
    stands.is_silent_after_one()
    held = reserve(fleet)
    assert state(fleet, held) == ("placed", "billing could not be asked")
    idle = cli("reconcile", "--database", database)
    assert (idle.code, idle.out) == (0, "nothing was due\n")
    stands.says = stand_in({"root": limit})
    done = cli("reconcile", "--database", database, "--billing-url", url)
    assert (done.code, done.out, done.err) == (0, said, "")
    assert state(fleet, held) == after


@pytest.mark.usefixtures("world")
def test_without_billing_nothing_is_taken_that_needs_its_word(fleet: Run) -> None:
    pool(fleet, METERED)
    refused = reserve(fleet)
    assert (refused.code, refused.err) == (1, "UNAVAILABLE: billing could not be asked\n")


@pytest.mark.parametrize("url", ["ftp://x", "billing:80"])
def test_a_url_that_is_none_is_refused(cli: Run, database: str, url: str) -> None:
    done = cli("reconcile", "--database", database, "--billing-url", url)
    assert (done.code, done.err.startswith("INVALID_INPUT: ")) == (1, True)


def test_it_makes_no_database(cli: Run, tmp_path: Path) -> None:
    done = cli("reconcile", "--database", f"sqlite:///{tmp_path / 'none.db'}")
    assert (done.code, (tmp_path / "none.db").exists()) == (1, False)
