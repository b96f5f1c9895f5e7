"""A request: what the command line and the environment ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from fleetctl.override import Override

SERVER, TENANT, CALLER, TOKEN = "FLEETCTL_SERVER", "FLEETCTL_TENANT", "FLEETCTL_CALLER", "FLEETCTL_TOKEN"
"""The variables that commands read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What a fleet is compared with, and how much of it, as flags or a plan file say it. `base_ref` or `base_dir`: the
    files as they were; `prune`: pools that left them are archived; `only` and `exclude` (`--except`): selectors of the
    part that is looked at."""

    base_ref: str | None = None
    base_dir: Path | None = None
    prune: bool = False
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is said of that."""
        return self != WHOLE

    @property
    def has_base(self) -> bool:
        return bool(self.base_ref or self.base_dir)


WHOLE = Frame()
"""All of a fleet, compared with no base."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What the command line and the environment ask for. `timeout` is seconds for one call; `tell` takes what people
    should know before the result. `frame`: base and part; `snapshot`: live state in a file. `before`: the guards of the
    commit before the files' hold too, whichever the base is."""

    path: Path
    server: str | None
    environ: Mapping[str, str]
    token_file: Path | None
    timeout: float
    override: Override
    tell: Callable[[str], None]
    frame: Frame = WHOLE
    snapshot: Path | None = None
    before: bool = False

    @property
    def directory(self) -> Path:
        """Where the fleet is, also where it was named as one file."""
        path = self.path.absolute()
        return path if path.is_dir() else path.parent

    @property
    def caller(self) -> str | None:
        """Who stands in where the files name no caller; a blank variable is none."""
        return self.environ.get(CALLER) or None
