"""What holds for the whole project and that no other tool checks."""

import ast
import importlib
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.__main__ import LIMITS

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src"
MODULES = sorted(SRC.rglob("*.py"))
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
RUNTIME: list[str] = PROJECT["project"]["dependencies"]
DEV: list[str] = PROJECT["dependency-groups"]["dev"]
UV = [requirement.replace("uv_build", "uv") for requirement in PROJECT["build-system"]["requires"]]

# Written so that this file does not hold what it looks for.
HOMES = "|".join(("work", "root", "home", "Users", "tmp"))
ONE_MACHINE = re.compile(rf"(?<![\w.~-])/(?:{HOMES})/[\w.]")
REGISTRY = re.compile(r"\b(?:pypi|pythonhosted|npmjs|debian)\.(?:org|com)\b")


def functions(module: Path) -> Iterator[tuple[str, int]]:
    """Each function of a module with the lines of its code; a docstring is no code."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            text = node.body[0] if ast.get_docstring(node) is not None else None
            doc = text.end_lineno - text.lineno + 1 if text and text.end_lineno else 0
            yield node.name, (node.end_lineno or 0) - node.lineno + 1 - doc


def names_in(module: Path) -> Iterator[str]:
    """What a module defines and imports."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def locked(name: str) -> dict[str, str]:
    """The pins of a lock: version by package."""
    pins = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE)
    return {canonicalize_name(package): version for package, version in pins}


