"""Kind a: what a reader of YAML makes of a file that people wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.e2e.homes import Home, entry, pool_id, unchanged

POOL = """\
pools:
  - idempotencyKey: fra1-h100
    siteId: site_fra1
    class: metal-host
    gpuModel: H100
"""
"""One pool, open at its end: more fields may follow."""


def refused(home: Home, text: str | bytes, code: int = 1) -> str:
    """What plan and apply say of a file that no plan can be made from; nothing is written."""
    home.files(fra1=text)
    with unchanged(home):
        planned = home.run("plan")
        applied = home.run("apply", "--yes")
    assert (planned.code, planned.out) == (code, ""), planned.said
    assert (applied.code, applied.out, applied.err) == (code, "", planned.err)
    assert re.search(r"^fra1\.yaml:\d+:\d+: ", planned.err, re.MULTILINE)
    return planned.err


# K001: words that YAML 1.1 takes for truth values.

YES_NO = ["no", "on", "yes", "off", "y", "n", "No", "ON", "Off"]


@pytest.mark.parametrize("word", ["no", "on"])
def test_k001_a_tenant_named_no_is_offered_to_by_that_name(home: Home, word: str) -> None:
    home.files(fra1=f"{POOL}    offers:\n      - toTenantId: {word}\n        quota: {{gpu: 8}}\n")
    assert home.plan().operations == ["create fra1-h100", f"offer fra1-h100 to {word}"]
    home.apply()
    with home.hand() as client:
        assert list(client.pools.get(pool_id("fra1-h100")).offers) == [word]
    assert home.is_settled()


@pytest.mark.parametrize("word", YES_NO)
def test_k001_such_words_are_strings_everywhere(home: Home, word: str) -> None:
    home.files(fra1=f"{POOL}    policy: {{anything: {word}, {word}: 1}}\n    offers: []\n")
    assert home.plan().report["operations"][0]["after"]["policy"] == {"anything": word, word: 1}


@pytest.mark.parametrize("word", ["true", "True", "TRUE", "false"])
def test_k001_a_truth_value_is_no_tenant(home: Home, word: str) -> None:
    said = refused(home, f"{POOL}    offers:\n      - toTenantId: {word}\n        quota: {{gpu: 8}}\n")
    assert "fra1.yaml:7:21: pools[fra1-h100].offers[0].toTenantId" in said
    assert "quote" in said


@pytest.mark.parametrize("word", ["yes", "on", "1", '"true"', "null", "~"])
def test_k001_only_true_and_false_are_truth_values(home: Home, word: str) -> None:
    offer = f"{{toTenantId: acme, quota: {{gpu: 8}}, includeDescendants: {word}}}"
    said = refused(home, f"{POOL}    offers:\n      - {offer}\n")
    assert "includeDescendants" in said


# K002: a key that stands twice.


def test_k002_two_lists_of_offers_are_refused_with_both_lines(home: Home) -> None:
    one = "      - {toTenantId: acme, quota: {gpu: 8}}\n"
    other = one.replace("acme", "globex")
    said = refused(home, f"{POOL}    offers:\n{one}    offers:\n{other}")
    assert said.startswith("fra1.yaml:8:5: pools[0].offers: ")
    assert "first on line 6" in said


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (
            "    offers: [{toTenantId: acme, quota: {gpu: 32, gpu: 3}}]\n",
            "fra1.yaml:6:50: pools[0].offers[0].quota.gpu",
        ),
        ("    policy: {maxPending: 6h, a: {b: 1, b: 1}}\n", "fra1.yaml:6:40: pools[0].policy.a.b"),
        ("    policy: {cpu: 1, 'cpu': 2}\n", "fra1.yaml:6:22: pools[0].policy.cpu"),
        ("    siteId: site_ams1\n", "fra1.yaml:6:5: pools[0].siteId"),
        ("pools: []\n", "fra1.yaml:6:1: pools"),
    ],
)
def test_k002_a_key_stands_once_in_a_map(home: Home, text: str, place: str) -> None:
    assert place in refused(home, POOL + text)


def test_k002_a_pair_of_pool_and_tenant_stands_once_in_the_fleet(home: Home) -> None:
    text = f"{POOL}    offers: [{{toTenantId: acme, quota: {{gpu: 8}}}}]\n"
    said = refused(home, f"{text}offers:\n  - {{pool: fra1-h100, toTenantId: acme, quota: {{gpu: 9}}}}\n")
    assert "fra1.yaml:8:" in said
    assert "fra1.yaml:6" in said


# K003, K004: numbers that readers disagree about.


NUMBERS = ["1e3", "1E3", "1.0e+1", "1e+2", "0010", "0098", "007", "0o10", "0x10", "1_000", "12:30", "8.0", ".5"]
SIGNED = ["+8", "-8", "-0", "+0"]
"""Legal for a priority, which may be below zero."""


@pytest.mark.parametrize(
    ("field", "number"), [*(("priority", n) for n in NUMBERS), *(("quota", n) for n in NUMBERS + SIGNED)]
)
def test_k003_k004_a_quantity_is_a_plain_decimal_integer(home: Home, number: str, field: str) -> None:
    values = {"quota": "{gpu: 1}", "priority": "1"} | {field: f"{{gpu: {number}}}" if field == "quota" else number}
    text = f"{POOL}    offers:\n      - toTenantId: acme\n        quota: {values['quota']}\n"
    said = refused(home, f"{text}        priority: {values['priority']}\n")
    assert f"fra1.yaml:{8 if field == 'quota' else 9}:" in said


def test_k004_the_zeros_are_to_be_dropped(home: Home) -> None:
    said = refused(home, f"{POOL}    offers: [{{toTenantId: acme, quota: {{gpu: 0010}}}}]\n")
    assert "0010 has a leading zero" in said
    assert "drop the leading zeros" in said


# K006: byte order marks and the ends of lines.


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_k006_a_mark_and_the_ends_of_lines_make_no_difference(home: Home, mark: bytes, end: bytes) -> None:
    text = f"{POOL}    offers: [{{toTenantId: acme, quota: {{gpu: 8}}}}]\n"
    home.files(fra1=text)
    home.apply()
    home.write("fra1.yaml", mark + text.encode().replace(b"\n", end))
    assert home.is_settled()


def test_k006_a_mark_inside_a_file_is_refused(home: Home) -> None:
    assert "fra1.yaml:6:" in refused(home, f"{POOL}\ufeff    offers: []\n")


# K007: more documents than one.


def test_k007_every_document_of_a_stream_is_read(home: Home) -> None:
    other = POOL.replace("fra1-h100", "ams1-h200").replace("site_fra1", "site_ams1")
    home.files(fra1=f"---\n{POOL}---\n# nothing here\n---\n{other}...\n")
    assert sorted(home.plan().operations) == ["create ams1-h200", "create fra1-h100"]
    home.apply()
    assert home.is_settled()


def test_k007_a_fault_in_the_second_document_has_its_own_line(home: Home) -> None:
    assert "fra1.yaml:7:1: pool: no such field" in refused(home, f"{POOL}---\npool: []\n")


# K009: merge keys are shallow, and what they drop shows.

MERGED = """\
x-base: &base
  quota: {gpu: 32, vcpu: 512, memoryGiB: 2048}
  priority: 10
