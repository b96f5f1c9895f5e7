"""A world file is read strictly: every mistake has its line."""

import os
import time
from pathlib import Path

import pytest

from better_compute.bootstrap import yaml
from better_compute.bootstrap.world_file import read_world
from better_compute.domain.problems import ComputeError, Problem
from better_compute.service.actions import ROOT_ADMIN, WORLD

GOOD = """\
instance: quickstart
tenants:
  - {id: emea, parentId: acme}   # its parent comes later
  - {id: acme}
sites: [{id: site_fra1, tenantId: root, kind: shared, region: eu-central}]
identities: [{id: sa_fleet, tenantId: root, kind: service}, {id: "no", tenantId: acme}]
providerAccounts: [{id: pa_north, tenantId: root}]
machines:
  - {pool: k, count: 2, gpus: {name: NVIDIA H100 80GB HBM3, count: 8}, vcpu: 192, memoryGiB: 2048, diskGiB: 7000}
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    return tmp_path / "world.yaml"


def problems(world: Path, text: str | bytes) -> list[Problem]:
    world.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ComputeError) as caught:
        read_world(world)
    for problem in caught.value.problems:
        assert problem.source is not None
        assert problem.source.file == str(world)
    return list(caught.value.problems)


def told(world: Path, text: str | bytes) -> list[str]:
    """Each problem as `line:column path: message; hint`."""
    return [
        f"{p.source.line}:{p.source.column} {p.path}: {p.message}; {p.hint}"
        for p in problems(world, text)
        if p.source is not None
    ]


def test_all_of_it_is_read(world: Path) -> None:
    world.write_text(GOOD)
    content = read_world(world).content
    assert content.instance == "quickstart"
    assert [(t.id, t.parent_id) for t in content.tenants] == [("emea", "acme"), ("acme", "root")]
    assert [(i.id, i.kind) for i in content.identities] == [("sa_fleet", "service"), ("no", "service")]
    assert content.machines[0].inventory().gpus == ("NVIDIA H100 80GB HBM3",) * 8
    assert content.machines[0].inventory().memory_gib == 2048


@pytest.mark.parametrize("text", ["", "# nothing\n", "{}", "---\n"])
def test_an_empty_file_is_an_empty_world(world: Path, text: str) -> None:
    world.write_text(text)
    assert read_world(world).content.tenants == []


def test_a_bom_windows_line_ends_and_aliases_are_read(world: Path) -> None:
    world.write_bytes(b"\xef\xbb\xbfx: &r root\r\n".replace(b"x: &r root\r\n", b"") + b"tenants:\r\n- {id: no}\r\n")
    assert read_world(world).content.tenants[0].id == "no"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "tenants: [{id: acme, parent: root}]",
            "1:22 tenants[0].parent: unknown field; there are id, parentId; did you",
        ),
        ("tenant: []", "1:1 tenant: unknown field; there are instance, tenants, sites, identities"),
        ("machines:\n- pool: k\n  memoryGb: 3", "3:3 machines[0].memoryGb: unknown field"),
        ("machines:\n- pool: k\n  gpus: {nam: x, name: y}", "3:10 machines[0].gpus.nam: unknown field"),
        ("tenants:", "1:9 tenants: a list without a value; write [] or leave it out"),
        ("sites: [{id: s}]", "1:9 sites[0].tenantId: tenantId is missing; "),
        ("sites: [{id: s, tenantId: root, kind: Shared, region: e}]", "one of shared, dedicated, custom; did you mean"),
        ("tenants: [{id: a b}]", "1:16 tenants[0].id: an id is 1 to 128 ASCII letters"),
        ("tenants: [{id: 7}]", "1:16 tenants[0].id: this should be a valid string"),
        ("machines: [{pool: k, control: acme}]", "machines[0].control: one of platform, tenant"),
        ("machines: [{pool: k, count: 0}]", "1:29 machines[0].count: this should be greater than or equal to 1"),
        ("machines: [{pool: k, count: 010}]", "1:29 : a number has a leading zero; quote it, or leave the zeros out"),
        ("machines: [{pool: k, count: 1e3}]", "machines[0].count: this should be a valid integer"),
        ("machines: [{pool: k, vcpu: yes}]", "machines[0].vcpu: this should be a valid integer"),
        (
            "machines: [{pool: k, gpus: {name: x, count: 129}}]",
            "machines[0].gpus.count: this should be less than or equal to 128",
        ),
        ("machines: [{pool: k, count: 10001}]", "machines[0].count: this should be less than or equal to 10000"),
        ("machines: [{pool: k, attributes: {a: [1]}}]", "machines[0].attributes.a: this should be a valid"),
        (
            'machines: [{pool: k, gpus: {name: " "}}]',
            "1:35 machines[0].gpus.name: a name is printable and not all blank",
        ),
        ('machines: [{pool: k, gpus: {name: "a\\u2028b"}}]', "a name is printable"),
        ('sites: [{id: s, tenantId: root, kind: shared, region: "a\\x7f"}]', "sites[0].region: a name is printable"),
        ('providerAccounts: [{id: p, tenantId: root, name: "\\x9b"}]', "providerAccounts[0].name: a name is printable"),
        ("tenants: acme", "1:10 tenants: this should be a valid list; "),
        ("- tenants", "1:1 : this should be a mapping; "),
        ("tenants: [{id: a}, {id: b}, {id: a}]", "1:34 tenants[2].id: a stands twice: first in line 1; "),
        ("tenants: [{id: a, id: b}]", "1:19 : the key 'id' stands twice: first in line 1; "),
        ("tenants: [{id: root}]", "1:16 tenants[0].id: root always exists and has no parent; leave it out"),
        (
            "tenants: [{id: a, parentId: b}, {id: b, parentId: a}]",
            "tenants[0].parentId: a tenant above itself: a > b > a",
        ),
        ("tenants: [{id: a, parentId: a}]", "1:29 tenants[0].parentId: a tenant above itself: a > a; "),
        (
            "tenants: [{id: c, parentId: b}, {id: b, parentId: a}, {id: a, parentId: b}]",
            "a tenant above itself: a > b > a",
        ),
        ("tenants: [{id: root, parentId: a}, {id: a, parentId: root}]", "root always exists and has no parent"),
        ("sites: [{id: s, tenantId: acme, kind: shared, region: e}]", "a site of acme is custom"),
        ("sites: [{id: s, tenantId: root, kind: custom, region: e}]", "a site of root is shared or dedicated"),
        ("tenants: [", "1:11 : expected the node content"),
        ("tenants: []\n\tsites: []", "2:1 : found character"),
        ("a: 1\n---\nb: 2", "2:1 : but found another document; only one document is read"),
        ("tenants: !!python/object:os.system []", "1:10 : tags are not read; "),
        ("instance: !!str 3", "1:11 : tags are not read; write the plain value, or quote it"),
        ("tenants: !x []", "1:10 : tags are not read; write the plain value, or quote it"),
        ("? [a]\n: 1", "1:3 : a key is a string; put it in quotes"),
        ("1: 2", "1:1 : a key is a string; put it in quotes"),
        ("x: *nope", "1:4 : found undefined alias"),
        ("x: *HUNTER2", "1:4 : found undefined alias"),
        (b"tenants: [{id: \xff}]", "1:16 : this byte is not UTF-8"),
        ("instance: a\u200bb\n\x07", "2:1 : a control character is not allowed here"),
        ("[" * 40 + "]" * 40, "nested deeper than 32"),
    ],
)
def test_a_mistake_has_its_place_and_what_would_be_right(world: Path, text: str | bytes, says: str) -> None:
    assert says in told(world, text)[0]
    assert "HUNTER2" not in told(world, text)[0], "whoever took another file for a world"


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("-1", "machines[0].attributes.a: this should be greater than or equal to 0"),
        ("9007199254740992", "machines[0].attributes.a: this should be less than or equal to 9007199254740991"),
    ],
)
def test_an_attributes_number_is_one_that_a_real_machine_may_state(world: Path, number: str, says: str) -> None:
    found = told(world, f"machines: [{{pool: k, attributes: {{a: {number}, b: {2**53 - 1}}}}}]")
    assert any(says in problem for problem in found)
    assert not any("attributes.b" in problem for problem in found)


def test_each_cycle_is_told_once_and_no_tenant_below_it(world: Path) -> None:
    first, second = "{id: a, parentId: b}, {id: b, parentId: a}", "{id: y, parentId: z}, {id: z, parentId: y}"
    cycles = f"{first}, {second}, {{id: x, parentId: x}}"
    told_of = [problem.path for problem in problems(world, f"tenants: [{{id: below, parentId: b}}, {cycles}]")]
    assert told_of == ["tenants[1].parentId", "tenants[3].parentId", "tenants[5].parentId"]


def test_a_cycle_of_many_is_told_in_few_words(world: Path) -> None:
    rows = [f"- {{id: t{n:02}, parentId: t{(n + 1) % 50:02}}}" for n in range(50)]
    [said] = told(world, "tenants:\n" + "\n".join(rows))
    assert "a tenant above itself: t00 > t01 > t02 > t03 > t04 > t05 > t06 > t07 > ... > t00; " in said


def test_tenants_below_each_other_take_no_longer_than_tenants_beside_each_other(world: Path) -> None:
    def seconds(parent: str) -> float:
        rows = [f"- {{id: t{n}, parentId: {parent.format(n + 1)}}}" for n in range(1000)]
        world.write_text("tenants:\n" + "\n".join(rows))
        started = time.process_time()
        assert len(read_world(world).content.tenants) == 1000
        return time.process_time() - started

    below, beside = (min(seconds(parent) for _ in range(3)) for parent in ("t{}", "root"))
    assert below < 2 * beside


@pytest.mark.parametrize("name", [ROOT_ADMIN, WORLD])
def test_a_name_that_the_control_plane_itself_goes_by_is_not_given_away(world: Path, name: str) -> None:
    [said] = told(world, f"identities:\n- {{id: sa, tenantId: root}}\n- {{id: {name}, tenantId: acme}}\n")
    assert said.startswith(f"3:8 identities[1].id: {name} is ")
    assert said.endswith("; give it another id")


def test_roots_administrator_may_be_named_by_root_and_the_worlds_actor_by_nobody(world: Path) -> None:
    world.write_text(f"identities: [{{id: {ROOT_ADMIN}, tenantId: root, kind: user}}, {{id: worlds, tenantId: acme}}]")
    assert [identity.id for identity in read_world(world).content.identities] == [ROOT_ADMIN, "worlds"]
    assert told(world, f"identities: [{{id: {WORLD}, tenantId: root}}]")


def test_all_mistakes_are_told_at_once(world: Path) -> None:
    assert len(told(world, "tenants: [{id: 'a b'}, {idd: c}]\nsites: 3\n")) == 4


def test_aliases_that_explode_are_refused(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml, "MOST", 5000)
    rows = [f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "more than 5000 values" in told(world, "\n".join(["x0: &x0 [a]", *rows]))[0]


@pytest.mark.parametrize("place", ["fifo", "/dev/zero", "/dev/tty", "."])
def test_what_is_no_file_is_not_waited_for(world: Path, place: str) -> None:
    if place == "fifo":
        os.mkfifo(world)
    else:
        world.symlink_to(place)
    with pytest.raises(ComputeError, match=r"this is not a regular file|cannot be read: (Is a dir|No such device)"):
        read_world(world)


def test_a_file_that_is_too_large_is_not_read(world: Path) -> None:
    with world.open("wb") as file:
        file.truncate(yaml.LARGEST + 1)
    with pytest.raises(ComputeError, match="the file is larger than 4 MiB"):
        read_world(world)


@pytest.mark.parametrize(
    "text",
    [
        "root:$6$c2FsdA$aGFzaA:19000:0:99999:7:::\n",
        "tenants: [{id: acme, s3cret/c2FsdA: 1}]",
        f"{'s3cretc2FsdA' * 4}: 1",
        "s3cret-c2FsdA: 1\ns3cret-c2FsdA: 2",
        "- root:$6$c2FsdA$aGFzaA:19000:0:99999:7:::\n",
    ],
)
def test_a_field_that_does_not_look_like_one_is_not_repeated(world: Path, text: str) -> None:
    for problem in problems(world, text):
        assert "c2FsdA" not in str(problem)
        assert "c2FsdA" not in problem.path + problem.message + problem.hint


def test_a_file_that_is_not_there_is_named(world: Path) -> None:
    with pytest.raises(ComputeError, match="cannot be read: No such file") as caught:
        read_world(world)
    assert str(caught.value.problems[0].source).startswith(str(world))
