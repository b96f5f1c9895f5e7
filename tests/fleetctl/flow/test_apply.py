"""An apply: what every call says of the change that it belongs to, and what is shown where nothing is to be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.homes import Home, entry


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A fleet of one pool with an offer, and a control plane with tenants and sites."""
    made = Home(tmp_path)
    made.wish(entry("fra1-a", {"acme": 8}))
    return made


def test_a_reason_is_kept_in_every_event_also_where_no_guard_is_lifted(home: Home) -> None:
    home.apply("--reason", "acme moves in")
    assert [(event.via or {}).get("reason") for event in home.events()] == ["acme moves in"] * 2
    assert all("allow" not in (event.via or {}) for event in home.events())


def test_the_longest_reason_fits_whatever_its_letters(home: Home) -> None:
    reason = "\U0001f600" * 100
    home.apply("--allow", "archives=2147483647", "--allow", "withdrawals=2147483647", "--reason", reason)
    assert {(event.via or {}).get("reason") for event in home.events()} == {reason}


def test_a_reason_takes_no_password_into_the_events(home: Home) -> None:
    home.apply("--reason", "as https://ci:hunter2@host/7 says")
    assert {(event.via or {}).get("reason") for event in home.events()} == {"as https://(sensitive)@host/7 says"}


def test_what_no_reason_is_given_for_names_none(home: Home) -> None:
    home.apply()
    assert home.events()
    assert all("reason" not in (event.via or {}) for event in home.events())


def test_what_was_found_is_shown_also_where_nothing_is_to_be_done(home: Home) -> None:
    home.wish(entry("fra1-a", {"acme": 8}), entry("fra1-b", []), keyPrefix="fra1-")
    home.apply()
    home.wish(entry("fra1-a", {"acme": 8}), keyPrefix="fra1-")
    ran = home.run("apply", "--yes")
    assert ran.code == 0
    said = "fra1-b is live, sa_fleet made it, its key begins with this fleet's keyPrefix, fra1-, and no entry names it"
    assert said in ran.out
