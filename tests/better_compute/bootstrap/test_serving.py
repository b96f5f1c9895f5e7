"""Where a control plane listens, and how it ends."""

import gc
import re
import shlex
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import psycopg
import pytest

from better_compute.api.server import Limits
from better_compute.bootstrap import Embedded, connect
from better_compute.bootstrap.plane import ControlPlane
from better_compute.bootstrap.serving import is_private, listen, serve, url_of
from better_compute.domain.commands import CreatePool
from better_compute.domain.ids import derive
from better_compute.domain.problems import ComputeError
from tests.e2e.conftest import command, serving


def test_port_0_is_any_free_one() -> None:
    with listen("127.0.0.1:0") as listening:
        assert url_of(listening) == f"http://127.0.0.1:{listening.getsockname()[1]}"
        assert is_private(listening)


@pytest.mark.parametrize(("files", "code"), [(12, 1), (31, 1), (32, 143)])
def test_with_too_few_open_files_it_does_not_begin_to_serve(tmp_path: Path, files: int, code: int) -> None:
    start = shlex.join(
        [*command("better-compute", "serve"), "--database", str(tmp_path / "x.db"), "--listen", "127.0.0.1:0"]
    )
    with subprocess.Popen(
        ["sh", "-c", f"ulimit -n {files}; exec {start}"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        if code == 143:
            while "listening on" not in (line := process.stderr.readline()):
                assert line
            url = line.split()[line.split().index("on") + 1]
            assert httpx.get(f"{url}/health").status_code == 200
            process.terminate()
        said = process.stderr.read()
        assert process.wait(20) == code
    if code == 1:
        assert said == (
            f"INVALID_INPUT: this process may open {files} files, and needs 32 at least to serve\n"
            "Hint: raise its limit: `ulimit -n 1024`\n"
        )


@pytest.mark.parametrize("address", ["", "8080", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "::1:80", "[::1]80"])
def test_an_address_is_host_and_port(address: str) -> None:
    with pytest.raises(ComputeError, match="an address reads HOST:PORT"):
        listen(address)


@pytest.mark.parametrize("host", ["..", "x" * 80, "\udcff"], ids=ascii)
def test_what_cannot_be_the_name_of_a_host_is_bad_input(host: str) -> None:
    with pytest.raises(ComputeError, match="this is no name of a host") as caught:
        listen(f"{host}:80")
    assert caught.value.code == "INVALID_INPUT"


def test_a_port_in_use_is_bad_input() -> None:
    with listen("127.0.0.1:0") as listening, pytest.raises(ComputeError, match=r"cannot listen at .*in use"):
        listen(f"127.0.0.1:{listening.getsockname()[1]}")


def test_who_has_sent_half_a_request_does_not_hold_up_the_end(tmp_path: Path) -> None:
    with serving(f"sqlite:///{tmp_path / 'plane.db'}") as server, ExitStack() as stack:
        port = int(server.url.rpartition(":")[2])
        head = b"POST /api/compute/pools/list HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"
        waiting, _ = peers = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(2)]
        for peer, part in zip(peers, (head, head[:50]), strict=True):
            peer.sendall(part)
        # Both have come to the server once one that was sent later is answered.
        assert httpx.get(f"{server.url}/health").status_code == 200
        begin = time.monotonic()
        assert server.stop() == 143
        assert time.monotonic() - begin < Limits().grace / 4
        with waiting.makefile("rb") as stream:
            answer = stream.read()
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nretry-after: 1\r\n" in answer
    assert b'"code":"UNAVAILABLE","message":"this server is stopping' in answer


def test_a_database_that_is_gone_is_told_to_the_operator_by_one_line_a_request(postgres_url: str) -> None:
    own = postgres_url.replace("+psycopg", "", 1)
    name = str(psycopg.conninfo.conninfo_to_dict(own)["dbname"])
    others = psycopg.connect(psycopg.conninfo.make_conninfo(own, dbname="postgres"), autocommit=True)
    with others, serving(postgres_url) as server:
        headers = {"Authorization": "Bearer bc_secret-example", "X-Request-Id": "r-1"}
        others.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        others.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        for _ in range(2):
            answer = httpx.post(f"{server.url}/api/compute/pools/list", content=b"{}", headers=headers)
            assert answer.status_code == 503
            assert name not in answer.text
        others.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
        assert httpx.post(f"{server.url}/api/compute/pools/list", content=b"{}", headers=headers).status_code == 401
        server.stop()
    said = [line for line in server.said if "UNAVAILABLE" in line]
    assert len(said) == 2
    for line in said:
        assert 'POST /api/compute/pools/list, request "r-1": UNAVAILABLE: the database is busy or not reachable' in line
        assert f'database "{name}" is not currently accepting connections' in line
    assert "example" not in "".join(server.said)


def test_a_server_that_nobody_can_ask_says_how_to_get_a_token(tmp_path: Path) -> None:
    path = tmp_path / "it's new.db"
    hint = re.compile(
        r"Nobody has a token yet: `better-compute (bootstrap --database .* --token-file root\.token)` writes"
    )
    with serving(f"sqlite:///{path}") as server:
        [said] = (found for line in server.said if (found := hint.match(line)))
        done = subprocess.run(command("better-compute", *shlex.split(said[1])), cwd=tmp_path, check=True)
        assert done.returncode == 0
        token = (tmp_path / "root.token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}", "X-Better-Compute": "1", "Content-Type": "application/json"}
        asked = httpx.post(f"{server.url}/api/compute/identities/whoami", content=b"{}", headers=headers)
        assert asked.json()["data"]["identityId"] == "root-admin"
    with serving(f"sqlite:///{path}") as server:
        assert not [line for line in server.said if hint.match(line)]


def test_a_server_tells_once_which_machines_wait_in_vain(tmp_path: Path) -> None:
    database, world = str(tmp_path / "plane.db"), tmp_path / "world.yaml"
    world.write_text(
        "sites: [{id: s, tenantId: root, kind: shared, region: eu}]\n"
        "identities: [{id: sa, tenantId: root}]\n"
        "machines: [{pool: k, count: 2, gpus: {name: NVIDIA H100 80GB HBM3}}]\n"
    )
    with connect(Embedded(database, world), tenant_id="root", caller="sa") as connection:
        pool = {"site_id": "s", "class_": "metal-host", "gpu_model": "H200", "idempotency_key": "k"}
        pool_id = derive("pool", "root", "sa", "k")
        connection.client.pools.create(CreatePool(tenant_id="root", pool_id=pool_id, **pool))  # type: ignore[arg-type]
    with serving(f"sqlite:///{database}") as server:
        server.stop()
    told = [line for line in server.said if "machines of the world do not join the pool k: the pool holds H200" in line]
    assert len(told) == 1


def test_what_a_server_begins_with_is_kept_out_of_every_collection(
    plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    frozen: list[int] = []
    monkeypatch.setattr("better_compute.bootstrap.serving.answer", lambda *_: frozen.append(gc.get_freeze_count()))
    gc.unfreeze()
    try:
        with listen("127.0.0.1:0") as listening:
            serve(plane, "plane.db", listening, str)
    finally:
        gc.freeze()  # a run of tests keeps what it collected
    assert frozen[0] > 10_000


def test_the_password_of_a_database_is_not_repeated(postgres_url: str) -> None:
    with serving(f"{postgres_url}&password=s3cret") as server:
        said = "".join(server.said)
    assert re.search(r"bootstrap --database 'postgresql\S*\(sensitive\)\S*' --token-file", said)
    assert re.search(r"listening on http://\S+ for the database postgresql\S*\(sensitive\)", said)
    assert "s3cret" not in said
