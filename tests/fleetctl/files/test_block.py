"""Block context: maps, lists, documents, and where each part stands."""

import pytest

from tests.fleetctl.files.reading import documents, place, problem, problems, value

POOLS = """\
apiVersion: fleet/v1   # a comment

pools:
  # one
  - idempotencyKey: fra1-h100
    policy:
      acceptance:
        - kind: diag.nvml
        - kind: burn.gemm
      maxPending: 6h
    offers:
      - toTenantId: acme
        quota: {gpu: 32}
  -   idempotencyKey: fra1-l40s
      offers: []
empty:
"""


def test_nested_maps_and_lists_are_read() -> None:
    assert value(POOLS) == {
        "apiVersion": "fleet/v1",
        "pools": [
            {
                "idempotencyKey": "fra1-h100",
                "policy": {"acceptance": [{"kind": "diag.nvml"}, {"kind": "burn.gemm"}], "maxPending": "6h"},
                "offers": [{"toTenantId": "acme", "quota": {"gpu": 32}}],
            },
            {"idempotencyKey": "fra1-l40s", "offers": []},
        ],
        "empty": None,
    }


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("pools:\n- a: 1\n  b: 2\n- a: 3\nother: x\n", {"pools": [{"a": 1, "b": 2}, {"a": 3}], "other": "x"}),
        ("a:\n- b:\n  - x\n  - y\n- c\n", {"a": [{"b": ["x", "y"]}, "c"]}),
        ("a:\n  - - x\n    - y\n  -\n    - z\n", {"a": [["x", "y"], ["z"]]}),
        ("a:\n  -\n    b: 1\n  -\n  - c\n", {"a": [{"b": 1}, None, "c"]}),
        ("a:\n  -  - b: 1\n       c: 2\n", {"a": [[{"b": 1, "c": 2}]]}),
        ("  a: 1\n  b: 2\n", {"a": 1, "b": 2}),
        ("a:\n      b: 1\nc: 2\n", {"a": {"b": 1}, "c": 2}),
        ("a:\n  text on\n  the next line\n", {"a": "text on the next line"}),
        ("a: one\n  two\n\n\n  three # end\nb: 1\n", {"a": "one two\n\nthree", "b": 1}),
        ("a: 1\n  2\nb:\n- 1\n  2\n", {"a": "1 2", "b": ["1 2"]}),
        ("a: 01\n  x\nb:\n- .inf\n  x\nc: [01\n x]\n", {"a": "01 x", "b": [".inf x"], "c": ["01 x"]}),
        ("a:\n- x\n - y\n", {"a": ["x - y"]}),
        ("a: b#c d: e\n".replace(": e", ":e"), {"a": "b#c d:e"}),
        ("a: x - y ? z ! & * | > ' \" % @ ` [ ] { }\n", {"a": "x - y ? z ! & * | > ' \" % @ ` [ ] { }"}),
        ("a: -x\nb: ?x\nc: :x\nd: a:b::c\n", {"a": "-x", "b": "?x", "c": ":x", "d": "a:b::c"}),
        ("a: http://host:80/p?q#f\n", {"a": "http://host:80/p?q#f"}),
        ("a: tab\tinside  # and\tin a comment\n", {"a": "tab\tinside"}),
        ('"a b": 1\n\'c\': 2\nd e: 3\n"f" : 4\ng.h/i-j: 5\n', {"a b": 1, "c": 2, "d e": 3, "f": 4, "g.h/i-j": 5}),
        ("- x: 1\n".replace("- ", "? a\n: - "), {"a": [{"x": 1}]}),
        ("? a\n? b\n: c\n? |\n  d\n:\n  e: f\n", {"a": None, "b": "c", "d\n": {"e": "f"}}),
        ("a: 1", {"a": 1}),
        ("a:", {"a": None}),
    ],
)
def test_a_form_of_block_yaml_means(text: str, meant: object) -> None:
    assert value(text) == meant


def test_every_document_of_a_stream_is_read_with_its_line() -> None:
    text = "# head\n---\na: 1\n--- # second\n\nb: 2\n...\n# between\n---\n---\n# empty\n...\n---\nc: 3\n"
    assert [(d.root, d.line) for d in documents(text)] == [({"a": 1}, 3), ({"b": 2}, 6), ({"c": 3}, 14)]


