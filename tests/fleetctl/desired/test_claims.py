"""What entries say of old keys, and what they cannot both mean."""

from __future__ import annotations

import pytest

from better_compute.domain.ids import derive
from better_compute.domain.problems import Source
from tests.reading import HEAD, desired, refusal, refused

FIELDS = "siteId: s, class: metal-host, gpuModel: H100"
OLD_ID = derive("pool", "root", "sa_fleet", "old")


def fleet(*entries: str) -> str:
    """An entry on each line from the 5th on: the first begins with the key `a`, the second with `b`."""
    return f"{HEAD}pools:\n" + "".join(
        f"  - {{idempotencyKey: {key}, {entry}}}\n" for key, entry in zip("abcd", entries, strict=False)
    )


def whole(entry: str) -> str:
    return f"{entry}, {FIELDS}"


def test_an_old_key_is_kept_beside_the_new_one_and_may_lie_outside_of_the_prefix() -> None:
    text = fleet(whole("previously: old"), whole("replaces: older")).replace("idempotencyKey: ", "idempotencyKey: fra-")
    entries = {e.key: e for e in desired(text + "keyPrefix: fra-\n").entries.values()}
    assert (entries["fra-a"].previously, entries["fra-a"].replaces) == ("old", None)
    assert (entries["fra-b"].previously, entries["fra-b"].replaces) == (None, "older")
    assert entries["fra-a"].pool_id == derive("pool", "root", "sa_fleet", "fra-a")


def test_a_released_entry_may_hold_its_key_or_its_id_alone() -> None:
    entries = desired(f"{HEAD}pools: [{{idempotencyKey: a, released: true}}, {{id: pool_x, released: true}}]").entries
    assert [(e.released, e.archived, e.pool, e.offers_are) for e in entries.values()] == [
        (True, False, None, "unstated")
    ] * 2


def test_a_released_entry_may_keep_what_it_was() -> None:
    (entry,) = desired(fleet(whole("released: true, previously: old, protect: true"))).entries.values()
    assert entry.pool
    assert (entry.released, entry.previously, entry.protect) == (True, "old", True)
    assert desired(fleet(whole("released: true, offers: unmanaged"))).entries


def test_flags_that_are_false_say_nothing() -> None:
    (entry,) = desired(fleet(whole("released: false, archived: false, protect: false, replaces: old"))).entries.values()
    assert (entry.released, entry.archived, entry.protect, entry.replaces) == (False, False, False, "old")


@pytest.mark.parametrize(
    ("entry", "field", "other"),
    [
        ("archived: true, released: true", "released", "archived"),
        ("released: true, archived: true", "released", "archived"),
        ("archived: true, replaces: old", "replaces", "archived"),
        ("released: true, replaces: old", "replaces", "released"),
        (whole("id: pool_x, previously: old"), "previously", "id"),
        (whole("previously: old, replaces: old"), "replaces", "previously"),
    ],
)
def test_fields_that_exclude_each_other_are_refused_with_both_places(entry: str, field: str, other: str) -> None:
    text = fleet(entry)
    problem = refusal(text)
    line = text.splitlines()[4]
    place = {name: line.index(f"{name}: ") + len(name) + 3 for name in (field, other)}
    assert (problem.rule, problem.path) == ("fleet.contradiction", f"pools[a].{field}")
    assert problem.source == Source("0.yaml", 5, place[field])
    assert f"0.yaml:5:{place[other]}" in problem.message


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("released: true, offers: []", "remove offers"),
        ("released: true, offers: [{toTenantId: acme, quota: {gpu: 8}}]", "remove the offer"),
    ],
)
def test_nothing_is_offered_or_withdrawn_for_a_pool_that_is_let_go(entry: str, words: str) -> None:
    problem = refusal(fleet(entry))
    assert problem.rule == "fleet.contradiction"
    assert "0.yaml:5:35" in problem.message
    assert words in problem.hint


def test_a_list_does_not_offer_a_pool_that_is_let_go() -> None:
    problem = refusal(fleet("released: true"), "offers: [{pool: a, toTenantId: acme, quota: {gpu: 8}}]")
    assert (problem.rule, problem.source) == ("fleet.contradiction", Source("1.yaml", 1, 10))
    assert "0.yaml:5:35" in problem.message


@pytest.mark.parametrize("field", ["previously", "replaces"])
@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ("%s: a", "names the entry's own pool, a"),
        (f"%s: {OLD_ID}", "it must be a key, not the id of a pool"),
    ],
)
def test_an_old_key_is_another_key(field: str, entry: str, words: str) -> None:
    problem = refusal(fleet(whole(entry % field)))
    assert problem.path == f"pools[a].{field}"
    assert words in problem.message


def test_an_entry_does_not_replace_the_very_pool_that_it_adopts() -> None:
    assert "own pool" in refusal(fleet(whole(f"id: {OLD_ID}, replaces: old"))).message


@pytest.mark.parametrize(
    ("first", "second"),
    [("previously", "previously"), ("replaces", "replaces"), ("previously", "replaces"), ("replaces", "previously")],
)
def test_an_old_key_is_named_once(first: str, second: str) -> None:
    problem = refusal(fleet(whole(f"{first}: old"), whole(f"{second}: old")))
    assert (problem.rule, problem.path) == ("fleet.twice", f"pools[b].{second}")
    assert f"0.yaml:5:{len(first) + 27}" in problem.message


def test_the_first_entries_of_two_files_are_two() -> None:
    other = "pools: [{idempotencyKey: b, " + whole("replaces: old") + "}]\n"
    assert refusal(fleet(whole("replaces: old")), other).rule == "fleet.twice"


@pytest.mark.parametrize("field", ["previously", "replaces"])
@pytest.mark.parametrize("other", [FIELDS, "released: true", f"id: pool_x, {FIELDS}"])
def test_an_old_key_has_no_entry_of_its_own(field: str, other: str) -> None:
    problem = refusal(fleet(whole(f"{field}: b"), other))
    assert (problem.rule, problem.path) == ("fleet.contradiction", f"pools[a].{field}")
    assert "0.yaml:6:22" in problem.message
    assert "remove that entry" in problem.hint


def test_an_old_key_derives_no_pool_that_another_entry_adopts() -> None:
    problem = refusal(f"{fleet(whole('previously: old'))}  - {{id: {OLD_ID}, {FIELDS}}}\n")
    assert (problem.rule, problem.path) == ("fleet.contradiction", "pools[a].previously")
    assert "0.yaml:6:10" in problem.message


def test_a_pool_that_is_replaced_may_have_its_tombstone_and_one_that_was_renamed_may_not() -> None:
    assert len(desired(fleet(whole("replaces: b"), "archived: true")).entries) == 2
    assert refusal(fleet(whole("previously: b"), "archived: true")).rule == "fleet.contradiction"


def test_two_entries_do_not_swap_their_keys() -> None:
    problems = refused(fleet(whole("previously: b"), whole("previously: a")))
    assert [p.path for p in problems] == ["pools[a].previously", "pools[b].previously"]


def test_what_is_known_of_a_key_says_how_it_moved() -> None:
    made = desired(fleet(whole("previously: old")))
    assert made.remark_on("old") == "the entry a was called old, and keeps its pool"
