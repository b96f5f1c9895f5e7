"""A fleet from a path: which files are read, which are not, and what is refused about files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from better_compute.domain.problems import Problem
from fleetctl.files import FilesError, read_fleet
from fleetctl.files.text import MAX_BYTES

SECRET = "token-4f2a"


def write(root: Path, **files: str) -> Path:
    """Files of a directory: `a="x: 1"` is a.yaml; a double underscore stands for a slash."""
    for name, text in files.items():
        path = root / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def names(path: Path) -> list[str]:
    """Which files were read, once for each document."""
    return [document.file for document in read_fleet(path)]


def refused(path: Path) -> list[Problem]:
    with pytest.raises(FilesError) as caught:
        read_fleet(path)
    return list(caught.value.problems)


def where(problems: list[Problem]) -> list[tuple[str, str]]:
    return [(problem.source.file if problem.source else "", problem.rule) for problem in problems]


def test_a_directory_is_read_with_all_below_it_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path, b="x: 1\n---\ny: 2\n", a__z="x: 1", a__b__c="x: 1", fleet="x: 1")
    (tmp_path / "c.yml").write_text("x: 1")
    assert names(tmp_path) == ["a/b/c.yaml", "a/z.yaml", "b.yaml", "b.yaml", "c.yml", "fleet.yaml"]


def test_what_is_no_fleet_file_is_not_read(tmp_path: Path) -> None:
    write(tmp_path, a="x: 1", expected__plan="- no", sub__expected__x="- no", sub__b="x: 1")
    write(tmp_path, **{"a.fleet-test": "- no", ".hidden": "- no", ".dir__x": "- no", "sub__.dir__x": "- no"})
    for other in ("README.md", "x.json", "x.yaml.bak", "x.YAML", "yaml"):
        (tmp_path / other).write_text("- [no")
    assert names(tmp_path) == ["a.yaml", "sub/b.yaml"]


def test_a_file_named_expected_is_read(tmp_path: Path) -> None:
    assert names(write(tmp_path, expected="x: 1")) == ["expected.yaml"]


def test_one_file_is_read_under_its_own_name(tmp_path: Path) -> None:
    write(tmp_path, sub__only="x: 1", sub__other="- broken")
    assert names(tmp_path / "sub" / "only.yaml") == ["only.yaml"]


def test_a_single_file_may_be_json_of_any_name(tmp_path: Path) -> None:
    file = tmp_path / "fleet.json"
    file.write_text('{"apiVersion": "fleet/v1", "pools": [{"idempotencyKey": "a"}]}')
    (document,) = read_fleet(file)
    assert document.root["pools"] == [{"idempotencyKey": "a"}]
    assert str(document.source(["pools", 0, "idempotencyKey"])) == "fleet.json:1:57"


@pytest.mark.parametrize("text", ["", "# comments\n# only\n", "---\n", "\ufeff"])
def test_a_file_without_a_document_is_an_error_alone_and_harmless_among_others(tmp_path: Path, text: str) -> None:
    write(tmp_path, empty=text)
    assert where(refused(tmp_path / "empty.yaml")) == [("empty.yaml", "files.empty")]
    assert where(refused(tmp_path)) == [(str(tmp_path), "files.empty")]
    write(tmp_path, full="x: 1")
    assert names(tmp_path) == ["full.yaml"]


def test_an_empty_directory_and_a_missing_path_are_errors(tmp_path: Path) -> None:
    assert where(refused(tmp_path)) == [(str(tmp_path), "files.empty")]
    assert where(refused(tmp_path / "nothing")) == [("nothing", "files.unreadable")]
    assert refused(tmp_path / "nothing")[0].hint == "check that it exists and that you may read it"
    assert refused(tmp_path / "no" / "nothing")[0].hint == "check that it exists and that you may read it"
    (tmp_path / "README.md").write_text("no fleet")
    assert where(refused(tmp_path)) == [(str(tmp_path), "files.empty")]


def test_of_a_path_that_is_missing_the_nearest_name_beside_it_is_told(tmp_path: Path) -> None:
    for name in ("fleet", ".fleets", "other"):
        (tmp_path / name).mkdir()
    assert refused(tmp_path / "fleets")[0].hint == 'did you mean "fleet"?'


def test_the_problems_of_all_files_are_reported_in_the_order_of_files_and_lines(tmp_path: Path) -> None:
    write(tmp_path, b="x: 01\ny: 'open\n", a="- list\n", c="x: 1\n", d__e="\tx: 1\n")
    (tmp_path / "a2.yaml").write_bytes(b"x: \xff")
    problems = refused(tmp_path)
    assert where(problems) == [
        ("a.yaml", "yaml.root"),
        ("a2.yaml", "yaml.encoding"),
        ("b.yaml", "yaml.number"),
        ("b.yaml", "yaml.syntax"),
        ("d/e.yaml", "yaml.tab"),
    ]
    assert all(problem.hint and problem.code == "INVALID_INPUT" for problem in problems)


# --- what documents leave out ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("declared_in", ["fleet", "a", "zz", "sub/x"])
def test_the_world_file_is_not_read_wherever_it_is_named(tmp_path: Path, declared_in: str) -> None:
    folder = "../" * declared_in.count("/")
    files = {
        "world": "tenants: [\n",
        "other": "x: 1",
        declared_in: f"server: {{embedded: db, world: {folder}world.yaml}}\n",
    }
    write(tmp_path, **files)
    assert names(tmp_path) == sorted(f"{name}.yaml" for name in files if name != "world")


def test_a_world_file_is_found_from_the_file_that_names_it(tmp_path: Path) -> None:
    write(tmp_path, sub__fleet="server: {world: world.yaml}\n", sub__world="- no", world="x: 1")
    assert names(tmp_path) == ["sub/fleet.yaml", "world.yaml"]


def test_a_world_outside_the_fleet_or_of_another_kind_leaves_nothing_out(tmp_path: Path) -> None:
    write(tmp_path / "f", fleet="server: {world: ../world.yaml}\n", a="server: {world: 5}\n", b="server: http://x\n")
    assert names(tmp_path / "f") == ["a.yaml", "b.yaml", "fleet.yaml"]


@pytest.mark.parametrize(
    ("glob", "left_out"),
    [
        ("b.yaml", ["b.yaml"]),
        ("./b.yaml", ["b.yaml"]),
        ("*.yaml", ["b.yaml", "fleet.yaml"]),
        ("sub", ["sub/b.yaml", "sub/deep/b.yaml", "sub/deep/c.yaml"]),
        ("sub/", ["sub/b.yaml", "sub/deep/b.yaml", "sub/deep/c.yaml"]),
        ("sub/*", ["sub/b.yaml", "sub/deep/b.yaml", "sub/deep/c.yaml"]),
        ("sub/*.yaml", ["sub/b.yaml"]),
        ("sub/**", ["sub/b.yaml", "sub/deep/b.yaml", "sub/deep/c.yaml"]),
        ("**/b.yaml", ["b.yaml", "sub/b.yaml", "sub/deep/b.yaml"]),
        ("**/deep/*", ["sub/deep/b.yaml", "sub/deep/c.yaml"]),
        ("sub/**/b.yaml", ["sub/b.yaml", "sub/deep/b.yaml"]),
        ("sub/deep/?.yaml", ["sub/deep/b.yaml", "sub/deep/c.yaml"]),
        ("sub/deep/[!b].yaml", ["sub/deep/c.yaml"]),
        ("deep", []),
        ("B.yaml", []),
        ("", []),
        ("/", []),
        ("../x", []),
    ],
)
def test_globs_leave_files_out(tmp_path: Path, glob: str, left_out: list[str]) -> None:
    everything = ["b.yaml", "fleet.yaml", "sub/b.yaml", "sub/deep/b.yaml", "sub/deep/c.yaml", "z/z.yaml"]
    write(tmp_path, b="x: 1", sub__b="x: 1", sub__deep__b="x: 1", sub__deep__c="x: 1", z__z="x: 1")
    write(tmp_path, fleet=f"exclude: ['{glob}']\n")
    assert names(tmp_path) == [name for name in everything if name not in left_out]


def test_many_stars_take_no_more_time(tmp_path: Path) -> None:
    deep = "/".join(["a"] * 60)
    write(tmp_path, **{f"{deep}/x": "x: 1", "fleet": f"exclude: ['{'**/a/' * 30}b', '{'*a' * 40}b/**']\n"})
    assert len(names(tmp_path)) == 2


def test_a_file_that_is_left_out_may_be_anything(tmp_path: Path) -> None:
    write(tmp_path, fleet="exclude: [junk*, sub]\n", junk="[", junk2="\t- {", sub__x="%")
    os.mkfifo(tmp_path / "junk3.yaml")
    (tmp_path / "junk4.yaml").symlink_to("/nowhere")
    assert names(tmp_path) == ["fleet.yaml"]


def test_a_file_that_fleet_yaml_leaves_out_leaves_nothing_out_itself(tmp_path: Path) -> None:
    write(tmp_path, fleet="exclude: [old]\n", old__fleet="exclude: ['**']\n", a="x: 1")
    assert names(tmp_path) == ["a.yaml", "fleet.yaml"]


def test_globs_of_other_files_count_whatever_their_order(tmp_path: Path) -> None:
    write(tmp_path, a="exclude: [m.yaml]\n", m="exclude: [z.yaml]\n", z="[", n="x: 1")
    assert names(tmp_path) == ["a.yaml", "n.yaml"]


def test_an_exclude_of_another_kind_leaves_nothing_out(tmp_path: Path) -> None:
    assert names(write(tmp_path, fleet="exclude: a.yaml\n", a="exclude: [5, {b: c}]\n")) == ["a.yaml", "fleet.yaml"]


# --- links -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A fleet beside a secret: the fleet's directory."""
    write(tmp_path, secrets__token=f"{SECRET}\n")
    (tmp_path / "secrets" / "token.txt").write_text(f"{SECRET}: [\n")
    return write(tmp_path / "fleet", a="x: 1")


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("extra.yaml", "../secrets/token.txt"),
        ("extra.yaml", "../secrets/token.yaml"),
        ("extra.yaml", "../secrets"),
        ("sub", "../secrets"),
        ("sub.yaml", "../fleet2"),
        ("extra.yaml", "/etc/hostname"),
        ("extra.yaml", "../secrets/../secrets/token.txt"),
    ],
)
def test_a_link_that_leaves_the_fleet_is_refused_by_its_path_alone(outside: Path, link: str, target: str) -> None:
    (outside.parent / "fleet2").mkdir()
    (outside / link).symlink_to(target)
    (problem,) = refused(outside)
    assert where([problem]) == [(link, "files.link")]
    assert SECRET not in repr(problem)
    assert target not in repr(problem)