def test_a_marker_is_never_part_of_a_key() -> None:
    assert [p.rule for p in problems("---\n--- b: c\n")] == ["yaml.syntax"]
    assert [d.root for d in documents("---\n--- {b: c}\n---\n... # d: e\n")] == [{"b": "c"}]
    assert value("---a: 1\n...b: 2\n") == {"---a": 1, "...b": 2}


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n  # comments\n", "---\n", "---\n---\n...\n", "--- # c\n", "~\n"])
def test_a_text_without_content_has_no_document(text: str) -> None:
    assert documents(text) == []


@pytest.mark.parametrize("text", ["- a\n- b\n", "[a]\n", "text\n", "5\n", "'a'\n", "|\n  text\n", "--- text\n"])
def test_a_root_that_is_no_map_is_refused(text: str) -> None:
    assert problem(text).rule == "yaml.root"


def test_each_document_that_is_no_map_is_reported() -> None:
    assert [place(p)[0] for p in problems("a: 1\n---\n- a\n---\nb: 1\n---\nc\n")] == [3, 7]


def test_the_directive_of_yaml_1_2_is_accepted() -> None:
    assert value("%YAML 1.2 # c\n\n---\na: no\n") == {"a": "no"}


@pytest.mark.parametrize("line", ["%YAML 1.1", "%YAML 1.3", "%YAML", "%TAG ! tag:x,2000:", "%OTHER x"])
def test_other_directives_are_refused(line: str) -> None:
    found = problem(f"{line}\n---\na: 1\n")
    assert (found.rule, place(found)) == ("yaml.directive", (1, 1))


def test_a_directive_needs_a_document() -> None:
    assert problem("%YAML 1.2\na: 1\n").rule == "yaml.directive"


def test_every_duplicate_key_is_reported_with_path_and_both_lines() -> None:
    text = (
        "pools:\n  - idempotencyKey: a\n    offers:\n      - quota: {gpu: 32, gpu: 3}\n"
        '    offers:\n      - toTenantId: globex\n    "offers": []\nx: 1\nx: 2\n'
    )
    found = problems(text)
    assert {p.rule for p in found} == {"yaml.duplicateKey"}
    assert [(p.path, place(p)) for p in found] == [
        ("pools[0].offers[0].quota.gpu", (4, 26)),
        ("pools[0].offers", (5, 5)),
        ("pools[0].offers", (7, 5)),
        ("x", (9, 1)),
    ]
    assert ["line 4" in found[0].message, "line 3" in found[1].message, "line 8" in found[3].message] == [True] * 3


@pytest.mark.parametrize("key", ["1", "true", "~", "null", "1.5"])
@pytest.mark.parametrize("text", ["a:\n  {}: x\n", "a: {{{}: x}}\n", "a: [{}: x]\n"])
def test_a_key_that_is_not_a_string_is_refused_with_its_quoted_form(key: str, text: str) -> None:
    found = problem(text.format(key))
    assert found.rule == "yaml.key"
    assert key in found.message
    assert f'"{key}"' in found.hint


@pytest.mark.parametrize("key", ["0010", ".inf", "0x1"])
@pytest.mark.parametrize("text", ["a:\n  {}: x\n", "a: {{{}: x}}\n", "a: [{}: x]\n"])
def test_a_key_like_a_refused_number_is_refused_once(key: str, text: str) -> None:
    found = problem(text.format(key))
    assert found.rule in ("yaml.key", "yaml.number")
    assert "quote it" in found.hint


@pytest.mark.parametrize("text", ["? [a]\n: b\n", "? {a: b}\n: c\n", "a: {{{x}}: 1}\n", "a: {[x]: 1}\n", "?\n: 1\n"])
def test_a_map_or_list_or_nothing_as_key_is_refused(text: str) -> None:
    assert "yaml.key" in {p.rule for p in problems(text)}