pools:
  - idempotencyKey: fra1-h100
    siteId: site_fra1
    class: metal-host
    gpuModel: H100
    offers:
      - <<: *base
        toTenantId: acme
"""


def test_k009_a_merged_quota_that_is_written_anew_loses_its_other_rows(home: Home) -> None:
    home.files(fra1=MERGED)
    home.apply()
    home.files(fra1=f"{MERGED}        quota: {{gpu: 16}}\n")
    planned = home.plan()
    [operation] = planned.report["operations"]
    assert {c["path"]: (c["before"], c.get("after")) for c in operation["changes"]} == {
        "quota.gpu": (32, 16),
        "quota.memoryGiB": (2048, None),
        "quota.vcpu": (512, None),
    }
    assert home.run("plan").out.count("no row (grants 0)") == 2
    home.apply()
    assert home.is_settled()
    with home.hand() as client:
        assert client.pools.get(pool_id("fra1-h100")).limits("acme") == {"gpu": 16, "memoryGiB": 0, "vcpu": 0}


def test_k009_an_override_hides_from_no_check(home: Home) -> None:
    assert "fra1.yaml:13:9" in refused(home, f"{MERGED}        quota: {{gpu: 16}}\n        quota: {{gpu: 17}}\n")


# K010: a name with nothing after it.


@pytest.mark.parametrize(
    ("field", "hint"),
    [("offers", "write [] to withdraw all"), ("policy", "{}"), ("ownerQuota", "leave it out"), ("sharing", "leave it")],
)
@pytest.mark.parametrize("null", ["", " null", " ~", " # all of it is commented out"])
def test_k010_null_is_neither_absent_nor_empty(home: Home, field: str, hint: str, null: str) -> None:
    home.files(fra1=f"{POOL}    policy: {{maxPending: 6h}}\n    offers: [{{toTenantId: acme, quota: {{gpu: 8}}}}]\n")
    home.apply()
    said = refused(home, f"{POOL}    {field}:{null}\n")
    assert f"pools[fra1-h100].{field}: it is null" in said
    assert hint in said


@pytest.mark.parametrize("text", ["pools:\n", "pools: null\n", f"{POOL}offers:\n", f"{POOL}defaults:\n"])
def test_k010_null_is_no_list_at_the_root(home: Home, text: str) -> None:
    assert "it is null" in refused(home, text)


# K013: links that leave the fleet.


def test_k013_a_link_out_of_the_fleet_is_refused_by_its_path_alone(home: Home, tmp_path: Path) -> None:
    home.files(fra1=POOL)
    (tmp_path / "token.txt").write_text("- bc_hidden-example\n")
    (home.directory / "extra.yaml").symlink_to(tmp_path / "token.txt")
    with unchanged(home):
        ran = home.run("plan")
    assert ran.code == 1
    assert "extra.yaml" in ran.err
    assert "hidden-example" not in ran.said
    assert "token.txt" not in ran.said


def test_k013_a_folder_that_leads_out_is_refused_too(home: Home, tmp_path: Path) -> None:
    home.files(fra1=POOL)
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "a.yaml").write_text("hidden-example: 1\n")
    (home.directory / "more").symlink_to("../secrets")
    ran = home.run("plan")
    assert (ran.code, "hidden-example" in ran.said) == (1, False)


def test_k013_a_link_inside_the_fleet_works(home: Home) -> None:
    home.files()
    (home.directory / ".kept").mkdir()
    (home.directory / ".kept" / "fra1.yaml").write_text(POOL)
    (home.directory / "fra1.yaml").symlink_to(".kept/fra1.yaml")
    assert home.plan().operations == ["create fra1-h100"]


# K014: two spellings of what looks like one name.


@pytest.mark.parametrize(
    "key", ["montr\u00e9al", "montre\u0301al", "fr\u0430nkfurt", "fra\u200b1", "\u0661", "fra1 h100"]
)
def test_k014_keys_are_ascii(home: Home, key: str) -> None:
    said = refused(home, POOL.replace("fra1-h100", json.dumps(key, ensure_ascii=False)))
    assert "fra1.yaml:2:21: pools[0].idempotencyKey" in said


def test_k014_what_is_refused_is_shown_in_escapes_where_it_must(home: Home) -> None:
    said = refused(home, POOL.replace("fra1-h100", '"fra1\\u202eh100"'))
    assert "\u202e" not in said


def test_one_fault_does_not_hide_another(home: Home) -> None:
    home.files(fra1=POOL.replace("H100", "null"), ams1=POOL.replace("class", "klass").replace("fra1-h100", "ams1"))
    ran = home.run("plan")
    assert ran.code == 1
    assert {line.partition(":")[0] for line in ran.err.splitlines() if "yaml:" in line} == {"fra1.yaml", "ams1.yaml"}


def test_a_file_that_is_right_is_read(home: Home) -> None:
    """The twin of all that is refused here."""
    home.files(fra1=f"{POOL}    offers: [{{toTenantId: acme, quota: {{gpu: 8}}, priority: 1}}]\n")
    home.wish(entry("fra1-b", []))
    assert len(home.plan().operations) == 3
