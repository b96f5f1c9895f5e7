"""The family of a GPU is derived from its name, or it is not known: it is never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from better_compute.domain import families
from better_compute.domain.families import check_model, family_of, nearest_family

DATA = Path(__file__).parent / "data"


def real_names(file: str) -> Iterator[tuple[str, str | None]]:
    """Pairs of name and family: a line without indent names the family of the lines below it."""
    family = None
    for line in (DATA / file).read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        if line.startswith("  "):
            yield line.strip(), family
        else:
            family = None if line == "-" else line


PHYSICAL = list(real_names("nvml_names.txt"))
VIRTUAL = list(real_names("vgpu_names.txt"))


def test_the_tables_of_real_names_are_whole() -> None:
    assert (len(PHYSICAL), len(VIRTUAL)) == (174, 339)


@pytest.mark.parametrize(("name", "family"), PHYSICAL + VIRTUAL)
def test_a_real_name_gives_its_family(name: str, family: str | None) -> None:
    assert family_of(name) == family


@pytest.mark.parametrize("family", sorted({family for _, family in PHYSICAL + VIRTUAL if family}))
def test_every_family_of_a_real_name_is_in_the_table(family: str) -> None:
    assert check_model(family) == []


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("NVIDIA A100-PG509-200", "A100"),
        ("NVIDIA H200 NVL", "H200"),
        ("NVIDIA RTX 4000 SFF Ada Generation", "RTX4000ADA"),
        ("NVIDIA RTX 500 Ada Generation Laptop GPU", "RTX500ADALAPTOP"),
        ("NVIDIA GeForce RTX 3070 Ti Laptop GPU", "RTX3070TILAPTOP"),
        ("NVIDIA GeForce RTX 3080 12GB", "RTX3080"),
        ("Quadro RTX 6000", "QUADRORTX6000"),
        ("NVIDIA Quadro P4000", "P4000"),
        ("NVIDIA TITAN RTX", "TITANRTX"),
        ("NVIDIA CMP 170HX", "CMP170HX"),
        ("GRID M60-2Q", "M60"),
        ("GRID V100S-8Q", "V100S"),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "H100"),
        ("NVIDIA-GeForce-GTX-970", "GTX970"),
        ("NVIDIA L40Z", "L40Z"),
    ],
)
def test_the_rule_carries_beyond_the_tables(name: str, family: str) -> None:
    assert family_of(name) == family


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "NVIDIA",
        "h100",
        "nvidia h100 80gb hbm3",
        "NVIDIA H100 ",
        " NVIDIA H100",
        "NVIDIA H100\n",
        "NVIDIA H100\x00",
        "NVIDIA\tH100",
        "NVIDIA H100 \x1b[31mPCIe",
        "NVIDIA \uff28100",
        "NVIDIA H\u0661\u0660\u0660",
        "NVIDIA GeForce RTX \u0664\u0660\u0669\u0660",
        "NVIDIA H100 Ultra",
        "NVIDIA H100, NVIDIA L40S",
        "NVIDIA Graphics Device",
        "NVIDIA X100",
        "NVIDIA A6000",
        "NVIDIA RTX 6000",
        "NVIDIA RTX 4090",
        "GRID A100X",
        "Quadro RTX 6000/8000",
        "AMD Instinct MI300X",
        "Hopper",
        "H" * 10_000,
        "NVIDIA H100" + " 80GB" * 2_000,
        "NVIDIA " * 2_000 + "H100",
    ],
)
def test_what_is_not_understood_has_no_family(name: str) -> None:
    assert family_of(name) is None


@settings(deadline=None)
@given(st.text(max_size=200))
def test_whatever_the_name_a_family_is_well_formed_and_itself_accepted(name: str) -> None:
    for family in (family_of(name), nearest_family(name)):
        assert family is None or not [p for p in check_model(family) if p.severity == "error"]


@settings(deadline=None)
@given(st.sampled_from([pair for pair in PHYSICAL if pair[1]]), st.sampled_from(["Ultra", "Display", "x", "9", "é"]))
def test_one_word_that_is_not_understood_hides_the_family(pair: tuple[str, str | None], word: str) -> None:
    assert family_of(f"{pair[0]} {word}") is None


@pytest.mark.parametrize(
    ("word", "near"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("H100-SXM5-80GB", "H100"),
        ("h100", "H100"),
        ("H100 ", "H100"),
        ("nvidia geforce rtx 4090", "RTX4090"),
        ("nvidia h100 80gb hbm3", "H100"),
        ("H201", "H200"),
        ("H1OO", "H100"),
        ("HlOO", "H100"),
        ("L4O5", "L40S"),
        ("RTX5OOOADA", "RTX5000ADA"),
        ("rtx 4090", "RTX4090"),
        ("L40s", "L40S"),
        ("T4g", "T4G"),
        ("A6000", "RTXA6000"),
        ("H101", "H100"),
        ("RTX8090", "RTX3090"),
        ("Hopper", None),
        ("ADA", None),
        ("Blackwell", None),
        ("", None),
        ("MI300X-OAM-192", None),
        ("9" * 10_000, None),
    ],
)
def test_the_nearest_family_is_the_one_a_person_meant(word: str, near: str | None) -> None:
    assert nearest_family(word) == near


@pytest.mark.parametrize(("model", "hint"), [("NVIDIA H100 80GB HBM3", "use H100"), ("h100", "use H100"), ("", "")])
def test_a_product_name_is_refused_with_the_family_to_write(model: str, hint: str) -> None:
    (problem,) = check_model(model)
    assert (problem.code, problem.rule, problem.path) == ("INVALID_INPUT", "pool.model", "gpuModel")
    assert (problem.severity, problem.hint) == ("error", hint)


def test_the_name_of_an_architecture_is_refused_without_a_suggestion() -> None:
    (problem,) = check_model("Hopper")
    assert (problem.severity, problem.hint) == ("error", "")


@pytest.mark.parametrize(("model", "hint"), [("H10O", 'did you mean "H100"?'), ("MI300X", ""), ("X" * 32, "")])
def test_a_well_formed_name_outside_the_table_is_a_warning(model: str, hint: str) -> None:
    (problem,) = check_model(model)
    assert (problem.severity, problem.rule, problem.hint) == ("warning", "pool.model", hint)


def test_a_refusal_does_not_repeat_a_hostile_name() -> None:
    (problem,) = check_model("\x1b[2J" * 5_000)
    assert "\x1b" not in problem.message + problem.hint
    assert len(problem.message) < 200


@pytest.mark.parametrize(
    ("family", "before_turing", "open_module"),
    [
        ("K80", True, False),
        ("M60", True, False),
        ("P100", True, False),
        ("V100S", True, False),
        ("GTX1080TI", True, False),
        ("T4", False, False),
        ("GTX1660", False, False),
        ("A100", False, False),
        ("H100", False, False),
        ("L40S", False, False),
        ("GH200", False, True),
        ("GB200", False, True),
        ("B300", False, True),
        ("RTXPRO6000", False, True),
        ("RTX5090DV2", False, True),
        ("RTX5000ADA", False, False),
    ],
)
def test_driver_generations_are_told_apart(family: str, before_turing: bool, open_module: bool) -> None:
    assert families.is_before_turing(family) is before_turing
    assert families.needs_open_module(family) is open_module
