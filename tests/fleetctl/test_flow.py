"""What every call of an apply says of the change that it belongs to."""

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


def test_what_no_reason_is_given_for_names_none(home: Home) -> None:
    home.apply()
    assert home.events()
    assert all("reason" not in (event.via or {}) for event in home.events())
