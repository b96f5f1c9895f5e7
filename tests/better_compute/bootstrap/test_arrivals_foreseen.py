"""What preflight knows of machines that wait: they join a pool as soon as it is made, and the rest meets them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import SYSTEM
from better_compute.bootstrap.plane import opened
from better_compute.domain.ids import derive
from better_compute.wire.message import Handle, Request
from tests.better_compute.bootstrap.conftest import killed_at
from tests.statements import counted

Operation = tuple[str, dict[str, Any]]

ACCOUNTS = "providerAccounts: [{id: pa, tenantId: root}]"
H100 = "{pool: k1, count: 3, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}}"
OWNED = H100.replace("pool", "ownerTenantId: acme, pool")


@dataclass(frozen=True)
class Judged:
    """A control plane behind its handler."""

    handle: Handle

    def ask(self, operation: str, body: Mapping[str, Any], who: str = "sa_fleet") -> tuple[int, Any]:
        headers = {"authorization": f"Bearer {who}", "content-type": "application/json", "x-better-compute": "1"}
        given = json.dumps({"tenantId": "root", **body}).encode()
        answer = self.handle(Request("POST", f"/api/compute/{operation}", headers, given))
        return answer.status, json.loads(answer.body)

    def do(self, operation: Operation, who: str = "sa_fleet") -> str:
        """`OK`, or the rule that refuses."""
        status, answer = self.ask(*operation, who)
        return "OK" if status == 200 else str(answer["error"]["rule"])

    def foresee(self, *operations: Operation) -> list[str]:
        """The same of each operation, as preflight says."""
        asked = [{"operation": name, "input": {"tenantId": "root", **body}} for name, body in operations]
        status, answer = self.ask("preflight/check", {"operations": asked})
        assert status == 200, answer
        return ["OK" if v["ok"] else v["problems"][0]["rule"] for v in answer["data"]["verdicts"]]


Open = Callable[[str], Judged]


@pytest.fixture
def judged(write: Callable[..., Path], database_url: str) -> Iterator[Open]:
    """Opens a control plane whose world has these machines."""
    with ExitStack() as planes:

        def make(machines: str) -> Judged:
            world = write(f"{ACCOUNTS}\nmachines: [{machines}]")
            return Judged(planes.enter_context(opened(database_url, SYSTEM, world)).by_name())

        yield make


def made(key: str | None = "k1", **fields: Any) -> Operation:
    pool = {"siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", **fields}
    return "pools/create", pool if key is None else pool | {"idempotencyKey": key}


def on(operation: str, key: str = "k1", caller: str = "sa_fleet", **fields: Any) -> Operation:
    return operation, {"poolId": derive("pool", "root", caller, key), **fields}


OFFER = on("pools/offer", toTenantId="acme", quota={"gpu": 8})
OTHER_MODEL = on("pools/update", gpuModel="H200")
PROVIDER = {"class": "provider", "agent": "none", "providerAccountId": "pa"}

FORESEEN: dict[str, tuple[str, list[Operation], list[str]]] = {
    "a tenant's": (OWNED, [made(), OFFER], ["OK", "offer.tenantOwned"]),
    "of the pool's model": (H100, [made(), OTHER_MODEL], ["OK", "pool.update"]),
    "nobody's": (H100, [made(), OFFER], ["OK", "OK"]),
    "for another key": (OWNED.replace("k1", "k2"), [made(), OFFER, OTHER_MODEL], ["OK"] * 3),
    "for no key": (OWNED, [made(None), made("k3")], ["OK"] * 2),
    "for another tenant": (OWNED.replace("k1", "k1, tenantId: acme"), [made(), OFFER], ["OK"] * 2),
    "for another caller": (OWNED.replace("k1", "k1, caller: sa_acme"), [made(), OFFER], ["OK"] * 2),
    "refused, and others not": (
        f"{OWNED}, {H100.replace('H100', 'H200')}",
        [made(gpuModel="H200"), OFFER, on("pools/update", gpuModel="H100")],
        ["OK", "OK", "pool.update"],
    ),
    "not understood": (
        OWNED.replace("NVIDIA H100 80GB HBM3", "Abacus"),
        [made(), OTHER_MODEL, OFFER],
        ["OK", "OK", "offer.tenantOwned"],
    ),
    "of a pool that takes none": (OWNED, [made(**PROVIDER), OFFER], ["OK"] * 2),
    "of a pool that is made at the second attempt": (
        OWNED,
        [made(siteId="site_acme"), OFFER, made(), OFFER],
        ["pool.site", "pool.owner", "OK", "offer.tenantOwned"],
    ),
    "of two pools": (
        f"{OWNED.replace('k1', 'k2')}, {H100}",
        [made(), made("k2"), OFFER, on("pools/offer", "k2", toTenantId="acme", quota={}), OTHER_MODEL],
        ["OK", "OK", "OK", "offer.tenantOwned", "pool.update"],
    ),
}


@pytest.mark.parametrize(("machines", "operations", "expected"), FORESEEN.values(), ids=FORESEEN)
def test_what_preflight_says_is_what_happens(
    judged: Open, machines: str, operations: list[Operation], expected: list[str]
) -> None:
    plane = judged(machines)
    assert plane.foresee(*operations) == expected
    assert [plane.do(operation) for operation in operations] == expected


def test_a_create_that_finds_its_pool_lets_none_in(judged: Open) -> None:
    """Machines that their pool did not take wait on; that it is asked for again does not make it take them."""
    plane = judged(OWNED)
    assert plane.do(made(gpuModel="H200")) == plane.do(on("pools/update", gpuModel="H100")) == "OK"
    expected = ["OK", "OK"]
    assert plane.foresee(made(), OFFER) == expected
    assert [plane.do(operation) for operation in (made(), OFFER)] == expected


@pytest.mark.parametrize("archived", [False, True])
def test_machines_that_fit_two_pools_join_none_until_one_is_archived(judged: Open, archived: bool) -> None:
    plane = judged(OWNED)
    assert plane.do(made(gpuModel="H200"), "sa_other") == "OK"
    before = [on("pools/archive", caller="sa_other")] if archived else []
    expected = ["OK"] * len(before) + ["OK", "offer.tenantOwned" if archived else "OK"]
    assert plane.foresee(*before, made(), OFFER) == expected
    assert [plane.do(operation) for operation in (*before, made(), OFFER)] == expected


def test_machines_that_are_in_a_pool_come_to_no_other_when_it_is_archived(judged: Open) -> None:
    plane = judged(OWNED)
    assert plane.do(made(), "sa_other") == plane.do(on("pools/archive", caller="sa_other")) == "OK"
    assert plane.foresee(made(), OFFER) == ["OK", "OK"]
    assert [plane.do(operation) for operation in (made(), OFFER)] == ["OK", "OK"]


def test_machines_that_began_to_join_a_pool_come_to_no_other(judged: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    plane = judged(OWNED)
    with monkeypatch.context() as patched:
        killed_at(patched, 1)
        assert plane.do(made(), "sa_other") == "OK"
    assert plane.do(on("pools/archive", caller="sa_other")) == "OK"
    assert plane.foresee(made(), OFFER) == ["OK", "OK"]
    assert [plane.do(operation) for operation in (made(), OFFER)] == ["OK", "OK"]


@pytest.mark.parametrize("machines", [OWNED, ", ".join(OWNED.replace("k1", f"p{n}") for n in range(20))])
def test_more_pools_take_no_more_questions(judged: Open, machines: str) -> None:
    plane = judged(machines)

    def statements(number: int) -> int:
        with counted() as seen:
            assert set(plane.foresee(*[made(f"p{n}") for n in range(number)])) == {"OK"}
        return len(seen)

    assert statements(20) == statements(1)
