"""JUnit's XML: a test case for every result of a report, and one for the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape as xml
from xml.sax.saxutils import quoteattr

from better_compute.domain.escape import escape
from fleetctl.look import PLAIN, Look
from fleetctl.outline import outline
from fleetctl.outline.results import results
from fleetctl.outline.shape import plain

if TYPE_CHECKING:
    from fleetctl.outline.results import Result
    from fleetctl.outline.shape import Outline
    from fleetctl.report.forms import Report


def render(report: Report, look: Look = PLAIN) -> str:
    """A suite for each kind of result, and one for the whole that fails with any of them. ASCII. Files are
    named from the top of the repository."""
    found, words = list(results(report)), outline(report)
    groups: dict[str, list[Result]] = {}
    for one in found:
        groups.setdefault(one.group, []).append(one)
    failed = any(one.status == "failed" for one in found)
    name = plain(words.heading)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f"<testsuites{_attributes(name=name, **_counts(found, failed))}>",
        *_whole(words, name, failed),
        *(line for group, members in groups.items() for line in _suite(group, members, words.kind, look.under)),
        "</testsuites>",
    ]
    return "".join(f"{line}\n" for line in lines).encode("ascii", "xmlcharrefreplace").decode()


def _counts(found: Sequence[Result], failed: bool) -> dict[str, str]:
    """Those of all suites together, with the whole as one more test."""
    statuses = Counter(one.status for one in found)
    return _numbers(len(found) + 1, statuses["failed"] + failed, statuses["skipped"])


def _numbers(tests: int, failures: int, skipped: int) -> dict[str, str]:
    return {"tests": str(tests), "failures": str(failures), "errors": "0", "skipped": str(skipped)}


def _whole(words: Outline, name: str, failed: bool) -> Iterator[str]:
    """A report that found nothing is a test that passed, not a file without tests."""
    said = "\n".join(plain(sentence) for sentence in (*words.opening, *words.closing))
    yield f"  <testsuite{_attributes(name=words.kind, **_numbers(1, int(failed), 0))}>"
    yield f"    <testcase{_attributes(classname=f'fleetctl.{words.kind}', name=name)}>"
    if failed:
        first = plain(words.closing[0]) if words.closing else "failed"
        yield f"      <failure{_attributes(message=first, type=words.kind)}>{xml(said)}</failure>"
    else:
        yield f"      <system-out>{xml(said)}</system-out>"
    yield "    </testcase>"
    yield "  </testsuite>"


def _suite(group: str, members: Sequence[Result], kind: str, under: str) -> Iterator[str]:
    statuses = Counter(one.status for one in members)
    numbers = _numbers(len(members), statuses["failed"], statuses["skipped"])
    yield f"  <testsuite{_attributes(name=group, **numbers)}>"
    for one in members:
        file, place = one.file(under), {}
        if one.source is not None and file is not None:
            place = {"file": escape(file), "line": str(one.source["line"])}
        names = {"classname": f"fleetctl.{kind}.{group}", "name": f"{one.name} [{one.rule}]"}
        yield f"    <testcase{_attributes(**names, **place)}>"
        yield from _outcome(one)
        yield "    </testcase>"
    yield "  </testsuite>"


def _outcome(one: Result) -> Iterator[str]:
    match one.status:
        case "failed":
            yield f"      <failure{_attributes(message=one.text, type=one.rule)}>{xml(one.whole)}</failure>"
        case "skipped":
            yield f"      <skipped{_attributes(message=one.whole)}/>"
        case "warned" | "passed":
            yield f"      <system-out>{xml(one.whole)}</system-out>"


def _attributes(**values: str) -> str:
    return "".join(f" {name}={quoteattr(value)}" for name, value in values.items())
