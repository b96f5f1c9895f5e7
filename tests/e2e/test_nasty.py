"""Files that people, editors and attackers break, through the whole command: refused with a place, or applied."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.e2e.homes import Home, Ran
from tests.fleetctl.desired.test_nasty import break_texts, mutate
from tests.fleets import Fleet, fleets, write, yaml

Break = Callable[[Fleet, Random, Path], None]

PLACE = re.compile(r"(?:^|(?<=[ (]))[\w./-]+\.ya?ml:[1-9]\d*", re.MULTILINE)
"""A file and a line, as messages and plans show them."""
TARGET = re.compile(r"\[(?:fleet\.server|fleet\.caller|client\.server|server\.rights|world\.identity|storage\.url)\]")
"""Problems of the target that the files choose. Some are known only when it is asked, which is no matter of a line."""
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


def break_values(fleet: Fleet, random: Random, directory: Path) -> None:
    """Values of the wrong kind, names that are none."""
    [document] = fleet.documents()
    for _ in range(random.randint(1, 3)):
        mutate(document, random)
    (directory / "fleet.yaml").write_text(yaml(document, random), "utf-8", "surrogatepass")


def break_bytes(fleet: Fleet, random: Random, directory: Path) -> None:
    """Bytes that are no text, in the midst of a file or instead of it."""
    write(fleet, directory, random)
    path = random.choice(sorted(directory.rglob("*.y*ml")))
    data = bytearray(path.read_bytes())
    at = random.randrange(len(data))
    match random.randrange(4):
        case 0:
            data[at] = random.randrange(256)
        case 1:
            data[at:at] = random.randbytes(random.randint(1, 8))
        case 2:
            del data[at:]
        case _:
            data[at : at + random.randint(1, 40)] = b""
    path.write_bytes(data)


BOMBS: tuple[str, ...] = (
    "[" * 100 + "]" * 100,
    "{a: " * 100 + "1" + "}" * 100,
    "a: &a [x, x]\nb: &b [*a, *a]\n" + "".join(f"k{n}: &k{n} [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n" for n in range(9)),
    "&a [*a]",
    "? {a: 1}\n: 2",
    "!!python/object/apply:os.system [id]",
    "!include ../../secret",
    "%YAML 1.1\n---\nno: on",
    "%TAG ! tag:x,2000:\n---\n!a b",
    "- " * 200 + "x",
    "a: " + "1" * 5000,
    "a: 1e999999999",
    "'" + "x" * 100_000,
    '"\\ud800"',
    '"\\x00"',
    "a: |\n" + " " * 20 + "x\n  y",
    "\t- a",
    "- a\n -b",
    "<<: [*x]",
    "<<: 1",
    "x" * 70_000 + ": 1",
    "key: @at `back",
    "a: b: c",
    "--- >\n---",
    "2026-01-01: 1\n.inf: .nan\n",
    "\ufeff\ufeffa: 1",
    "a: \x1b[31mred",
    "a: \u202egnp.exe",
)


def add_bombs(fleet: Fleet, random: Random, directory: Path) -> None:
    """A file more, made to hurt readers."""
    write(fleet, directory, random)
    text = random.choice(BOMBS)
    if random.random() < 0.5:
        text = "x-a:\n" + "".join(f"  {line}\n" for line in text.split("\n"))
    (directory / "zz.yaml").write_text(text, "utf-8", "surrogatepass")


BREAKS: tuple[Break, ...] = (break_values, break_texts, break_bytes, add_bombs)


class Batch:
    """One home for many fleets: its control plane is as new at the start of each."""

    def __init__(self, home: Home) -> None:
        self.home, self.new, self.number = home, home.database.read_bytes(), 0
        self.clean = home.dump()
        self.ended: Counter[int] = Counter()

    def next(self) -> Path:
        """An empty directory for a fleet, deep enough that what it names by `../..` is still the test's."""
        self.number += 1
        self.home.directory = self.home.database.parent / f"a/b/c/{self.number}"
        self.home.directory.mkdir(parents=True)
        return self.home.directory

    def check(self, fleet: Fleet, random: Random, broken: Break) -> None:
        """The law: an apply ends with a known code and no traceback; what is not well is told with file and line, and
        has written nothing."""
        fleet.root["server"] = {"embedded": str(self.home.database)}
        pools = [{name: value for name, value in pool.items() if name != "id"} for pool in fleet.pools]
        broken(Fleet(fleet.root, pools), random, self.next())
        ran = self.home.run("apply", "--yes", "--allow", "archives=9", "--allow", "withdrawals=99", "--reason", "any")
        self.ended[ran.code] += 1
        check_said(ran)
        if ran.code == 0:
            self.home.database.write_bytes(self.new)
        else:
            assert self.home.dump() == self.clean, "it wrote, and ended ill"


