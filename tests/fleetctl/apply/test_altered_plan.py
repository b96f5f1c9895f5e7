"""A plan file approves what it shows: whatever is altered in it, by a field or by a byte, with a checksum that fits or
not, it runs no more. Whoever alters it knows its form, and has not the key of its seal."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import pytest

from fleetctl.apply import approval
from fleetctl.apply.approval import MAY_MOVE
from fleetctl.apply.saved import Saved
from fleetctl.consequences import Consequences
from fleetctl.desired.load import load
from fleetctl.errors import EXIT_STALE, Stop
from fleetctl.live import read
from fleetctl.plan import make
from fleetctl.report import saved as saved_reports
from fleetctl.report.of_plan import of_plan
from fleetctl.report.plan_file import saved_plan
from fleetctl.spelling import canonical_text, checksum, seal
from tests.altered import leaves, with_value, without
from tests.e2e.homes import Home, entry, unchanged
from tests.fleetctl.report.world import a_header

OTHERS: dict[str, tuple[str, ...]] = {
    "action": ("offer", "archive"),
    "severity": ("safe", "lowers"),
    "code": ("new", "changed"),
    "kind": ("id", "key"),
}
"""Other values of fields that know a few alone."""
MANY, FEW = 1000, 200
SEALS = {"the old seal": None, "another key": b"k" * 32, "an empty key": b""}
BYTES = b'\x00 !"09Zaz{}\x7f\x80\xff\n'


@dataclass
class Approved:
    """A plan file, and how it is judged at a live state that did not move."""

    plan: dict[str, Any]
    key: bytes
    judge: Callable[[dict[str, Any]], Stop | None]

    def signed(self, plan: dict[str, Any], key: bytes | None = None) -> Stop | None:
        """Judged with a checksum that fits, and a seal by the key that whoever altered it could read, or made up."""
        again = plan if key is None else {**plan, "seal": seal(plan, key)}
        return self.judge({**again, "checksum": checksum(again)})


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """Five pools are live; the files want something of every action, a secret among it."""
    home = Home(tmp_path)
    secret = {"registry": {"password": "one"}}
    home.wish(entry("a", {"acme": 8, "globex": 8}, policy=secret), entry("b", "unmanaged"), entry("c", {"acme": 1}))
    home.apply()
    home.wish(
        entry("a", {"acme": 6}, policy={"registry": {"password": "two"}, "maxPending": "6h"}),
        entry("b", "unmanaged", ownerQuota={"gpu": 64}),
        {"idempotencyKey": "c", "archived": True},
        entry("d", {"acme": 32}, policy=secret),
        guards={"maxArchives": 1, "maxWithdrawals": 9},
    )
    return home


def saved(home: Home) -> Path:
    path = home.directory.parent / "plan.json"
    home.plan("--out", path)
    return path


@pytest.fixture
def approved(home: Home) -> Iterator[Approved]:
    path = saved(home)
    with home.hand("sa_fleet") as client:
        live = read(client, json.loads(path.read_text())["server"]["url"], "root")
        plan = make(load(home.directory), live)
        shown = of_plan(plan, a_header(), Consequences(plan, live))

        def judge(document: dict[str, Any]) -> Stop | None:
            path.write_text(canonical_text(document))
            try:
                approval.by_file(saved_plan(path), plan, live, client, None, shown)
            except Stop as stop:
                return stop
            return None

        yield Approved(json.loads(path.read_text()), live.instance.digest_key, judge)


def others(name: str | int, value: Any) -> Iterator[Any]:
    """Some other values, of the same type where there is one."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int | float):
        yield from (value + 1, 0 if value else 2)
    elif isinstance(value, str):
        yield from OTHERS.get(str(name), (f"{value}x", "0" * len(value), ""))
    else:
        yield from ("x", 1)


