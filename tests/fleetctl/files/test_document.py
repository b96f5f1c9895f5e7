"""Documents: where each key and value stands."""

import pytest

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