def test_a_chain_of_links_that_leaves_the_fleet_is_refused(outside: Path) -> None:
    (outside / ".hop").symlink_to("../secrets/token.txt")
    (outside / "b.yaml").symlink_to(".hop")
    assert where(refused(outside)) == [("b.yaml", "files.link")]


def test_a_named_file_that_is_a_link_out_of_its_directory_is_refused(outside: Path) -> None:
    (outside / "b.yaml").symlink_to("../secrets/token.txt")
    (problem,) = refused(outside / "b.yaml")
    assert where([problem]) == [("b.yaml", "files.link")]
    assert SECRET not in repr(problem)


def test_links_inside_the_fleet_work_and_a_file_is_read_once(tmp_path: Path) -> None:
    write(tmp_path, **{"a": "x: 1", ".shared__base": "y: 1", ".shared__more": "z: 1"})
    (tmp_path / "b.yaml").symlink_to("a.yaml")
    (tmp_path / "base.yaml").symlink_to(".shared/base.yaml")
    (tmp_path / "base2.yaml").symlink_to(".shared/base.yaml")
    (tmp_path / "more").symlink_to(".shared")
    assert names(tmp_path) == ["a.yaml", "base.yaml", "more/more.yaml"]
    assert names(tmp_path / "b.yaml") == ["b.yaml"]


