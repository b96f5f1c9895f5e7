"""Plain scalars: the core schema of YAML 1.2, and what is refused rather than guessed."""

from typing import Any

import pytest

from tests.fleetctl.files.reading import place, problem, problems, value


@pytest.mark.parametrize("word", ["no", "on", "yes", "off", "No", "ON", "y", "n", "nuLL", "tRUE", "None"])
def test_a_word_of_old_yaml_is_a_string(word: str) -> None:
    assert value(f"toTenantId: {word}\npolicy: {{iommu: {word}}}\n") == {"toTenantId": word, "policy": {"iommu": word}}


@pytest.mark.parametrize("word", ["", "~", "null", "Null", "NULL"])
def test_null_has_five_spellings(word: str) -> None:
    assert value(f"offers: {word}\n") == {"offers": None}


def test_null_an_empty_list_an_empty_map_and_an_empty_string_are_four_values() -> None:
    read = value("a:\n  # - commented out\nb: []\nc: {}\nd: ''\ne: \"\"\n")
    assert read == {"a": None, "b": [], "c": {}, "d": "", "e": ""}


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("true", True),
        ("FALSE", False),
        ("0", 0),
        ("32", 32),
        ("-5", -5),
        ("+5", 5),
        ("2147483648", 2147483648),
        ("100000000000000000000", 10**20),
        ("9" * 64, int("9" * 64)),
        ("1e3", 1000.0),
        ("1.0e+1", 10.0),
        ("32.0", 32.0),
        ("63.9", 63.9),
        (".5", 0.5),
        ("1.", 1.0),
        ("0.5", 0.5),
        ("-0.0", -0.0),
    ],
)
def test_a_number_keeps_its_kind(written: str, meant: Any) -> None:
    read = value(f"gpu: {written}\n")["gpu"]
    assert read == meant
    assert type(read) is type(meant)


@pytest.mark.parametrize(
    "written",
    [
        *("12:30", "1_000", "2026-12-20", "2026-12-20T00:00Z", "1Gi", "360m", "0b1", "0x", "0o8", "+0x1", "1e", "--1"),
        *("1.2.3", ".", "+", "١٢", "1,000", "infinity", "nan", "-.nan", "1 000", "-x"),
    ],
)
def test_what_only_looks_like_a_number_is_a_string(written: str) -> None:
    assert value(f"a: {written}\n") == {"a": written}


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("0010", "leading zero"),
        ("0098", "leading zero"),
        ("-007", "leading zero"),
        ("+01", "leading zero"),
        ("00", "leading zero"),
        ("00.5", "leading zero"),
        ("0x1F", "decimal"),
        ("0o17", "decimal"),
        (".inf", "finite"),
        ("-.INF", "finite"),
        (".NaN", "finite"),
        ("1e999", "too large"),
        ("9" * 65, "65 characters"),
        ("9" * 5000, "5000 characters"),
        ("1." + "0" * 100_000, "100002 characters"),
    ],
)
def test_a_number_with_several_readings_is_refused_with_a_hint(written: str, reason: str) -> None:
    found = problem(f"offers:\n  - quota: {{gpu: {written}}}\n")
    assert found.rule == "yaml.number"
    assert reason in found.message
    assert len(found.message) < 200
    assert "quote it" in found.hint
    assert found.path == "offers[0].quota.gpu"
    assert place(found) == (2, 18)


def test_every_bad_number_of_a_file_is_reported() -> None:
    found = problems("gpu: 0010\nvcpu: 0098\nlist: [01, 2,\n  .inf]\nitems:\n  - 00\n")
    assert [(p.path, place(p)) for p in found] == [
        ("gpu", (1, 6)),
        ("vcpu", (2, 7)),
        ("list[0]", (3, 8)),
        ("list[2]", (4, 3)),
        ("items[0]", (6, 5)),
    ]


@pytest.mark.parametrize("written", ["'no'", '"0010"', "'0x1F'", '"true"', "'~'", '"12"', "'.inf'"])
def test_a_quoted_scalar_is_always_a_string(written: str) -> None:
    assert value(f"a: {written}\nb: [{written}]\n") == {"a": written[1:-1], "b": [written[1:-1]]}
