from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from better_compute.domain.problems import ComputeError
from better_compute.wire.body import parse, parse_change
from tests.timing import times_as_long

HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "blank": b"  ",
    "not JSON": b"{tenantId: root}",
    "a list": b"[]",
    "a string": b'"x"',
    "null": b"null",
    "two objects": b"{}{}",
    "a comment": b"{} // x",
    "a trailing comma": b'{"a": 1,}',
    "a byte order mark": b"\xef\xbb\xbf{}",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
    "Latin-1": '{"a": "é"}'.encode("latin-1"),
    "a key twice": b'{"a": 1, "a": 2}',
    "a key twice, deep": b'{"p": [{"a": 1, "b": 0, "a": 1}]}',
    "a key twice, escaped": b'{"a": 1, "\\u0061": 2}',
    "NaN": b'{"a": NaN}',
    "Infinity": b'{"a": -Infinity}',
    "beyond a double": b'{"a": 1e999}',
    "5,000 digits": b'{"a": ' + b"9" * 5000 + b"}",
    "half a surrogate pair": b'{"a": "\\ud800"}',
    "half a surrogate pair as a key": b'{"\\udc00": 1}',
    "100,000 deep": b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    "100,000 deep and cut": b'{"a": ' + b'{"a":' * 100_000,
    "a control character": b'{"a": "\x01"}',
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE)
def test_what_two_readers_could_take_for_two_things_is_refused(data: bytes) -> None:
    with pytest.raises(ComputeError) as caught:
        parse(data)
    assert caught.value.code == "INVALID_INPUT"
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{}", {}),
        ('{"a": [1, 1.5, "é", true, null, {"a": {}}]}', {"a": [1, 1.5, "é", True, None, {"a": {}}]}),
        ('{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ('{"a": 1, "A": 2}', {"a": 1, "A": 2}),
        (' {"a": 123456789012345678901234567890} ', {"a": 123456789012345678901234567890}),
    ],
)
def test_json_is_read_as_it_is(text: str, value: object) -> None:
    found = parse(text.encode())
    assert (found, json.dumps(found)) == (value, json.dumps(value))


def test_an_error_says_where() -> None:
    with pytest.raises(ComputeError, match="at line 2, column 3"):
        parse(b'{\n  tenantId: "root"}')
    with pytest.raises(ComputeError, match="the key 'b' stands twice"):
        parse(b'{"a": {"b": 1, "b": 2}}')


def test_an_error_does_not_repeat_all_that_was_sent() -> None:
    with pytest.raises(ComputeError, match="stands twice") as caught:
        parse(b'{"%b": 1, "%b": 2}' % ((b"x" * 500_000,) * 2))
    assert len(str(caught.value)) < 200


def test_a_number_with_endless_digits_is_refused_in_our_own_words() -> None:
    with pytest.raises(ComputeError, match="this is not JSON: a whole number has too many digits"):
        parse(HOSTILE["5,000 digits"])


def test_a_key_that_stands_twice_is_found_at_once_among_many() -> None:
    """The time grows with the body and not with its square: one request must not stop a server for minutes."""

    def prepared(count: int) -> Callable[[], object]:
        keys = [f'"{n:x}":0' for n in range(count)]
        body = f"{{{','.join([*keys, keys[-1]])}}}".encode()

        def refused() -> None:
            with pytest.raises(ComputeError, match=f"the key '{count - 1:x}' stands twice"):
                parse(body)

        return refused

    assert times_as_long(prepared, 12_500, 100_000) < 24, "the square would be 64 times as long"


CHANGES: dict[str, str] = {
    "empty": "",
    "not an object": '["x"]',
    "too long": json.dumps({"reason": "x" * 2048}),
    "not ASCII": '{"reason": "é"}',
    "not JSON": "reason=x",
    "a NUL": '{"reason": "a\\u0000"}',
    "an escape": '{"reason": "\\u001b[31m"}',
    "an escape of one character": '{"reason": "\\u009b31m"}',
    "a next line": '{"reason": "a\\u0085b"}',
    "a delete": '{"reason": "a\\u007f"}',
    "a NUL in a key": '{"a\\u0000": 1}',
    "beyond 2^53": '{"n": 9007199254740993}',
    "a key twice": '{"n": 1, "n": 1}',
    "deep": '{"a":' * 200 + "1" + "}" * 200,
}


@pytest.mark.parametrize("header", CHANGES.values(), ids=CHANGES)
def test_a_change_that_not_every_database_would_keep_is_refused(header: str) -> None:
    with pytest.raises(ComputeError, match="X-Better-Compute-Change") as caught:
        parse_change(header)
    assert caught.value.code == "INVALID_INPUT"


def test_a_change_may_hold_tabs_and_line_ends() -> None:
    change = {"reason": "a\tb\r\nc", "naïve": "\xa0\u2028"}
    assert parse_change(json.dumps(change)) == change


def test_a_change_may_have_2048_bytes() -> None:
    header = json.dumps({"reason": "x" * (2048 - len('{"reason": ""}'))})
    assert len(header) == 2048
    assert parse_change(header) == json.loads(header)
