"""Bytes: encodings, line ends, control characters, size."""

import pytest

from fleetctl.files.text import MAX_BYTES
from tests.fleetctl.files.reading import documents, place, problem, value

FLEET = "apiVersion: fleet/v1\ntenantId: root\npools:\n  - idempotencyKey: a\n    note: |\n      keep\n      this\n"


def test_a_byte_order_mark_and_windows_line_ends_change_nothing() -> None:
    windows = b"\xef\xbb\xbf" + FLEET.replace("\n", "\r\n").encode()
    assert value(windows) == value(FLEET)
    assert value(windows)["pools"][0]["note"] == "keep\nthis\n"
    for path in ((), ("tenantId",), ("pools",), ("pools", 0, "note")):
        assert documents(windows)[0].source(path) == documents(FLEET)[0].source(path)


def test_old_mac_line_ends_are_line_ends() -> None:
    assert value("a: 1\rb:\r  - x\r") == {"a": 1, "b": ["x"]}


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_quoted_lines_fold_alike_with_all_line_ends(ends: str) -> None:
    text = "a: 'x\n  y\n\n  z'\nb: \"x\\\n  y\"\nc: >-\n  x\n  y\n".replace("\n", ends)
    assert value(text) == {"a": "x y\nz", "b": "xy", "c": "x y"}


def test_a_second_byte_order_mark_is_refused_where_it_stands() -> None:
    found = problem(b"\xef\xbb\xbfa: 1\nb: \xef\xbb\xbf2\n")
    assert (found.rule, place(found)) == ("yaml.encoding", (2, 4))
    assert "byte order mark" in found.message


@pytest.mark.parametrize("data", ["a: 1\n".encode(name) for name in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")])
def test_other_encodings_of_unicode_are_refused_by_name(data: bytes) -> None:
    found = problem(data)
    assert found.rule == "yaml.encoding"
    assert "UTF-16" in found.message
    assert "UTF-8" in found.hint


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80"])
def test_a_byte_that_is_not_utf_8_is_named_with_line_and_column(bad: bytes) -> None:
    found = problem("a: é\r\nb: ü".encode() + bad + b"\n")
    assert (found.rule, place(found)) == ("yaml.encoding", (2, 5))
    assert f"0x{bad[0]:02x}" in found.message


@pytest.mark.parametrize("code", [0x01, 0x08, 0x0B, 0x0C, 0x1B, 0x1F, 0x7F, 0x80, 0x85, 0x9F, 0xFFFE])
@pytest.mark.parametrize("text", ["a: 1\nb: x{}\n", "a: 1\n#  x{}\n", "a: 1\n'b{}x': 1\n"])
def test_a_control_character_is_refused_anywhere(code: int, text: str) -> None:
    found = problem(text.format(chr(code)))
    assert found.rule == "yaml.control"
    assert f"U+{code:04X}" in found.message
    assert place(found)[0] == 2


def test_the_character_nul_is_refused() -> None:
    assert problem(b"apiVersion: \0").rule == "yaml.control"


def test_unicode_beyond_the_controls_is_kept_as_it_is() -> None:
    text = "a: composed é\nb: decomposed e\u0301\nc: \u00a0😀\n"
    read = value(text)
    assert read == {"a": "composed é", "b": "decomposed e\u0301", "c": "\u00a0😀"}


@pytest.mark.parametrize("code", [0x2028, 0x2029])
@pytest.mark.parametrize("text", ["a: 1\nb: x{}y\n", "a: 1\n# {}b: 2\n", '{{"a":\n"{}"}}'])
def test_a_line_separator_is_refused_since_readers_differ_on_it_and_its_escape_is_read(code: int, text: str) -> None:
    found = problem(text.format(chr(code)))
    assert (found.rule, place(found)[0]) == ("yaml.control", 2)
    assert f"\\u{code:04x}" in found.hint
    assert value(f'a: "\\u{code:04x}"\n') == {"a": chr(code)}


def test_two_spellings_of_one_visible_name_stay_two() -> None:
    assert list(value("montréal: 1\nmontre\u0301al: 2\n")) == ["montréal", "montre\u0301al"]


def test_a_file_over_16_mib_is_refused_with_its_size() -> None:
    found = problem(b"#" * (MAX_BYTES + 1))
    assert found.rule == "files.size"
    assert str(MAX_BYTES + 1) in found.message
    assert documents(b"#" * MAX_BYTES) == []
