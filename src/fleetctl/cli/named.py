"""Paths on the command line: what is blank names nothing, least of all the directory that one is in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


class Named(click.Path):
    """A path that somebody named: an unset variable of a script is refused, where click would take it for `.`."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not os.fspath(value).strip():
            self.fail("it is blank: is a variable not set?", param, ctx)
        return super().convert(value, param, ctx)


FILE = Named(path_type=Path)
