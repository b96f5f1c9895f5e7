"""Plan files: one spelling, and every alteration is refused."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from better_compute.domain.problems import ComputeError
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.report.forms import PlanReport
from fleetctl.report.plan_file import saved_plan
from fleetctl.report.saved import file_bytes, read_plan
from fleetctl.spelling import canonical_text, checksum
from tests.fleetctl.report.world import World

ALTERED = "the plan does not match its digest"


@pytest.fixture
def plan() -> PlanReport:
    world = World()
    world.pool("fra1-a", {"acme": {"gpu": 320}}, policy={"note": "zażółć \U0001f600 \u202e", "ratio": 1.5})
    return world.report(
        "  - {idempotencyKey: fra1-a, policy: {big: 1e300}, offers: [{toTenantId: acme, quota: {gpu: 32}}]}\n"
    )


def written(document: Any) -> bytes:
    """As somebody would write it who knows the spelling."""
    return (json.dumps(document, sort_keys=True, indent=2) + "\n").encode()


def refusal(data: bytes) -> str:
    with pytest.raises(ComputeError) as refused:
        read_plan(data)
    assert refused.value.problems[0].hint
    return refused.value.problems[0].message


def test_a_plan_is_read_as_it_was_written(plan: PlanReport) -> None:
    assert read_plan(file_bytes(plan)) == plan


def test_the_spelling_is_ascii_with_sorted_keys(plan: PlanReport) -> None:
    text = canonical_text(plan)
    assert text.isascii()
    assert text.endswith("}\n")
    assert list(json.loads(text)) == sorted(plan)
    assert json.loads(text) == plan


def test_every_changed_byte_is_refused(plan: PlanReport) -> None:
    data, random = file_bytes(plan), Random(1)
    for _ in range(300):
        place = random.randrange(len(data))
        other = bytes([random.choice([b for b in b'0123456789abc",:{}[] \n' if b != data[place]])])
        assert refusal(data[:place] + other + data[place + 1 :])


@pytest.mark.parametrize("cut", [1, 10, 500])
def test_a_plan_cut_short_is_refused(plan: PlanReport, cut: int) -> None:
    assert ALTERED in refusal(file_bytes(plan)[:-cut])


def test_a_changed_number_is_refused(plan: PlanReport) -> None:
    assert refusal(file_bytes(plan).replace(b'"gpu": 32\n', b'"gpu": 320\n', 1)) == ALTERED


def test_an_added_operation_is_refused(plan: PlanReport) -> None:
    plan["operations"].append(plan["operations"][0])
    assert refusal(file_bytes(plan)) == ALTERED


def test_a_file_that_is_not_its_own_canonical_form_is_refused_whatever_its_checksum(plan: PlanReport) -> None:
    document: dict[str, Any] = {**plan, "note": "0 to archive"}
    document["checksum"] = checksum(document)
    assert refusal(written(document)) == ALTERED
    assert refusal(json.dumps(plan).encode()) == ALTERED
    assert refusal(file_bytes(plan).replace(b'"kind": "plan",', b'"kind": "plan",\n  "kind": "plan",')) == ALTERED
    assert refusal(b"\n" + file_bytes(plan)) == ALTERED


def test_another_format_is_named(plan: PlanReport) -> None:
    assert "formatVersion 2" in refusal(written({**plan, "formatVersion": 2}))


@pytest.mark.parametrize(
    "data",
    [b"", b"null", b"[]", b"{}", b"\xff\xfe", b"apiVersion: fleet/v1\n", b"[" * 100_000, b'{"formatVersion": 1}'],
)
def test_what_is_no_plan_is_refused(data: bytes) -> None:
    assert "plan" in refusal(data)


def test_wrong_types_are_refused_even_under_a_right_checksum(plan: PlanReport) -> None:
    document: dict[str, Any] = {**plan, "sequence": "412"}
    document["checksum"] = checksum(document)
    assert refusal(written(document)).startswith(ALTERED)


def test_an_altered_file_ends_the_run_as_a_mismatch(plan: PlanReport, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(file_bytes(plan)[:-10])
    with pytest.raises(Stop) as stopped:
        saved_plan(path)
    assert stopped.value.exit_code == EXIT_STALE


def test_a_saved_plan_says_what_it_approves(plan: PlanReport, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_bytes(file_bytes(plan))
    saved = saved_plan(path)
    assert (saved.digest, saved.inputs, saved.sequence) == (plan["digest"], plan["inputs"], 412)
    assert [(o.action, o.digest) for o in saved.operations] == [(o["action"], o["digest"]) for o in plan["operations"]]
    assert saved.operations[-1].subject == (plan["operations"][-1]["poolId"], plan["operations"][-1]["toTenantId"])
