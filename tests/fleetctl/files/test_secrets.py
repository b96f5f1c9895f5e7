"""What stands below a sensitive name is in no message, whatever is wrong with it."""

from __future__ import annotations

import pytest

from tests.fleetctl.files.reading import problems

SECRET = "HUNTER2"
ZEROS = "00998877"
VALUES = {
    "alias": "*HUNTER2",
    "alias of nothing near": "[&HUNTER1 x, *HUNTER2]",
    "alias and colon": "*HUNTER2:",
    "alias of itself": "&HUNTER2 [*HUNTER2]",
    "alias and more": "*HUNTER2@x",
    "anchor and more": "&HUNTER2@x",
    "two anchors": "&a &HUNTER2 x",
    "no name of an anchor": "&@HUNTER2",
    "tag": "!HUNTER2 x",
    "tag and anchor": "&a !HUNTER2",
    "tag of a list": "!HUNTER2 [a]",
    "tag with a handle": "!a!HUNTER2 x",
    "whole tag": "!<HUNTER2> x",
    "open tag": "!<HUNTER2",
    "zeros": ZEROS,
    "zeros in a map": f"{{a: {ZEROS}}}",
    "zeros in a list": f"[{ZEROS}]",
    "zeros as a name": f"{{{ZEROS}: a}}",
    "a name without its colon": "{a:HUNTER2}",
    "a name twice": "{HUNTER2: 1, HUNTER2: 2}",
    "another base": "0x998877",
    "too large": "998877e9999",
    "not finite": "-.inf",
    "percent": "%HUNTER2",
    "at": "@HUNTER2",
    "backtick": "`HUNTER2",
    "words behind quotes": '"a"HUNTER2',
    "words behind single quotes": "'it's HUNTER2'",
    "quotes over lines": '"a\n    b" HUNTER2',
    "quote that is not closed": '"HUNTER2',
    "escape": '"\\HUNTER2"',
    "colon": "a: HUNTER2",
    "list": "- HUNTER2",
    "question": "? HUNTER2",
    "no comma": '["a" HUNTER2]',
    "no comma in a map": '{a: "b" HUNTER2}',
    "no end of a list": "[HUNTER2",
    "bracket": "]HUNTER2",
    "text of a block": "|HUNTER2",
    "below a block": "|\nHUNTER2",
    "below quotes": '"a"\nHUNTER2',
    "comment": '"a"#HUNTER2',
    "tab": '"a"\t\tHUNTER2',
    "merge": "{<<: HUNTER2}",
    "control": '"HUNTER2\\x07"',
}
NAMES = ("password", "dbSecret", "API_TOKEN", '"private key"')
WITHOUT_SPACE = (
    "a: 1\npassword:HUNTER2\n",
    "a: {password:HUNTER2}\n",
    "a: {password:HUNTER2, b: 1}\n",
    'a: {"password" HUNTER2}\n',
    '"password" @HUNTER2\n',
    '"password" HUNTER2: x: y\n',
    "password: &HUNTER2 x\na: *HUNTER3\n",
    "secret: {HUNTER2: *x}\n",
    "secrets:\n- *HUNTER2\n",
    "secret:\n  a:\n    b: [{c: *HUNTER2}]\n",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", VALUES)
def test_no_message_shows_a_value_below_a_sensitive_name(value: str, name: str) -> None:
    check(f"policy:\n  {name}: {VALUES[value]}\n")


@pytest.mark.parametrize("text", WITHOUT_SPACE)
def test_nor_where_the_name_and_the_value_are_not_told_apart(text: str) -> None:
    check(text)


def check(text: str) -> None:
    """Something is wrong, and no word of what is wrong holds the secret."""
    found = problems(text)
    assert found
    for problem in found:
        for said in (problem.message, problem.hint, problem.path, problem.rule):
            assert not any(secret in said for secret in (SECRET, "HUNTER1", "998877", "inf")), problem


@pytest.mark.parametrize(
    ("text", "message", "path"),
    [
        ("password: x\nport: 0123\n", "0123 has a leading zero", "port"),
        ("password: x\n0123: y\n", "the key 0123 is not a string", ""),
        ("password: x\npassword: y\n", 'the key "password" stands twice', "password"),
        ("{password: x, gpu:32}\n", "gpu: has no space after its colon", "gpu"),
        ("tokens: {a: 0123}\n", "(sensitive) has a leading zero", "tokens"),
        ("idempotencyKey: *HUNTER2\n", "there is no anchor &HUNTER2 above", "idempotencyKey"),
    ],
)
def test_what_is_no_secret_is_told(text: str, message: str, path: str) -> None:
    (found,) = problems(text)
    assert (found.message.startswith(message), found.path) == (True, path), found


@pytest.mark.parametrize(
    "text",
    [
        "a: x: {url}\n",
        "a: 'b' {url}\n",
        "a: [b\n{url}\n",
        "a: 1\n{url}\n",
        "a: !{url} x\n",
        "'{url}': 1\n'{url}': 2\n",
        "'{url}': 0123\n",
        "a: {{'b' {url}: 1}}\n",
    ],
)
@pytest.mark.parametrize("password", ["HUNTER2", "HUNTER2" * 30])
def test_of_a_url_no_message_shows_the_user_part_nor_the_beginning_of_it(text: str, password: str) -> None:
    check(text.format(url=f"https://u:{password}@h/x"))
