"""What Tab offers for values that stand in the fleet's files, in its repository or in the catalogue.

No server is asked, and where nothing can be read nothing is offered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import click

from fleetctl.errors import FilesError

_WORD = re.compile(r"[\w./@:+=,-]+")
"""What shells take for one word, and for nothing else."""


def refs(ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """Branches and tags of the repository that the fleet is in."""
    from fleetctl.base import git  # not at the top, like the rest: `--help` offers nothing

    path = _path(ctx)
    return _begun(begun, git.refs(path if path.is_dir() else path.parent))


def keys(ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """Keys of the fleet's pools."""
    return _begun(begun, _facts(ctx, "key"))


def explained(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    """Keys, rules, codes and words of reports."""
    from fleetctl.catalogue import CODES, REPORTED, rules

    return [*keys(ctx, param, begun), *_begun(begun, (*rules(), *CODES, *REPORTED))]


def selectors(ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """Fields of a selector, and once there is one its values; of several parts the last."""
    from fleetctl.comparison.selection import FIELDS

    before, comma, last = begun.rpartition(",")
    field, equals, _ = last.partition("=")
    parts = (f"{field}={value}" for value in _facts(ctx, field)) if equals else (f"{each}=" for each in FIELDS)
    return _begun(begun, dict.fromkeys(before + comma + part for part in parts))


def _facts(ctx: click.Context, field: str) -> Iterator[str]:
    from fleetctl.desired.load import load

    with suppress(FilesError):
        for entry in load(_path(ctx), empty_ok=True).entries.values():
            site, model = (entry.pool.site_id, entry.pool.gpu_model) if entry.pool else (None, None)
            known: dict[str, Iterable[str | None]] = {
                "key": [entry.key],
                "site": [site],
                "model": [model],
                "tenant": entry.offers,
                "file": [entry.place.document.file],
            }
            yield from (value for value in known.get(field, ()) if value)


def _path(ctx: click.Context) -> Path:
    return Path(ctx.params.get("path") or ".")


def _begun(begun: str, known: Iterable[str]) -> list[str]:
    return [each for each in known if each.startswith(begun) and _WORD.fullmatch(each)]
