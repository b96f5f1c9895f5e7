"""How a result is to look."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_BYTES: Final = 65_000
"""What hosts of pull requests take as one comment."""
LEAST_BYTES: Final = 4_000
"""Room for the head of a comment, whatever names stand in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Each renderer heeds what is about it. Nothing is left out where it is `verbose`; `colour` adds sequences for a
    terminal whose window has `width` columns, None where there is no window; markdown has at most `max_bytes` bytes.
    `under` is the fleet's directory from the top of its repository, so that a file is found from there. `below_plan`:
    the plan stands above what an apply did, and says of what, so that text does not say it again."""

    verbose: bool = False
    colour: bool = False
    width: int | None = None
    max_bytes: int = MAX_BYTES
    under: str = ""
    below_plan: bool = False


PLAIN: Final = Look()