def check_said(ran: Ran) -> None:
    assert ran.code in (0, 1, 3, 4), ran
    assert not CONTROL.search(ran.said), ran
    if ran.code in (1, 3):
        said = ran.err if ran.code == 1 else ran.out
        assert PLACE.search(said) or TARGET.search(said), f"it says no place: {said}"
    if ran.code == 4:
        assert "this is" in ran.err, ran.err


@contextmanager
def batch() -> Iterator[Batch]:
    with TemporaryDirectory() as name:
        yield Batch(Home(Path(name)))


FLEETS = fleets(max_pools=3)
RANDOM = st.randoms(use_true_random=True)


def run_law(examples: int, broken: Break) -> Counter[int]:
    """So many broken fleets; how their applies ended."""
    with batch() as one:

        @seed(0)
        @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(FLEETS, RANDOM)
        def law(fleet: Fleet, random: Random) -> None:
            one.check(fleet, random, broken)

        law()
        return one.ended


@pytest.mark.parametrize("broken", BREAKS)
def test_a_broken_fleet_is_refused_with_a_place_and_writes_nothing(broken: Break) -> None:
    assert run_law(38, broken)[1] > 5


@pytest.mark.long
@pytest.mark.parametrize("broken", BREAKS)
def test_three_thousand_broken_fleets_are_refused_with_a_place_and_write_nothing(broken: Break) -> None:
    ended = run_law(750, broken)
    print(f"{broken.__name__}: {sorted(ended.items())}")
    assert ended[1] > 100


HOSTILE_NAMES = [
    "a\nb.yaml",
    "\x1b[31mred.yaml",
    "\u202egnp.yaml",
    "a b.yaml",
    "$(id).yml",
    "-x.yaml",
    "é.yaml",
]


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=ascii)
def test_a_file_of_a_hostile_name_is_read_and_its_name_shown_harmless(tmp_path: Path, name: str) -> None:
    home = Home(tmp_path)
    home.files(fra1=yaml({"pools": SOUND}, Random(0)))
    home.write(name, "pools:\n  - {}\n")
    ran = home.run("plan")
    assert ran.code == 1
    assert re.search(r"ya?ml:2:\d+: ", ran.err)
    assert not CONTROL.search(ran.said)
    ran.said.encode()
    home.write(name, "pools: []\n")
    home.apply()
    assert home.is_settled()


def test_a_file_whose_name_is_no_text_is_refused_by_it(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.files(fra1=yaml({"pools": SOUND}, Random(0)))
    home.write("\udcff.yaml", "pools: []\n")
    ran = home.run("plan")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("\\xff.yaml:1:1: the name is not UTF-8")


SOUND = [
    {"idempotencyKey": f"fra1-{n}", "siteId": "site_fra1", "class": "metal-host", "gpuModel": "H100", "offers": []}
    for n in range(2)
]


def check_some() -> None:
    """The law for a few broken spellings of one fleet."""
    with batch() as one:
        for n in range(30):
            root = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet"}
            one.check(Fleet(root, SOUND), Random(n), break_values)


def test_a_reader_that_forgets_where_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: problems lose their source on the way to people."""
    check_some()
    monkeypatch.setattr("fleetctl.report.problems.source", lambda _: None)
    with pytest.raises(AssertionError, match="it says no place"):
        check_some()


def test_a_reader_that_raises_what_nobody_expects_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a mistake of the program's own."""

    def mistaken(*_: Any, **__: Any) -> None:
        raise KeyError("pools")

    monkeypatch.setattr("fleetctl.session.opening.load", mistaken)
    with pytest.raises(AssertionError, match="this should not have happened"):
        check_some()


def test_an_apply_that_writes_before_it_judges_breaks_the_law(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted fault: a blocked plan that is run as far as it goes."""
    check_blocked()
    monkeypatch.setattr("fleetctl.plan.Plan.blocked", False)
    with pytest.raises(AssertionError, match=r"^it wrote, and ended ill|assert 5 in"):
        check_blocked()


def check_blocked() -> None:
    """The law for a fleet that the rules refuse in part."""

    def as_it_is(fleet: Fleet, _: Random, directory: Path) -> None:
        (directory / "fleet.yaml").write_text(yaml(fleet.documents()[0], Random(0)))

    root = {"apiVersion": "fleet/v1", "tenantId": "root", "caller": "sa_fleet"}
    with batch() as one:
        one.check(Fleet(root, [SOUND[0], {**SOUND[1], "siteId": "site_nowhere"}]), Random(0), as_it_is)
        assert one.ended == {3: 1}
