"""Faults that people met when tools read their files (K001 to K026, K045, K065): what is read, and what is refused."""

import shutil
from pathlib import Path

import pytest

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.problems import Problem
from better_compute.domain.state import Terms
from fleetctl.desired import Desired, PoolEntry, check
from fleetctl.desired.inputs import canonical_inputs
from fleetctl.desired.load import load
from fleetctl.files import FilesError

HERE = Path(__file__).parent


def fleet(case: str) -> Path:
    return HERE / f"{case}.yaml"


def entry(desired: Desired, key: str = "waw1-h100") -> PoolEntry:
    return next(entry for entry in desired.entries.values() if entry.key == key)


def refused(path: Path) -> list[Problem]:
    with pytest.raises(FilesError) as error:
        load(path)
    return list(error.value.problems)


def places(problems: list[Problem]) -> list[tuple[int, str]]:
    """Line and path of each problem."""
    return [(problem.source.line, problem.path) for problem in problems if problem.source]


def written(directory: Path, data: bytes) -> Path:
    path = directory / "fleet.yaml"
    path.write_bytes(data)
    return path


def test_k001_norway_boolean() -> None:
    desired = load(fleet("k001_norway_boolean"))
    read = entry(desired)
    assert read.offers == {"no": Terms({"gpu": 8})}
    assert read.pool
    assert read.pool.policy == {"iommu": "on", "note": "yes"}
    assert check.problems(desired) == []


def test_k002_duplicate_keys() -> None:
    problems = refused(fleet("k002_duplicate_keys"))
    assert places(problems) == [
        (12, "pools[0].offers[0].quota.gpu"),
        (13, "pools[0].offers"),
    ]
    assert "line 12" in problems[0].message + problems[0].hint
    assert "line 10" in problems[1].message + problems[1].hint


def test_k003_scientific_quota() -> None:
    problems = refused(fleet("k003_scientific_quota"))
    assert [(problem.path, problem.hint) for problem in problems] == [
        ("pools[waw1-h100].offers[acme].quota.gpu", "write 200"),
        ("pools[waw1-h100].offers[acme].priority", "write 20"),
    ]
    assert all("whole number" in problem.message for problem in problems)


def test_k004_octal_leading_zero() -> None:
    problems = refused(fleet("k004_octal_leading_zero"))
    assert [problem.source.line for problem in problems if problem.source] == [12, 12]
    assert all("drop the leading zeros" in problem.hint for problem in problems)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_k006_bom_crlf(mark: bytes, ends: bytes, tmp_path: Path) -> None:
    plain = fleet("k006_plain_twin")
    twin = written(tmp_path, mark + plain.read_bytes().replace(b"\n", ends))
    assert canonical_inputs(load(twin)) == canonical_inputs(load(plain))


def test_k006_a_second_bom_is_refused(tmp_path: Path) -> None:
    data = fleet("k006_plain_twin").read_bytes()
    assert places(refused(written(tmp_path, b"\xef\xbb\xbf" * 2 + data)))[0][0] == 1
    assert places(refused(written(tmp_path, data + b"\xef\xbb\xbf" + data)))[0][0] == data.count(b"\n") + 1


def test_k007_multi_document() -> None:
    desired = load(fleet("k007_multi_document"))
    assert sorted(read.key or "" for read in desired.entries.values()) == ["osl1-h200", "waw1-h100"]


def test_k009_merge_key_shallow() -> None:
    assert entry(load(fleet("k009_merge_key_shallow"))).offers == {"acme": Terms({"gpu": 12}, priority=5)}


def test_k010_blank_value_null() -> None:
    problems = refused(fleet("k010_blank_value_null"))
    assert [(problem.rule, problem.path) for problem in problems] == [
        ("fleet.null", "pools[waw1-h100].policy"),
        ("fleet.null", "pools[waw1-h100].offers"),
    ]
    assert "{}" in problems[0].hint
    assert "write [] to withdraw all" in problems[1].hint


def test_k013_symlink_out_of_tree(tmp_path: Path) -> None:
    inside, secret = tmp_path / "fleet", tmp_path / "token.txt"
    inside.mkdir()
    secret.write_text("hunter2-example\n")
    shutil.copy(fleet("k016_server_defaults"), inside / "a.yaml")
    link = inside / "extra.yaml"
    link.symlink_to(secret)
    (problem,) = refused(inside)
    assert problem.source
    assert problem.source.file == "extra.yaml"
    assert "hunter2" not in repr(problem)
    link.unlink()
    (inside / "deep").mkdir()
    (inside / "deep" / "pools.yaml").write_text("x-a: 1\n")
    link.symlink_to(inside / "deep" / "pools.yaml")
    assert entry(load(inside)).offers


