"""An apply that is taken back, in words: what is left of it, what stands beside the part, what to do to the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from better_compute.domain.escape import escape
from fleetctl.outline.head import chosen
from fleetctl.outline.operations import name, named
from fleetctl.outline.problems import place
from fleetctl.outline.shape import Item, Section, Sentence, Words
from fleetctl.words import count, listed, short

if TYPE_CHECKING:
    from fleetctl.report.forms import Operation, Outcome, Selection, Undo

_SHOWN = 20
STANDS = "outside the part, and still in place"


def which(undo: Undo) -> str:
    """The apply: `637fc2f46e10`, and whether it was an undo itself."""
    return f"{escape(short(undo['digest']))}{', which took another one back' if undo['again'] else ''}"


def part(selection: Selection, undo: Undo) -> str:
    """`only key=fra1-*: a part of the apply; 2 of its operations outside are still in place`."""
    return f"{chosen(selection)}: a part of the apply; {outside(undo)}"


def outside(undo: Undo) -> str:
    number = len(undo["outside"])
    return (
        f"{number:,} of its operations outside {'is' if number == 1 else 'are'} still in place"
        if number
        else ("nothing of it outside is still in place")
    )


def left(undo: Undo) -> Section:
    """What is not taken back, and why."""
    items = (
        Item(mark="!", subject=named(one), where=place(one["source"]), notes=(Words(escape(one["why"]), foreign=True),))
        for one in undo["left"]
    )
    return Section(title="Not taken back", items=tuple(items))


def standing(undo: Undo, *, verbose: bool) -> Section:
    """What nobody asked to be taken back."""
    shown = undo["outside"] if verbose else undo["outside"][:_SHOWN]
    rest = len(undo["outside"]) - len(shown)
    more = (Words(f"and {rest:,} more (--verbose)", "quiet"),) if rest else ()
    items = tuple(Item(mark="!", subject=named(one), where=place(one["source"])) for one in shown)
    return Section(title="Outside the part, and still in place", items=items, more=more)


def nothing(undo: Undo, selection: Selection | None) -> Sentence:
    """That nothing is to be done, and of how much that is said."""
    what = "Nothing of the part" if selection else "Nothing"
    digest = Words(escape(short(undo["digest"])), foreign=True)
    of_part = (Words(f": {outside(undo)}"),) if selection else ()
    return (Words(f"{what} is there to be taken back of the apply "), digest, *of_part, Words("."))


def before(undo: Undo) -> Iterator[Sentence]:
    """How much need not be taken back, by whatever made that so, and how much is not."""
    if undo["already"]:
        need, they = ("needs", "it") if undo["already"] == 1 else ("need", "they")
        said = f"{need} no undo: what {they} changed is as it was before"
        yield (Words(f"{count(undo['already'], 'operation')} {said}."),)
    if undo["left"]:
        is_ = "is" if len(undo["left"]) == 1 else "are"
        yield (Words(f"{count(len(undo['left']), 'operation')} of it {is_} not taken back.", "notice"),)


def files(undo: Undo, operations: Sequence[Operation | Outcome]) -> Iterator[Sentence]:
    """What is to be done to the files, where something is taken back by these operations, or was before; else there is
    nothing that the next plan could undo. An archived pool it cannot bring back: it is blocked then."""
    is_back = bool(operations or undo["already"])
    is_final = any(one["action"] == "archive" for one in operations)
    blocked = ", and is blocked by what is archived now" if is_final else ""
    commit = Words(escape(short(undo["commit"] or "")), "notice", foreign=True)
    of = (Words(" (that was of commit ", "notice"), commit, Words(")", "notice")) if undo["commit"] else ()
    if is_back and undo["again"]:
        yield (
            Words("If the files were reverted, bring the change back into them: ", "notice"),
            Words("else the next plan takes it back again.", "notice"),
        )
    elif is_back:
        yield (
            Words("Revert the files too", "notice"),
            *of,
            Words(f": else the next plan brings the change back{blocked}.", "notice"),
        )
    yield from _spent(undo)


def _spent(undo: Undo) -> Iterator[Sentence]:
    """No revert of the files brings an archived pool back."""
    names = [name(one) for one in undo["left"] if one["action"] == "archive" and one["code"] == "noInverse"]
    if names:
        what, them = ("key", "it") if len(names) == 1 else ("keys", "them")
        pools = Words(listed(names, "pool"), "notice", foreign=True)
        kept = f": no pool can have {them} again, so keep what the files say of {them}."
        yield (
            Words(f"The {what} of ", "notice"),
            pools,
            Words(f" {'is' if them == 'it' else 'are'} spent{kept}", "notice"),
        )
