"""Asking about more operations than one request holds."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from better_compute.bootstrap import Connection, Embedded, connect
from better_compute.client import Client, preflight
from better_compute.domain.commands import CreatePool, OfferPool, UnofferPool
from better_compute.domain.ids import derive
from better_compute.domain.problems import ComputeError
from tests.better_compute.client.conftest import Server, data

WORLD = """\
tenants: [{id: t0}, {id: t1}, {id: t2}, {id: t3}, {id: t4}]
sites: [{id: site_a, tenantId: root, kind: shared, region: eu}]
identities: [{id: sa_fleet, tenantId: root}]
"""


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Connection]:
    world = tmp_path / "world.yaml"
    world.write_text(WORLD)
    with connect(Embedded(str(tmp_path / "plane.db"), world), tenant_id="root", caller="sa_fleet") as connection:
        yield connection


def create(key: str, **fields: Any) -> CreatePool:
    common: dict[str, Any] = {"site_id": "site_a", "class_": "metal-host", "gpu_model": "H100", **fields}
    pool_id = derive("pool", "root", "sa_fleet", key)
    return CreatePool(tenant_id="root", pool_id=pool_id, idempotency_key=key, **common)


def offer(key: str, tenant_id: str) -> OfferPool:
    pool_id = derive("pool", "root", "sa_fleet", key)
    return OfferPool(tenant_id="root", pool_id=pool_id, to_tenant_id=tenant_id, quota={"gpu": 1})


def unoffer(key: str, tenant_id: str) -> UnofferPool:
    return UnofferPool(tenant_id="root", pool_id=derive("pool", "root", "sa_fleet", key), to_tenant_id=tenant_id)


def calls_of(client: Client, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Notes how many operations each request asks about."""
    sizes: list[int] = []
    post = client.calls.http.post

    def noted(path: str, body: bytes, headers: Any) -> Any:
        sizes.append(body.count(b'"operation":'))
        return post(path, body, headers)

    monkeypatch.setattr(client.calls.http, "post", noted)
    return sizes


def test_an_offer_of_a_pool_that_is_not_born_is_judged_on_it(embedded: Connection) -> None:
    asked = [create("k"), offer("k", "t0"), offer("k", "nobody"), offer("other", "t0"), create("k2", site_id="site_x")]
    verdicts = embedded.client.preflight.check(asked, "sa_fleet")
    assert [v.ok for v in verdicts] == [True, True, False, False, False]
    assert [v.problems[0].rule for v in verdicts[2:]] == ["offer.tenant", "pool.owner", "pool.site"]
    assert embedded.client.pools.all()[0] == []


def test_operations_of_one_pool_are_asked_together(embedded: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tenant of pools for one is swapped: asked apart, the second half meets what the first has not taken away."""
    client = embedded.client
    keys = [f"k{n}" for n in range(9)]
    for key in keys:
        client.pools.create(create(key, policy={"singleTenant": True}))
        client.pools.offer(offer(key, "t0"))
    swaps = [command for key in keys for command in (unoffer(key, "t0"), offer(key, "t1"))]
    sizes = calls_of(client, monkeypatch)
    for most in (2, 3, 5, 1000):
        monkeypatch.setattr(preflight, "MOST", most)
        assert [(v.ok, v.in_order) for v in client.preflight.check(swaps, "sa_fleet")] == [(True, True)] * 18
    assert sizes == [2] * 9 + [2] * 9 + [4, 4, 4, 4, 2] + [18]


def test_a_pool_that_no_request_holds_is_asked_about_in_several_that_know_it(
    embedded: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "MOST", 3)
    sizes = calls_of(embedded.client, monkeypatch)
    pools = [create("a"), create("b")]
    offers = [offer(key, f"t{n}") for n in range(4) for key in ("a", "b")]
    verdicts = embedded.client.preflight.check([*pools, *offers], "sa_fleet")
    assert [v.ok for v in verdicts] == [True] * 10
    assert [v.in_order for v in verdicts] == [True] * 6 + [False] * 4
    assert sizes == [3, 3, 3, 3]
    swapped = embedded.client.preflight.check([*offers, *pools], "sa_fleet")
    assert [v.ok for v in swapped] == [False] * 8 + [True] * 2


def test_each_of_several_requests_knows_whatever_was_to_make_the_pool(
    embedded: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is refused, and one that stands in for it."""
    monkeypatch.setattr(preflight, "MOST", 4)
    asked = [create("a", site_id="nowhere"), create("a"), *(offer("a", f"t{n}") for n in range(5))]
    assert [v.ok for v in embedded.client.preflight.check(asked, "sa_fleet")] == [False] + [True] * 6


def test_a_request_stays_below_the_limit_of_a_body(embedded: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = calls_of(embedded.client, monkeypatch)
    large = [create(f"k{n}", policy={"x-note": "x" * 60_000}) for n in range(40)]
    assert len(embedded.client.preflight.check(large, "sa_fleet")) == 40
    assert len(sizes) > 1


def test_nothing_is_asked_about_nothing(embedded: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = calls_of(embedded.client, monkeypatch)
    assert embedded.client.preflight.check([]) == []
    assert sizes == []


def test_a_server_that_gives_too_few_verdicts_is_not_believed(server: Server, connect: Any) -> None:
    server.script = [data({"verdicts": []})]
    with pytest.raises(ComputeError, match="0 verdicts about 1 operations"):
        connect(server.url).preflight.check([create("k")])


def problem(severity: str) -> dict[str, str]:
    shared = {"code": "INVALID_STATE", "rule": "pool.archive", "message": "m", "path": "", "hint": ""}
    return {**shared, "severity": severity}


@pytest.mark.parametrize(
    ("ok", "severities", "says"),
    [
        (False, [], "verdict 2 is not ok and names no error"),
        (False, ["warning", "unchecked"], "verdict 2 is not ok and names no error"),
        (True, ["warning", "error"], "verdict 2 is ok and names an error, pool.archive"),
    ],
)
def test_a_verdict_that_contradicts_itself_is_not_believed(
    server: Server, connect: Any, ok: bool, severities: list[str], says: str
) -> None:
    good = {"ok": True, "problems": [problem("warning"), problem("unchecked")]}
    server.script = [data({"verdicts": [good, {"ok": ok, "problems": [problem(s) for s in severities]}]})]
    with pytest.raises(ComputeError, match=f"preflight/check is not understood: {says}$") as caught:
        connect(server.url).preflight.check([create("k"), offer("k", "t0")])
    assert caught.value.problems[0].rule == "client.answer"
