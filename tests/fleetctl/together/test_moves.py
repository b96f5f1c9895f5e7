"""Files that have another name than they had."""

from __future__ import annotations

import pytest

from fleetctl.together.moves import moves

LINES = [b"line %d of some length\n" % n for n in range(10)]
TEXT = b"".join(LINES)
OTHER = b"".join(b"another text, of line %d\n" % n for n in range(10))


def changed(lines: int) -> bytes:
    return b"".join([b"CHANGED %d of some length\n" % n for n in range(lines)] + LINES[lines:])


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ({"a": TEXT}, {"a": TEXT, "b": TEXT}, {}),
        ({"a": TEXT}, {}, {}),
        ({"a": TEXT}, {"b": TEXT}, {"a": "b"}),
        ({"a": TEXT}, {"b": changed(4)}, {"a": "b"}),
        ({"a": TEXT}, {"b": changed(6)}, {}),
        ({"a": TEXT}, {"b": OTHER}, {}),
        ({"a": b""}, {"b": b""}, {}),
        ({"a": TEXT, "b": OTHER}, {"c": OTHER, "d": changed(1)}, {"a": "d", "b": "c"}),
        ({"a": TEXT}, {"b": changed(3), "c": changed(1)}, {"a": "c"}),
        ({"a": TEXT, "b": changed(3)}, {"c": changed(1)}, {"a": "c"}),
        ({"a": TEXT, "b": TEXT}, {"c": TEXT, "d": TEXT}, {"a": "c", "b": "d"}),
    ],
)
def test_a_file_is_the_same_under_another_name_where_half_of_it_is(
    was: dict[str, bytes], now: dict[str, bytes], found: dict[str, str]
) -> None:
    assert moves(was, now) == found


def test_of_very_many_files_those_are_followed_that_are_as_they_were() -> None:
    was = {f"old/{n}": b"%d\n" % n + TEXT for n in range(300)}
    now = {f"new/{n}": data if n % 2 else data + b"more\n" for n, data in enumerate(was.values())}
    assert moves(was, now) == {f"old/{n}": f"new/{n}" for n in range(1, 300, 2)}
