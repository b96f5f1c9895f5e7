"""What pools hold, page by page: whatever way the database joins it."""

from __future__ import annotations

import pytest

from better_compute.storage.parts import _offers


@pytest.mark.parametrize("begun", [True, False])
def test_the_rows_of_an_offer_stand_together(begun: bool) -> None:
    """A page is cut between offers, and a hash join of PostgreSQL does not keep the order of what it joins. SQLite's
    plans are held to going through the offers in order where all lists are."""
    statement = " ".join(str(_offers("postgresql", begun)).split())
    assert statement.endswith("ORDER BY anon_1.pool_id, anon_1.tenant_id")