def alterations(plan: dict[str, Any]) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Each leaf with other values and left out, with the way to it. The checksum is made to fit anyhow."""
    for path, value in leaves(plan):
        if path != ("checksum",):
            yield from ((path, with_value(plan, path, other)) for other in others(path[-1], value) if other != value)
            yield path, without(plan, path)


def some(found: Iterable[Any], number: int = MANY) -> list[Any]:
    """So many of them, from all over."""
    there = list(found)
    assert len(there) >= number, len(there)
    return [there[index * len(there) // number] for index in range(number)]


def one_byte(data: bytes, rng: Random) -> Iterator[bytes]:
    """The file with one byte that is another, is gone, or is one more, at some place of it."""
    while True:
        place = rng.randrange(len(data))
        other = rng.choice((*BYTES, *(data[place] ^ 1 << bit for bit in range(8))))
        yield data[:place] + bytes([other]) + data[place + 1 :]
        yield data[:place] + data[place + 1 :]
        yield data[: place + 1] + bytes([other]) + data[place + 1 :]


def check_refused(home: Home, path: Path, files: Iterable[bytes]) -> None:
    """Each of so many files ends the whole command with exit 4 as it is read, and nothing is written."""
    refused = 0
    with unchanged(home):
        for altered in files:
            path.write_bytes(altered)
            ran = home.run("apply", "--plan", path)
            assert (ran.code, ran.out) == (EXIT_STALE, ""), f"it ends with {ran.code}: {ran.said} {altered!r}"
            is_unread = re.search(r"does not match its digest|is of formatVersion", ran.err)
            assert is_unread, f"it is read as a plan: {ran.err} {altered!r}"
            refused += 1
    assert refused == MANY


def test_a_thousand_changes_of_one_field_end_the_command(home: Home) -> None:
    path = saved(home)
    plan = json.loads(path.read_text())
    assert set(plan["summary"]["actions"]) == {"create", "update", "offer", "setQuota", "unoffer", "archive"}
    check_refused(home, path, (canonical_text(altered).encode() for _, altered in some(alterations(plan))))


def test_a_thousand_changes_of_one_byte_end_the_command(home: Home) -> None:
    path = saved(home)
    data = path.read_bytes()
    others = (altered for altered in one_byte(data, Random(1)) if altered != data)
    check_refused(home, path, islice(others, MANY))


def test_a_file_that_ends_anywhere_is_none(home: Home) -> None:
    path = saved(home)
    data = path.read_bytes()
    for end in some(range(len(data)), 200):
        path.write_bytes(data[:end])
        with pytest.raises(Stop, match="does not match its digest") as stopped:
            saved_plan(path)
        assert stopped.value.exit_code == EXIT_STALE


def test_a_file_that_may_be_spelled_otherwise_breaks_the_law(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: what a file says is held against its checksum, and not how it says it."""

    class Alike(bytes):
        __hash__ = bytes.__hash__

        def __ne__(self, _: object) -> bool:
            return False

    real = saved_reports.file_bytes
    monkeypatch.setattr(saved_reports, "file_bytes", lambda report: Alike(real(report)))
    with pytest.raises(AssertionError, match=r"^it ends with 0: "):
        test_a_thousand_changes_of_one_byte_end_the_command(home)


