"""Damaged fleets: whatever became of the files, an apply of them takes nothing from anybody.

A fleet of several files is applied; then files are damaged in ways that accidents damage them, each under a seed, and
applied with `--yes`. A file that lost its end at the end of a line says something else, and says it whole: that is what
guards are for, and only fleets that say `maxWithdrawals: 0` are damaged so.
"""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import pytest

from better_compute.domain.commands import OfferPool
from fleetctl import guards
from fleetctl.guards import cut
from tests.e2e.homes import Home, fleetctl

FLEETS = 1000
ROOT = """\
apiVersion: fleet/v1
fleet: damaged
tenantId: root
caller: sa_fleet
keyPrefix: fra1-
server:
  embedded: ../plane.db
{guards}defaults:
  pool: {{class: metal-host, agent: bcd}}
policies:
  standard:
    acceptance: [{{kind: diag.nvml}}]
    maxPending: 6h
"""
GUARDS = "guards:\n  maxWithdrawals: 0\n  maxGpusWithdrawn: 0\n"
FILES = {
    "fra1.yaml": """\
pools:
  - idempotencyKey: fra1-a
    siteId: site_fra1
    gpuModel: H100
    policyRef: standard
    offers:
      - toTenantId: acme
        quota: {gpu: 32, vcpu: 64}
        priority: 10
      - toTenantId: globex
        quota:
          gpu: 16
          memoryGiB: 128
  - idempotencyKey: fra1-b
    siteId: site_fra1
    gpuModel: H200
    policy: {maxPending: 30m}
    ownerQuota: {gpu: 64}
    offers:
      - {toTenantId: acme, quota: {gpu: 8}}
      - {toTenantId: globex, quota: {gpu: 8}}
      - {toTenantId: initech, quota: {gpu: 8}}
      - {toTenantId: umbrella, quota: {gpu: 8}}
""",
    "sites/ams1.yaml": """\
pools:
  - idempotencyKey: fra1-c
    siteId: site_ams1
    gpuModel: L40S
    policyRef: standard
    policy: {singleTenant: true}
    offers:
      - toTenantId: umbrella
        quota: {gpu: 64}
  - idempotencyKey: fra1-d
    siteId: site_ams1
    gpuModel: L40S
    offers: unmanaged
  - idempotencyKey: fra1-e
    siteId: site_ams1
    gpuModel: L4
---
pools:
  - idempotencyKey: fra1-f
    siteId: site_waw1
    gpuModel: L4
""",
    "tenants/initech.yaml": """\
offers:
  - {pool: fra1-f, toTenantId: initech, quota: {gpu: 2}}
""",
    "tenants/acme.yaml": """\
# What acme may use.
offers:
  - {pool: fra1-e, toTenantId: acme, quota: {gpu: 4}}
""",
    "tenants/globex.yaml": """\
offers:
  - {pool: fra1-e, toTenantId: globex, quota: {gpu: 4}}
  - pool: fra1-e
    toTenantId: initech
    quota: {gpu: 2}
""",
}
FIELD = re.compile(r"(?m)^( *(?:- )?[A-Za-z]+):[ ]+[^\n]+$")
INLINE = re.compile(r"([A-Za-z]+): [^,{}\[\]\n]+")


@dataclass
class Damage:
    """What became of the files: texts by name, and the directory (or file) that is applied."""

    files: dict[str, str]
    path: str = "."


def is_guarded(damage: Damage) -> bool:
    return "maxWithdrawals" in damage.files.get("fleet.yaml", "")


def blank_field(damage: Damage, chance: random.Random) -> None:
    """A value is lost behind its colon."""
    name = chance.choice(sorted(damage.files))
    form = chance.choice([FIELD, INLINE])
    found = [*form.finditer(damage.files[name])]
    if found:
        one = chance.choice(found)
        damage.files[name] = damage.files[name][: one.start()] + f"{one[1]}:" + damage.files[name][one.end() :]


def missing_file(damage: Damage, chance: random.Random) -> None:
    """A file is lost. Where others offer the same pools, guards alone can tell."""
    shared = () if is_guarded(damage) else ("tenants/acme.yaml", "tenants/globex.yaml")
    del damage.files[chance.choice(sorted(damage.files.keys() - shared))]


def empty_file(damage: Damage, chance: random.Random) -> None:
    damage.files[chance.choice(sorted(damage.files))] = chance.choice(
        ["", "# moved\n", "---\n", "null\n", "{}\n", "\n\n"]
    )


def half_a_file(damage: Damage, chance: random.Random) -> None:
    """The end of a file is lost, often from the end of a line on. Where the line end itself is left, guards alone can
    tell."""
    name, text = chance.choice([pair for pair in sorted(damage.files.items()) if len(pair[1]) > 9])
    guarded = is_guarded(damage)
    at = chance.randrange(1, len(text) - 1)
    if chance.random() < 0.5 and "\n" in text[at:]:
        at = text.index("\n", at) + (guarded and chance.random() < 0.5)
    while text[at - 1] == "\n" and not guarded:
        at -= 1
    damage.files[name] = text[:at]


def all_null(damage: Damage, chance: random.Random) -> None:
    """Every value of a file reads null."""
    name = chance.choice(sorted(damage.files))
    word = chance.choice(["null", "~", ""])
    damage.files[name] = INLINE.sub(rf"\1: {word}", FIELD.sub(rf"\1: {word}", damage.files[name]))


