"""Files of a fleet are formatted in their place: which, how they are written, and which are left alone."""

from __future__ import annotations

import resource
import stat
from pathlib import Path

import pytest

from fleetctl.files import FilesError
from fleetctl.formatting import FormattedFile, UnsafeError, format_bytes, format_fleet, format_text
from fleetctl.formatting.layout import lay_out

ROOT = "apiVersion: fleet/v1\ntenantId: root\n"
LOOSE = "pools:\n-   idempotencyKey:  'a'\n"
NEAT = "pools:\n  - idempotencyKey: a\n"


def statuses(path: Path, *, check: bool = False) -> dict[str, str]:
    return {file.file: file.status for file in format_fleet(path, check=check)}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    (tmp_path / "fleet.yaml").write_text(ROOT)
    (tmp_path / "pools.yaml").write_text(LOOSE)
    return tmp_path


def test_what_is_not_canonical_is_written_anew(fleet: Path) -> None:
    assert statuses(fleet) == {"fleet.yaml": "unchanged", "pools.yaml": "formatted"}
    assert (fleet / "pools.yaml").read_text() == NEAT
    assert statuses(fleet) == {"fleet.yaml": "unchanged", "pools.yaml": "unchanged"}


def test_a_check_writes_nothing(fleet: Path) -> None:
    assert statuses(fleet, check=True) == {"fleet.yaml": "unchanged", "pools.yaml": "unformatted"}
    assert (fleet / "pools.yaml").read_text() == LOOSE


def test_only_files_of_the_fleet_are_touched(fleet: Path) -> None:
    loose = "server: {embedded: a.db, world: world.yaml}\nexclude: [notes.yaml]\n"
    (fleet / "fleet.yaml").write_text(ROOT + loose)
    others = ["world.yaml", "notes.yaml", ".hidden.yaml", "a.fleet-test.yaml", "expected/a.yaml", "a.txt"]
    for name in others:
        path = fleet / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("a:   1\n")
    assert statuses(fleet) == {"fleet.yaml": "unchanged", "pools.yaml": "formatted"}
    assert {(fleet / name).read_text() for name in others} == {"a:   1\n"}


@pytest.mark.parametrize("name", ["world.yaml", "a.fleet-test.yaml"])
def test_a_file_that_is_named_is_formatted_whatever_it_is(fleet: Path, name: str) -> None:
    (fleet / name).write_text("tenants:   [ {id: acme} ]\n")
    assert statuses(fleet / name) == {name: "formatted"}
    assert (fleet / name).read_text() == "tenants: [{id: acme}]\n"


def test_a_file_of_comments_alone_is_formatted_too(fleet: Path) -> None:
    (fleet / "notes.yaml").write_text("  # a\n\n\n# b")
    assert statuses(fleet)["notes.yaml"] == "formatted"
    assert (fleet / "notes.yaml").read_text() == "# a\n\n# b\n"


def test_line_ends_and_the_byte_order_mark_are_canonical() -> None:
    assert format_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\rc: 3", "a.yaml") == b"a: 1\nb: 2\nc: 3\n"


def test_json_stays_json(fleet: Path) -> None:
    text = '{"apiVersion":"fleet/v1", "tenantId": "root", "pools": []}'
    (fleet / "fleet.json").write_text(text)
    assert statuses(fleet / "fleet.json") == {"fleet.json": "unchanged"}
    assert (fleet / "fleet.json").read_text() == text


def test_mode_and_links_stay(fleet: Path) -> None:
    (fleet / "kept").mkdir()
    target = (fleet / "pools.yaml").rename(fleet / "kept" / "real.txt")
    target.chmod(0o640)
    (fleet / "pools.yaml").symlink_to(target)
    assert statuses(fleet)["pools.yaml"] == "formatted"
    assert (fleet / "pools.yaml").is_symlink()
    assert target.read_text() == NEAT
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert sorted(path.name for path in target.parent.iterdir()) == ["real.txt"]


def test_where_a_file_cannot_be_read_none_is_written(fleet: Path) -> None:
    (fleet / "broken.yaml").write_text("a: [\n")
    with pytest.raises(FilesError) as caught:
        format_fleet(fleet, check=False)
    assert [str(problem.source) for problem in caught.value.problems] == ["broken.yaml:1:4"]
    assert (fleet / "pools.yaml").read_text() == LOOSE


def test_what_would_not_say_the_same_is_found_where_it_stands() -> None:
    """A key of brackets may have 1,024 characters, and more with the blanks that it gets. No fleet has such keys."""
    with pytest.raises(UnsafeError) as caught:
        format_text(f"a: 1\n\n[{'1,' * 510}1]: b\nc: 2\n")
    assert (caught.value.line, caught.value.what) == (3, "a value")


@pytest.mark.parametrize(
    ("wrong", "what"), [(("# of b", "# of c"), "a comment"), (("b: 2", "b: '2'"), "a value"), (("b", "\tb"), "a value")]
)
def test_a_fault_of_the_layout_changes_no_file(
    fleet: Path, wrong: tuple[str, str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleetctl.formatting.formatted.lay_out", lambda text: lay_out(text).replace(*wrong))
    text = "x-a:   1\nx-b: 2  # of b\n"
    (fleet / "note.yaml").write_text(text)
    left = next(file for file in format_fleet(fleet, check=False) if file.file == "note.yaml")
    assert left == FormattedFile("note.yaml", "left", f"formatted it would not say the same: {what} would differ", 2)
    assert (fleet / "note.yaml").read_text() == text
    assert (fleet / "pools.yaml").read_text() == NEAT


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"x-a: 1\nx-b:  2\nx-c:  3\n", 2),
        (b"x-a: 1\n\n\n", 2),
        (b"x-a: 1\nx-b: 2", 2),
        (b"x-a: 1\r\nx-b: 2\r\n", 1),
        (b"\xef\xbb\xbfx-a: 1\n", 1),
    ],
)
def test_a_check_names_the_first_line_that_would_change(fleet: Path, data: bytes, line: int) -> None:
    (fleet / "more.yaml").write_bytes(data)
    found = next(file for file in format_fleet(fleet, check=True) if file.file == "more.yaml")
    assert found == FormattedFile("more.yaml", "unformatted", line=line)


def test_a_file_that_cannot_be_written_is_left_as_it_was_and_the_others_are_not(fleet: Path) -> None:
    (fleet / "more.yaml").write_text("offers:   []\n")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(NEAT) - 1, hard))
    try:
        files = {file.file: file for file in format_fleet(fleet, check=False)}
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {name: file.status for name, file in files.items()} == {
        "fleet.yaml": "unchanged",
        "more.yaml": "formatted",
        "pools.yaml": "left",
    }
    assert files["pools.yaml"].why == "it cannot be written: File too large"
    assert (fleet / "pools.yaml").read_text() == LOOSE
    assert sorted(path.name for path in fleet.iterdir()) == ["fleet.yaml", "more.yaml", "pools.yaml"]
