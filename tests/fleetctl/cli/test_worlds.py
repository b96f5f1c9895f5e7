"""The world file of an embedded control plane, as commands meet it: with mistakes, and edited after it was read."""

from __future__ import annotations

import pytest

from tests.fleetctl.cli.runs import ENTRY, ROOT, WORLD, Fleet

LATER = (
    WORLD.replace("{id: acme}", "{id: acme}, {id: late_tenant}") + "providerAccounts: [{id: pa_x, tenantId: root}]\n"
)
SITE = "sites: [{id: site_new, tenantId: root, kind: shared, region: eu}, "
PROVIDER = "  - {idempotencyKey: fra1-p, class: provider, agent: none, providerAccountId: pa_x, offers: []}\n"


def test_validate_tells_of_it(fleet: Fleet) -> None:
    (fleet.directory / "world.yaml").write_text(WORLD.replace("kind: shared", "knd: shared"))
    ran = fleet.on("validate")
    assert (ran.code, "world.yaml:2:41: sites[0].knd: unknown field" in ran.out) == (1, True)


@pytest.mark.parametrize(
    ("entry", "root"),
    [
        ("  - {idempotencyKey: fra1-a, siteId: site_new, offers: []}\n", ROOT),
        (ENTRY.replace("acme", "late_tenant"), ROOT),
        (PROVIDER, ROOT),
        (ENTRY, ROOT.replace("sa_fleet", "sa_late")),
        (ENTRY, ROOT.replace("tenantId: root", "tenantId: late_tenant")),
    ],
    ids=["site", "tenant", "account", "identity", "owner"],
)
def test_what_came_into_the_world_file_later_is_told_with_the_command_that_brings_it_in(
    entry: str, root: str, fleet: Fleet
) -> None:
    fleet.make()
    fleet.write(entry, root)
    later = LATER.replace("sites: [", SITE).replace("identities: [", "identities: [{id: sa_late, tenantId: root}, ")
    world = fleet.directory / "world.yaml"
    world.write_text(later)
    ran = fleet.on("plan")
    hint = f"{world} has it and the database has not: run `better-compute world {world} --database "
    assert hint in ran.out + ran.err, ran.out + ran.err
    assert ran.code in (1, 3)


def test_what_the_database_has_under_another_rule_is_not_brought_in_again(fleet: Fleet) -> None:
    """An identity that may not act for a tenant that is there."""
    (fleet.directory / "world.yaml").write_text(WORLD.replace("tenantId: root, kind: service", "tenantId: acme"))
    fleet.write(root=ROOT.replace("tenantId: root", "tenantId: globex"))
    ran = fleet.on("plan")
    assert (ran.code, "may not read" in ran.err, "has it" in ran.err) == (1, True, False)


@pytest.mark.parametrize("flags", [(), ("--server", "http://127.0.0.1:9")])
def test_offers_in_the_place_of_the_world_are_not_withdrawn(flags: tuple[str, ...], fleet: Fleet) -> None:
    """The file would be left out of the fleet, on whatever control plane."""
    fleet.make()
    (fleet.directory / "world.yaml").unlink()
    (fleet.directory / "offers.yaml").write_text('{"offers": [{"pool": "fra1-a"}]}')
    fleet.write(root=ROOT.replace("world.yaml", "offers.yaml"))
    ran = fleet.on("plan", *flags)
    assert (ran.code, "offers.yaml is a fleet document, and would not be read" in ran.err) == (1, True)