def test_a_fleet_that_is_itself_a_link_is_read(tmp_path: Path) -> None:
    write(tmp_path / "real", a="x: 1")
    (tmp_path / "link").symlink_to("real")
    assert names(tmp_path / "link") == ["a.yaml"]


def test_loops_of_links_end(tmp_path: Path) -> None:
    write(tmp_path, sub__a="x: 1")
    (tmp_path / "sub" / "up").symlink_to("..")
    (tmp_path / "self").symlink_to(".")
    assert names(tmp_path) == ["sub/a.yaml"]
    (tmp_path / "x.yaml").symlink_to("y.yaml")
    (tmp_path / "y.yaml").symlink_to("x.yaml")
    assert where(refused(tmp_path)) == [("x.yaml", "files.link"), ("y.yaml", "files.link")]
    assert where(refused(tmp_path / "x.yaml")) == [("x.yaml", "files.unreadable")]


def test_a_link_to_nothing_is_refused_where_a_fleet_file_should_be(tmp_path: Path) -> None:
    write(tmp_path, a="x: 1")
    (tmp_path / "notes").symlink_to("nowhere")
    assert names(tmp_path) == ["a.yaml"]
    (tmp_path / "b.yaml").symlink_to("nowhere")
    assert where(refused(tmp_path)) == [("b.yaml", "files.link")]


