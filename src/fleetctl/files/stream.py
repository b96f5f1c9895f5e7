"""The documents of a file: markers, directives, and what may stand at a document's root."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fleetctl.files.block import Block
from fleetctl.files.document import Document, Map
from fleetctl.files.nodes import Nodes
from fleetctl.files.reading import Reading, UnreadableError

_NO_CONTENT = re.compile(r"(?:[ ]*+(?:#[^\n]*+)?\n)*+")
_YAML_1_2 = re.compile(r"%YAML[ ]++1\.2(?=[ \n])")


def documents(r: Reading) -> Iterator[Document]:
    """Each document that is not empty. Raises UnreadableError at a problem behind which nothing can be read."""
    pos, counted, line_number = 0, 0, 1
    while (pos := r.match(_NO_CONTENT, pos).end()) < len(r.text):
        if r.marker(pos) == "...":
            pos = r.end_of_line(pos + 3, pos)
            continue
        pos = _directives(r, pos)
        nodes = Nodes(r)
        block = Block(nodes)
        root, at, line = block.behind(pos + 3) if r.marker(pos) else block.at_line(pos)
        pos = line.end(1)
        if not r.ends(pos):
            raise _misplaced(r, pos)
        nodes.anchors.finish(root)
        if isinstance(root, Map):
            line_number, counted = line_number + r.text.count("\n", counted, at), at
            yield Document(r.file, root, line_number)
        elif root is not None:
            r.report(at, "yaml.root", "the document is not a map", "begin with a field of a fleet and a colon")


def _directives(r: Reading, pos: int) -> int:
    """Accept `%YAML 1.2` and no other directive; returns where the document begins."""
    begin = pos
    while r.at(pos) == "%":
        found = _YAML_1_2.match(r.text, pos)
        if found is None:
            raise r.failure(pos, "yaml.directive", "no directive but %YAML 1.2 is read", "remove the line")
        pos = r.match(_NO_CONTENT, r.end_of_line(found.end(), pos)).end()
    if pos > begin and r.marker(pos) != "---":
        message = "a directive with no document behind it"
        raise r.failure(begin, "yaml.directive", message, "put --- on the line after it")
    return pos


def _misplaced(r: Reading, pos: int) -> UnreadableError:
    """Refuse a line that continues nothing of what stands above it."""
    if r.at(pos) == "\t":
        return r.tab(pos)
    message = "the indentation of this line fits no map or list above it"
    if r.at(pos) == "-" and r.at(pos + 1) in (" ", "\n"):
        message = "a list item where no list is open at this indentation"
    hint = "give the keys of a map, or the dashes of a list, the same indentation"
    return r.failure(pos, "yaml.syntax", message, hint)
