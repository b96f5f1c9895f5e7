"""A plan, an apply, an undo and a drift with one of everything, in every format.

After a change that is meant, `UPDATE_GOLDEN=1 .venv/bin/pytest tests/fleetctl/render/test_golden.py` writes the files
anew: read what changed before it is kept.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fleetctl.render.formats import NAMES, rendered
from tests.fleetctl.render.reports import an_undo, every_kind

GOLDEN = Path(__file__).parent / "golden"
ENDINGS = {"text": "txt", "json": "json", "markdown": "md", "html": "html", "github": "github.txt", "junit": "xml"}
MADE = [
    (kind, name)
    for kind in ("plan", "apply", "undo", "drift")
    for name in NAMES
    if name != "prometheus" or kind == "drift"
]


@pytest.mark.parametrize(("kind", "name"), MADE)
def test_a_report_reads_as_it_is_kept(kind: str, name: str) -> None:
    made = rendered(name, {**every_kind(), "undo": an_undo()}[kind])
    file = GOLDEN / f"{kind}.{ENDINGS.get(name, f'{name}.txt')}"
    if os.environ.get("UPDATE_GOLDEN"):
        file.parent.mkdir(exist_ok=True)
        file.write_text(made, encoding="utf-8")
    assert made == file.read_text(encoding="utf-8")


def test_no_file_is_kept_that_nothing_is_compared_with() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {
        f"{kind}.{ENDINGS.get(name, f'{name}.txt')}" for kind, name in MADE
    }
