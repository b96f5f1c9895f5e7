"""From the path of a problem to a place in a document, and from a place to words."""

import pytest

from fleetctl.desired import Place
from fleetctl.desired.locate import locate, spell
from tests.reading import documents

TEXT = """\
pools:
  - idempotencyKey: fra1-a
    policy:
      hugepages: {1Gi: 64}
      acceptance:
        - kind: diag.nvml
        - kind: burn.1h
          kind.of: {a: {b.c: 1, b: {c: 2}}}
      gpu: {mig: {strategy: mixed}}
      gpu.mig: 3
      'a "b"': {'x[0]': 1}
    ownerQuota: {gpu: 1, gpu.mig: 2}
"""
(DOCUMENT,) = documents(TEXT)
ENTRY = Place(DOCUMENT, ("pools", 0))


@pytest.mark.parametrize(
    ("path", "written"),
    [
        ("policy.hugepages.1Gi", "64"),
        ("policy.acceptance[1].kind", "burn.1h"),
        ("policy.acceptance[1]", "kind: burn.1h"),
        ("policy.acceptance[1].kind.of.a.b.c", "1, b"),
        ("policy.gpu.mig", "3"),
        ("policy.gpu.mig.strategy", "3"),
        ("policy.gpu.driver", "{mig"),
        ("ownerQuota.gpu", "1, gpu.mig"),
        ("ownerQuota.gpu.mig", "2}"),
        ('policy["a \\"b\\""]["x[0]"]', "1}"),
        ("policy.acceptance[7].kind", "- kind: diag"),
        ("policy.acceptance[-1]", "- kind: diag"),
        ("policy.acceptance.kind", "- kind: diag"),
        ("policy.kernelModules[0].name", "hugepages:"),
        ("siteId", "idempotencyKey:"),
        ("", "idempotencyKey:"),
    ],
)
def test_a_path_leads_to_the_longest_way_that_is_written(path: str, written: str) -> None:
    source = locate(ENTRY, path)
    line = TEXT.splitlines()[source.line - 1]
    assert line[source.column - 1 :].startswith(written)


def test_a_place_inside_an_entry_takes_paths_that_begin_at_the_entry() -> None:
    policy = ENTRY.at("policy")
    assert locate(policy, "policy.hugepages.1Gi") == locate(ENTRY, "policy.hugepages.1Gi")
    assert locate(policy, "hugepages.1Gi") == locate(ENTRY, "policy.hugepages.1Gi")
    assert locate(policy, "nothing") == policy.source()
    assert locate(ENTRY.at("archived"), "") == ENTRY.source()


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("pools: [{id: pool_x}]", ("pools", 0), "pools[pool_x]"),
        ("pools: [{id: pool_x, idempotencyKey: a}]", ("pools", 0, "id"), "pools[a].id"),
        ("pools: [{idempotencyKey: 'a b'}]", ("pools", 0), "pools[0]"),
        ("pools: [{idempotencyKey: 3}, 4]", ("pools", 1), "pools[1]"),
        ("pools: [{id: a, offers: [{toTenantId: acme}, 3]}]", ("pools", 0, "offers", 0), "pools[a].offers[acme]"),
        ("pools: [{id: a, offers: [{toTenantId: acme}, 3]}]", ("pools", 0, "offers", 1), "pools[a].offers[1]"),
        ("offers: [{toTenantId: acme}]", ("offers", 0, "quota", "gpu"), "offers[0].quota.gpu"),
        ("a: {b: [{id: x}]}", ("a", "b", 0, "id"), "a.b[0].id"),
        ("a: 1", ("a", "b", 7), "a.b[7]"),
        ("a: 1", ("z" * 70,), "z" * 64 + "…"),
        ("a: 1", (), ""),
    ],
)
def test_a_way_into_a_document_is_spelt_with_names_where_there_are_any(
    text: str, path: tuple[str | int, ...], words: str
) -> None:
    (document,) = documents(text)
    assert spell(document.root, path) == words
