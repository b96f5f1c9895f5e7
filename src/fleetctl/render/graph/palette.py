"""The colours of a drawing, said once: each format only spells them. They read on a dark page and on a light one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from fleetctl.outline.graph import Severity


class Paint(NamedTuple):
    """How a node is painted; `width` is that of its outline in pixels, 1 where nothing is said of it."""

    fill: str
    outline: str
    width: int = 1


TEXT: Final = "#111111"
"""What stands in a node."""
QUIET: Final = "#777777"
"""All that is drawn beside the nodes."""

PAINTS: Final[dict[Severity, Paint]] = {
    "safe": Paint("#e3f1e6", "#4f8a5f"),
    "lowers": Paint("#fdf3d0", "#a8862a"),
    "withdraws": Paint("#fde4cf", "#b8621b"),
    "irreversible": Paint("#fbd9d9", "#b02a2a", 3),
}
