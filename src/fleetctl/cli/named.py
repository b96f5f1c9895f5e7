"""Paths on the command line: what is blank names nothing, least of all the directory that one is in, and a file is not
spelled as a folder."""

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


class NamedFile(Named):
    """One of a file. `Path` would drop what ends it as a folder, and another file be written than was named."""

    def convert(self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name = os.fspath(value)
        if name.endswith(("/", "/.")):
            self.fail(f"{name} is spelled as a folder, and a file is meant", param, ctx)
        return super().convert(value, param, ctx)


PLACE = Named(path_type=Path)
FILE = NamedFile(path_type=Path)
