"""What an entry says in its own words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fleetctl.desired import PoolEntry
from fleetctl.desired.load import assemble
from fleetctl.files import read_text
from fleetctl.together.own import OwnWords
from tests.fleets import CALLER, OWNER

FLEET = f"""\
apiVersion: fleet/v1
tenantId: {OWNER}
caller: {CALLER}
policies: {{p: {{maxLeaseHours: HOURS}}}}
pools:
  - idempotencyKey: a
    siteId: site_fra1
    class: metal-host
    gpuModel: H100
    policyRef: p
    offers: [{{toTenantId: acme, quota: {{gpu: 1}}}}]
"""


def entry(text: str) -> PoolEntry:
    (found,) = assemble(read_text(text.encode(), "fleet.yaml"), Path("/fleet")).entries.values()
    return found


WAS = FLEET.replace("HOURS", "1")


@pytest.mark.parametrize(
    ("text", "same"),
    [
        (FLEET.replace("HOURS", "2"), {"policy", "offers", ""}),
        (WAS.replace("gpu: 1", "gpu: 2"), {"policy"}),
        (WAS.replace("policyRef: p", "policy: {maxLeaseHours: 1}"), {"offers"}),
        (WAS.replace("policyRef: p", "policyRef: p\n    policy: {maxLeaseHours: null}"), {"offers"}),
        (
            WAS.replace("idempotencyKey: a", "idempotencyKey: 'a'").replace("metal-host", '"metal-host"'),
            {"policy", "offers", ""},
        ),
    ],
)
def test_an_entry_says_the_same_where_others_alone_make_something_else_of_it(text: str, same: set[str]) -> None:
    words = OwnWords()
    paths: dict[str, Any] = {"policy": ("policy", "maxLeaseHours"), "offers": ("offers", "acme"), "": ()}
    assert {name for name, path in paths.items() if words.are_same(entry(text), entry(WAS), path)} == same


def test_entries_of_a_template_are_the_same_where_all_templates_of_their_file_are() -> None:
    made = WAS.replace("key: a", "key: a-${n}").replace("Key: a", "Key: a-${n}") + "    forEach: {n: ['1']}\n"
    words = OwnWords()
    assert words.are_same(entry(made), entry(made.replace("Hours: 1", "Hours: 2")), ())
    assert not words.are_same(entry(made), entry(made.replace("policyRef: p", "policy: {maxLeaseHours: 1}")), ())


def test_an_entry_without_a_key_speaks_for_itself_beside_templates() -> None:
    named = WAS.replace("idempotencyKey: a", "id: pool_0123456789abcdef")
    made = WAS[WAS.index("  - idem") :].replace("Key: a", "Key: a-${n}") + "    forEach: {n: ['1']}\n"
    now = named.replace("policyRef: p", "policy: {maxLeaseHours: 2}")
    words = OwnWords()
    one, other = (
        assemble(read_text((text + made).encode(), "fleet.yaml"), Path("/fleet")).entries["pool_0123456789abcdef"]
        for text in (named, now)
    )
    assert words.are_same(one, one, ("policy", "maxLeaseHours"))
    assert not words.are_same(one, other, ("policy", "maxLeaseHours"))


def test_an_offer_is_the_same_whatever_the_entry_says_of_others() -> None:
    two = WAS.replace("gpu: 1}}]", "gpu: 1}}, {toTenantId: globex, quota: {gpu: 1}}]")
    one, other = entry(two), entry(two.replace("globex, quota: {gpu: 1}", "globex, quota: {gpu: 2}"))
    words = OwnWords()
    found = [words.are_same(one, other, path) for path in (("offers", "acme"), ("offers", "globex"), ("offers",), ())]
    assert found == [True, False, False, False]
    assert not words.are_same(one, entry(WAS), ("offers", "globex"))
