"""The comment on a plan of thousands of operations, against the standard library's JSON encoding of that plan."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.measure import cpu_of_call
from fleetctl.render import markdown
from fleetctl.report.saved import read_plan


def ratio(file: Path, runs: int = 15) -> float:
    """How often the encoding of the plan goes into its rendering; the comment is whole and within its bytes."""
    plan = read_plan(file.read_bytes())
    text = markdown.render(plan)
    assert len(plan["operations"]) >= 10_000, len(plan["operations"])
    assert len(text.encode()) <= 65_000
    ours = cpu_of_call(lambda: markdown.render(plan), runs=runs)
    floor = cpu_of_call(lambda: json.dumps(plan), runs=runs)
    sys.stderr.write(f"markdown of {len(plan['operations']):,} operations: {ours:.2f} s of CPU\n")
    return ours / floor


if __name__ == "__main__":
    sys.stdout.write(f"{ratio(Path(sys.argv[1])):.3f}\n")
