"""A served control plane and billing beside it, each a process of its own."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from better_compute.client import Client
from better_compute.domain.commands import CreatePool, OfferPool
from better_compute.domain.problems import ComputeError
from tests.e2e.conftest import command, serving

METERED = {"admission": {"budgetCheck": "meter"}}


@contextmanager
def billing(*arguments: str) -> Iterator[str]:
    """`better-compute billing` for the length of a block, and where it listens."""
    start = command("better-compute", "billing", "--listen", "127.0.0.1:0", *arguments)
    with subprocess.Popen(start, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"listening on (http://\S+)", said)
        assert found, said
        try:
            yield found[1]
        finally:
            process.terminate()
            process.wait(20)


def offered(root: Client) -> str:
    """The pool of the world's machines, which acme is offered."""
    create = CreatePool(
        tenant_id="root",
        pool_id="",
        site_id="site_fra1",
        class_="metal-host",
        gpu_model="H100",
        policy=METERED,
        idempotency_key="fra1-h100",
    )
    pool_id = root.pools.create(create).pool.id
    root.pools.offer(OfferPool(tenant_id="root", pool_id=pool_id, to_tenant_id="acme", quota={"gpu": 32}))
    return pool_id


def becomes(client: Client, reservation_id: str, state: str) -> None:
    deadline = time.monotonic() + 10
    while (found := client.reservations.get(reservation_id)).state != state:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def test_what_billing_allows_runs_within_seconds_and_what_it_refuses_is_not_taken(tmp_path: Path, world: Path) -> None:
    database = f"sqlite:///{tmp_path / 'plane.db'}"
    with (
        billing("--limit", "acme=4") as url,
        serving(database, "--world", str(world), "--billing-url", url) as server,
        server.connect() as root,
        server.connect("sa_acme", "acme") as acme,
    ):
        pool_id = offered(root.client)
        held = acme.client.reservations.create(pool_id, {"gpu": 4})
        becomes(acme.client, held.id, "active")
        with pytest.raises(ComputeError, match="acme may have 4 at once, and asks for 5") as caught:
            acme.client.reservations.create(pool_id, {"gpu": 5})
        assert caught.value.code == "SPEND_LIMIT_REACHED"
        acme.client.reservations.end(held.id)
        [used] = acme.client.usage.list(0, 2**53 - 1)
        assert (used.tenant_id, used.meter) == ("acme", "gpu.h100.hours")
        assert 0 < float(used.hours) < 1


def test_a_server_without_billing_says_so_to_the_caller_and_why_to_the_operator(tmp_path: Path, world: Path) -> None:
    database = f"sqlite:///{tmp_path / 'plane.db'}"
    gone = "http://127.0.0.1:1"
    with (
        serving(database, "--world", str(world), BETTER_COMPUTE_BILLING_URL=gone) as server,
        server.connect() as root,
        server.connect("sa_acme", "acme") as acme,
    ):
        pool_id = offered(root.client)
        with pytest.raises(ComputeError, match="billing could not be asked") as caught:
            acme.client.once().reservations.create(pool_id, {"gpu": 1})
        assert (caught.value.code, gone in str(caught.value)) == ("UNAVAILABLE", False)
        server.stop()
    assert any("billing could not be asked" in line and gone in line for line in server.said)


def test_a_url_that_is_none_does_not_begin_to_serve(tmp_path: Path) -> None:
    start = command("better-compute", "serve", "--database", str(tmp_path / "x.db"), "--listen", "127.0.0.1:0")
    done = subprocess.run([*start, "--billing-url", "http://ci:pw-example@billing"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("INVALID_INPUT: ")
    assert "pw-example" not in done.stderr
