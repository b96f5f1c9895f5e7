"""Flow context: braces and brackets, on one line or several, JSON among them."""

import json

import pytest

from tests.fleetctl.files.reading import documents, place, problem, value


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("{}", {}),
        ("[]", []),
        ("{a: 1, b: x, c: 'q', d: \"r\"}", {"a": 1, "b": "x", "c": "q", "d": "r"}),
        ("{a: 1, b: x,}", {"a": 1, "b": "x"}),
        ("[1, x y, 'z', -1, ~, [], {}, ]", [1, "x y", "z", -1, None, [], {}]),
        (
            "[{kind: diag.nvml}, {kind: burn.gemm, minutes: 5}]",
            [{"kind": "diag.nvml"}, {"kind": "burn.gemm", "minutes": 5}],
        ),
        ("{from: 2026-12-20T00:00Z, at: 12:30}", {"from": "2026-12-20T00:00Z", "at": "12:30"}),
        ("{url: http://h:80/x, n: a::b}", {"url": "http://h:80/x", "n": "a::b"}),
        ("{a, b: , c: }", {"a": None, "b": None, "c": None}),
        ('{"a":1,"b":[true,null],"c":{"d":"e"}}', {"a": 1, "b": [True, None], "c": {"d": "e"}}),
        ("[a: 1, 'b': 2, ? c : 3, d]", [{"a": 1}, {"b": 2}, {"c": 3}, "d"]),
        ("{? a : 1, ? b}", {"a": 1, "b": None}),
        ("{\n  a: 1, # one\n\n  b: [x,\n    y\n  ],\n}", {"a": 1, "b": ["x", "y"]}),
        ("[several words\n   on two lines, b]", ["several words on two lines", "b"]),
        ("{a : 1, b  :  2}", {"a": 1, "b": 2}),
        ("[a#b, x]", ["a#b", "x"]),
        ("[a?b, c-d, (e), 2.5.1]", ["a?b", "c-d", "(e)", "2.5.1"]),
        ("{a: -5, b: c:d, e: f?, g?h: 1}", {"a": -5, "b": "c:d", "e": "f?", "g?h": 1}),
        ("{a:b: 1, c:d:e: [f:g]}", {"a:b": 1, "c:d:e": ["f:g"]}),
        ("{a:b: , c:d: ~, e:f: null}", {"a:b": None, "c:d": None, "e:f": None}),
    ],
)
def test_a_form_of_flow_yaml_means(text: str, meant: object) -> None:
    assert value(f"x: {text}\n") == {"x": meant}
    assert value(f"y:\n  - x: {text} # c\n") == {"y": [{"x": meant}]}


def test_a_json_file_is_one_document() -> None:
    held = {"apiVersion": "fleet/v1", "pools": [{"n": 1.5e3, "t": 'é😀\n\t\\"/', "e": [], "o": {}, "z": None}]}
    assert value(json.dumps(held)) == held
    assert value(json.dumps(held, indent=2, ensure_ascii=False)) == held
    assert value(json.dumps(held, indent="\t", separators=("\t,\t", "\t:\t"))) == held


def test_tabs_of_json_keep_the_places_and_stay_refused_in_yaml() -> None:
    (document,) = documents('{\n\t"a": 1,\n\t\t"b\\t": 2\n}')
    assert str(document.source(["b\t"])).endswith(":3:10")
    assert problem('{\n\t"a": 1,\n\tb: 2\n}\n').rule == "yaml.tab"


@pytest.mark.parametrize(
    "text", ["{long}: 1\nb: 2\n", '"{long}": 1\nb: 2\n', '{{"a": 1, "{long}": {{"c": 2}}, "b": 2}}']
)
def test_a_key_that_is_too_long_is_told_as_what_it_is(text: str) -> None:
    assert value(text.format(long="k" * 1000))
    found = problem(text.format(long="k" * 1100))
    assert found.message.startswith("a key of 110")
    assert found.message.endswith("characters, the most is 1024")
    assert found.source is not None
    assert found.source.column == text.replace("{{", "{").index("{long}") + 1 - ('"' in text)


def test_a_colon_below_its_key_is_told_as_what_it_is() -> None:
    found = problem('{"a"\n: 1, "b": 2}')
    assert (found.message, place(found)) == ("the colon of a key stands below it", (2, 1))


def test_json_writes_a_character_as_two_escapes_and_yaml_does_not() -> None:
    held = {"😀": "a😀😀b", "c": ["\\ud83d\\ude00", "\\😀", "it's 😀"]}
    text = json.dumps(held)
    assert "\\ud83d\\ude00" in text
    assert value(text) == held
    assert value(f"\n{json.dumps(held, indent=1)}\n") == held
    assert value("{a: '\\ud83d\\ude00'}\n") == {"a": "\\ud83d\\ude00"}


@pytest.mark.parametrize("text", ['{"a": "\\ud83d"}', '{"a": "\\\\ud83d\\ude00"}', '{"a": \'x\', b: "\\ud83d\\ude00"}'])
def test_half_a_pair_and_a_pair_outside_json_are_refused(text: str) -> None:
    assert problem(text).rule == "yaml.control"


def test_the_closing_bracket_may_stand_in_the_column_of_its_key() -> None:
    assert value("a: {\n  b: [\n    c\n  ]\n}\nd: 1\n") == {"a": {"b": ["c"]}, "d": 1}


def test_places_inside_braces_are_known() -> None:
    (document,) = documents("x:\n  - {a: 1,\n     bc: [d, {e: f}]}\n")
    assert str(document.source(["x", 0, "a"])) == "fleet.yaml:2:9"
    assert str(document.source(["x", 0, "bc"], key=True)) == "fleet.yaml:3:6"
    assert str(document.source(["x", 0, "bc", 1, "e"])) == "fleet.yaml:3:18"
