"""Files that people and programs break: they are read or refused, never more; each problem names its place."""

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from better_compute.domain.problems import Problem
from fleetctl.desired import check
from fleetctl.desired.inputs import canonical_inputs
from fleetctl.desired.load import load
from fleetctl.files import FilesError
from tests.fleets import Fleet, fleets, write, yaml

NASTY: tuple[Any, ...] = (
    *(None, True, False, "", " ", "no", "null", "~", [], {}, [[]], [None], {"": None}, {"a": {"b": []}}),
    *(0, -1, 1.5, 32.0, 2147483648, 10**20, -(10**20), 1e300, 5e-324),
    *("a" * 5000, "é", "e\u0301", "\u202e", "a\nb", "${x}", "{{x}}", "../../etc", "unmanaged", "root", "fra1-p01"),
    *(
        {"gpu": 8},
        {"gpu": "8"},
        [{"toTenantId": "acme"}],
        [{"pool": "fra1-p01", "toTenantId": "acme", "quota": {"gpu": 1}}],
    ),
    {"idempotencyKey": "fra1-p01"},
)
NAMES = (
    "quotas",
    "Offers",
    "pool",
    "x-a",
    "id",
    "archived",
    "offers",
    "é",
    "",
    "__class__",
    "policy",
    "model_config",
    "quota",
    "forEach",
    "policyRef",
    "policies",
    "previously",
    "replaces",
    "released",
    "protect",
    "guards",
    "checks",
    "expected",
    "prices",
    "previousCallers",
)
RICH: dict[str, Any] = {
    "previousCallers": ["sa_old"],
    "policies": {"std": {"maxPending": "6h", "hostReserve": {"vcpu": 4}}, "none": {}},
    "prices": {"H100": 2.1},
    "expected": [{"key": "a", "path": "policy.note", "until": "2026-12-20T00:00Z", "reason": "test"}],
    "guards": {
        "maxArchives": 1,
        "maxArchivePercent": 10,
        "maxOversell": None,
        "protect": ["fra1-p01"],
        "freeze": [{"from": "2026-12-20T00:00Z", "to": "2027-01-02T00:00Z", "reason": "holidays"}],
    },
    "checks": [{"name": "c", "severity": "deny", "each": "pool", "expr": "true", "message": "m"}],
}
"""Root fields that say more than most fleets do."""
TEMPLATE: dict[str, Any] = {
    "forEach": {"site": ["fra1", "ams1"], "n": [1, 2]},
    "idempotencyKey": "fra1-${site}-${n}",
    "siteId": "site_${site}",
    "class": "metal-host",
    "gpuModel": "H100",
    "policyRef": "std",
    "policy": {"hostReserve": {"vcpu": None}, "note": "$${site} ${n}"},
    "previously": "old-${site}-${n}",
    "protect": True,
}
MOVED: dict[str, Any] = {
    "idempotencyKey": "fra1-new",
    "siteId": "s",
    "class": "metal-host",
    "gpuModel": "H100",
    "replaces": "fra1-old",
    "policyRef": "none",
    "offers": [{"toTenantId": "acme", "quota": {"gpu": 8}}],
}


def ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to each value inside a value."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        yield (*way, step)
        yield from ways(inner, (*way, step))


def mutate(document: dict[str, Any], random: Random) -> None:
    """Break one value, somewhere."""
    *above, last = random.choice([*ways(document)] or [("pools",)])
    parent: Any = document
    for step in above:
        parent = parent[step]
    match random.randrange(6):
        case 0 if not isinstance(parent, list):
            del parent[last]
        case 1 if not isinstance(parent, list):
            parent[random.choice(NAMES)] = parent.pop(last, None)
        case 2 if isinstance(parent, list):
            parent.append(parent[last])
        case 3 if isinstance(parent, dict):
            parent[random.choice(NAMES)] = deepcopy(random.choice(NASTY))
        case _:
            parent[last] = deepcopy(random.choice(NASTY))


