"""Values and changes in words: null, blank, missing, empty and zero look different, and so do the three quotas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.escape import escape
from better_compute.domain.policy.secrets import SENSITIVE
from fleetctl.words import short

if TYPE_CHECKING:
    from fleetctl.report.forms import Change

NO_ROW = "no row (grants 0)"
CUT = "..."
"""What stands for the rest of a long value."""
_ABSENT = "(absent)"
_LONGEST = 60
_LONGEST_SENT = 80
_LEAD = 12
_HASH = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_PLAIN = re.compile(r"(?!(?:true|false|null)$)(?:[A-Za-z][A-Za-z0-9_./:-]*|[0-9]+[smhd])")


def value(it: Any) -> str:
    """A JSON value; text that could be taken for anything else stands in quotes."""
    if isinstance(it, str) and (it == SENSITIVE or _PLAIN.fullmatch(it)):
        return it
    return escape(json.dumps(it, ensure_ascii=False, separators=(", ", ": ")))


def sent(it: Any) -> str:
    """What a caller chose to send: a commit or a digest as people name it, and anything else as the value it is."""
    return short(it) if isinstance(it, str) and _HASH.fullmatch(it) else cut(value(it), _LONGEST_SENT)


def limit(it: Any) -> str:
    """A quota row's limit."""
    return f"unlimited ({UNLIMITED})" if it == UNLIMITED else value(it)


def quota(rows: Mapping[str, Any], atom: str | None) -> str:
    """All rows of a quota, and the one that is missed: without a row for the pool's own atom no GPU is granted."""
    shown = [f"{escape(resource)} {limit(it)}" for resource, it in rows.items()]
    if atom is not None and atom not in rows:
        shown.insert(0, f"{escape(atom)} {NO_ROW}")
    return ", ".join(shown)


def change(it: Change, *, whole: bool = False) -> str:
    """`path before -> after`. Long values are cut, but not where they differ, unless `whole`."""
    before, after = sides(it, whole=whole)
    mark = " (changed)" if it.get("sensitive") else ""
    return f"{escape(it['path'])} {before} -> {after}{mark}"


def sides(it: Change, *, whole: bool = False) -> tuple[str, str]:
    """Both sides of a change in words."""
    is_quota = it["path"].startswith(("quota.", "ownerQuota."))
    say, missing = (limit, NO_ROW) if is_quota else (value, _ABSENT)
    before = say(it["before"]) if "before" in it else missing
    after = say(it["after"]) if "after" in it else missing
    return (before, after) if whole else _cut(before, after)


def cut(text: str, longest: int = _LONGEST) -> str:
    """A text of no more than `longest` characters, which ends in three dots where some are missing."""
    return text if len(text) <= longest else f"{text[: longest - len(CUT)]}{CUT}"


def _cut(before: str, after: str) -> tuple[str, str]:
    """What two long texts begin with in common is left out, so that the difference is seen."""
    if max(len(before), len(after)) <= _LONGEST:
        return before, after
    same = max(0, _shared(before, after) - _LEAD)
    lead = CUT if same > _LEAD else ""
    start = same if lead else 0
    return cut(lead + before[start:]), cut(lead + after[start:])


def _shared(left: str, right: str) -> int:
    """How many characters two texts begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(left, right, strict=False)))