def test_a_template_in_braces_is_refused_with_the_hint_to_quote_it() -> None:
    found = problem("a: {{ site }}\n")
    assert found.rule == "yaml.key"
    assert "quote" in found.hint


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("a:\tb\n", (1, 3)),
        ("a: \tb\n", (1, 4)),
        ("a:\n\tb: 1\n", (2, 1)),
        ("a:\n  b: 1\n\tc: 1\n", (3, 1)),
        ("a: 1\n\t\nb: 2\n", (2, 1)),
        ("a: b\t\n", (1, 5)),
        ("a: b\t# c\n", (1, 5)),
        ("a:\n  -\tb\n", (2, 4)),
        ("a:\n  - x:\tb\n", (2, 7)),
        ("a: {b:\tc}\n", (1, 7)),
        ("a: [b,\tc]\n", (1, 7)),
        ("a: {\n\tb: c}\n", (2, 1)),
        ("a: 'x'\t\n", (1, 7)),
        ("'a'\t: x\n", (1, 4)),
        ("a b\t: x\n", (1, 4)),
        ("a: x\n\ty\n", (2, 1)),
        ("a: |\n\tx\n", (2, 1)),
        ("a: |\n  x\n\ty\n", (3, 1)),
        ("a: |\t\n  x\n", (1, 5)),
        ("---\ta: 1\n", (1, 4)),
        ("a: [1]\t\n", (1, 7)),
        ("a: &x\tb\n", (1, 6)),
        ("a: 1\n# \t\nb: {c: 'd\t',\t# e\n  f: 1}\n", (3, 13)),
        ("a:\n-\tb: c\n", (2, 2)),
        ("a: 'b' #\t\nc:\n  d: e\n \t# f\n", (4, 2)),
    ],
)
def test_a_tab_that_indents_or_separates_is_refused(text: str, at: tuple[int, int]) -> None:
    found = problems(text)[0]
    assert (found.rule, place(found)) == ("yaml.tab", at)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a: x\ty # \t\n#\t\nb: [x\ty, 'z\t']\n", {"a": "x\ty", "b": ["x\ty", "z\t"]}),
        ("a: x\n  \ty\n", {"a": "x y"}),
        ("a: 'x\n  \ty'\n", {"a": "x y"}),
        ('a: "x\t\n  y"\nb: "x\\\n \ty"\n', {"a": "x y", "b": "xy"}),
        ("a: |\n  x\n  \ty\t\nb: 1\n", {"a": "x\n\ty\t\n", "b": 1}),
        ("\"a\tb\": &x 'c\t'\nd: *x\n", {"a\tb": "c\t", "d": "c\t"}),
    ],
)
def test_a_tab_inside_a_value_or_a_comment_is_text(text: str, meant: object) -> None:
    assert value(text) == meant


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("a: 1\nb: c: d\n", 2, "second key and colon"),
        ("a: 1\n   b: 2\n", 2, "continues the text above"),
        ("a:\n   b: 1\n  c: 2\n", 3, "indentation"),
        ("a:\n  - b: 1\n   c: 2\n", 3, "indentation"),
        ("a: 1\n- b\n", 2, "list item"),
        ("a:\n  - b\n  c: 1\n", 3, "indentation"),
        ("a: - b\n", 1, "a list cannot begin on this line"),
        ("a: ? b\n", 1, "cannot begin with ?"),
        ("a: 1\n-b: 2\n- c\n", 3, "list item"),
        ("a:\n  - b\n  -c\n", 3, "a dash without a space"),
        ("a:\n  - b: 1\n  -c\n", 3, "a dash without a space"),
        ("a:\n  - - b\n   - c\n", 3, "indentation"),
        ("  a: 1\nb: 2\n", 2, "indentation"),
        ("a:1\nb: 2\n", 2, "continues the text above"),
        ("a: 1\ngpu:32\n", 2, "no space after its colon"),
        ("a: {gpu:32}\n", 1, "no space after its colon"),
        ("a:\n  - {x: 1, gpu:32,\n     y: 2}\n", 2, "gpu: has no space after its colon"),
        ("a: {note:some more words}\n", 1, "no space after its colon"),
        ("a: {b: c:}\n", 1, "a colon in brackets"),
        ("a: {: 1}\n", 1, "cannot begin with :"),
        ("a: [:b]\n", 1, "cannot begin with :"),
        ("a: [?b]\n", 1, "a space behind it"),
        ("a: {b: 1, ?c: 2}\n", 1, "a space behind it"),
        ("a: {b: 1\n  c: 2}\n", 2, "a comma or } (of line 1)"),
        ("a: {b: c: d}\n", 1, "a second colon"),
        ("a: [b, , c]\n", 1, "cannot begin with ,"),
        ("a: {\n  b: [1, 2\n}\n", 2, "this [ is not closed before line 3"),
        ("a: [\n", 1, "never closed"),
        ('a:\n  b: {c: "d", e: [\n', 2, "this [ is never closed"),
        ("a: 1\nword\n", 2, "a key and a colon"),
        ("a: @x\n", 1, "cannot begin with @"),
        ("a: `x`\n", 1, "cannot begin with `"),
        ("a: %x\n", 1, "cannot begin with %"),
        ("a: ]\n", 1, "cannot begin with ]"),
        ("a: ,x\n", 1, "cannot begin with ,"),
        ("a: [b\nc: d\n", 1, "not closed before line 2"),
        ("a: [b]\nc: {d: [e}\n", 2, "a comma or ] is missing before }"),
        ("a: {b: [1], c: 2\nd: 3\n", 1, "this { is not closed before line 2"),
        ("a:\n  b: [c\n      ", 2, "never closed"),
        ("a: [b\n", 1, "never closed"),
        ("a: {b: 1\n---\n", 1, "not closed before line 2"),
        ("a: {b: 1]\n", 1, "a comma or }"),
        ("a: [b c: d e]\nf: [,]\n", 2, "cannot begin with ,"),
        ("a: 'b\nc: 1\n", 1, "never closed"),
        ("a: 'b\nc: 'd'\n", 1, "not closed before line 2, which is not indented"),
        ('a:\n  - b: "c\n    d: 1\n  - b: "e"\n', 2, "not closed before line 3, which is not indented"),
        ('a:\n  - "b\n  - "c"\n', 2, 'ends on line 3, before c"'),
        ("a: ['b, c]\nd: ['e']\n", 1, "ends on line 2"),
        ("a:\n  b: 'c\n\n \td'\n", 2, "not closed before line 4"),
        ('a: &x\n  "b\nc: d"\ne: *x\n', 1, "not closed before line 3"),
        ("'a: b\nc: 'd'\n", 1, "ends on line 2"),
        ('a: "b\n---\nc: "d"\n', 1, "never closed in its document"),
        ("a: 'it's'\n", 1, "complete before s'"),
        ('a: "b\tc #d\n', 1, "never closed"),
        ('a: "b\n  c"\n- d\n', 3, "list item"),
        ('a: "b" c\n', 1, "complete before c"),
        ("a: [b] c\n", 1, "complete before c"),
        ("a: {b: c}#d\n", 1, "no space before its #"),
        ("a: {b: c,#d\n e: f}\n", 1, "no space before its #"),
        ("a: 'b'#c\n", 1, "no space before its #"),
        ("a: |x\n  y\n", 1, "text on the line of |"),
        ("a: |#", 1, "no space before its #"),
        ("a: |0\n  y\n", 1, "not YAML"),
        ('a: "\\d"\n', 1, "not an escape"),
        ("a: 1\n---\n  b: 1\n c: 2\n", 4, "indentation"),
        ("--- a: 1\n", 1, "second key and colon"),
        ("a: |\n     \n  x\n", 3, "indentation"),
        ("a: 1\n...\n# c\nb: 2\n", 4, "after ... begins with ---"),
        ("a: 1\n... b\n", 2, "after ... begins with ---"),
        ("# c\n...\n---\na: 1\n", 2, "no document to end"),
        ("text\nb: 2\n", 2, "continues the text above"),
        ("- a\nb: 2\n", 2, "indentation"),
    ],
)
def test_a_fault_of_syntax_is_named_with_its_line(text: str, line: int, says: str) -> None:
    found = problems(text)[0]
    assert found.rule == "yaml.syntax"
    assert says in found.message
    assert place(found)[0] == line


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("a:\n  b: 'c\n\n   d'\n", {"a": {"b": "c\nd"}}),
        ("a:\n- b: 'c\n   d'\n- 'e\n  f'\n", {"a": [{"b": "c d"}, "e f"]}),
        (
            "a: &x\n  'b\n  c'\nd: {e: 'f\n  g'}\nh: |\n i\n\nj: *x\n",
            {"a": "b c", "d": {"e": "f g"}, "h": "i\n", "j": "b c"},
        ),
    ],
)
def test_a_quoted_value_goes_on_deeper_than_its_key(text: str, meant: object) -> None:
    assert value(text) == meant


