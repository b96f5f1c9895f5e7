"""Files that have another name than they had."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleetctl.together.moves import moves
from tests.repository import Repository

LINES = [b"line %d of some length\n" % n for n in range(10)]
TEXT = b"".join(LINES)
OTHER = b"".join(b"another text, of line %d\n" % n for n in range(10))


def changed(lines: int) -> bytes:
    return b"".join([b"CHANGED %d of some length\n" % n for n in range(lines)] + LINES[lines:])


@pytest.mark.parametrize(
    ("was", "now", "found"),
    [
        ({"a": TEXT}, {"a": TEXT, "b": TEXT}, {}),
        ({"a": TEXT}, {}, {}),
        ({"a": TEXT}, {"b": TEXT}, {"a": "b"}),
        ({"a": TEXT}, {"b": changed(4)}, {"a": "b"}),
        ({"a": TEXT}, {"b": changed(6)}, {}),
        ({"a": TEXT}, {"b": OTHER}, {}),
        ({"a": b""}, {"b": b""}, {}),
        ({"a": TEXT, "b": OTHER}, {"c": OTHER, "d": changed(1)}, {"a": "d", "b": "c"}),
        ({"a": TEXT}, {"b": changed(3), "c": changed(1)}, {"a": "c"}),
        ({"a": TEXT, "b": changed(3)}, {"c": changed(1)}, {"a": "c"}),
        ({"a": TEXT, "b": TEXT}, {"c": TEXT, "d": TEXT}, {"a": "c", "b": "d"}),
    ],
)
def test_a_file_is_the_same_under_another_name_where_half_of_it_is(
    was: dict[str, bytes], now: dict[str, bytes], found: dict[str, str]
) -> None:
    assert moves(was, now) == found


def test_of_very_many_files_those_are_followed_that_are_as_they_were() -> None:
    was = {f"old/{n}": b"%d\n" % n + TEXT for n in range(300)}
    now = {f"new/to-{n}": data if n % 2 else data + b"more\n" for n, data in enumerate(was.values())}
    assert moves(was, now) == {f"old/{n}": f"new/to-{n}" for n in range(1, 300, 2)}


def test_very_many_files_that_change_their_folder_and_their_lines_are_followed_by_their_names() -> None:
    was = {f"old/{n}": b"%d\n" % n + TEXT for n in range(300)}
    now = {f"new/{n}": data + b"more\n" for n, data in enumerate(was.values())}
    assert moves(was, now) == {f"old/{n}": f"new/{n}" for n in range(300)}


@pytest.mark.parametrize(
    ("now", "found"),
    [
        ({"new/a": changed(2), "new/b": changed(1)}, {"old/a": "new/a"}),
        ({"new/a": changed(2), "new/b": TEXT}, {"old/a": "new/b"}),
        ({"new/a": changed(3), "new/b": changed(1)}, {"old/a": "new/b"}),
        ({"new/a": changed(2), "other/a": changed(1)}, {"old/a": "other/a"}),
    ],
)
def test_a_file_that_keeps_its_name_in_another_folder_is_the_same_as_git_has_it(
    now: dict[str, bytes], found: dict[str, str], tmp_path: Path
) -> None:
    was = {"old/a": TEXT}
    assert moves(was, now) == found == by_git(tmp_path, was, now)


def by_git(directory: Path, was: dict[str, bytes], now: dict[str, bytes]) -> dict[str, str]:
    repository = Repository(directory / "repository")
    for files in (was, now):
        repository.git("rm", "-rqf", "--ignore-unmatch", ".")
        for name, data in files.items():
            path = repository.path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        repository.commit()
    told = repository.git("diff", "-M50%", "--name-status", "HEAD^", "HEAD").splitlines()
    return {line.split("\t")[1]: line.split("\t")[2] for line in told if line.startswith("R")}