@pytest.mark.parametrize("name", ["-", "/dev/stdin", "/dev/fd/0", "/dev/null", "pipe"])
def test_stdin_devices_and_pipes_are_no_fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(FilesError) as refused:
        read_fleet(Path(name))
    (problem,) = refused.value.problems
    assert problem.rule == "files.kind"
    assert problem.message == "a fleet is read from files, and not from stdin or a device"
    (tmp_path / "-").write_text("pools: []\n")
    assert [document.file for document in read_fleet(Path("-"))] == ["-"]


def test_the_world_file_is_not_read_under_another_name(tmp_path: Path) -> None:
    write(tmp_path, **{"fleet": "server: {world: world.yaml}\n", "worlds__dev": "- no", ".w": "- no"})
    (tmp_path / "world.yaml").symlink_to("worlds/dev.yaml")
    (tmp_path / "z.yaml").symlink_to("world.yaml")
    assert names(tmp_path) == ["fleet.yaml"]


# --- odd files -------------------------------------------------------------------------------------------------------


def test_a_folder_named_like_a_file_is_a_folder(tmp_path: Path) -> None:
    assert names(write(tmp_path, **{"a.yaml__b": "x: 1"})) == ["a.yaml/b.yaml"]


def test_pipes_and_devices_are_refused_without_waiting(tmp_path: Path) -> None:
    write(tmp_path, a="x: 1")
    os.mkfifo(tmp_path / "pipe.yaml")
    assert where(refused(tmp_path)) == [("pipe.yaml", "files.kind")]
    assert where(refused(tmp_path / "pipe.yaml")) == [("pipe.yaml", "files.kind")]
    assert where(refused(Path("/dev/null"))) == [("null", "files.kind")]


def test_the_size_is_looked_at_before_anything_is_read(tmp_path: Path) -> None:
    with (tmp_path / "big.yaml").open("wb") as stream:
        stream.truncate(MAX_BYTES * 1000)
    assert where(refused(tmp_path)) == [("big.yaml", "files.size")]


@pytest.mark.parametrize("name", [b"x\xff.yaml", b"dir\xfe/a.yaml"])
def test_a_name_that_is_not_utf_8_is_refused_in_words_that_can_be_printed(tmp_path: Path, name: bytes) -> None:
    path = os.path.join(os.fsencode(tmp_path), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as stream:
        stream.write(b"x: 1")
    (problem,) = refused(tmp_path)
    assert problem.rule == "files.name"
    assert "\\xf" in str(problem.source)
    str(problem.source).encode()
    broken = refused(Path(os.fsdecode(path)) / "nothing.yaml" if b"/" in name else Path(os.fsdecode(path) + "x"))
    str(broken[0].source).encode()


@contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of root, which reads everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


def test_what_may_not_be_read_is_named_with_the_reason() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = write(Path(name), a="x: 1", closed__b="x: 1", c="x: 1")
        root.chmod(0o755)
        (root / "c.yaml").chmod(0)
        (root / "closed").chmod(0)
        with nobody():
            problems = refused(root)
        (root / "closed").chmod(0o755)
    assert where(problems) == [("c.yaml", "files.unreadable"), ("closed", "files.unreadable")]
    assert all("permission denied" in problem.message for problem in problems)


def test_reading_needs_no_other_package_than_the_parser() -> None:
    code = "import json, sys, fleetctl.files; print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "yaml" in json.loads(loaded)
    assert not {"ruamel", "_ruamel_yaml", "pydantic", "msgspec", "httpx", "sqlalchemy"} & set(json.loads(loaded))