def test_a_fault_of_syntax_has_no_path_since_nobody_knows_where_it_belongs() -> None:
    assert problem("a:\n  - b: 'c\n").path == ""


def test_what_is_found_before_a_fault_of_syntax_is_reported_too() -> None:
    assert [p.rule for p in problems("a: 01\na: 2\n1: x\nb: !t y\nc: 'open\n")] == [
        "yaml.number",
        "yaml.duplicateKey",
        "yaml.key",
        "yaml.tag",
        "yaml.syntax",
    ]


def test_after_a_hundred_problems_the_rest_is_not_read() -> None:
    assert len(problems("a: 1\n" * 5000)) == 100


@pytest.mark.parametrize("tag", ["!", "!x", "!!str", "!!python/object:os.system", "!<tag:x>"])
@pytest.mark.parametrize(
    "text", ["a: {} b\n", "a: [{} b]\n", "a: {}\n  b: c\n", "{} a: b\n", "a: 1\nb:\n  {} a: 2\n", "a: &x {} b\n"]
)
def test_a_tag_is_refused(tag: str, text: str) -> None:
    found = problem(text.format(tag))
    assert found.rule == "yaml.tag"
    assert tag in found.message


def test_64_levels_are_read_and_65_refused() -> None:
    block = "".join(f"{' ' * level}a:\n" for level in range(64))
    assert value(block) is not None
    assert problem(block + " " * 64 + "a: 1\n").rule == "yaml.nesting"
    assert value(f"a: {'[' * 63}{']' * 63}\n") is not None
    assert problem(f"a: {'[' * 64}{']' * 64}\n").rule == "yaml.nesting"
    assert problem("- " * 1_000_000).rule == "yaml.nesting"


