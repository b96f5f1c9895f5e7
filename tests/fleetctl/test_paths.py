"""The way to a field: steps with one meaning, and the text that people read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetctl.paths import Path, outer, read, spelled, written

NAMES = st.sampled_from(["a", "b", "a.b", "gpu", "mig", "gpu.mig", "1g.10gb"])
PATHS = st.lists(NAMES, min_size=1, max_size=5).map(tuple)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ((), ""),
        (("gpuModel",), "gpuModel"),
        (("quota", "gpu.mig"), "quota.gpu.mig"),
        (("offers", "acme"), "offers[acme]"),
        (("offers", "acme.eu", "quota", "gpu.mig"), "offers[acme.eu].quota.gpu.mig"),
        (("policy", "offers", "acme"), "policy.offers.acme"),
    ],
)
def test_paths_are_spelled_as_in_fleet_files(path: Path, text: str) -> None:
    assert spelled(path) == text


@pytest.mark.parametrize(
    "path",
    [
        ("gpuModel",),
        ("ownerQuota", "gpu.mig"),
        ("offers", "acme.eu"),
        ("offers", "acme.eu", "quota", "gpu.mig"),
        ("offers", "acme", "priority"),
        ("policy", "offers", "acme"),
    ],
)
def test_what_is_spelled_is_read_as_its_steps_again(path: Path) -> None:
    assert written(spelled(path)) == path


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("policy.gpu.mig", ("policy", "gpu", "mig")),
        ("policy.", ("policy", "")),
        ("offers[acme].", ("offers", "acme", "")),
        ("offers.acme", ("offers.acme",)),
        ("offers[acme", ("offers[acme",)),
    ],
)
def test_what_somebody_wrote_is_read_by_its_form(text: str, path: Path) -> None:
    assert written(text) == path


@given(PATHS)
def test_a_path_is_below_each_of_its_first_steps(path: Path) -> None:
    assert [*outer(path)] == [path[:end] for end in range(1, len(path))]


@given(PATHS, st.integers())
def test_a_text_is_read_as_the_names_that_are_there(path: Path, value: int) -> None:
    within: Any = value
    for name in reversed(path):
        within = {name: within}
    assert read(spelled(path), {"policy": 1, **within}) == path


@pytest.mark.parametrize(
    ("text", "within", "path"),
    [
        ("quota.gpu.mig", None, ("quota", "gpu.mig")),
        ("ownerQuota.gpu.mig", {"quota": {"gpu.mig": 1}}, ("ownerQuota", "gpu.mig")),
        ("ownerQuota", {}, ("ownerQuota",)),
        ("policy.a.b.c", {"policy": {"a": {"b": 1}, "a.b": {"c": 1}}}, ("policy", "a.b", "c")),
        ("policy.a.b", {"policy": {"a": "(sensitive)"}}, ("policy", "a.b")),
        ("policy.a.b", None, ("policy", "a.b")),
        ("gpuModel", {"gpuModel": "H100"}, ("gpuModel",)),
    ],
)
def test_a_row_is_one_name_and_what_leads_nowhere_too(text: str, within: Any, path: Path) -> None:
    assert read(text, within) == path
