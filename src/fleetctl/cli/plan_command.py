"""`fleetctl plan`."""

from __future__ import annotations

from pathlib import Path

import click

from fleetctl.cli import frame, offered, options, streams, values
from fleetctl.cli.named import FILE
from fleetctl.cli.options import Common


@click.command(
    "plan",
    help="Show what an apply would change, the dangerous first, with effects, findings and a digest. Changes nothing"
    " that is live. With --verbose each operation has its number in the plan's order." + options.PATH,
    epilog=options.examples(
        "fleetctl plan",
        "fleetctl plan fleet/ --out plan.json --expires 24h",
        "fleetctl plan fleet/ --base origin/main --with origin/site-ams1 --with origin/more-h100",
        'fleetctl plan fleet/ --allow archives=2 --reason "site closes"',
        "fleetctl plan fleet/ --undo report.json",
    ),
)
@options.common(
    options.fleet,
    frame.base,
    frame.prune,
    frame.selection,
    frame.snapshot,
    options.override,
    options.review,
    options.verbose,
    options.target,
)
@click.option("--out", type=FILE, metavar="FILE", help="Write the plan file, to be approved.")
@click.option(
    "--expires",
    "lifetime",
    callback=values.lifetime,
    metavar="DURATION",
    help="How long the plan file may be applied, such as 24h.",
)
@click.option("--detailed-exitcode", "detailed", is_flag=True, help="Exit 2 when there are changes.")
@click.option(
    "--with",
    "beside",
    multiple=True,
    metavar="REF",
    shell_complete=offered.refs,
    help="Say also, in a line, what the plan of REF alone does and whether it is blocked by itself, and what this plan"
    " and what REF changed since it left HEAD break only together: the same object, a rule, a guard, a check, oversell."
    " Repeat it for several. The plan stays what it is, and may be applied; exit 3 where all together would be blocked,"
    " also where this plan alone is not.",
)
@click.option(
    "--undo",
    type=FILE,
    metavar="REPORT",
    help="Show what `apply --undo REPORT` would do instead, with the digest by which `--expect` approves it.",
)
def command(
    common: Common,
    out: Path | None,
    lifetime: int | None,
    detailed: bool,
    beside: tuple[str, ...],
    undo: Path | None,
) -> int:
    from fleetctl.flow.plan import plan

    others = {"--with": beside, "--snapshot": common.request.snapshot, "--out": out, "--expires": lifetime}
    frame.check_undo(undo, common.request, others)
    if undo is not None:
        from fleetctl.flow.undo import undo_plan  # not above: it knows applies, and most plans are of files

        finished = undo_plan(common.request, undo, detailed=detailed)
        return streams.finish(finished, common.format, verbose=common.verbose)
    if lifetime is not None and out is None and common.format.name != "json":
        raise click.UsageError("--expires is about the plan file: give --out FILE too")
    options.check_apart(common.request, {"--out": out})
    finished = plan(common.request, out=out, lifetime=lifetime, detailed=detailed, beside=beside)
    return streams.finish(finished, common.format, verbose=common.verbose)