def committed() -> Iterator[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nothing is committed here")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    yield from (path for name in listed.decode().split("\0") if name and (path := ROOT / name).is_file())


def found_in(path: Path, pattern: re.Pattern[str]) -> list[str]:
    lines = path.read_bytes().decode(errors="replace").splitlines()
    return [
        f"{path.relative_to(ROOT)}:{number}: {line}" for number, line in enumerate(lines, 1) if pattern.search(line)
    ]


def test_a_module_has_at_most_300_lines() -> None:
    long = {str(module.relative_to(SRC)): len(module.read_text().splitlines()) for module in MODULES}
    assert {name: lines for name, lines in long.items() if lines > 300} == {}


def test_a_function_has_at_most_40_lines() -> None:
    found = ((f"{module.relative_to(SRC)}: {name}", lines) for module in MODULES for name, lines in functions(module))
    assert {name: lines for name, lines in found if lines > 40} == {}


def test_a_module_says_what_it_is_for() -> None:
    silent = [
        str(module.relative_to(SRC)) for module in MODULES if not ast.get_docstring(ast.parse(module.read_text()))
    ]
    assert silent == []


def test_no_path_of_one_machine_is_committed() -> None:
    assert [line for path in committed() for line in found_in(path, ONE_MACHINE)] == []


def test_no_address_of_a_registry_is_committed() -> None:
    assert [line for path in committed() for line in found_in(path, REGISTRY)] == []


@pytest.mark.parametrize("text", ["cd /{}/me", '"/{}/x"', "file:///{}/x", "=/{}/.cache"])
@pytest.mark.parametrize("home", HOMES.split("|"))
def test_a_path_of_one_machine_is_found(text: str, home: str) -> None:
    assert ONE_MACHINE.search(text.format(home))


def test_the_version_is_said_once() -> None:
    for name in ("fleetctl", "better_compute"):
        version = getattr(importlib.import_module(name), "__version__", PROJECT["project"]["version"])
        assert version == PROJECT["project"]["version"], name


@pytest.mark.parametrize(
    ("lock", "wanted"),
    [("requirements.txt", RUNTIME), ("requirements-dev.txt", RUNTIME + DEV), (".ci/uv.txt", UV)],
    ids=["users", "developers", "installer"],
)
def test_a_lock_is_in_step_with_the_project(lock: str, wanted: list[str]) -> None:
    pins = locked(lock)
    for text in wanted:
        requirement = Requirement(text)
        pin = pins.get(canonicalize_name(requirement.name))
        assert pin is not None, f"{requirement.name} is not in {lock}: run `sh .ci/lock`"
        assert requirement.specifier.contains(pin), f"{text} is {pin} in {lock}: run `sh .ci/lock`"


def test_developers_run_what_users_run() -> None:
    assert locked("requirements.txt").items() <= locked("requirements-dev.txt").items()


@pytest.mark.parametrize("lock", ["requirements.txt", "requirements-dev.txt", ".ci/uv.txt"])
def test_every_pin_of_a_lock_has_a_hash(lock: str) -> None:
    text = (ROOT / lock).read_text()
    assert len(re.findall(r"^\S+==.*\\\n    --hash=sha256:[0-9a-f]{64}", text, re.MULTILINE)) == len(locked(lock)) > 0


def test_the_import_contracts_leave_no_module_out() -> None:
    linter = PROJECT["tool"]["importlinter"]
    layers = [contract for contract in linter["contracts"] if contract["type"] == "layers"]
    assert all(contract["exhaustive"] for contract in layers)
    assert not any(contract.get("ignore_imports") or contract.get("exhaustive_ignores") for contract in layers)
    containers = [name for contract in layers for name in contract["containers"]]
    assert sorted(name for name in containers if "." not in name) == sorted(linter["root_packages"])
    assert sorted(linter["root_packages"]) == sorted(
        path.name for path in SRC.iterdir() if (path / "__init__.py").exists()
    )


def test_the_map_of_fleetctl_has_its_layers() -> None:
    """Each line of it names those of one layer."""
    contracts = PROJECT["tool"]["importlinter"]["contracts"]
    (layers,) = (contract["layers"] for contract in contracts if contract.get("containers") == ["fleetctl"])
    text = ast.get_docstring(ast.parse((SRC / "fleetctl" / "__init__.py").read_text())) or ""
    lines = re.findall(r"^- .*(?:\n  .*)*", text, re.MULTILINE)
    named = [sorted(re.findall(r"`([a-z_]+)`", line)) for line in lines]
    assert named == [sorted(re.findall(r"\w+", layer)) for layer in layers]


def test_every_renderer_is_under_the_contract_that_none_knows_another() -> None:
    (contract,) = (c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "independence")
    renderers = {path.stem for path in (SRC / "fleetctl" / "render").iterdir()} - {"__init__", "__pycache__"}
    assert len(renderers) > 1
    assert sorted(contract["modules"]) == sorted(f"fleetctl.render.{name}" for name in renderers)


def test_the_readme_has_the_limits_of_the_benchmarks() -> None:
    table = (ROOT / "README.md").read_text().partition("| what | ratio | at most |\n")[2].partition("\n\n")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines()[1:]]
    assert [float(most) for _, _, most in rows] == list(LIMITS.values())
    assert all(float(ratio) <= float(most) for _, ratio, most in rows)


@pytest.mark.parametrize(
    "package", sorted({module.parent for module in MODULES}), ids=lambda it: str(it.relative_to(SRC))
)
def test_a_package_that_names_its_modules_names_those_that_are_there(package: Path) -> None:
    """A name in backticks in its docstring is of a module, of what one defines or uses, or of its neighbour; where
    several are of modules, all of these are named, or how their names begin."""
    named = re.findall(r"`([a-z_]+)`", ast.get_docstring(ast.parse((package / "__init__.py").read_text())) or "")
    modules = {path.stem for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    used = {name for module in MODULES if module.is_relative_to(package) for name in names_in(module)}
    begins = tuple(name for name in named if name.endswith("_"))
    there = modules | used | {path.stem for path in package.parent.iterdir()} | set(begins)
    assert [name for name in named if name not in there] == []
    if len(modules & set(named)) > 1:
        assert modules - set(named) - {name for name in modules if begins and name.startswith(begins)} == {"__init__"}
