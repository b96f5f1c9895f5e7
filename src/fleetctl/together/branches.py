"""The branches that are put together, out of git, each with where it left the others: one commit, or of crossed
histories the merge of several, as git makes one before it merges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from fleetctl.base.revisions import Files, Revision, revisions
from fleetctl.desired import Desired
from fleetctl.errors import FilesError
from fleetctl.together.branch import Branch, Branches, under
from fleetctl.together.lines import in_the_way, merge
from fleetctl.together.merging import Merging
from fleetctl.together.union import loaded

_Row = tuple[Revision, ...]


def branches(path: Path, refs: Sequence[str], *, caller: str | None) -> Branches:
    """What the revisions have of the fleet at `path` (a directory, or one file). `caller` stands in where one names
    none. Raises Stop: one that cannot be read is never left out."""
    read = revisions(path, refs, caller=caller)
    origins = _Origins(path.absolute(), caller)
    found = tuple(origins.branch(ref, each) for ref, each in read.found.items())
    return Branches(read.asked, found, read.files)


@dataclass(frozen=True, slots=True)
class _Origins:
    """What there was where histories went apart: of a row of commits the first, and into it each of the others merged,
    which left those before it at a row of its own. Each row is merged once."""

    path: Path
    caller: str | None
    _files: dict[_Row, tuple[Files, bool]] = field(default_factory=dict)
    _desired: dict[_Row, Desired | None] = field(default_factory=dict)
    _made: dict[_Row, frozenset[str]] = field(default_factory=dict)

    def branch(self, ref: str, revision: Revision) -> Branch:
        row = revision.left
        had = self.desired(row)
        left = under(had, revision.desired) if had and revision.desired else had
        made = self._made.get(row, frozenset())
        if made and left is not had and left:
            made = frozenset(left.entries)
        return Branch(ref, revision.desired, left, revision.files, self.files(row)[0], made)

    def files(self, row: _Row) -> tuple[Files, bool]:
        """What they hold, and whether nothing conflicts: else lines are as `Merged.clash` has them."""
        if not row:
            return {}, True
        if row not in self._files:
            whole, is_clear = row[0].files, True
            for each in row[1:]:
                merged = merge(whole, self.files(each.left)[0], each.files)
                doubtful = {file: data for file, data in merged.clash.items() if data is not None}
                whole = {file: data for file, data in merged.files.items() if file not in merged.clash} | doubtful
                is_clear = is_clear and not merged.clash
            self._files[row] = whole, is_clear and not in_the_way(whole)
        return self._files[row]

    def desired(self, row: _Row) -> Desired | None:
        """Their fleet, None: none. Where the lines conflict, or say nothing that is valid, entry by entry."""
        if len(row) < 2:
            return row[0].desired if row else None
        if row not in self._desired:
            self._desired[row] = self._as_merged(row) or self._by_entries(row)
        return self._desired[row]

    def _as_merged(self, row: _Row) -> Desired | None:
        files, is_clear = self.files(row)
        try:
            return loaded(self.path, files, self.caller, empty_ok=True) if is_clear and files else None
        except FilesError:
            return None

    def _by_entries(self, row: _Row) -> Desired | None:
        any_fleet = next((found for each in row if (found := each.desired)), None)
        if any_fleet is None:
            return None
        merging = Merging(row[0].desired or replace(any_fleet, entries={}), as_it_was=True)
        for each in row[1:]:
            merging.take(self.branch(each.commit, each))
        entries = merging.desired.entries
        written = [each.desired.entries for each in row if each.desired]
        self._made[row] = frozenset(i for i in entries if all(entries[i] is not each.get(i) for each in written))
        return merging.desired
