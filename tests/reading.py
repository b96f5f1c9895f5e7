"""Desired state from texts, as if each stood in a file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from better_compute.domain.problems import Problem
from fleetctl.desired import Desired, check
from fleetctl.desired.load import assemble
from fleetctl.files import Document, FilesError, read_text

HEAD = """\
apiVersion: fleet/v1
tenantId: root
caller: sa_fleet
"""
POOL = """\
  - idempotencyKey: fra1-a
    siteId: site_fra1
    class: metal-host
    gpuModel: H100
"""
"""The smallest entry, as an item of `pools`."""


def documents(*texts: str) -> list[Document]:
    """The documents of the files 0.yaml, 1.yaml and so on."""
    return [document for n, text in enumerate(texts) for document in read_text(text.encode(), f"{n}.yaml")]


def desired(*texts: str, caller: str | None = None) -> Desired:
    """What the texts wish; they have no fault."""
    return assemble(documents(*texts), Path("fleet"), caller=caller)


def refused(*texts: str) -> list[Problem]:
    """Why the texts are refused."""
    with pytest.raises(FilesError) as error:
        desired(*texts)
    return list(error.value.problems)


def refusal(*texts: str) -> Problem:
    """Why the texts are refused, for one reason alone."""
    problems = refused(*texts)
    assert len(problems) == 1, said(problems)
    return problems[0]


def judged(*texts: str) -> list[Problem]:
    """What the rules say of the texts, which have no fault of shape."""
    return check.problems(desired(*texts))


def said(problems: list[Problem]) -> list[str]:
    """Problems as lines, for people who read a failed test."""
    return [f"{p.source} {p.severity} {p.rule} {p.path}: {p.message} ({p.hint})" for p in problems]
