"""The control plane as a process: both databases, both ends of the wire real."""

import signal
import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from better_compute.domain.commands import ArchivePool, CreatePool, OfferPool
from better_compute.domain.ids import derive
from better_compute.domain.problems import ComputeError
from tests.e2e.conftest import WORLD, Server, serving

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for the tests that leave it running."""
    directory = tmp_path_factory.mktemp("standing")
    world = directory / "world.yaml"
    world.write_text(WORLD)
    with serving(f"sqlite:///{directory / 'server.db'}", "--world", str(world)) as server:
        yield server


def create(key: str = "fra1-h100") -> CreatePool:
    pool_id = derive("pool", "root", "sa_fleet", key)
    return CreatePool(
        tenant_id="root",
        pool_id=pool_id,
        site_id="site_fra1",
        class_="metal-host",
        gpu_model="H100",
        idempotency_key=key,
    )


def offer(pool_id: str, tenant_id: str = "acme") -> OfferPool:
    return OfferPool(
        tenant_id="root", pool_id=pool_id, to_tenant_id=tenant_id, quota={"gpu": 32}, priority=10, expected_version=0
    )


def test_a_pool_is_made_offered_seen_and_archived(database_url: str, world: Path) -> None:
    with serving(database_url, "--world", str(world)) as server:
        with server.connect() as owner, server.connect("sa_acme", "acme") as acme:
            assert owner.client.system.info().instance_id == "e2e"
            pool = owner.client.pools.create(create()).pool
            assert pool.id == create().pool_id
            assert owner.client.pools.get(pool.id).rollup.gpus == 32
            granted = owner.client.pools.offer(offer(pool.id))
            assert (granted.offer.priority, granted.rows["gpu"].max, granted.offer.version) == (10, 32, 2)
            states, sequence = owner.client.pools.all()
            assert [list(state.offers) for state in states] == [["acme"]]
            assert sequence == len(owner.client.events.all()) == 6
            [seen], _ = acme.client.pools.all(owned=None)
            assert seen.limits("acme") == {"gpu": 32}
            assert owner.client.pools.archive(ArchivePool(tenant_id="root", pool_id=pool.id)).archived
            assert acme.client.pools.all(owned=None)[0] == []
        assert server.stop() == 143


def test_many_threads_share_one_client(standing: Server) -> None:
    with standing.connect() as owner, ThreadPoolExecutor(24) as executor:
        pools = list(executor.map(lambda n: owner.client.pools.create(create(f"k{n % 30}")), range(60)))
        assert len({created.pool.id for created in pools}) == 30
        assert len(owner.client.pools.all()[0]) == 30


def test_a_call_in_flight_is_finished_when_the_server_is_stopped(server: Server) -> None:
    # Whoever holds the database's write lock makes the call wait inside the server.
    lock = sqlite3.connect(server.database.removeprefix("sqlite:///"), isolation_level=None)
    with server.connect() as owner, ThreadPoolExecutor(1) as executor:
        owner.client.system.info()
        lock.execute("BEGIN IMMEDIATE")
        call = executor.submit(owner.client.pools.create, create())
        threading.Event().wait(0.5)
        server.process.send_signal(signal.SIGTERM)
        threading.Event().wait(0.5)
        assert server.process.poll() is None
        lock.execute("ROLLBACK")
        lock.close()
        assert call.result(20).pool.id == create().pool_id
    assert server.process.wait(20) == 143


def test_an_interrupt_is_told_from_a_termination(server: Server) -> None:
    assert server.stop(signal.SIGINT) == 130


def test_a_token_is_needed_and_counts_for_its_own_tenant(standing: Server) -> None:
    with standing.connect("sa_acme", "root") as connection, pytest.raises(ComputeError) as caught:
        connection.client.pools.all()
    assert caught.value.code == "ACCESS_DENIED"


def test_what_a_server_says_when_others_could_listen(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path / 'a.db'}", "--listen", "0.0.0.0:0") as server:
        assert "tokens would cross the network in clear" in server.said[0]


def test_an_address_in_use_is_a_clear_error(standing: Server, better_compute: Run, tmp_path: Path) -> None:
    address = standing.url.removeprefix("http://")
    done = better_compute("serve", "--database", str(tmp_path / "b.db"), "--listen", address)
    assert done.returncode == 1
    assert done.stderr == f"INVALID_INPUT: cannot listen at {address}: Address already in use\n"
    assert not (tmp_path / "b.db").exists()


def test_the_command_calls_the_server_by_its_token(standing: Server, better_compute: Run, tmp_path: Path) -> None:
    token = standing.token("sa_fleet")
    file = tmp_path / "token"
    file.write_text(f"{token}\n")
    target = {"BETTER_COMPUTE_SERVER": standing.url}
    done = better_compute("identities", "whoami", "--token-file", str(file), "--format", "compact", **target)
    assert '"identityId":"sa_fleet"' in done.stdout
    flags = ("--site-id", "site_fra1", "--class", "metal-host", "--gpu-model", "H100")
    done = better_compute("pools", "create", *flags, "--token-file", str(file), **target)
    assert (done.returncode, done.stderr) == (0, "")
    done = better_compute("pools", "list", "--tenant", "root", BETTER_COMPUTE_TOKEN=token, **target)
    assert "site_fra1" in done.stdout.splitlines()[1]
    assert done.stdout.startswith("id  ")


def test_a_token_that_does_not_count_is_in_no_output(standing: Server, better_compute: Run) -> None:
    for token, says in (
        ("bc_wrong-example", "UNAUTHENTICATED: "),
        ("two words-example", "INVALID_INPUT: the token is empty or holds characters"),
    ):
        done = better_compute("pools", "list", "--server", standing.url, "--tenant", "root", BETTER_COMPUTE_TOKEN=token)
        assert done.returncode == 1
        assert says in done.stderr
        assert "example" not in done.stdout + done.stderr


def test_two_servers_may_start_on_one_new_database_at_once(tmp_path: Path, world: Path) -> None:
    database = f"sqlite:///{tmp_path / 'shared.db'}"
    with ExitStack() as stack, ThreadPoolExecutor(2) as executor:
        starting = [serving(database, "--world", str(world)) for _ in range(2)]
        one, two = executor.map(stack.enter_context, starting)
        first, second = stack.enter_context(one.connect()), stack.enter_context(two.connect())
        pool_id = first.client.pools.create(create()).pool.id
        assert second.client.pools.get(pool_id).rollup.nodes == 4
