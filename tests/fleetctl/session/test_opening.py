"""What a control plane refuses because of a root field: told where that stands, with the name that is near."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.homes import Home, entry, served, unchanged

RIGHTS = "this identity may not read the pools that"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("command", ["plan", "drift"])
@pytest.mark.parametrize(
    ("tenant", "caller", "hint"),
    [
        ("rot", "sa_fleet", 'did you mean "root"?'),
        ("acm", "sa_fleet", 'did you mean "acme"?'),
        ("acne", "sa_acme", 'did you mean "acme"?'),
        ("globex", "sa_acme", ""),
    ],
)
def test_a_tenant_that_may_not_be_read_is_told_where_it_is_named(
    home: Home, command: str, tenant: str, caller: str, hint: str
) -> None:
    home.wish(entry("a", []), tenantId=tenant, caller=caller)
    with unchanged(home):
        ran = home.run(command)
    said = f"fleet.yaml:3:14: tenantId: {RIGHTS} {tenant} owns [server.rights]\n" + f"  Hint: {hint}\n" * bool(hint)
    assert (ran.code, ran.out, ran.err) == (1, "", said)


def test_a_caller_that_the_embedded_control_plane_does_not_know_is_told_where_it_is_named(home: Home) -> None:
    home.wish(entry("a", []), caller="sa_flet")
    first, hint, *_ = home.run("plan").err.splitlines()
    assert first == "fleet.yaml:4:12: caller: the embedded control plane knows no identity sa_flet [world.identity]"
    assert hint.startswith('  Hint: did you mean "sa_fleet"? If not, write `- {id: sa_flet, tenantId: root, ')


def test_a_caller_that_the_environment_names_has_no_place(home: Home) -> None:
    home.files(pools='pools: [{"idempotencyKey": "a", siteId: s, class: metal-host, gpuModel: H100}]')
    text = (home.directory / "fleet.yaml").read_text().replace('"caller": "sa_fleet", ', "")
    home.write("fleet.yaml", text)
    ran = home.run("plan", FLEETCTL_CALLER="nobody_like_this")
    assert ran.err.startswith("UNAUTHENTICATED: caller: the embedded control plane knows no identity nobody_like_this")
    assert "  Hint: write `- {id: nobody_like_this, " in ran.err


def test_a_caller_that_may_do_nothing_is_one_finding_where_it_is_named(home: Home) -> None:
    home.wish(entry("a", {"acme": 8}), entry("b", {"acme": 8}), caller="sa_flet")
    with served(home):
        findings = home.plan(code=3).report["findings"]
    assert [(f["path"], f["source"]["line"], f["hint"]) for f in findings] == [
        ("caller", 4, 'did you mean "sa_fleet"?')
    ]
    assert findings[0]["message"].startswith("sa_flet may do nothing of this plan as root")