def damage(text: str, random: Random) -> str:
    """Break the text itself: a line twice, a line less, a character that does not belong."""
    lines = text.splitlines(keepends=True)
    at = random.randrange(len(lines))
    match random.randrange(5):
        case 0:
            lines.insert(at, lines[random.randrange(len(lines))])
        case 1:
            del lines[at]
        case 2:
            here = random.randrange(len(lines[at]))
            lines[at] = lines[at][:here] + random.choice("\t\0\x1b:{}[]&*!|>%@`\"'-#?\u2028\ufeff") + lines[at][here:]
        case 3:
            lines[at] = lines[at][: random.randrange(len(lines[at]))]
        case _:
            lines[at] = "  " + lines[at]
    return "".join(lines)


def judge(directory: Path) -> list[Problem]:
    """All that is said of a fleet: it is refused, or it is desired state that rules and plans can use."""
    try:
        wished = load(directory)
    except FilesError as refused:
        return list(refused.problems or pytest.fail("refused, and nobody says why"))
    json.dumps(canonical_inputs(wished))
    return check.problems(wished)


def check_places(problems: list[Problem], directory: Path) -> None:
    """Each problem has a place in a file of the fleet, and says what is wrong."""
    lines = {
        path.relative_to(directory).as_posix(): len(path.read_text("utf-8-sig").split("\n"))
        for path in directory.rglob("*.y*ml")
    }
    for problem in problems:
        assert problem.source, problem
        assert problem.source.file in lines or problem.rule == "files.empty"
        # What is missing at the end of a file may be missed on the line behind it.
        assert 1 <= problem.source.line <= lines.get(problem.source.file, 0) + 1
        assert problem.source.column >= 1
        assert problem.message
        assert problem.rule


def break_values(fleet: Fleet, random: Random, directory: Path) -> None:
    documents = fleet.documents()
    if random.random() < 0.5:
        documents[0] = deepcopy({**RICH, **documents[0]})
        documents[0]["pools"] += deepcopy([TEMPLATE, MOVED, {"idempotencyKey": "fra1-gone", "released": True}])
    for _ in range(random.randint(1, 3)):
        mutate(random.choice(documents), random)
    for number, document in enumerate(documents):
        (directory / f"{number}.yaml").write_text(yaml(document, random), "utf-8", "surrogatepass")


def break_texts(fleet: Fleet, random: Random, directory: Path) -> None:
    """Lines lost, doubled and moved, characters that do not belong."""
    write(fleet, directory, random)
    path = random.choice(sorted(directory.rglob("*.y*ml")))
    path.write_text(damage(path.read_text("utf-8"), random), "utf-8", newline="")


def law(fleet: Fleet, random: Random, broken: Any) -> None:
    with TemporaryDirectory() as name:
        directory = Path(name)
        broken(fleet, random, directory)
        check_places(judge(directory), directory)


FEW = settings(max_examples=100, deadline=None)
MANY = settings(max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
BROKEN = pytest.mark.parametrize("broken", [break_values, break_texts])


@BROKEN
@FEW
@given(fleets(), st.randoms(use_true_random=True))
def test_broken_files_are_read_or_refused_with_a_place(broken: Any, fleet: Fleet, random: Random) -> None:
    law(fleet, random, broken)


@pytest.mark.long
@BROKEN
@MANY
@given(fleets(), st.randoms(use_true_random=True))
def test_thousands_of_broken_files_are_read_or_refused_with_a_place(broken: Any, fleet: Fleet, random: Random) -> None:
    law(fleet, random, broken)


def test_the_generators_break_what_they_are_given(tmp_path: Path) -> None:
    """Most broken values are refused, so that the law above says something."""
    pool = {"idempotencyKey": "fra1-p01", "siteId": "s", "class": "metal-host", "gpuModel": "H100"}
    pool["offers"] = [{"toTenantId": "acme", "quota": {"gpu": 8}, "priority": 1}]  # type: ignore[assignment]
    fleet = Fleet({"apiVersion": "fleet/v1", "tenantId": "root"}, [pool])
    refused, rules = 0, set()
    for seed in range(200):
        directory = tmp_path / str(seed)
        directory.mkdir()
        break_values(fleet, Random(seed), directory)
        problems = judge(directory)
        refused += any(problem.severity == "error" for problem in problems)
        rules |= {problem.rule for problem in problems}
    assert 120 < refused < 200
    assert rules >= {"fleet.type", "fleet.unknown", "fleet.null", "fleet.required", "quota.value", "fleet.twice"}
