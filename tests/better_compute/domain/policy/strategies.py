"""Policies and JSON values for tests of laws."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

law = settings(deadline=None)
"""A busy machine does not break a law."""

scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=4)
names = st.text(max_size=3) | st.sampled_from(["__a", "__a__"])
json_values = st.recursive(
    scalars | st.sampled_from([0, 1]),  # which Python takes for False and True
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
)
durations = st.builds(lambda count, unit: f"{count}{unit}", st.integers(0, 10_000), st.sampled_from("smhd"))
ratios = st.integers(-1, 200) | st.floats(0, 200)
policies: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {},
    optional={
        "maxPending": durations | json_values,
        "overcommit": ratios | st.dictionaries(st.sampled_from(["vcpu", "memoryGiB", "x"]), ratios) | json_values,
        "joinAttestors": st.lists(st.sampled_from(["join-token", "tpm", "cloud"])) | json_values,
        "acceptance": st.lists(st.fixed_dictionaries({"kind": st.sampled_from(["a", "b"])})) | json_values,
        "gpu": st.fixed_dictionaries({"slots": st.integers(1, 9) | st.floats(1, 9)}) | json_values,
        "note": json_values,
        "maxpending": durations,
    },
)
