"""An answer on stdout: as a table, as JSON, or as JSON on one line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from better_compute.cli.text import json_text, table
from better_compute.domain.atoms import UNLIMITED
from better_compute.domain.escape import escape

FORMATS = ("table", "json", "compact")

COLUMNS: dict[str, tuple[str, ...]] = {
    "pools/list": ("id", "idempotencyKey", "siteId", "class", "gpuModel", "sharing", "owned", "archived", "version"),
    "events/list": ("sequence", "time", "type", "poolId", "toTenantId", "actorId"),
}
"""What a table shows of an operation's items; of the others it shows every field."""


def show(operation: str, data: Any, form: str) -> None:
    """Print the data of an operation's answer. A table without rows, and a page that is not the last, say so on
    stderr."""
    if form == "json":
        click.echo(json_text(data, indent=2))
    elif form == "compact":
        click.echo(json_text(data))
    else:
        text = _table(operation, data)
        click.echo(text, nl=False)
        if not text:
            click.echo("There are none", err=True)
    if isinstance(data, dict) and isinstance(data.get("nextCursor"), str):
        click.echo(f"There is more: --cursor {escape(data['nextCursor'])}", err=True)


def _table(operation: str, data: Any) -> str:
    items = data.get("items", data.get("verdicts")) if isinstance(data, dict) else None
    if isinstance(items, list) and all(isinstance(item, dict) for item in items):
        return _rows(items, COLUMNS.get(operation)) if items else ""
    if isinstance(data, dict):
        return table([["field", "value"], *([name, _cell(value, name)] for name, value in data.items())])
    return table([[_cell(data)]])


def _rows(items: Sequence[Mapping[str, Any]], columns: Sequence[str] | None) -> str:
    names = columns or list(dict.fromkeys(name for item in items for name in item))
    return table([list(names), *([_cell(item.get(name), name) for name in names] for item in items)])


def _cell(value: Any, name: str = "") -> str:
    """Absent and null are `-`, so that they differ from an empty text; what the field's name says is a time is one.
    Lists of words, of quota rows and of offers are short text, all else is JSON."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if type(value) is int and (name == "time" or name.endswith("At")):
        return _utc(value) or json_text(value)
    if isinstance(value, list) and value and None not in (parts := [_part(item) for item in value]):
        return ("; " if name == "offers" else ", ").join(filter(None, parts))
    return json_text(value)


def _part(item: Any) -> str | None:
    """An item of a list on a few letters; None for one of another kind."""
    match item:
        case str():
            return item
        case {"resource": str(resource), "max": int(limit), "used": int(used)}:
            return f"{resource}={'unlimited' if limit == UNLIMITED else limit}" + (f" ({used} used)" if used else "")
        case {"toTenantId": str(tenant), "quotas": list(quotas)}:
            return f"{tenant}: {_cell(quotas)}"
    return None


def _utc(milliseconds: int) -> str | None:
    """ISO 8601 to the second, as every calendar reads it; None outside of the years 1 to 9999."""
    from datetime import datetime, timedelta

    try:
        return (datetime(1970, 1, 1) + timedelta(seconds=milliseconds // 1000)).isoformat() + "Z"
    except OverflowError:
        return None
