"""Header lines as every door reads them."""

from better_compute.wire.message import headers_of


def test_names_are_in_lower_case_and_a_header_that_is_sent_twice_passes_as_neither() -> None:
    assert headers_of([(b"X-A", b"1"), (b"x-b", b"2"), (b"x-a", b"3")]) == {"x-a": "1, 3", "x-b": "2"}


def test_blanks_and_tabs_around_a_value_are_none_of_it_and_nothing_else_is_dropped() -> None:
    """A letter that Unicode takes for a blank makes another value, as it does for everything before this server."""
    assert headers_of([(b"x-a", b" \t1 \t"), (b"x-b", b"\xa01\x85"), (b"x-c", b"\x1f1")]) == {
        "x-a": "1",
        "x-b": "\xa01\x85",
        "x-c": "\x1f1",
    }
