"""`better-compute billing`: billing for tests, as a process of its own."""

from __future__ import annotations

import re
import socket
import subprocess

import pytest

from better_compute.bootstrap.billing import http_billing
from better_compute.service.ports import Spending
from tests.better_compute.cli.conftest import Run
from tests.e2e.conftest import command


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


@pytest.mark.parametrize(
    "host", ["127.0.0.1", pytest.param("[::1]", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6"))]
)
def test_it_answers_where_it_says_until_it_is_stopped(host: str) -> None:
    arguments = ("--listen", f"{host}:0", "--limit", "acme=4", "--limit", '{"globex": 0}')
    with subprocess.Popen(
        command("better-compute", "billing", *arguments), stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.search(r"listening on (http://\S+)$", said.strip())
        assert found, said
        assert found[1].startswith(f"http://{host}:")
        asked = http_billing(found[1])
        for tenant_id, atoms, allowed in (("acme", 4, True), ("acme", 5, False), ("globex", 1, False)):
            spending = Spending(tenant_id=tenant_id, pool_id="p", meter="m", atom="gpu", atoms=atoms)
            assert asked.check(spending).allowed is allowed
        asked.http.close()
        process.terminate()
        assert process.wait(20) == 143


@pytest.mark.parametrize(
    ("limit", "why"),
    [
        ("acme=-1", "acme: a limit is a whole number, 0 or more"),
        ('{"acme": -1}', "acme: a limit is a whole number, 0 or more"),
        ('{"acme": true}', "acme: a limit is a whole number, 0 or more"),
        ('{"acme": 1.5}', "acme: a limit is a whole number, 0 or more"),
        ('{"acme": null}', "acme: a limit is a whole number, 0 or more"),
        ("acme", "does not read NAME=N"),
        ("a cme=1", "'a cme' is no tenant"),
        ("=1", "does not read NAME=N"),
        ("[1]", "does not read NAME=N"),
        ("@nowhere.json", "nowhere.json cannot be read"),
    ],
)
def test_a_limit_that_is_none_is_refused_before_it_listens(cli: Run, limit: str, why: str) -> None:
    done = cli("billing", "--listen", "127.0.0.1:0", "--limit", limit)
    assert (done.code, done.out) == (64, "")
    assert why in done.err


def test_a_tenant_has_one_limit(cli: Run) -> None:
    done = cli("billing", "--limit", "acme=1", "--limit", "acme=2")
    assert (done.code, "acme stands twice" in done.err) == (64, True)


@pytest.mark.parametrize("address", ["::1:80", "8090", "127.0.0.1:x"])
def test_an_address_that_is_none_is_refused(cli: Run, address: str) -> None:
    done = cli("billing", "--listen", address)
    assert (done.code, "an address reads HOST:PORT" in done.err) == (1, True)
