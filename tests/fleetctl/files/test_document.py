"""Documents: where each key and value stands."""

import pytest

from fleetctl.files import Document, Merged, read_text
from tests.fleetctl.files.reading import documents, value

TEXT = """\
apiVersion: fleet/v1
pools:
  - idempotencyKey: a
    policy: {singleTenant: false, deep: [x, y]}
    offers:
      - quota:
          gpu: 3
  - idempotencyKey: b
    note: |
      text
    "quoted key": 'v'
empty:
"""


@pytest.mark.parametrize(
    ("path", "value_at", "key_at"),
    [
        ((), "1:1", "1:1"),
        (("apiVersion",), "1:13", "1:1"),
        (("pools",), "3:3", "2:1"),
        (("pools", 0), "3:5", "3:5"),
        (("pools", 0, "idempotencyKey"), "3:21", "3:5"),
        (("pools", 0, "policy"), "4:13", "4:5"),
        (("pools", 0, "policy", "deep"), "4:41", "4:35"),
        (("pools", 0, "policy", "deep", 1), "4:45", "4:45"),
        (("pools", 0, "offers"), "6:7", "5:5"),
        (("pools", 0, "offers", 0, "quota", "gpu"), "7:16", "7:11"),
        (("pools", 1), "8:5", "8:5"),
        (("pools", 1, "note"), "9:11", "9:5"),
        (("pools", 1, "quoted key"), "11:19", "11:5"),
        (("empty",), "12:7", "12:1"),
    ],
)
def test_a_path_has_a_place_for_its_value_and_its_key(path: tuple[str | int, ...], value_at: str, key_at: str) -> None:
    (document,) = documents(TEXT)
    assert str(document.source(path)) == f"fleet.yaml:{value_at}"
    assert str(document.source(path, key=True)) == f"fleet.yaml:{key_at}"


@pytest.mark.parametrize(
    ("path", "at"),
    [
        (("tenantId",), "1:1"),
        (("pools", 0, "siteId"), "3:5"),
        (("pools", 7, "siteId"), "3:3"),
        (("pools", -1), "3:3"),
        (("pools", "0"), "3:3"),
        (("apiVersion", "x", "y"), "1:13"),
        (("pools", 0, "policy", "x"), "4:13"),
    ],
)
def test_a_path_that_does_not_exist_has_the_place_of_its_nearest_parent(path: tuple[str | int, ...], at: str) -> None:
    assert str(documents(TEXT)[0].source(path)) == f"fleet.yaml:{at}"
    assert str(documents(TEXT)[0].source(path, key=True)) == f"fleet.yaml:{at}"


def test_maps_and_lists_compare_as_plain_ones() -> None:
    root = value("a: {b: [1]}\n")
    assert root == {"a": {"b": [1]}}
    assert isinstance(root, dict)
    assert isinstance(root["a"]["b"], list)


def test_equal_strings_of_a_file_are_one_object() -> None:
    root = value("a: metal-host\nb: metal-host\n")
    assert root["a"] is root["b"]


def test_a_map_with_another_value_keeps_its_places_and_leaves_the_first_as_it_is() -> None:
    (document,) = documents("a: 1\nb: 2\n")
    changed, longer = document.root.having("a", 3), document.root.having("c", 4, near="b")
    assert (changed, longer, document.root) == ({"a": 3, "b": 2}, {"a": 1, "b": 2, "c": 4}, {"a": 1, "b": 2})
    made = Document(document.file, longer, document.line)
    assert str(made.source(("c",))) == str(made.source(("b",))) == "fleet.yaml:2:4"
    assert str(made.source(("c",), key=True)) == "fleet.yaml:2:1"


def test_a_map_of_two_files_has_the_places_of_both() -> None:
    (one,), (other,) = read_text(b"a: {x: 1}\n", "one.yaml"), read_text(b"\n\na: {y: [2]}\n", "other.yaml")
    both = Merged({"x": 1, "y": other.root["a"]["y"]})
    both.lines, both.start = one.root.lines, one.root["a"].start
    both.at = one.root["a"].at + other.root["a"].at
    both.homes = {"x": one.root.lines, "y": other.root.lines}
    made = Document(one.file, one.root.having("a", both), one.line)
    assert [str(made.source(("a", *path))) for path in (("x",), ("y",), ("y", 0), ("z",))] == [
        "one.yaml:1:8",
        "other.yaml:3:8",
        "other.yaml:3:9",
        "one.yaml:1:4",
    ]
