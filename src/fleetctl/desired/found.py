"""The problems of a fleet, gathered: reading goes on after each, so that a person sees them all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from better_compute.domain.problems import INVALID_INPUT, Problem
from fleetctl.desired.faults import Step, faults
from fleetctl.desired.locate import spell
from fleetctl.desired.model import Place
from fleetctl.files import Document


@dataclass(frozen=True, slots=True)
class Part:
    """A document, and which of its root fields have faults in them; a misspelt field is one of the name it means."""

    document: Document
    faulty: frozenset[Step]

    def sound(self, name: str) -> bool:
        """Whether the root field `name` has the right shape."""
        return name not in self.faulty


@dataclass(slots=True)
class Found:
    """Every problem so far."""

    problems: list[Problem] = field(default_factory=list)

    def add(
        self,
        rule: str,
        message: str,
        place: Place,
        *more: Step,
        hint: str = "",
        code: str = INVALID_INPUT,
        of_name: bool = False,
    ) -> None:
        """Something is wrong with what stands at `more` below `place`, or with its name."""
        path = (*place.path, *more)
        source = place.document.source(path, key=of_name)
        self.problems.append(Problem(code, rule, message, spell(place.document.root, path), hint, source=source))

    def twice(self, rule: str, message: str, place: Place, first: Place, *more: Step) -> None:
        """Two places do not go together; the first one is named in words."""
        self.add(rule, f"{message}; the other place is {first.source(*more)}", place, *more)

    def judge(self, document: Document) -> Part:
        """Take over the faults of a document's shape."""
        of_shape = faults(document.root)
        for fault in of_shape:
            self.add(fault.rule, fault.message, Place(document), *fault.path, hint=fault.hint, of_name=fault.name)
        misspelt = {fault.meant for fault in of_shape if len(fault.path) == 1 and fault.meant}
        return Part(document, frozenset(fault.path[0] for fault in of_shape) | misspelt)

    def in_order(self, documents: Sequence[Document]) -> list[Problem]:
        """By file, line and column; files as they were read."""
        files = {document.file: order for order, document in reversed([*enumerate(documents)])}

        def order(problem: Problem) -> tuple[int, int, int]:
            source = problem.source
            return (files[source.file], source.line, source.column) if source else (-1, 0, 0)

        return sorted(self.problems, key=order)