def wrong_directory(damage: Damage, chance: random.Random) -> None:
    damage.path = chance.choice(["sites", "sites/ams1.yaml", "fleet.yaml", "fra1.yaml", "tenants", "nowhere", "empty"])


def lost_offers(damage: Damage, chance: random.Random) -> None:
    """A list of offers is lost, with its name or without."""
    name = chance.choice(["fra1.yaml", "sites/ams1.yaml", "tenants/globex.yaml"])
    text = damage.files.get(name, "")
    found = [*re.finditer(r"(?m)^( *)offers:.*\n(?:\1 .*\n|\1- .*\n)*", text)]
    if found:
        one = chance.choice(found)
        kept = chance.choice(["", one[0].split("\n", 1)[1], "\n"])
        damage.files[name] = text[: one.start()] + kept + text[one.end() :]


def lost_entry(damage: Damage, chance: random.Random) -> None:
    """A pool's entry is lost."""
    name = chance.choice(["fra1.yaml", "sites/ams1.yaml"])
    text = damage.files.get(name, "")
    found = [*re.finditer(r"(?m)^  - idempotencyKey.*\n(?:    .*\n)*", text)]
    if found:
        one = chance.choice(found)
        damage.files[name] = text[: one.start()] + text[one.end() :]


def half_written(damage: Damage, chance: random.Random) -> None:
    """A file that is written over an older one: the beginning of one, and zeros or blanks."""
    name, text = chance.choice([pair for pair in sorted(damage.files.items()) if len(pair[1]) > 9])
    at = chance.randrange(1, len(text))
    damage.files[name] = text[:at] + chance.choice(["\0", " ", "<<<<<<< HEAD\n"]) * (len(text) - at)


KINDS: tuple[Callable[[Damage, random.Random], None], ...] = (
    blank_field,
    missing_file,
    empty_file,
    half_a_file,
    half_a_file,
    all_null,
    wrong_directory,
    lost_offers,
    lost_entry,
    half_written,
)


def held(home: Home) -> Mapping[tuple[str, str], int]:
    """What tenants hold of live pools: GPUs by pool and tenant."""
    with home.hand() as client:
        states = client.pools.all(owned=True)[0]
    return {
        (state.pool.id, tenant): state.limits(tenant).get(state.pool.atom, 0)
        for state in states
        if state.pool and not state.pool.archived
        for tenant in ("root", *state.offers)
    }


def taken(before: Mapping[tuple[str, str], int], after: Mapping[tuple[str, str], int]) -> list[str]:
    """What is gone: pools, offers, and offers whose GPUs are."""
    return [f"{pool} {tenant}" for (pool, tenant), had in before.items() if (after.get((pool, tenant), -1) <= 0 < had)]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    write(home, Damage({"fleet.yaml": ROOT.format(guards=""), **FILES}))
    assert fleetctl("apply", home.directory, "--yes").code == 0
    with home.hand("sa_fleet") as client:
        pool = next(s.pool.id for s in client.pools.all(owned=True)[0] if s.pool and s.pool.idempotency_key == "fra1-d")
        client.pools.offer(OfferPool(tenant_id="root", pool_id=pool, to_tenant_id="globex", quota={"gpu": 8}))
    return home


def write(home: Home, damage: Damage) -> None:
    shutil.rmtree(home.directory)
    (home.directory / "empty").mkdir(parents=True)
    for name, text in damage.files.items():
        home.write(name, text)


def swept(home: Home, seeds: range) -> tuple[Counter[int], list[str]]:
    """How the applies ended, and everything that they took, with the seed."""
    before, database = held(home), home.database.read_bytes()
    assert len(before) == 18
    codes: Counter[int] = Counter()
    lost: list[str] = []
    for seed in seeds:
        chance = random.Random(seed)
        damage = Damage({"fleet.yaml": ROOT.format(guards=GUARDS if seed % 2 else ""), **FILES})
        for kind in chance.sample(KINDS, chance.choice([1, 1, 1, 2])):
            if damage.files:
                kind(damage, chance)
        write(home, damage)
        ran = fleetctl("apply", home.directory / damage.path, "--yes")
        codes[ran.code] += 1
        if ran.code in (0, 5):
            lost += [f"seed {seed}: {what}" for what in taken(before, held(home))]
            for beside in ("", "-wal", "-shm"):
                Path(f"{home.database}{beside}").unlink(missing_ok=True)
            home.database.write_bytes(database)
    return codes, lost


def test_a_damaged_fleet_takes_nothing_from_anybody(home: Home) -> None:
    codes, lost = swept(home, range(FLEETS))
    assert lost == []
    assert set(codes) <= {0, 1, 3, 64}
    assert codes[1] > FLEETS / 3  # most say nothing that can be wished
    assert codes[0] > FLEETS / 20  # and some are harmless


@pytest.mark.parametrize(
    ("module", "name", "nothing"),
    [(guards, "guarded", guards.Guarded((), ())), (cut, "problems", ())],
    ids=["all", "cut"],
)
def test_without_what_protects_it_the_sweep_finds_what_is_taken(
    home: Home, module: ModuleType, name: str, nothing: object
) -> None:
    with patch.object(module, name, lambda *_args, **_named: nothing):
        assert any(swept(home, range(begin, begin + 10))[1] for begin in range(0, FLEETS // 4, 10))
