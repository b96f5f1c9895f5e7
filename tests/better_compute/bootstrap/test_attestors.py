"""Attestors by their keys: what the files may hold, and what evidence counts for."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import pytest

from better_compute.bootstrap.attestors import KeyedAttestor, read_attestor, read_attestors
from better_compute.domain.problems import ComputeError
from tests.builders import NOW

KEY = b"k" * 32


def clock() -> int:
    return NOW


def site(name: str = "site", key: bytes = KEY) -> KeyedAttestor:
    return KeyedAttestor(name, key, clock)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "site.key"
    path.write_bytes(KEY + b"\n")
    return path


def test_evidence_is_what_is_documented() -> None:
    """Others may make it: its form is a promise."""
    evidence = site().evidence(b'{"poolId":"p"}', NOW + 1, lambda n: b"\x01" * n)
    said = f'better-compute:v1:site:{NOW + 1}:{"01" * 16}:{{"poolId":"p"}}'
    mac = hmac.new(KEY, said.encode(), hashlib.sha256).hexdigest()
    assert evidence == f"v1.{NOW + 1}.{'01' * 16}.{mac}"
    site().check(evidence, b'{"poolId":"p"}')


@pytest.mark.parametrize("other", [site("lab"), site(key=b"x" * 32)], ids=["name", "key"])
def test_evidence_of_another_is_refused(other: KeyedAttestor) -> None:
    evidence = other.evidence(b"{}", NOW + 1, lambda n: b"\x01" * n)
    with pytest.raises(ComputeError, match="this is no evidence of the attestor"):
        site().check(evidence, b"{}")


@pytest.mark.parametrize("position", range(0, 112, 5))
def test_evidence_that_is_altered_anywhere_is_refused(position: int) -> None:
    evidence = site().evidence(b"{}", NOW + 1, lambda n: b"\x01" * n)
    altered = evidence[:position] + ("1" if evidence[position] != "1" else "2") + evidence[position + 1 :]
    with pytest.raises(ComputeError) as refused:
        site().check(altered, b"{}")
    assert refused.value.code == "ACCESS_DENIED"


@pytest.mark.parametrize("evidence", ["", "v1", "v1...", "v1.1.2.3", "v2.1.0.0", "\u0661" * 100, "v1." + "9" * 8000])
def test_what_is_no_evidence_is_refused(evidence: str) -> None:
    with pytest.raises(ComputeError, match="this is no evidence"):
        site().check(evidence, b"{}")


def test_a_key_is_what_its_file_holds_without_blanks_around_it(file: Path) -> None:
    attestor = read_attestor(f"site={file}", clock)
    assert (attestor.name, attestor.key) == ("site", KEY)
    assert "k" * 8 not in repr(attestor)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("site", "an attestor reads NAME=KEYFILE"),
        ("site=", "an attestor reads NAME=KEYFILE"),
        ("={file}", "this is no name of an attestor"),
        ("a b={file}", "this is no name of an attestor"),
        ("join-token={file}", "join-token is no attestor with a key"),
        ("site={file}.no", "cannot be read from"),
        ("site={folder}", "cannot be read from"),
        ("site=a\x00b", "this is no path"),
    ],
)
def test_what_is_no_attestor_is_told(file: Path, given: str, says: str) -> None:
    with pytest.raises(ComputeError, match=says) as refused:
        read_attestor(given.format(file=file, folder=file.parent), clock)
    assert (refused.value.code, refused.value.problems[0].rule) == ("INVALID_INPUT", "serve.attestor")


@pytest.mark.parametrize("data", [b"", b"\n" * 64, b"short", b"s" * 31, b"s" * 4097], ids=len)
def test_a_key_is_neither_short_nor_long_and_is_in_no_error(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(ComputeError, match="a key holds 32 to 4096 bytes") as refused:
        read_attestor(f"site={file}", clock)
    assert "sss" not in str(refused.value)


def test_no_name_stands_twice(file: Path) -> None:
    assert set(read_attestors([f"site={file}", f"lab={file}"], clock)) == {"site", "lab"}
    with pytest.raises(ComputeError, match="site is given twice"):
        read_attestors([f"site={file}", f"site={file}"], clock)
