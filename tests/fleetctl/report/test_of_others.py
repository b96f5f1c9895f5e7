"""The small reports, from the values they are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from msgspec import UNSET

from better_compute.client import SystemInfoView, WhoamiView
from better_compute.domain.problems import Problem
from fleetctl.desired import Embedded
from fleetctl.report import schemas
from fleetctl.report.forms import WhoamiReport
from fleetctl.report.of_validate import of_validate
from fleetctl.report.of_whoami import READS, WRITES, of_whoami
from fleetctl.report.problems import of_problems
from tests.builders import NOW
from tests.fleetctl.report.world import wished

URL = "https://me:pw-example@compute.example.com"
FILES = wished("  - {idempotencyKey: fra1-a, offers: [{toTenantId: acme, quota: {gpu: 4}}]}\n")


def whoami(server: Any = None, digest_key: Any = "ab" * 16, rights: tuple[str, ...] = ()) -> WhoamiReport:
    info = SystemInfoView(
        instance_id="i", version="1", derivation="d", capabilities=[], time=NOW + 5, digest_key=digest_key
    )
    me = WhoamiView(identity_id="sa_ci", kind="service", tenant_id="root", rights=list(rights))
    return of_whoami(info, me, replace(FILES, server=server), URL, overridden=False, now=NOW)


def test_whoami_says_who_is_met_and_what_the_files_pin() -> None:
    report = whoami(Embedded("/p.db", None))
    assert report["identity"] == {"id": "sa_ci", "tenantId": "root"}
    assert report["pins"] == {"server": "embedded", "tenantId": "root", "caller": "sa_fleet"}
    assert report["clockOffsetMs"] == 5
    assert list(Draft202012Validator(schemas.schema("whoami.v1")).iter_errors(report)) == []


def test_whoami_shows_no_user_part_of_a_url() -> None:
    assert "pw-example" not in str(whoami(URL))


@pytest.mark.parametrize(
    ("rights", "digest_key", "plan", "apply"),
    [
        ((*READS, *WRITES), "ab" * 16, [], []),
        (READS, "ab" * 16, [], [*WRITES]),
        ((), "ab" * 16, [*READS], [*READS, *WRITES]),
        ((*READS, *WRITES), UNSET, [READS[0]], [READS[0]]),
    ],
)
def test_whoami_says_which_rights_are_missing(
    rights: tuple[str, ...], digest_key: Any, plan: list[str], apply: list[str]
) -> None:
    """Without a digest key none of the tenant's own pools are shown, whatever the rights say."""
    assert whoami(rights=rights, digest_key=digest_key)["missing"] == {"plan": plan, "apply": apply}


def test_counts_of_files_that_could_not_be_read_are_not_known() -> None:
    problem = Problem("INVALID_INPUT", "fleet.unknown", "no such field")
    assert of_validate([problem], None)["summary"] == {
        "entries": None,
        "offers": None,
        "errors": 1,
        "warnings": 0,
        "unchecked": 0,
    }
    assert of_validate([problem], FILES)["summary"]["entries"] == 1


def test_an_error_keeps_to_its_schema() -> None:
    report = of_problems([Problem("STOPPED", "", f"no answer from {URL}")])
    assert list(Draft202012Validator(schemas.schema("error.v1")).iter_errors(report)) == []
    assert "pw-example" not in str(report)
