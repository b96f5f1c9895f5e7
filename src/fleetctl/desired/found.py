"""The problems of a fleet, gathered: reading goes on after each, so that a person sees them all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from better_compute.domain.problems import INVALID_INPUT, Problem, Source
from fleetctl.desired import shape, templates
from fleetctl.desired.faults import MISSING, Fault, faults
from fleetctl.desired.locate import Step, spell
from fleetctl.desired.place import Place
from fleetctl.desired.records import Record, kinds_of
from fleetctl.desired.shape import API_VERSION, DOCUMENT_FIELDS
from fleetctl.files import Document

_MADE = "forEach"
"""Stands for all that a template makes twice at one place."""
VERSION, FORMAT = "apiVersion", API_VERSION.partition("/")[0] + "/"


_RECORDS: Sequence[type[Record]] = (
    *(shape.Embedded, shape.Freeze, shape.Expected, shape.Check, shape.ListedOffer, shape.Pool),
    shape.Document,
)
_KINDS = {name: kinds for record in _RECORDS for name, kinds in kinds_of(record)}
"""Field -> what it may be; of those that several records have, the last one's."""


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
    unknown: dict[tuple[str, int, tuple[Step, ...]], int] = field(default_factory=dict)
    _said: dict[tuple[str, str, Source], int] = field(default_factory=dict)

    def add(
        self,
        rule: str,
        message: str,
        place: Place,
        *more: Step,
        hint: str = "",
        code: str = INVALID_INPUT,
        of_name: bool = False,
    ) -> int:
        """Something is wrong with what stands at `more` below `place`, or with its name. Returns the number of the
        problem: what is written once and read at several places, by alias or forEach, is told once."""
        path = (*place.path, *more)
        source = place.document.source(path, key=of_name)
        number = self._said.setdefault((rule, message, source), len(self.problems))
        if number == len(self.problems):
            self.problems.append(Problem(code, rule, message, spell(place.document.root, path), hint, source=source))
        return number

    def twice(self, rule: str, message: str, place: Place, first: Place, *more: Step, of_name: bool = False) -> None:
        """Two places do not go together; the first one is named in words. Where they are one, forEach made both."""
        other = first.document.source((*first.path, *more), key=of_name)
        path = (*place.path, *more)
        if place.document.source(path, key=of_name) != other:
            self.add(rule, f"{message}; the other place is {other}", place, *more, of_name=of_name)
        elif (rule, _MADE, other) not in self._said:
            hint = templates.twice(place.document.root, path)
            number = self.add(rule, f"{message}: forEach makes both of this template", place, *more, hint=hint)
            self._said[rule, _MADE, other] = number

    def tell(self, fault: Fault, document: Document) -> int:
        """Take over a fault of a document; returns the number of the problem."""
        place = Place(document, fault.path[:-1])
        return self.add(fault.rule, fault.message, place, *fault.path[-1:], hint=fault.hint, of_name=fault.name)

    def judge(self, document: Document, told: frozenset[Step] = frozenset()) -> Part:
        """Take over the faults of a document's shape; of the root fields in `told` something is missing already."""
        root, of_shape = document.root, faults(document.root)
        for fault in sorted(of_shape, key=lambda fault: fault.rule == MISSING):
            place = Place(document, fault.path[:-1])
            if fault.rule == MISSING and self.explained(place, str(fault.path[-1])):
                continue
            hint = "" if fault.name else templates.hint(root, fault.path)
            number = self.tell(replace(fault, hint=hint) if hint else fault, document)
            if fault.strange:
                self.unknown[document.file, document.line, fault.path] = number
        whole = [fault for fault in of_shape if len(fault.path) == 1]
        meant = {fault.meant for fault in whole if fault.meant}
        strange = [root[str(fault.path[0])] for fault in whole if fault.strange]
        return Part(
            document,
            frozenset(fault.path[0] for fault in of_shape) | meant | told,
            frozenset(fault.path[0] for fault in whole) | meant | told,
            frozenset(
                name for name in DOCUMENT_FIELDS - root.keys() - meant if any(_may_be(name, value) for value in strange)
            ),
        )

    def explained(self, place: Place, name: str) -> bool:
        """Whether `name` is missing at `place` because a field there that is like none may be the one: then the finding
        about that field says so, and there is no other. Each explains one."""
        fields = place.value()
        for other, value in fields.items() if self.unknown and isinstance(fields, dict) else ():
            path = place.document.file, place.document.line, (*place.path, other)
            if path in self.unknown and _may_be(name, value):
                index = self.unknown.pop(path)
                self.problems[index] = replace(self.problems[index], hint=f'did you mean "{name}"? It is missing')
                return True
        return False

    def in_order(self, documents: Sequence[Document]) -> list[Problem]:
        """By file, line and column; files as they were read."""
        files = {document.root.lines.file: order for order, document in reversed([*enumerate(documents)])}

        def order(problem: Problem) -> tuple[int, int, int]:
            source = problem.source
            return (files[source.file], source.line, source.column) if source else (-1, 0, 0)

        return sorted(self.problems, key=order)


def _may_be(name: str, value: object) -> bool:
    """Whether a value is one that the field `name` may have, by its kind."""
    if isinstance(value, str) and value.startswith(FORMAT):
        return name == VERSION
    return value is None or (name != VERSION and isinstance(value, _KINDS[name]))
