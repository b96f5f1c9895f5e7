"""Drawings of plans, and what is read back from each format: who waits for whom, and what stands in the nodes."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

from fleetctl.cli.streams import Format
from tests.fleetctl.render.reports import a_plan, operation

SVG = "{http://www.w3.org/2000/svg}"

Read = tuple[dict[int, str], set[tuple[int, int]]]
"""The text of each node by number, its lines parted by a line end, and the arrows."""


def drawn(name: str, report: Any) -> str:
    return Format(name)(report, io.StringIO(), False)


def waiting(edges: dict[int, list[int]], **fields: Any) -> Any:
    """A plan of offers, each by number with those it waits for."""
    return a_plan([operation(n, "offer", f"p{n}", "acme", dependsOn=before, **fields) for n, before in edges.items()])


_NODE = re.compile(r'  n(\d+)(\[|\(\[|\{\{|\[\[)"((?:[A-Za-z0-9 .,:/()-]|<br/>|#\d+;)*)"(\]|\]\)|\}\}|\]\]):::([a-z]+)')


def mermaid(text: str) -> Read:
    """All of Mermaid's flowchart that is used here, and nothing else."""
    first, title, *lines = text.splitlines()
    assert first == "flowchart LR"
    assert re.fullmatch(r"  accTitle: Plan: [a-z0-9 ,]+", title)
    nodes, edges = dict[int, str](), set[tuple[int, int]]()
    for line in lines:
        if node := _NODE.fullmatch(line):
            assert f"{node[2]}{node[4]}" in ("[]", "([])", "{{}}", "[[]]")
            said = re.sub(r"#(\d+);", lambda match: chr(int(match[1])), node[3].replace("<br/>", "\n"))
            nodes[int(node[1])] = said
        elif edge := re.fullmatch(r"  n(\d+) --> n(\d+)", line):
            edges.add((int(edge[1]), int(edge[2])))
        else:
            assert re.fullmatch(r"  classDef [a-z]+ [a-z0-9#:,-]+", line), line
    return nodes, edges


_QUOTED = r'"((?:[ !#-\[\]-~]|\\\\|\\"|\\n)*)"'


def dot(text: str) -> Read:
    """All of DOT that is used here, and nothing else."""
    first, label, *lines, last = text.splitlines()
    assert (first, last) == ("digraph plan {", "}")
    assert re.fullmatch(rf"  label={_QUOTED};", label)
    nodes, edges = dict[int, str](), set[tuple[int, int]]()
    for line in lines[2:]:
        if node := re.fullmatch(
            rf"  n(\d+) \[label={_QUOTED}, tooltip={_QUOTED}, shape=[^\"]*(?:\"[^\"]*\"[^\"]*)*\];", line
        ):
            said = re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], node[2])
            nodes[int(node[1])] = html.unescape(said)
        else:
            edge = re.fullmatch(r"  n(\d+) -> n(\d+);", line)
            assert edge, line
            edges.add((int(edge[1]), int(edge[2])))
    return nodes, edges


def svg(text: str) -> Read:
    """Arrows lead from the right side of one node to the left side of another."""
    root = ElementTree.fromstring(text)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "desc", "marker", "path", "g", "text")
    }
    names = {name for element in root.iter() for name in element.attrib}
    assert not any(name.startswith("on") or "href" in name for name in names)
    nodes, left, right = dict[int, str](), dict[tuple[float, float], int](), dict[tuple[float, float], int]()
    for group in root.iter(f"{SVG}g"):
        title, path = group.find(f"{SVG}title"), group.find(f"{SVG}path")
        if title is None or path is None:
            continue
        n = int(re.match(r"#(\d+) ", title.text or "")[1])  # type: ignore[index]
        x, y = map(float, re.match(r"M(\S+?) ([\d.]+)", path.get("d", "")).groups())  # type: ignore[union-attr]
        nodes[n] = "\n".join(line.text or "" for line in group.iter(f"{SVG}text"))
        assert (x, y + 30) not in left, "two nodes in one place"
        left[x, y + 30], right[x + 256, y + 30] = n, n
    edges = set()
    for path in root.iter(f"{SVG}path"):
        if path.get("marker-end"):
            numbers = [float(number) for number in re.findall(r"[\d.]+", path.get("d", ""))]
            edges.add((right[numbers[0], numbers[1]], left[numbers[-2], numbers[-1]]))
    return nodes, edges


READ: dict[str, Callable[[str], Read]] = {"mermaid": mermaid, "dot": dot, "svg": svg}