def test_a_file_without_a_checksum_breaks_the_law(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: only how a file is spelled is looked at."""
    monkeypatch.setattr(saved_reports, "checksum", lambda plan: plan["checksum"])
    with pytest.raises(AssertionError, match=r"^it is read as a plan: "):
        test_a_thousand_changes_of_one_field_end_the_command(home)


def test_a_plan_as_it_was_made_is_approved(approved: Approved) -> None:
    assert approved.signed(approved.plan) is None
    assert approved.signed(approved.plan, approved.key) is None
    assert {o["action"] for o in approved.plan["operations"]} == set(approved.plan["summary"]["actions"])


@pytest.mark.parametrize(
    ("key", "number"),
    [
        *(pytest.param(key, FEW, id=name) for name, key in SEALS.items()),
        *(pytest.param(key, MANY, id=f"{name}, many", marks=pytest.mark.long) for name, key in SEALS.items()),
    ],
)
def test_every_alteration_is_refused_whatever_it_is_of(approved: Approved, key: bytes | None, number: int) -> None:
    check_signed(approved, key, number)


def check_signed(approved: Approved, key: bytes | None, number: int) -> None:
    """Each of so many alterations is refused under a checksum that fits, and under a seal of `key` where there is
    one."""
    found = [(path, approved.signed(altered, key)) for path, altered in some(alterations(approved.plan), number)]
    passed = [path for path, stop in found if stop is None or stop.exit_code != EXIT_STALE]
    assert not passed, f"altered and approved: {passed}"


def test_a_seal_that_nobody_looks_at_breaks_the_law(approved: Approved, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: an alteration is known by the operations alone."""
    monkeypatch.setattr(Saved, "is_sealed", lambda *_: True)
    with pytest.raises(AssertionError, match=r"^altered and approved: "):
        check_signed(approved, None, 100)


def test_who_can_read_the_key_cannot_show_another_operation_either(approved: Approved) -> None:
    """Only what may move from plan to plan is taken from a file that is sealed with the right key."""
    passed = {
        path[2]
        for path, altered in alterations({"operations": approved.plan["operations"]})
        if approved.signed({**approved.plan, **altered}, approved.key) is None
    }
    assert passed == set(MAY_MOVE)


def test_an_operation_more_or_less_is_refused_and_named(approved: Approved) -> None:
    operations = approved.plan["operations"]
    for index, left_out in enumerate(operations):
        for some in (operations[:index] + operations[index + 1 :], [*operations, left_out]):
            assert approved.signed({**approved.plan, "operations": some}, approved.key) is not None
    stop = approved.signed({**approved.plan, "operations": [o for o in operations if o["action"] != "create"]})
    assert stop is not None
    assert stop.details == ("to be done now, and not planned: create d",)


def test_the_operation_that_differs_is_named(approved: Approved) -> None:
    (index,) = (
        n
        for n, o in enumerate(approved.plan["operations"])
        if (o["key"], o["toTenantId"], o["before"]) == ("d", "acme", None)
    )
    stop = approved.signed(with_value(approved.plan, ("operations", index, "after", "quota", "gpu"), 1))
    assert stop is not None
    assert (stop.message, stop.details) == (
        "the plan file was altered since it was made",
        ("offer d for acme: after altered",),
    )


def test_a_secret_that_is_shown_as_one_stays_one(approved: Approved) -> None:
    """It is written in the file as it is in the plan made anew, and the digests tell whether it is the same."""
    assert '"password": "(sensitive)"' in json.dumps(approved.plan)
    assert approved.signed(approved.plan) is None


def test_an_altered_plan_file_ends_a_run_before_the_first_write(home: Home) -> None:
    path = saved(home)
    plan = json.loads(path.read_text())
    plan["operations"] = [o for o in plan["operations"] if o["action"] != "create"]
    path.write_text(canonical_text({**plan, "checksum": checksum(plan)}))
    with unchanged(home):
        ran = home.run("apply", "--plan", path)
    assert ran.code == EXIT_STALE, ran.said
    assert "to be done now, and not planned: create d" in ran.err


def test_the_rest_of_an_altered_plan_is_refused_too(home: Home) -> None:
    path = saved(home)
    home.apply("--plan", path)
    plan = json.loads(path.read_text())
    plan["operations"][0]["effects"] = ["none"]
    path.write_text(canonical_text({**plan, "checksum": checksum(plan)}))
    with unchanged(home):
        assert "was altered since it was made" in home.run("apply", "--plan", path).err


def test_the_same_wish_in_another_spelling_is_approved(home: Home) -> None:
    path = saved(home)
    home.wish(
        {"idempotencyKey": "c", "archived": True},
        entry("d", {"acme": 32}, policy={"registry": {"password": "one"}}),
        entry("b", "unmanaged", ownerQuota={"gpu": 64, "vcpu": 0}),
        entry("a", {"acme": 6}, policy={"maxPending": "360m", "registry": {"password": "two"}}),
        guards={"maxArchives": 1, "maxWithdrawals": 9},
    )
    assert home.apply("--plan", path).report["summary"]["done"] == len(json.loads(path.read_text())["operations"])


def test_a_field_of_one_s_own_is_no_field_of_the_policy_that_is_spelled_alike(tmp_path: Path) -> None:
    """`overcommit.vcpu` is a ratio, of which 200 is 100; `overcommit.vcpu` as one name is whatever its owner means."""
    home = Home(tmp_path)
    home.wish(entry("a", "unmanaged"))
    home.apply()
    home.wish(entry("a", "unmanaged", policy={"overcommit.vcpu": 200}))
    path = saved(home)
    with home.hand("sa_fleet") as client:
        live = read(client, json.loads(path.read_text())["server"]["url"], "root")
        plan = make(load(home.directory), live)
        shown = of_plan(plan, a_header(), Consequences(plan, live))
        document = json.loads(path.read_text())
        [change] = document["operations"][0]["changes"]
        assert (change["path"], change["after"]) == ("policy.overcommit.vcpu", 200)
        change["after"] = 100
        document["seal"] = seal(document, live.instance.digest_key)
        path.write_text(canonical_text({**document, "checksum": checksum(document)}))
        with pytest.raises(Stop) as stopped:
            approval.by_file(saved_plan(path), plan, live, client, None, shown)
    assert stopped.value.details == ("update a: changes altered",)
