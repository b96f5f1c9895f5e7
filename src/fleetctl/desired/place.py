"""Where something was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from better_compute.domain.problems import Source
from fleetctl.files import Document


@dataclass(frozen=True, slots=True)
class Place:
    """Where something was written: a document and the way to it. `of_name`: the name of the field is meant, not its
    value, whose first item may be about something else."""

    document: Document
    path: tuple[str | int, ...] = ()
    of_name: bool = False

    def source(self, *more: str | int) -> Source:
        """The place of a value below this one; the nearest parent that is written when it is not."""
        return self.document.source((*self.path, *more), key=self.of_name and not more)

    def value(self) -> Any:
        """What stands here."""
        value: Any = self.document.root
        for step in self.path:
            value = value[step]
        return value

    def holds(self, name: str) -> bool:
        """Whether a field stands in the map at this place."""
        return name in self.value()

    def at(self, *more: str | int) -> Place:
        """The place of a value below this one."""
        return Place(self.document, (*self.path, *more))

    def name(self) -> Place:
        """The place of the field's name."""
        return Place(self.document, self.path, of_name=True)
