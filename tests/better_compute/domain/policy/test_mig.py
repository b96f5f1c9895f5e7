"""MIG profiles: what a card of each family and memory can be cut into."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from better_compute.domain.policy import check_policy
from better_compute.domain.policy.mig import LAYOUTS, MOST_INSTANCES, Layout, nearest_profile
from better_compute.domain.problems import Problem

DATA = Path(__file__).parent.parent / "data" / "mig_profiles.yaml"
CARDS: dict[str, dict[int, dict[str, list[int]]]] = YAML(typ="safe", pure=True).load(DATA)
PROFILES: list[tuple[str, int, str, int, int, int]] = [
    (family, memory, profile, *numbers)  # type: ignore[misc]
    for family, cards in CARDS.items()
    for memory, profiles in cards.items()
    for profile, numbers in profiles.items()
]


def judged(family: str, devices: dict[str, int]) -> list[Problem]:
    policy = {"gpu": {"mig": {"devices": devices}}}
    return check_policy(policy, sharing="mig", class_="metal-host", attestors=None, model=family)


def layout(family: str, memory: int) -> Layout:
    """That of the card: the one whose largest profile has all of its memory."""
    (found,) = [each for each in LAYOUTS[family] if f"{max(name[0] for name in each)}g.{memory}gb" in each]
    return found


def test_every_family_and_memory_is_known_and_no_other() -> None:
    assert CARDS.keys() == LAYOUTS.keys()
    for family, cards in CARDS.items():
        assert len(cards) == len(LAYOUTS[family]), family
        for memory, profiles in cards.items():
            assert layout(family, memory).keys() - {"3g.39gb"} == profiles.keys(), (family, memory)


@pytest.mark.parametrize(("family", "memory", "profile", "most", "compute", "slices"), PROFILES)
def test_a_card_holds_so_many_of_a_profile_and_not_one_more(
    family: str, memory: int, profile: str, most: int, compute: int, slices: int
) -> None:
    known = layout(family, memory)[profile]
    assert (known.most, known.compute, known.memory) == (most, compute, slices)
    assert judged(family, {profile: most}) == []
    # Of a family that is sold with several memories, another card may hold more.
    more = max(cards[profile][0] for cards in CARDS[family].values() if profile in cards)
    (problem,) = judged(family, {profile: more + 1})
    assert (problem.severity, problem.hint) == ("error", "use 7" if more == 7 else f"for example {{{profile}: {most}}}")


@pytest.mark.parametrize("profile", sorted({profile for _, _, profile, *_ in PROFILES}))
def test_a_profile_that_a_family_does_not_have_is_refused_with_the_nearest(profile: str) -> None:
    for other in LAYOUTS:
        if any(profile in each for each in LAYOUTS[other]):
            continue
        (problem,) = judged(other, {profile: 1})
        assert problem.path == f'policy.gpu.mig.devices["{profile}"]'
        near = problem.hint.removeprefix('did you mean "').removesuffix('"?')
        assert near[0] == profile[0] or not any(name[0] == profile[0] for each in LAYOUTS[other] for name in each)
        assert judged(other, {near: 1}) == []


@pytest.mark.parametrize(("name", "near"), [("3g.41gb", "3g.40gb"), ("7g.800gb", "7g.80gb"), ("5g.40gb", "4g.40gb")])
def test_the_nearest_profile_has_as_many_slices(name: str, near: str) -> None:
    assert nearest_profile(name, [name for each in LAYOUTS["H100"] for name in each]) == near


@pytest.mark.parametrize(("family", "most"), sorted(MOST_INSTANCES.items()))
def test_of_a_family_whose_profiles_are_not_documented_only_the_number_is_judged(family: str, most: int) -> None:
    assert most == 2
    (open_question,) = judged(family, {"1g.24gb": most})
    assert open_question.severity == "unchecked"
    (problem,) = judged(family, {"1g.24gb": 1, "2g.48gb": most})
    assert (problem.severity, problem.rule) == ("error", "policy.gpu.mig.devices")


@pytest.mark.parametrize("family", ["V100", "T4", "L40S", "RTX4090", "A10"])
def test_a_family_that_is_not_cut_at_all_is_told_so(family: str) -> None:
    (problem,) = judged(family, {"1g.10gb": 1})
    assert problem.message == f"{family} cannot be cut into MIG devices"


@pytest.mark.parametrize("family", ["A100X", "B100", "RTXPRO2000", "NOVA1"])
def test_a_family_of_which_nothing_is_known_is_not_judged(family: str) -> None:
    assert [problem.severity for problem in judged(family, {"1g.10gb": 1})] == ["unchecked"]
