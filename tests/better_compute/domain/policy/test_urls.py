"""What is shown of a database: what one needs to know it by, and no password."""

from __future__ import annotations

import pytest

from better_compute.domain.policy.urls import mask_database


@pytest.mark.parametrize("path", ["plane.db", "/var/lib/a b@c?d.db", "sqlite:///a@b?c#d.db"])
def test_the_path_of_a_file_is_shown_as_it_is(path: str) -> None:
    assert mask_database(path) == path


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://db/compute", "postgresql://db/compute"),
        ("postgresql://compute:pw@db:5432/compute", "postgresql://(sensitive)@db:5432/compute"),
        ("postgresql+psycopg://u:p@w/x:y#z@db/compute", "postgresql+psycopg://(sensitive)@db/compute"),
        ("postgresql://db/compute?user=u&password=pw", "postgresql://db/compute?(sensitive)"),
        ("postgresql://u:pw@db/compute?host=/run", "postgresql://(sensitive)@db/compute?(sensitive)"),
        ("postgresql://db/compute?password=p@w", "postgresql://(sensitive)"),
        ("postgresql://u:p?w@db/compute", "postgresql://(sensitive)"),
    ],
)
def test_of_a_url_neither_the_user_part_nor_a_parameter_is_shown(url: str, shown: str) -> None:
    assert mask_database(url) == shown
