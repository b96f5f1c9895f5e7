"""Rules of what files are compared with: bases, revisions of git, and other fleets."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

REVISIONS: Final[Entries] = {
    "base.files": Entry(
        "The fleet at the base cannot be read.",
        "A base that is skipped guards nothing.",
        "Repair the fleet at the base first, or compare with another one.",
    ),
    "base.fleet": Entry(
        "The base has no fleet at this place, or one of another name, caller or keyPrefix, or of other pools.",
        "Its guards and its pools are not known then: a plan that takes something away is blocked.",
        "If the fleet moved, give its old place with --base-dir.",
    ),
    "base.own": Entry(
        "The base is the commit that the files are of, or the files themselves.",
        "The change is in the base already: what it removed is not seen, and guards that it took away do not hold.",
        "Compare with what was applied last: the commit before the change, or its files. HEAD^ may hold a part of it."
        " Where these files themselves were applied last, all that differs is drift.",
    ),
    "prune.base": Entry(
        "Pools are to be pruned, and there is no base.",
        "Only what files named once, and name no more, is archived so.",
        "Give --base or --base-dir, or write the tombstones that the hint shows.",
    ),
    "git.repository": Entry(
        "The fleet is in no git repository that can be read.",
        "A base of a revision comes from there.",
        "Run it in the checkout, or give --base-dir.",
    ),
    "git.revision": Entry(
        "The repository has no such commit.",
        "A shallow clone may lack it; a base that is absent is never skipped.",
        "Fetch it, with enough history.",
    ),
    "git.parent": Entry(
        "The commit before the one that is checked out is not in this clone.",
        "A plan file names the base that its maker chose: at apply the guards of that commit hold too.",
        "Fetch all history; or name the base at apply too, with --base.",
    ),
    "git.mergeBase": Entry(
        "It is not known from which commit both sides went apart, or there are several.",
        "A shallow clone may end before it; of several, each may lack a guard of another.",
        "Fetch all history; or merge the revision into what is checked out.",
    ),
    "git.link": Entry(
        "A symbolic link leads to the fleet's directory, now or in the base.",
        "What stood in that place is then not known, and a base that is not known guards nothing.",
        "Name the fleet's own directory, or give --base-dir.",
    ),
    "git.objects": Entry(
        "A commit is there, and contents of it are not.",
        "A clone with a filter leaves them out, and the files of a submodule are in another repository.",
        "Fetch the repository without a filter; keep submodules out of what the fleet reads.",
    ),
    "git.run": Entry(
        "The program git could not be run.",
        "A revision is read by asking it.",
        "Install git, or name a directory instead.",
    ),
    "diff.empty": Entry(
        "One side of a comparison has no fleet.",
        "Everything would read as new, or as gone.",
        "Name another revision, or another path: REVISION:PATH.",
    ),
    "diff.path": Entry(
        "A side of a comparison is neither a directory nor a revision.",
        "It is not guessed which of both was meant.",
        "Write a path that is there, or a revision of this repository.",
    ),
    "together.wish": Entry(
        "Branches wish the same field of a pool, or what becomes of it, differently.",
        "Each plan is sound alone; merged, one takes back what the other did, or they do not merge at all.",
        "Agree on one wish before the second of them is merged.",
    ),
    "together.twice": Entry(
        "Branches added the same pool, or the same offer, each in a file of its own.",
        "Their lines do not conflict, so that both are merged; then it stands there twice, and no command takes that.",
        "Write it in one place before the second of them is merged.",
    ),
    "together.oversell": Entry(
        "Branches together promise more than machines make, of a pool, or of a GPU model at a site.",
        "Each alone leaves enough, and no guard of the fleet limits this; whoever comes last finds no room.",
        "Offer less, wait for machines, or set `guards.maxOversell` so that a pool is never oversold.",
    ),
    "together.shared": Entry(
        "A branch changed what entries share (policies, defaults, what is read), and it reaches those of another.",
        "Merged, these wish something else than each of the branches does. Where the files cannot be merged line by"
        " line, they were not read so, and the message names what was not looked at.",
        "Write what is meant in the entry itself, or merge one first and plan again with the rest.",
    ),
    "together.fleet": Entry(
        "A revision has a fleet of another name, tenant, caller or keyPrefix at this place, or none any more.",
        "Its pools are others then, or stand elsewhere, and what it breaks together with these files is not known.",
        "Merge what makes it another fleet, or moves it, first; then plan with the rest.",
    ),
    "together.files": Entry(
        "The fleet of a revision that was named with --with, or the one that it began with, cannot be read.",
        "A revision that is left out in silence would seem to break nothing.",
        "Repair the files there, at the place that is told, or leave the revision out.",
    ),
}
