"""What is said about a policy before it is written: the place, what is allowed, the nearest good value."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from better_compute.domain.policy import check_policy
from better_compute.domain.problems import Problem
from tests.better_compute.domain.policy.strategies import json_values, law, policies
from tests.timing import times_as_long

ATTESTORS = frozenset({"tpm"})


def check(policy: object, **pool: Any) -> list[Problem]:
    known: dict[str, Any] = {"sharing": None, "class_": None, "attestors": ATTESTORS, "model": None}
    return check_policy(policy, **(known | pool))


def only(policy: object, **pool: Any) -> Problem:
    (problem,) = check(policy, **pool)
    assert problem.code == "INVALID_INPUT"
    return problem


def nested(depth: int) -> dict[str, Any]:
    """A policy of that many levels."""
    value: Any = {}
    for _ in range(depth - 1):
        value = {"a": value}
    return dict(value)


# --- every policy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [None, [], "", 0, "{}", [["maxPending", "6h"]]])
def test_a_policy_is_a_json_object(policy: object) -> None:
    problem = only(policy)
    assert (problem.rule, problem.path, problem.severity) == ("policy.type", "policy", "error")


def test_an_empty_policy_is_fine() -> None:
    assert check({}) == []


def test_unknown_fields_are_kept_as_given() -> None:
    assert check({"note": {"any": [None, True, -1.5, "text\twith\r\nlines", {}]}, "": 0, "owner": "ops"}) == []


def test_a_policy_may_be_32_deep_and_not_deeper() -> None:
    assert check(nested(32)) == []
    problem = only(nested(33))
    assert (problem.rule, problem.path) == ("policy.depth", "policy" + ".a" * 32)


def test_a_policy_without_end_is_refused() -> None:
    policy: dict[str, Any] = {}
    policy["again"] = [policy]
    assert only(policy).rule == "policy.depth"


@pytest.mark.parametrize(("letter", "bytes_each"), [("x", 1), ("é", 2), ("\U0001f600", 4)])
def test_a_policy_may_have_64_kib_and_not_more(letter: str, bytes_each: int) -> None:
    room = 65_536 - len('{"n":""}')
    text = letter * (room // bytes_each)
    fill = "x" * (room % bytes_each)
    assert check({"n": text + fill}) == []
    problem = only({"n": text + fill + "x"})
    assert problem.rule == "policy.size"
    assert "65537" in problem.message
    assert only({"n": text + fill, "maxPending": 17}).rule == "policy.size"


def test_a_policy_of_very_many_values_is_refused_without_reading_them_all() -> None:
    row = list(range(10_000))

    def prepared(rows: int) -> Callable[[], object]:
        policy = {"rows": [[row] * rows] * rows}
        assert only(policy).rule == "policy.size"
        return partial(check, policy)

    assert times_as_long(prepared, 10, 1_000) < 4


@pytest.mark.parametrize(
    "number", [2**53, -(2**53), 10**400, 2.0**53, 1e300, float("nan"), float("inf"), -float("inf")]
)
def test_a_number_that_readers_disagree_about_is_refused(number: float) -> None:
    problem = only({"list": [{"n": number}]})
    assert (problem.rule, problem.path) == ("policy.number", "policy.list[0].n")


@pytest.mark.parametrize("number", [2**53 - 1, -(2**53) + 1, 0, -0.0, 5e-324, 0.1])
def test_other_numbers_are_fine(number: float) -> None:
    assert check({"n": number}) == []


@pytest.mark.parametrize("bad", ["\x00", "\x07", "\x0b", "\x0c", "\x1b", "\x7f", "\x85", "\x9f", "\ud800", chr(0xDFFF)])
def test_control_characters_and_half_pairs_are_refused_in_texts_and_names(bad: str) -> None:
    text, name = check({"note": f"a{bad}", f"b{bad}": 1})
    assert (text.rule, text.path) == ("policy.string", "policy.note")
    assert name.rule == "policy.string"
    assert bad not in name.path + name.message


@pytest.mark.parametrize("good", ["a\tb\nc\r\n", "\\u0000", "\\b\\f", "\u2028", "ż", "\U0001f600", "\\"])
def test_other_text_is_fine(good: str) -> None:
    assert check({"note": good, good: 1}) == []


def test_a_name_is_a_text() -> None:
    assert only({"labels": {1: "a"}}).rule == "policy.type"
    assert only({None: "a"}).rule == "policy.type"


@pytest.mark.parametrize("value", [b"x", {1, 2}, object(), 1j])
def test_what_json_does_not_have_is_refused(value: object) -> None:
    assert (only({"a": [value]}).rule, only({"a": [value]}).path) == ("policy.type", "policy.a[0]")


def test_other_fields_are_still_judged_beside_a_bad_text() -> None:
    assert [p.rule for p in check({"note": "\x00", "maxPending": 17})] == ["policy.string", "policy.maxPending"]


# --- known fields -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "path", "hint"),
    [
        ({"maxPending": 17}, "maxPending", "add the unit: 17s, 17m, 17h or 17d"),
        ({"maxPending": 0}, "maxPending", "leave it out for no limit"),
        ({"maxPending": "0h"}, "maxPending", "leave it out for no limit"),
        ({"maxPending": "PT6H"}, "maxPending", "use 6h"),
        ({"maxPending": "P1DT12H"}, "maxPending", "use 36h"),
        ({"maxPending": "6H"}, "maxPending", "use 6h"),
        ({"maxPending": "6 hours"}, "maxPending", "use 6h"),
        ({"maxPending": "30 minutes"}, "maxPending", "use 30m"),
        ({"maxPending": "1h30m"}, "maxPending", "use 90m"),
        ({"maxPending": "1 month"}, "maxPending", "for example 6h"),
        ({"maxPending": "2400h"}, "maxPending", "use 90d"),
        ({"maxPending": "9" * 5_000 + "s"}, "maxPending", "for example 6h"),
        ({"maxPending": None}, "maxPending", "leave it out, or give it a value"),
        ({"singleTenant": "yes"}, "singleTenant", "use true"),
        ({"singleTenant": 0}, "singleTenant", "use false"),
        ({"singleTenant": "maybe"}, "singleTenant", "use true or false"),
        ({"gpu": {"slots": 65}}, "gpu.slots", "use 64"),
        ({"gpu": {"slots": "4"}}, "gpu.slots", "use 4"),
        ({"gpu": {"slots": 4.0}}, "gpu.slots", "use 4"),
        ({"gpu": {"slots": []}}, "gpu.slots", "for example 2"),
        ({"hugepages": {"1Gi": -3}}, "hugepages.1Gi", "use 0"),
        ({"hugepages": {"1Gi": "x"}}, "hugepages.1Gi", "for example 0"),
        ({"overcommit": 0}, "overcommit", "leave it out for 1"),
        ({"iommu": "On"}, "iommu", 'did you mean "on"?'),
        ({"iommu": True}, "iommu", "use on"),
        ({"cpu": {"smt": False}}, "cpu.smt", "use off"),
        ({"kubernetes": {"version": "1.31.2"}}, "kubernetes.version", "use v1.31.2"),
        ({"kubernetes": {"version": "v1.31"}}, "kubernetes.version", "use v1.31.0"),
        ({"kubernetes": {"version": 1.31}}, "kubernetes.version", "for example v1.31.2"),
        ({"acceptance": [{"kind": "a"}, {"kind": "Diag.NVML "}]}, "acceptance[1].kind", "use diag.nvml"),
        ({"acceptance": [{}]}, "acceptance[0].kind", "add kind: diag.nvml"),
        ({"joinAttestors": "tpm"}, "joinAttestors", "write it as a list, even of one"),
        ({"joinAttestors": []}, "joinAttestors", "leave it out"),
        ({"joinAttestors": ["tmp"]}, "joinAttestors[0]", 'did you mean "tpm"?'),
        (
            {"kernelModules": [{"name": "a"}, {"name": "A", "state": "lod"}]},
            "kernelModules[1].state",
            'did you mean "load"?',
        ),
        ({"gpu": {"mig": {"devices": {"1g.10g": 7}}}}, 'gpu.mig.devices["1g.10g"]', 'did you mean "1g.10gb"?'),
        ({"gpu": {"mig": {"devices": {"3G.40GiB": 1}}}}, 'gpu.mig.devices["3G.40GiB"]', 'did you mean "3g.40gb"?'),
        ({"gpu": {"mig": {"devices": {"half": 1}}}}, "gpu.mig.devices.half", ""),
        ({"gpu": {"mig": {"devices": {"7g.800gb": 1}}}}, 'gpu.mig.devices["7g.800gb"]', 'did you mean "7g.80gb"?'),
    ],
)
def test_a_bad_value_is_refused_with_the_nearest_good_one(policy: dict[str, Any], path: str, hint: str) -> None:
    problem = only(policy)
    assert (problem.severity, problem.path, problem.hint) == ("error", f"policy.{path}", hint)


def test_a_refusal_says_what_is_allowed_and_what_was_there() -> None:
    assert only({"cpu": {"governor": "fast"}}).message == (
        "governor must be one of performance, powersave, schedutil, ondemand, conservative, userspace, "
        'not "fast"'
    )  # fmt: skip
    assert only({"gpu": {"slots": 1}}).message == "slots must be an integer from 2 to 64, not 1"


def test_every_wrong_field_is_named_at_once() -> None:
    policy = {"maxPending": 17, "cpu": {"smt": 1, "isolated": "x"}, "acceptance": [{"kind": ""}, {}], "iommu": "x"}
    assert {problem.path for problem in check(policy)} == {
        "policy.maxPending",
        "policy.cpu.smt",
        "policy.cpu.isolated",
        "policy.acceptance[0].kind",
        "policy.acceptance[1].kind",
        "policy.iommu",
    }


BIDI = "\u202e"


@pytest.mark.parametrize(
    "policy",
    [
        {"maxPending": "x" * 60_000},
        {"maxPending": BIDI},
        {"maxPending": [BIDI] * 1_000},
        {"maxPending": "https://u:hunter2@host/x"},
        {"maxPending": {"password": "hunter2"}},
        {"kubernetes": {"labels": {"apiToken": "hunter2 !"}}},
        {"kubernetes": {"labels": {"//u:hunter2@host": "x" * 64}}},
        {"kubernetes": {"labels": {BIDI: 1}}},
        {"kernelModules": [{"name": "a", "parameters": [" a=https://u:hunter2@host"]}]},
    ],
)
def test_hostile_values_are_shown_short_escaped_and_without_secrets(policy: dict[str, Any]) -> None:
    for problem in (problems := check(policy)):
        shown = problem.message + problem.hint + problem.path
        assert shown.isprintable()
        assert BIDI not in shown
        assert "hunter2" not in shown
        assert len(shown) < 400
    assert problems


@pytest.mark.parametrize(
    ("policy", "path", "acts"),
    [
        ({"overcommit": 200}, "overcommit", "100"),
        ({"overcommit": 0.01}, "overcommit", "0.1"),
        ({"overcommit": {"vcpu": 100.5}}, "overcommit.vcpu", "100"),
    ],
)
def test_a_ratio_outside_its_range_is_a_warning_with_what_it_acts_as(
    policy: dict[str, Any], path: str, acts: str
) -> None:
    problem = only(policy)
    assert (problem.severity, problem.rule, problem.path) == ("warning", f"policy.{path}", f"policy.{path}")
    assert problem.hint == f"use {acts}"


@pytest.mark.parametrize("ratio", [0.1, 1, 100, 100.0])
def test_a_ratio_at_the_ends_of_its_range_is_fine(ratio: float) -> None:
    assert check({"overcommit": ratio}) == []


@pytest.mark.parametrize(
    ("policy", "path", "near"),
    [
        ({"singelTenant": True}, "singelTenant", "singleTenant"),
        ({"singletenant": True}, "singletenant", "singleTenant"),
        ({"maxpending": "6h"}, "maxpending", "maxPending"),
        ({"MAX_PENDING": "6h"}, "MAX_PENDING", "maxPending"),
        ({"Cpu": {}}, "Cpu", "cpu"),
        ({"cpus": {}}, "cpus", "cpu"),
        ({"hugePages": {}}, "hugePages", "hugepages"),
        ({"hugepages": {"1gi": 4}}, "hugepages.1gi", "1Gi"),
        ({"gpu": {"slot": 4}}, "gpu.slot", "slots"),
        ({"overcommit": {"cpu": 4}}, "overcommit.cpu", "vcpu"),
        ({"acceptance": [{"kind": "a", "kindd": 1}]}, "acceptance[0].kindd", "kind"),
    ],
)
def test_a_near_miss_of_a_known_name_is_a_warning(policy: dict[str, Any], path: str, near: str) -> None:
    problem = only(policy)
    assert (problem.severity, problem.rule, problem.path) == ("warning", "policy.unknown", f"policy.{path}")
    assert problem.hint == f'did you mean "{near}"?'


@pytest.mark.parametrize("name", ["app", "note", "top", "sharing", "x" * 60_000, "singleTenantOnly", "mem"])
def test_a_name_that_is_near_nothing_is_no_warning(name: str) -> None:
    assert check({name: 1}) == []


# --- fields together, and the pool around them ------------------------------------------------------------------


def module(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, **more}


@pytest.mark.parametrize(
    ("policy", "path"),
    [
        ({"acceptance": [{"kind": "a"}, {"kind": "b"}, {"kind": "a"}]}, "acceptance[2].kind"),
        ({"joinAttestors": ["tpm", "join-token", "tpm"]}, "joinAttestors[2]"),
        ({"joinAttestors": ["nobody"]}, "joinAttestors[0]"),
        ({"hugepages": {"1Gi": 4, "numa": [{"node": 0, "size": "1Gi", "count": 4}]}}, "hugepages.numa"),
        ({"hugepages": {"numa": [{"node": 0, "size": "1Gi", "count": c} for c in (1, 2)]}}, "hugepages.numa[1]"),
        ({"kernelModules": [module("nvme-tcp"), module("nvme_tcp", state="blacklist")]}, "kernelModules[1].name"),
        ({"kernelModules": [module("nouveau")], "gpu": {"driver": {}}}, "kernelModules[0].name"),
        ({"kernelModules": [module("a", parameters=["x=1", "y", "x=2"])]}, "kernelModules[0].parameters[2]"),
        ({"cpu": {"isolated": "8-4"}}, "cpu.isolated"),
        ({"cpu": {"isolated": "4-7,12", "reserved": "0-3,10-12"}}, "cpu.reserved"),
        (
            {"kubernetes": {"taints": [{"key": "a", "effect": "NoExecute", "value": v} for v in "xy"]}},
            "kubernetes.taints[1]",
        ),
    ],
)
def test_fields_that_contradict_each_other_are_refused(policy: dict[str, Any], path: str) -> None:
    problem = only(policy)
    assert (problem.severity, problem.path) == ("error", f"policy.{path}")


@pytest.mark.parametrize(
    "policy",
    [
        {"kernelModules": [module("nouveau", state="blacklist")], "gpu": {"driver": {"version": "580.65.06"}}},
        {"kernelModules": [module("nouveau")]},
        {"hugepages": {"2Mi": 4, "1Gi": 0, "numa": [{"node": n, "size": "1Gi", "count": 4} for n in (0, 1)]}},
        {"cpu": {"isolated": "4-7,12", "reserved": "0-3,8-11"}, "hostReserve": {"vcpu": 8}},
        {"kubernetes": {"taints": [{"key": "a", "effect": e} for e in ("NoExecute", "NoSchedule")]}},
    ],
)
def test_fields_that_only_look_so_are_fine(policy: dict[str, Any]) -> None:
    assert check(policy) == []


def test_an_enormous_cpu_set_costs_no_time() -> None:
    """What it spans is not counted up."""

    def prepared(last: int) -> Callable[[], object]:
        cpus = ",".join([f"0-{last}"] * 4_000)
        policy = {"cpu": {"isolated": cpus, "reserved": cpus}}
        assert only(policy).rule == "policy.cpu.reserved"
        return partial(check, policy)

    assert times_as_long(prepared, 1, 99_999) < 4


def test_attestors_are_unchecked_where_it_is_not_known_which_ones_the_server_runs() -> None:
    problem = only({"joinAttestors": ["join-token", "tpm"]}, attestors=None)
    assert (problem.severity, problem.path) == ("unchecked", "policy.joinAttestors[1]")
    assert check({"joinAttestors": ["join-token"]}, attestors=None) == []
    assert check({"joinAttestors": ["join-token", "tpm"]}, attestors=ATTESTORS) == []
    assert only({"joinAttestors": ["join-tokens"]}, attestors=ATTESTORS).hint == 'did you mean "join-token"?'


@pytest.mark.parametrize("sharing", ["timeslice", "mps"])
@pytest.mark.parametrize("policy", [{}, {"gpu": {}}, {"gpu": {"driver": {"version": "580.65.06"}}}])
def test_a_shared_pool_must_say_how_many_slots(sharing: str, policy: dict[str, Any]) -> None:
    problem = only(policy, sharing=sharing)
    assert (problem.severity, problem.rule, problem.path) == ("error", "policy.gpu.slots", "policy.gpu.slots")
    assert check({"gpu": {"slots": 4}}, sharing=sharing) == []


def test_slots_that_are_there_but_wrong_are_named_once() -> None:
    assert only({"gpu": {"slots": None}}, sharing="mps").hint == "leave it out, or give it a value"
    assert only({"gpu": "slots"}, sharing="mps").path == "policy.gpu"


@pytest.mark.parametrize("sharing", ["exclusive", "mig"])
def test_other_pools_have_no_slots(sharing: str) -> None:
    assert only({"gpu": {"slots": 4}}, sharing=sharing).rule == "policy.gpu.slots"
    assert check({}, sharing=sharing) == []


def test_slots_are_not_judged_where_the_sharing_is_not_known() -> None:
    assert check({"gpu": {"slots": 64}}) == check({}) == []


@pytest.mark.parametrize(
    ("sharing", "model", "most"),
    [("mps", "H100", 48), ("mps", None, 48), ("mps", "V100", 16), ("timeslice", "V100", 64)],
)
def test_slots_end_at_what_the_sharing_mode_can_do(sharing: str, model: str | None, most: int) -> None:
    assert check({"gpu": {"slots": most}}, sharing=sharing, model=model) == []
    problem = only({"gpu": {"slots": most + 1}}, sharing=sharing, model=model)
    assert (problem.rule, problem.hint) == ("policy.gpu.slots", f"use {most}")
    assert ("V100" in problem.message) is (most == 16)


def mig(**devices: int) -> dict[str, Any]:
    return {"gpu": {"mig": {"devices": {name.replace("_", "."): count for name, count in devices.items()}}}}


def test_mig_fields_belong_to_mig_pools() -> None:
    assert only(mig(**{"3g_40gb": 1}), sharing="exclusive").path == "policy.gpu.mig.devices"
    assert only({"gpu": {"mig": {"strategy": "mixed"}}}, sharing="exclusive").path == "policy.gpu.mig.strategy"
    assert check({"gpu": {"mig": {"strategy": "none"}}}, sharing="exclusive") == []
    assert only(mig(), sharing="mig").path == "policy.gpu.mig.devices"
    assert check({"gpu": {"mig": {"strategy": "mixed"}}}, sharing="mig") == []


@pytest.mark.parametrize(
    ("model", "devices"),
    [
        ("H100", {"1g_10gb": 7}),
        ("H100", {"3g_40gb": 1, "2g_20gb": 1, "1g_10gb": 2}),
        ("H100", {"7g_94gb": 1}),
        ("A100", {"3g_39gb": 2}),
        ("A30", {"4g_24gb": 1}),
        ("RTXPRO6000", {"2g_48gb": 2}),
        (None, {"1g_6gb": 4}),
    ],
)
def test_devices_that_one_card_can_hold_are_fine(model: str | None, devices: dict[str, int]) -> None:
    assert check(mig(**devices), sharing="mig", model=model) == []


@pytest.mark.parametrize(
    ("model", "devices", "why"),
    [
        ("H100", {"4g_40gb": 1, "3g_40gb": 2}, "10 compute slices"),
        ("H100", {"4g_40gb": 1, "2g_20gb": 2}, "8 compute slices"),
        ("H100", {"4g_40gb": 2}, "2 of 4g.40gb"),
        ("H100", {"3g_40gb": 2, "1g_10gb": 1}, "9 memory slices"),
        ("H100", {"3g_40gb": 1, "3g_47gb": 1}, "different memory sizes"),
        ("A30", {"2g_12gb": 2, "1g_6gb": 1}, "5 compute slices"),
        (None, {"7g_80gb": 1, "1g_10gb": 1}, "8 compute slices"),
    ],
)
def test_devices_that_no_card_can_hold_are_refused(model: str | None, devices: dict[str, int], why: str) -> None:
    problem = only(mig(**devices), sharing="mig", model=model)
    assert problem.rule == "policy.gpu.mig.devices"
    assert why in problem.message


def test_only_one_instance_has_the_media_engines() -> None:
    policy = {"gpu": {"mig": {"devices": {"1g.6gb+me": 1, "2g.12gb+me": 1}}}}
    assert "+me" in only(policy, sharing="mig", model="A30").message


def test_a_profile_of_another_family_is_refused() -> None:
    problem = only(mig(**{"3g_40gb": 1}), sharing="mig", model="H200")
    assert problem.path == 'policy.gpu.mig.devices["3g.40gb"]'
    assert check(mig(**{"3g_40gb": 1}), sharing="mig") == []


def test_a_key_that_is_no_profile_is_named_once() -> None:
    problem = only(mig(**{"3g_40gb": 1, "all": 1}), sharing="mig", model="H100")
    assert problem.path == "policy.gpu.mig.devices.all"


def test_profiles_of_a_family_without_a_table_are_unchecked() -> None:
    assert only(mig(**{"1g_24gb": 1}), sharing="mig", model="RTXPRO5000").severity == "unchecked"


@pytest.mark.parametrize(
    ("driver", "model", "path"),
    [
        ({"version": "590.10"}, "V100", "gpu.driver.version"),
        ({"version": "590.10"}, "P100", "gpu.driver.version"),
        ({"kernelModule": "open"}, "V100", "gpu.driver.kernelModule"),
        ({"kernelModule": "proprietary"}, "B200", "gpu.driver.kernelModule"),
        ({"kernelModule": "proprietary"}, "GH200", "gpu.driver.kernelModule"),
    ],
)
def test_a_driver_that_cannot_hold_the_family_is_refused(driver: dict[str, Any], model: str, path: str) -> None:
    assert only({"gpu": {"driver": driver}}, model=model).path == f"policy.{path}"
    assert check({"gpu": {"driver": driver}}, model="A100") == check({"gpu": {"driver": driver}}) == []


def test_the_last_driver_branch_of_an_old_family_is_fine() -> None:
    assert check({"gpu": {"driver": {"version": "580.65.06", "kernelModule": "proprietary"}}}, model="V100") == []


def test_an_iommu_that_is_off_cannot_pass_whole_gpus_to_virtual_machines() -> None:
    assert only({"iommu": "off"}, class_="vps-host", sharing="exclusive").hint == "use pt"
    assert check({"iommu": "off"}, class_="metal-host", sharing="exclusive") == []
    assert check({"iommu": "off"}, class_="vps-host") == []


def test_time_slicing_needs_more_than_one_process() -> None:
    policy = {"gpu": {"slots": 4, "computeMode": "exclusive-process"}}
    assert only(policy, sharing="timeslice").path == "policy.gpu.computeMode"
    assert check(policy, sharing="mps") == []


@pytest.mark.parametrize(
    ("policy", "pool", "path"),
    [
        ({"overcommit": {"diskGiB": 2}}, {"class_": "metal-host"}, "overcommit.diskGiB"),
        ({"overcommit": {"memoryGiB": 1.5}}, {"sharing": "exclusive"}, "overcommit.memoryGiB"),
        ({"overcommit": {"memoryGiB": 1.5}, "hugepages": {"1Gi": 4}}, {"sharing": "mig"}, "overcommit.memoryGiB"),
        ({"cpu": {"reserved": "0-1"}, "hostReserve": {"vcpu": 4}}, {}, "cpu.reserved"),
        ({"cpu": {"mitigations": "off"}}, {"sharing": "exclusive"}, "cpu.mitigations"),
        ({"gpu": {"ecc": False}}, {"sharing": "mig"}, "gpu.ecc"),
        ({"kubernetes": {}}, {"agent": "none"}, "kubernetes"),
    ],
)
def test_what_is_allowed_but_dangerous_is_a_warning(policy: dict[str, Any], pool: dict[str, Any], path: str) -> None:
    problem = only(policy, **pool)
    assert (problem.severity, problem.path) == ("warning", f"policy.{path}")


@pytest.mark.parametrize(
    ("policy", "pool"),
    [
        ({"overcommit": {"diskGiB": 2}}, {"class_": "vps-host"}),
        ({"overcommit": {"memoryGiB": 1.5}}, {"sharing": "mig"}),
        ({"overcommit": {"memoryGiB": 1}}, {"sharing": "exclusive"}),
        ({"cpu": {"mitigations": "off"}, "singleTenant": True}, {"sharing": "exclusive"}),
        ({"cpu": {"mitigations": "off"}}, {"sharing": None}),
        ({"gpu": {"ecc": False, "slots": 4}}, {"sharing": "timeslice"}),
        ({"kubernetes": {}}, {"class_": "metal-host", "agent": "bcd"}),
    ],
)
def test_the_same_where_it_is_not_dangerous_is_fine(policy: dict[str, Any], pool: dict[str, Any]) -> None:
    assert check(policy, **pool) == []


@pytest.mark.parametrize("kind", ["diag.nvm", "dig.nvml", "diag.nvmll", "diag.nvlm"])
def test_a_check_that_is_nearly_the_known_one_is_a_warning_that_asks(kind: str) -> None:
    problem = only({"acceptance": [{"kind": "burn.gemm"}, {"kind": kind}]})
    assert (problem.severity, problem.rule) == ("warning", "policy.acceptance.kind")
    assert (problem.path, problem.hint) == ("policy.acceptance[1].kind", 'did you mean "diag.nvml"?')


@pytest.mark.parametrize(
    "kinds", [["diag.nvml"], ["diag.nvvs"], ["diag.dcgm"], ["burn.gemm"], ["diag.nvml", "diag.nvml2"]]
)
def test_other_names_of_checks_are_taken_as_they_are(kinds: list[str]) -> None:
    assert check({"acceptance": [{"kind": kind} for kind in kinds]}) == []


def test_a_single_tenant_that_is_misspelt_is_one_finding() -> None:
    policy = {"singleTenant": "yes", "gpu": {"ecc": False}, "cpu": {"mitigations": "off"}}
    assert only(policy, sharing="exclusive").path == "policy.singleTenant"


def test_what_looks_like_a_secret_is_a_warning_that_does_not_show_it() -> None:
    policy = {"registry": {"user": "ci", "password": "hunter2"}, "webhook": "https://u:hunter2@hooks.example/x"}
    first, second = check(policy)
    assert (first.rule, first.severity, first.path) == ("policy.secret", "warning", "policy.registry.password")
    assert (second.rule, second.severity, second.path) == ("policy.secret", "warning", "policy.webhook")
    assert "hunter2" not in repr([first, second])
    assert only({"webhook": policy["webhook"]}) == second


# --- all of it --------------------------------------------------------------------------------------------------


@law
@given(
    policies | json_values,
    st.sampled_from([None, "exclusive", "mig", "timeslice", "mps"]),
    st.sampled_from([None, "vps-host", "provider"]),
    st.sampled_from([None, ATTESTORS]),
    st.sampled_from([None, "H100", "V100", "?"]),
)
def test_whatever_the_policy_the_answer_is_a_list_of_problems_in_it(
    policy: Any, sharing: str | None, class_: str | None, attestors: frozenset[str] | None, model: str | None
) -> None:
    for problem in check(policy, sharing=sharing, class_=class_, attestors=attestors, model=model):
        assert problem.path.startswith("policy")
        assert problem.rule.startswith("policy.")
        assert (problem.path + problem.message + problem.hint).isprintable()


@law
@given(st.recursive(json_values, lambda inner: st.dictionaries(st.sampled_from(
    ["gpu", "mig", "devices", "slots", "cpu", "isolated", "reserved", "hugepages", "numa", "kernelModules", "name",
     "parameters", "kubernetes", "taints", "key", "driver", "version", "hostReserve", "vcpu", "overcommit", "memoryGiB"]
), inner) | st.lists(inner, max_size=2)))  # fmt: skip
def test_fields_of_any_type_in_any_place_never_break_the_checks(value: Any) -> None:
    assert isinstance(check({"gpu": value, "cpu": value, "hugepages": value}, sharing="mps", model="V100"), list)
    assert isinstance(check(value if isinstance(value, dict) else {"kernelModules": value, "kubernetes": value}), list)


def test_to_check_a_policy_takes_a_few_times_as_long_as_to_read_it() -> None:
    text = json.dumps(
        {
            "acceptance": [{"kind": "diag.nvml"}, {"kind": "burn.gemm"}],
            "maxPending": "6h",
            "hugepages": {"1Gi": 64},
            "hostReserve": {"vcpu": 4, "memoryGiB": 16},
            "overcommit": {"vcpu": 2.5},
            "singleTenant": False,
        }
    )
    policy = json.loads(text)

    def prepared(checked: int) -> Callable[[], object]:
        if checked:
            return lambda: [check(policy, sharing="exclusive", class_="metal-host", model="H100") for _ in range(500)]
        return lambda: [json.loads(text) for _ in range(500)]

    assert check(policy, sharing="exclusive", class_="metal-host", model="H100") == []
    assert times_as_long(prepared, 0, 1) < 30
