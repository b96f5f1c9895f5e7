"""What a saved plan binds itself to: the wish, not how it is written."""

import json
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleetctl.desired.inputs import canonical_inputs
from fleetctl.desired.load import load
from tests.fleets import Fleet, fleets, write
from tests.reading import HEAD, POOL, desired


@given(fleets(), st.randoms(use_true_random=False))
def test_split_order_and_style_of_files_do_not_show(fleet: Fleet, random: Random) -> None:
    plain = desired("\n---\n".join(json.dumps(document) for document in fleet.documents()))
    with TemporaryDirectory() as directory:
        write(fleet, Path(directory), random)
        written = load(Path(directory))
    assert canonical_inputs(written) == canonical_inputs(plain)
    assert json.dumps(canonical_inputs(written), sort_keys=True) == json.dumps(canonical_inputs(plain), sort_keys=True)
    assert [*written.entries] == [*plain.entries]


def inputs(more: str = "", *, head: str = HEAD, pool: str = POOL) -> str:
    return json.dumps(canonical_inputs(desired(head + "pools:\n" + pool + more)), sort_keys=True)


WISHES = (
    "",
    "    policy: {maxPending: 6h}\n",
    "    policy: {note: ''}\n",
    "    ownerQuota: {gpu: 2147483647}\n",
    "    offers: []\n",
    "    offers: unmanaged\n",
    "    offers: [{toTenantId: acme, quota: {gpu: 8}}]\n",
    "    offers: [{toTenantId: acme, quota: {gpu: 8, vcpu: 1}}]\n",
    "    offers: [{toTenantId: acme, quota: {gpu: 8}, priority: 1}]\n",
    "    offers: [{toTenantId: acme, quota: {gpu: 8}, includeDescendants: true}]\n",
    "    sharing: mig\n",
    "    agent: none\n",
    "    providerAccountId: pa\n",
    "    id: pool_x\n",
    "    archived: true\n",
    "    released: true\n",
    "    protect: true\n",
    "    previously: old\n",
    "    replaces: old\n",
    "fleet: other\n",
    "keyPrefix: fra\n",
)


def test_every_wish_shows() -> None:
    assert len({inputs(more) for more in WISHES}) == len(WISHES)


@pytest.mark.parametrize(
    ("old", "new"), [("site_fra1", "site_ams1"), ("metal-host", "vps-host"), ("H100", "H200"), ("fra1-a", "fra1-b")]
)
def test_every_required_field_shows(old: str, new: str) -> None:
    assert inputs(pool=POOL.replace(old, new)) != inputs()


@pytest.mark.parametrize(("old", "new"), [("root", "acme"), ("sa_fleet", "sa_other")])
def test_who_acts_shows(old: str, new: str) -> None:
    assert inputs(head=HEAD.replace(old, new)) != inputs()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("sharing: exclusive", "agent: bcd"),
        ("policy: {}", "archived: false"),
        ("policy: {maxPending: 6h, overcommit: 1000}", "policy: {overcommit: 100.0, maxPending: 360m}"),
        ("policy: {joinAttestors: [b, a]}", "policy: {joinAttestors: [a, b, a]}"),
        ("ownerQuota: {gpu: 8, vcpu: 0}", "ownerQuota: {gpu: 8}"),
        ("offers: [{toTenantId: a, quota: {gpu: 8, vcpu: 0}}]", "offers: [{toTenantId: a, quota: {gpu: 8}}]"),
    ],
)
def test_what_means_the_same_is_the_same(one: str, other: str) -> None:
    assert inputs(f"    {one}\n") == inputs(f"    {other}\n")


def test_lists_inside_a_policy_keep_their_order() -> None:
    policy = "    policy: {acceptance: [{kind: a}, {kind: b}]}\n"
    assert inputs(policy) != inputs(policy.replace("{kind: a}, {kind: b}", "{kind: b}, {kind: a}"))
