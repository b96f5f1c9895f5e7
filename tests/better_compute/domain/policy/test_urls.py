"""What is shown of a database, and of URLs that are malformed: what one needs to know them by, and no password."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from better_compute.domain.policy.urls import has_userinfo, mask_database, mask_text
from tests.timing import times_as_long


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


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://u:\nSECRET@h/x", "https://(sensitive)@h/x"),
        ("https://u:\t SECRET@h", "https://(sensitive)@h"),
        ("https://\nu:SECRET@h", "https://(sensitive)@h"),
        ("https://u:SEC\nRET@h", "https://(sensitive)@h"),
        ("https://u:SEC\n\u2028RET@h", "https://(sensitive)@h"),
        ("https://u:SECRET\x00\x1b@h", "https://(sensitive)@h"),
        ("https://u:SECRET x@h", "https://(sensitive)@h"),
        ("https://u:p@w SECRET@h", "https://(sensitive)@h"),
        ("https://first last:SECRET x@h/y", "https://(sensitive)@h/y"),
        ("https://:SECRET x@h", "https://(sensitive)@h"),
        ("https:\\\\u:SECRET@h", "https:\\\\(sensitive)@h"),
        ("https:\\/u:SECRET@h", "https:\\/(sensitive)@h"),
        ("https:/\\u:SECRET x@h", "https:/\\(sensitive)@h"),
        ("https:\\/\\/u:SECRET@h", "https:\\/\\/(sensitive)@h"),
        ("https:\\\\SECRET@h", "https:\\\\(sensitive)@h"),
        ("https:///u:SECRET@h", "https:///(sensitive)@h"),
        ("https:/u:SECRET@h", "https:/(sensitive)@h"),
        ("https%3A%2F%2Fu%3ASECRET@h", "https%3A%2F%2F(sensitive)@h"),
        ("https%3a%2f%2fu%3aSECRET%40h%2fx", "https%3a%2f%2f(sensitive)@h%2fx"),
        ("https%253A%252F%252Fu%253ASECRET%2540h", "https%253A%252F%252F(sensitive)@h"),
        ("https%3A//u:SECRET@h", "https%3A//(sensitive)@h"),
        ("https://x/?next=https%3A%2F%2Fu%3ASECRET%40h&a=b", "https://x/?next=https%3A%2F%2F(sensitive)@h&a=b"),
        ("https://a:SECRET@x and https://b:SECRET y@z", "https://(sensitive)@x and https://(sensitive)@z"),
    ],
)
def test_the_user_part_of_a_malformed_url_is_masked(text: str, shown: str) -> None:
    assert has_userinfo(text)
    assert mask_text(text) == mask_text(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "mail ops@example.com about https://x/y",
        "https://x is down: mail ops@example.com",
        "https://x or mailto:ops@example.com",
        "https://x:8080, https://x:8081: ask ops@example.com",
        "see https://x:8080 at 12:30, or ask ops@example.com",
        "https://x.example: write to ops@example.com",
        "https://x\nowner: ops@example.com",
        "http://[::1] is ours, ops@example.com",
        "C:\\\\a:b\\c@d",
        "file:///a@b",
        "https://x/?to=https%3A%2F%2Fh%2F&mail=ops%40example.com",
        "to=https%3A%2F%2Fh&mail=ops%40example.com",
        "100% of ops@example.com",
    ],
)
def test_addresses_of_people_are_left_alone(text: str) -> None:
    assert not has_userinfo(text)
    assert mask_text(text) == text


@pytest.mark.parametrize(
    "part",
    ["ab:\\\\", "ab:\\", "ab:\\\\c:d", "ab:\\/c:", "ab://c:d\n", "ab:/c:d ", "%3A%2F%2F", "%3A\\\\", "%25", "&a",
     ":%2F", "ab:// ", " ", "\n", "ab:/[:", "ab:\\\\[:", "ab:\\%5Cc:d", "\\", "ab:\\\\c: "],
)  # fmt: skip
def test_hostile_text_costs_linear_time(part: str) -> None:
    ways = [(begin, end) for begin in ("", "ab://", "ab://c:d", "ab%3A%2F%2F", "%", "&") for end in (" @", "/@", "%40")]

    def prepared(length: int) -> Callable[[], object]:
        texts = [begin + part * (length // len(part)) + end for begin, end in ways]
        return lambda: [mask_text(text) for text in texts]

    assert times_as_long(prepared, 4_000, 32_000) < 24, "the square would be 64 times as long"