@pytest.mark.parametrize("mark", ["<<<<<<< HEAD", "=======", ">>>>>>> change", "||||||| base"])
def test_a_mark_of_a_merge_conflict_is_told_as_what_it_is(mark: str) -> None:
    found = problem(f"pools:\n  - a: 1\n{mark}\n  - a: 2\n")
    assert found.message == "a mark of a merge conflict that is not resolved"
    assert found.source is not None
    assert found.source.line == 3


@pytest.mark.parametrize("blank", ["\u00a0", "\u2003", "\u200b", "\u202f", "\u3000"])
@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("x-a:{blank}b\n", (1, 5)),
        ("x-a:{blank}b\nb: 1\n", (1, 5)),
        ("b: 1\nx-a:{blank}b\n", (2, 5)),
        ("pools:\n  - idempotencyKey:{blank}a\n    siteId: b\n", (2, 20)),
        ("pools:\n  -{blank}a: 1\n    b: 2\n", (2, 4)),
        ("a:\n  b:{blank}1\n\n  c: 2\n", (2, 5)),
        ("a: {{c: 1, b:{blank}1}}\n", (1, 13)),
        ("a: 1\n{blank}\nb: 2\n", (2, 1)),
    ],
)
def test_what_looks_like_a_space_and_is_none_is_named_where_it_stands(
    text: str, at: tuple[int, int], blank: str
) -> None:
    found = problem(text.format(blank=blank))
    assert found.message == f"U+{ord(blank):04X} stands here, which looks like a space and is none"
    assert place(found) == at


@pytest.mark.parametrize("text", ["a: 'b:\u00a0c'\nd: 2: 3\n", "a: |\n  b:\u00a0c\nd: 2: 3\n", "a: b\u00a0c: d\n"])
def test_one_that_does_no_harm_is_not_blamed(text: str) -> None:
    assert problem(text).message == "a second key and colon on one line"


def test_one_in_a_text_is_a_part_of_it() -> None:
    assert value("a: b\u00a0c\nd: [e:\u00a0f]\n") == {"a": "b\u00a0c", "d": ["e:\u00a0f"]}