def test_k014_unicode_twins() -> None:
    problems = refused(fleet("k014_unicode_twins"))
    assert [(problem.path, problem.hint) for problem in problems] == [
        ("pools[0].idempotencyKey", "write waw1-cafe"),
        ("pools[1].idempotencyKey", "write waw1-cafe"),
    ]


def test_k016_server_defaults() -> None:
    read = entry(load(fleet("k016_server_defaults")))
    assert read.pool
    assert (read.pool.agent, read.pool.sharing, read.pool.owner_quota) == ("bcd", "exclusive", None)
    assert read.offers == {"acme": Terms({"gpu": 24}, priority=0, include_descendants=False)}


def test_k017_explicit_zero() -> None:
    assert entry(load(fleet("k017_explicit_zero"))).offers == {"acme": Terms({"gpu": 0}, 0, False)}


def test_k018_order_of_sets(tmp_path: Path) -> None:
    path = fleet("k018_order_of_sets")
    lines = path.read_text().splitlines(keepends=True)
    offers = written(tmp_path, "".join([*lines[:-2], lines[-1], lines[-2]]).encode())
    assert canonical_inputs(load(offers)) == canonical_inputs(load(path))
    swapped = path.read_text().replace("{kind: diag.nvml}, {kind: burn.2h}", "{kind: burn.2h}, {kind: diag.nvml}")
    assert canonical_inputs(load(written(tmp_path, swapped.encode()))) != canonical_inputs(load(path))


def test_k020_string_versus_int() -> None:
    problems = refused(fleet("k020_string_versus_int"))
    assert [(problem.path, problem.hint) for problem in problems] == [
        ("pools[waw1-h100].offers[acme].quota.gpu", "write 24, without quotes"),
        ("pools[waw1-h100].offers[acme].priority", "write 5, without quotes"),
    ]


def test_k022_integral_float() -> None:
    problems = refused(fleet("k022_integral_float"))
    assert [(problem.path.rsplit(".", 1)[-1], problem.hint) for problem in problems] == [
        ("gpu", "write 24"),
        ("vcpu", ""),
        ("memoryGiB", "write 47 or 48"),
    ]
    assert ["24.0" in problems[0].message, "true" in problems[1].message, "47.9" in problems[2].message] == [True] * 3


def test_k023_unknown_field_typo(tmp_path: Path) -> None:
    path = fleet("k023_unknown_field_typo")
    problems = refused(path)
    assert [(problem.path.rsplit(".", 1)[-1], problem.hint) for problem in problems] == [
        ("quotas", 'did you mean "quota"?'),
        ("includeDescendents", 'did you mean "includeDescendants"?'),
    ]
    right = path.read_text().replace("quotas", "quota").replace("Descendents", "Descendants")
    warnings = check.problems(
        load(written(tmp_path, right.replace("includeDescendants: true", "priority: 0").encode()))
    )
    assert [(w.severity, w.path) for w in warnings] == [("warning", "pools[waw1-h100].policy.singelTenant")]
    assert "singleTenant" in warnings[0].hint


def test_k025_letter_case() -> None:
    desired = load(fleet("k025_letter_case"))
    assert [*entry(desired).offers] == ["ACME"]
    problems = check.problems(desired)
    assert {(p.rule, p.path): p.hint for p in problems if p.severity == "error"} == {
        ("pool.class", "pools[waw1-h100].class"): 'did you mean "metal-host"?',
        ("pool.model", "pools[waw1-h100].gpuModel"): "use H100",
        ("pool.sharing", "pools[waw1-h100].sharing"): 'did you mean "exclusive"?',
        ("pool.agent", "pools[waw1-h100].agent"): 'did you mean "bcd"?',
    }


def test_k026_trailing_newline(tmp_path: Path) -> None:
    path = fleet("k026_trailing_newline")
    read = entry(load(path)).pool
    assert read
    assert read.policy == {"note": "held for the launch\n"}
    crlf = written(tmp_path, path.read_bytes().replace(b"\n", b"\r\n"))
    assert canonical_inputs(load(crlf)) == canonical_inputs(load(path))


def test_k045_empty_source(tmp_path: Path) -> None:
    for path in (fleet("k045_empty_source"), tmp_path, tmp_path / "nowhere.yaml"):
        assert all(problem.source and problem.message for problem in refused(path))
    head = b"apiVersion: fleet/v1\ntenantId: root\ncaller: sa_fleet\npools: []\n"
    (problem,) = refused(written(tmp_path, head))
    assert (problem.rule, problem.path) == ("fleet.empty", "pools")
    assert load(written(tmp_path, head + b"allowEmpty: true\n")).entries == {}


def test_k065_huge_means_unlimited() -> None:
    problems = refused(fleet("k065_huge_means_unlimited"))
    assert [problem.path.rsplit(".", 1)[-1] for problem in problems] == ["gpu", "vcpu", "memoryGiB"]
    assert all(str(UNLIMITED) in problem.message and str(UNLIMITED) in problem.hint for problem in problems)
