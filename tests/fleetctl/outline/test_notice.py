"""What a chat shows of drift: one paragraph, in which names do nothing."""

from __future__ import annotations

from typing import Any

import pytest

from fleetctl.outline.notice import notice
from tests.fleetctl.render.reports import a_drift, drifted


def test_what_drifted_since_when_by_whom_and_how_much_is_under_code() -> None:
    assert notice(a_drift()) == (
        "Drift of fleet platform-fra1, tenant root: 2 changed, 1 removed, 1 pending"
        " (a part of the fleet; nothing outside differs)."
        " Changed: fra1-a for acme by sa_ops since 2026-11-30 00:53:20 UTC and"
        " fra1-b by sa_ops since 2026-11-30 00:53:20 UTC."
        " Removed: fra1-gone by sa_ops since 2026-11-30 00:53:20 UTC."
        " Pending: fra1-c for acme."
        " Coverage: 60 of 64 live pools under code (93.7 %), 1,920 of 2,048 GPU atoms."
        " Not under code: by-hand by alice, pool_keyless and 2 more pools."
    )


def test_many_are_named_in_part() -> None:
    said = notice(a_drift(*(drifted(key=f"fra1-{n}", toTenantId=None, since=None, actorId=None) for n in range(900))))
    assert "900 changed. Changed: fra1-0, fra1-1 and 898 more objects. Coverage" in said


def test_what_differs_outside_of_a_part_alone_is_told() -> None:
    part: Any = {"only": ["site=x"], "exclude": [], "outside": 3}
    said = notice(a_drift(drifted(expected="a trial"), selection=part))
    assert "tenant root: none (a part of the fleet; 3 outside differ). Coverage" in said


HOSTILE = [
    "<!channel>",
    "<@U012AB3CD>",
    "@here",
    "@everyone",
    "<https://evil.example|click>",
    "[click](https://evil.example)",
    "*bold* `code` ~gone~",
    "a\nb\x1b[31m\u202e",
    "&lt;!here&gt;",
    "é" * 200,
    "x" * 5000,
]


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("where", ["key", "toTenantId", "actorId", "fleet"])
def test_a_name_does_nothing(name: str, where: str) -> None:
    check_that_it_does_nothing(a_drift(fleet=name) if where == "fleet" else a_drift(drifted(**{where: name})))


def check_that_it_does_nothing(report: Any) -> None:
    said = notice(report)
    assert set("<>@&*`~[]|/#").isdisjoint(said)
    assert len(said) < 1000
    assert said.isascii()
    assert said.isprintable()


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_are_told_as_they_are_break_the_law(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleetctl.outline.notice._name", lambda text: text)
    with pytest.raises(AssertionError, match=r"isdisjoint|isascii|< 1000"):
        check_that_it_does_nothing(a_drift(drifted(key=name)))
