"""The problems of a fleet, gathered: reading goes on after each, so that a person sees them all at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from better_compute.domain.problems import INVALID_INPUT, Problem
from fleetctl.desired.faults import MISSING, faults
from fleetctl.desired.locate import Step, spell
from fleetctl.desired.place import Place
from fleetctl.desired.shape import API_VERSION, DOCUMENT_FIELDS
from fleetctl.files import Document

VERSION, FORMAT = "apiVersion", API_VERSION.partition("/")[0] + "/"


_KINDS: Mapping[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("pools", "offers", "exclude"), list),
    **dict.fromkeys(("defaults", "quota"), dict),
    "server": (str, dict),
    "allowEmpty": bool,
}
"""Field -> what it may be, where that is not text."""


@dataclass(frozen=True, slots=True)
class Part:
    """A document, and what is wrong with its root fields. A misspelt field is one of the name it means.

    `faulty`: those with faults in them; `broken`: those that are faults as a whole; `lost`: those that it does not say,
    and that a field which is like none may stand for.
    """

    document: Document
    faulty: frozenset[Step]
    broken: frozenset[Step] = frozenset()
    lost: frozenset[str] = frozenset()

    def sound(self, name: str) -> bool:
        """Whether the root field `name` has the right shape."""
        return name not in self.faulty


@dataclass(slots=True)
class Found:
    """Every problem so far. `unknown`: which of them are about a field that is like none, by document and path."""

    problems: list[Problem] = field(default_factory=list)
    unknown: dict[tuple[int, tuple[Step, ...]], int] = field(default_factory=dict)

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
        root, of_shape = document.root, faults(document.root)
        for fault in sorted(of_shape, key=lambda fault: fault.rule == MISSING):
            place = Place(document, fault.path[:-1])
            if fault.rule == MISSING and self.explained(place, str(fault.path[-1])):
                continue
            if fault.name and not fault.hint:
                self.unknown[id(document), fault.path] = len(self.problems)
            self.add(fault.rule, fault.message, place, *fault.path[-1:], hint=fault.hint, of_name=fault.name)
        whole = [fault for fault in of_shape if len(fault.path) == 1]
        meant = {fault.meant for fault in whole if fault.meant}
        strange = [root[str(fault.path[0])] for fault in whole if fault.name and not fault.hint]
        return Part(
            document,
            frozenset(fault.path[0] for fault in of_shape) | meant,
            frozenset(fault.path[0] for fault in whole) | meant,
            frozenset(
                name for name in DOCUMENT_FIELDS - root.keys() - meant if any(_may_be(name, value) for value in strange)
            ),
        )

    def explained(self, place: Place, name: str) -> bool:
        """Whether `name` is missing at `place` because a field there that is like none may be the one: then the finding
        about that field says so, and there is no other. Each explains one."""
        fields = place.value()
        for other, value in fields.items() if self.unknown and isinstance(fields, dict) else ():
            path = id(place.document), (*place.path, other)
            if path in self.unknown and _may_be(name, value):
                index = self.unknown.pop(path)
                self.problems[index] = replace(self.problems[index], hint=f'did you mean "{name}"? It is missing')
                return True
        return False

    def in_order(self, documents: Sequence[Document]) -> list[Problem]:
        """By file, line and column; files as they were read."""
        files = {document.file: order for order, document in reversed([*enumerate(documents)])}

        def order(problem: Problem) -> tuple[int, int, int]:
            source = problem.source
            return (files[source.file], source.line, source.column) if source else (-1, 0, 0)

        return sorted(self.problems, key=order)


def _may_be(name: str, value: object) -> bool:
    """Whether a value is one that the field `name` may have, by its kind."""
    if isinstance(value, str) and value.startswith(FORMAT):
        return name == VERSION
    return value is None or (name != VERSION and isinstance(value, _KINDS.get(name, str)))
