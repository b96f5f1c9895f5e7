"""Run the benchmarks: `python -m benchmarks [NAME...] [--large]`, ratios in one run, against peers and floors.

Makes what it needs below `.benchmarks/`: a virtual environment as the README's command makes it, one with the peer,
fleets and their control planes. `--large` adds the 100,000 objects that tell how cost grows.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from benchmarks import fleet, peer
from benchmarks.measure import growth_in_turn, ratios_in_turn
from benchmarks.servers import serving
from tests import postgres

ROOT = Path(__file__).parent.parent
HOME = ROOT / ".benchmarks"
PEER = "octodns==1.22.0"
RUNS = 7
SIZES = (1_000, 10_000, 100_000)

LIMITS: Final = {
    "fleetctl --version / python -c pass": 1.3,
    "fleetctl id, of tenant and caller given / python -c pass": 8.0,
    "fleetctl show of a small plan / python -c pass": 12.0,
    "fleetctl fmt --check of two files / python -c pass": 12.0,
    "no-change plan of 10,000 objects, served / octoDNS dry run": 0.33,
    "no-change plan of 10,000 objects, embedded / octoDNS dry run": 0.5,
    "growth: (t100k - t10k) / 90k over (t10k - t1k) / 9k": 1.15,
    "list page of 1,000 pools / json.dumps of that page": 3.0,
    "markdown of a plan of 10,000 operations / json.dumps of that plan": 3.0,
    "book on SQLite / bare handler and bare transaction": 10.0,
    "get on SQLite / bare handler and bare transaction": 3.0,
    "list on SQLite / bare handler and bare transaction": 4.0,
    "book on PostgreSQL / bare handler and bare transaction": 9.0,
    "get on PostgreSQL / bare handler and bare transaction": 3.0,
    "list on PostgreSQL / bare handler and bare transaction": 4.0,
    "99 of 100 answers of a crowded control plane on SQLite / 100 ms": 1.0,
    "99 of 100 answers of a crowded control plane on PostgreSQL / 100 ms": 1.0,
    "apply of 1,000 operations / bare client loop": 1.25,
    "apply of 10,000 operations / bare client loop": 1.25,
    "from empty: (t100k - t10k) / 90k over (t10k - t1k) / 9k": 1.15,
    "memory of a plan that makes 100,000 objects / 800 MiB": 1.0,
}
"""What each ratio may be at most; the README has them in this order."""


class Figure(NamedTuple):
    """A ratio, by its name among the limits."""

    name: str
    ratio: float

    @property
    def most(self) -> float:
        return LIMITS[self.name]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("names", nargs="*", choices=[[], *BENCHMARKS], help="which; all when none is named")
    parser.add_argument("--large", action="store_true", help="100,000 objects too")
    options = parser.parse_args()
    HOME.mkdir(exist_ok=True)
    names = options.names or [name for name in BENCHMARKS if name not in LARGE or options.large]
    figures = [figure for name in names for figure in BENCHMARKS[name]()]
    for figure in figures:
        verdict = "ok" if figure.ratio <= figure.most else "OVER"
        sys.stdout.write(f"{figure.name:<66} {figure.ratio:6.2f}  at most {figure.most:.2f}  {verdict}\n")
    return any(figure.ratio > figure.most for figure in figures)


def start_up() -> Iterator[Figure]:
    programs = _ours()
    [ratio] = ratios_in_turn(_bare(programs), [str(programs / "fleetctl"), "--version"], runs=41)
    yield Figure("fleetctl --version / python -c pass", ratio)


def commands() -> Iterator[Figure]:
    """Commands that ask no server and plan nothing start at once."""
    programs, directory = _ours(), fleet.make(10, HOME / "fleet-10")
    plan = HOME / "small.json"
    subprocess.run([*_plan(programs, directory), "--out", str(plan)], check=True, capture_output=True)
    subprocess.run([str(programs / "fleetctl"), "fmt", str(directory)], check=True, capture_output=True)
    lines = {
        "id, of tenant and caller given": ["id", "fra1-h100", "--tenant", "root", "--caller", "sa_fleet"],
        "show of a small plan": ["show", str(plan)],
        "fmt --check of two files": ["fmt", str(directory), "--check"],
    }
    ours = [[str(programs / "fleetctl"), *line] for line in lines.values()]
    for name, ratio in zip(lines, ratios_in_turn(_bare(programs), *ours, runs=21), strict=True):
        yield Figure(f"fleetctl {name} / python -c pass", ratio)


def plans() -> Iterator[Figure]:
    """A plan of 10,000 objects that finds nothing to do, against the peer's dry run over 10,000 records."""
    programs, octo = _ours(), _peer()
    tree = peer.make(10_000, HOME / "records-10000")
    theirs = ["env", f"PYTHONPATH={tree.parent}", str(octo / "octodns-sync"), "--config-file", str(tree)]
    files = _applied(10_000)
    ours = _plan(programs, files)
    database = files / ".fleet" / "control-plane.db"
    with serving(programs, f"sqlite:///{database}", database.with_suffix(".token"), "sa_fleet") as served:
        target = ["--server", served.url, "--token-file", str(served.token_file)]
        remote, embedded = ratios_in_turn(theirs, [*ours, *target], ours, runs=RUNS)
    yield Figure("no-change plan of 10,000 objects, served / octoDNS dry run", remote)
    yield Figure("no-change plan of 10,000 objects, embedded / octoDNS dry run", embedded)


