"""Anchors, aliases and merge keys of one document, counted without being expanded.

An alias is the anchored object itself, so a document is never larger in memory than it is written. What it would be
when expanded is bounded all the same, because whoever walks it later walks the expansion.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from better_compute.domain.problems import did_you_mean
from fleetctl.files.document import Map, Seq
from fleetctl.files.reading import MAX_DEPTH, Reading

MAX_ALIAS = 10_000
"""Nodes (keys, values, maps and lists) that one alias may stand for."""
MAX_RATIO = 50
"""How many times the nodes it writes a document may expand to, once it expands to more than MAX_ALIAS."""

MAX_MERGED = 1_000_000
"""How many keys the merge keys of one document may copy: unlike aliases, merges take memory."""

OPEN = object()
"""The value of an anchor while its node is being read."""


class Anchors:
    """The anchors of one document. What is wrong with them is reported to `r`."""

    def __init__(self, r: Reading) -> None:
        self._r = r
        self.values: dict[str, Any] = {}
        self.secret: set[str] = set()
        """Names that are likely a password without quotes, and are suggested nowhere."""
        self._merges: dict[int, tuple[Map, list[Map]]] = {}
        # By identity: the object (so that its id stays taken), nodes when expanded, nesting when expanded.
        self._extents: dict[int, tuple[Any, int, int]] = {}
        self._largest = (0, 0)

    def use(self, name: str, pos: int) -> Any:
        """The value of the alias at `pos`; null when it is refused."""
        if fault := self._fault(name):
            self._r.report(pos, *fault)
            return None
        value = self.values[name]
        self._largest = max(self._largest, (self._extent(value)[0], -pos))
        return value

    def _fault(self, name: str) -> tuple[str, str, str] | None:
        """Why the alias of this name is refused here: rule, message, hint."""
        shown = self._r.quote(name)
        if name not in self.values:
            hint = "an anchor stands before its aliases and in the same document"
            near = did_you_mean(name, (known for known in islice(self.values, 200) if known not in self.secret))
            return "yaml.alias", f"there is no anchor &{shown} above", near or hint
        value = self.values[name]
        if value is OPEN:
            return "yaml.alias", f"*{shown} stands inside the node it is an alias of", "write out what is meant"
        size, height = self._extent(value)
        if size > MAX_ALIAS:
            message = f"*{shown} stands for {size} nodes, the most is {MAX_ALIAS}"
        elif len(self._r.trail) + height > MAX_DEPTH:
            message = f"*{shown} nests maps and lists more than {MAX_DEPTH} deep"
        else:
            return None
        return "yaml.expansion", message, "use fewer aliases of aliases"

    def merge(self, into: Map, value: Any, at: int) -> None:
        """Note the value (at `at`) of a merge key of `into`; `finish` copies the keys, once the size is known."""
        if id(into) in self._merges:
            hint = "write one key with a list: <<: [*a, *b]"
            self._r.report(at, "yaml.duplicateKey", "the merge key << stands twice in one map", hint)
            return
        sources = value if isinstance(value, Seq) else [value]
        if not all(isinstance(source, Map) for source in sources):
            hint = "write <<: *anchor, or <<: [*a, *b]"
            self._r.report(at, "yaml.merge", "<< merges a map or a list of maps, this is neither", hint)
            return
        self._merges[id(into)] = (into, list(sources))

    def finish(self, root: Any) -> None:
        """Refuse a document that expands too far, then merge: keys of the map itself win, then earlier sources."""
        if not self._largest[0] and not self._merges:
            return
        size, _ = self._extent(root)
        each = (len(value) * (2 if isinstance(value, Map) else 1) for value, _, _ in self._extents.values())
        written = 1 + sum(each) + sum(len(sources) for _, sources in self._merges.values())
        if size > MAX_ALIAS and size > MAX_RATIO * written:
            message = f"the aliases of this document make {size} nodes out of {written}, more than {MAX_RATIO} times"
            self._r.report(-self._largest[1], "yaml.expansion", message, "write out less by alias, or split the file")
            return
        copied = 0
        for into, sources in self._merges.values():
            for source in sources:
                copied += len(source)
                if copied > MAX_MERGED:
                    message = f"the merge keys of this document copy more than {MAX_MERGED} keys"
                    self._r.report(into.start, "yaml.expansion", message, "split the file")
                    return
                for index, (key, value) in enumerate(source.items()):
                    if key not in into:
                        into[key] = value
                        into.at += source.at[2 * index : 2 * index + 2]

    def _extent(self, value: Any) -> tuple[int, int]:
        """Nodes and nesting of a value when expanded. What is nested in it by alias was measured when it was used."""
        if not isinstance(value, Map | Seq):
            return 1, 0
        if known := self._extents.get(id(value)):
            return known[1], known[2]
        parts = [self._extent(part) for part in (value.values() if isinstance(value, Map) else value)]
        size = 1 + sum(part for part, _ in parts) + (len(value) if isinstance(value, Map) else 0)
        height = 1 + max((depth for _, depth in parts), default=0)
        for source in self._merges.get(id(value), (None, ()))[1]:
            more, depth = self._extent(source)
            size, height = size + more, max(height, depth)
        self._extents[id(value)] = (value, size, height)
        return size, height