def growth() -> Iterator[Figure]:
    """Marginal cost of one more object between 10,000 and 100,000, against between 1,000 and 10,000."""
    small, middle, large = (_plan(_ours(), _applied(objects)) for objects in SIZES)
    found = growth_in_turn(small, middle, large, runs=5)
    yield Figure("growth: (t100k - t10k) / 90k over (t10k - t1k) / 9k", found.ratio)


def pages() -> Iterator[Figure]:
    """In the environment of the README's command, which has what a user has."""
    database = _applied(10_000) / ".fleet" / "control-plane.db"
    command = [str(_ours() / "python"), "-m", "benchmarks.page", str(database)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    yield Figure("list page of 1,000 pools / json.dumps of that page", float(done.stdout))


def comments() -> Iterator[Figure]:
    """A plan that makes 10,000 objects, as a comment for a review."""
    programs, directory = _ours(), fleet.make(10_000, HOME / "fleet-unborn")
    file = HOME / "unborn.json"
    subprocess.run([*_plan(programs, directory), "--out", str(file)], check=True, capture_output=True)
    command = [str(programs / "python"), "-m", "benchmarks.comment", str(file)]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    yield Figure("markdown of a plan of 10,000 operations / json.dumps of that plan", float(done.stdout))


def bookings() -> Iterator[Figure]:
    """Reservations in a pool of 400 hosts."""
    for kind, database in _databases():
        ratios = json.loads(_measured("benchmarks.bookings", database))
        for name, ratio in ratios.items():
            yield Figure(f"{name} on {kind} / bare handler and bare transaction", ratio)


def load() -> Iterator[Figure]:
    """10,000 pools, each with a host, and 100,000 quota rows, asked 50 times a second by the clock."""
    for kind, database in _databases():
        ratio = float(_measured("benchmarks.load", database))
        yield Figure(f"99 of 100 answers of a crowded control plane on {kind} / 100 ms", ratio)


def applying() -> Iterator[Figure]:
    """Wall time of the apply phase alone, plan and live state being there."""
    for operations, runs in ((1_000, 5), (10_000, 3)):
        ratio = float(_measured("benchmarks.applying", str(HOME), str(operations), str(runs)))
        yield Figure(f"apply of {operations:,} operations / bare client loop", ratio)


def unborn() -> Iterator[Figure]:
    """Marginal cost of one more object to make, and what the largest plan holds in memory, the embedded control plane
    beside it."""
    small, middle, large = (_plan(_ours(), fleet.make(objects, HOME / f"unborn-{objects}")) for objects in SIZES)
    found = growth_in_turn(small, middle, large, runs=3)
    yield Figure("from empty: (t100k - t10k) / 90k over (t10k - t1k) / 9k", found.ratio)
    yield Figure("memory of a plan that makes 100,000 objects / 800 MiB", found.mebibytes / 800)


LARGE = frozenset({"growth", "unborn"})
"""What has 100,000 objects."""

BENCHMARKS: dict[str, Callable[[], Iterator[Figure]]] = {
    "start-up": start_up,
    "commands": commands,
    "plan": plans,
    "growth": growth,
    "page": pages,
    "comment": comments,
    "bookings": bookings,
    "load": load,
    "apply": applying,
    "unborn": unborn,
}


def _databases() -> Iterator[tuple[str, str]]:
    """An empty database of each kind, gone afterwards."""
    with TemporaryDirectory(dir=HOME) as folder:
        yield "SQLite", f"sqlite:///{folder}/plane.db"
    with postgres.server() as server, server.database() as url:
        yield "PostgreSQL", url


def _measured(module: str, place: str, *more: str) -> str:
    """What a module measures in a process of its own; `place` is a database's URL, or a directory."""
    sys.stderr.write(f"{module} on {place.partition(':')[0]}\n")
    command = [sys.executable, "-m", module, place, *more]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def _ours() -> Path:
    """The programs of an environment that holds what a user has: the locked dependencies and this project."""
    programs = HOME / "ours" / "bin"
    if not (programs / "fleetctl").exists():
        _venv(HOME / "ours")
        install = ["pip", "install", "--quiet", "--compile-bytecode", "--python", str(programs / "python")]
        _uv(*install, "--require-hashes", "-r", str(ROOT / "requirements.txt"))
        _uv(*install, "--no-deps", "--editable", str(ROOT))
    subprocess.run([str(programs / "python"), "-m", "compileall", "-q", str(ROOT / "src")], check=True)
    return programs


def _bare(programs: Path) -> list[str]:
    return [str(programs / "python"), "-c", "pass"]


def _peer() -> Path:
    programs = HOME / "peer" / "bin"
    if not (programs / "octodns-sync").exists():
        _venv(HOME / "peer")
        _uv("pip", "install", "--quiet", "--compile-bytecode", "--python", str(programs / "python"), PEER)
    return programs


def _venv(directory: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(directory)], check=True)


def _uv(*arguments: str) -> None:
    subprocess.run([str(Path(sys.executable).parent / "uv"), *arguments], check=True)


def _applied(objects: int) -> Path:
    """A fleet of so many objects whose embedded control plane is as it wishes."""
    directory = fleet.make(objects, HOME / f"fleet-{objects}")
    done = directory / ".fleet" / "applied"
    if not done.exists():
        sys.stderr.write(f"applying {objects} objects once ...\n")
        command = [str(_ours() / "fleetctl"), "apply", str(directory), "--yes"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        done.touch()
    return directory


def _plan(programs: Path, files: Path) -> list[str]:
    return [str(programs / "fleetctl"), "plan", str(files)]


if __name__ == "__main__":
    raise SystemExit(main())
