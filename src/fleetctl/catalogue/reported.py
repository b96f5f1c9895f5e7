"""Words that reports are made of: actions, reasons, kinds and outcomes, which are no rules."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

_FIND_OUT: Final = "`fleetctl explain KEY` shows the pool from all sides."
_APPLY: Final = "Apply the files."
_NOTHING: Final = "Nothing has to be done."

_ACTIONS: Final[Entries] = {
    "create": Entry("A pool is to be made.", "The files have it and the server has not.", _APPLY),
    "update": Entry("Terms of a pool are to change.", "The server has them otherwise than the files.", _APPLY),
    "offer": Entry(
        "A tenant is to be offered a pool, or its offer is to change.", "The files state the offer so.", _APPLY
    ),
    "setQuota": Entry("The owner's own quota of a pool is to change.", "The files write `ownerQuota`.", _APPLY),
    "unoffer": Entry(
        "An offer is to be withdrawn.",
        "The files state this pool's offers, and this one is not among them.",
        "If it is not meant, write the offer again.",
    ),
    "archive": Entry(
        "A pool is to be archived, with all its offers; its key is spent.",
        "It is a tombstone, was replaced, or was removed and --prune is given.",
        "If it is not meant, write its entry again.",
    ),
}
_REASONS: Final[Entries] = {
    "new": Entry("The files have it and the server has not.", "It was never made, or is no more.", _APPLY),
    "unstated": Entry(
        "An offer is live that the files do not state; of an entry: it states no offers at all.",
        "Files that state a pool's offers own them all, so such an offer is withdrawn; files that state none leave it.",
        "Write the offer; or `offers: []`, or `offers: unmanaged`.",
    ),
    "replaced": Entry(
        "The pool is archived since another has taken its place.",
        "An entry says `replaces:` with its key, and no reservation is in it any more.",
        "Take `replaces:` away if the pool is to stay.",
    ),
    "tombstone": Entry(
        "The pool is archived since its entry says `archived: true`.",
        "A pool that goes is named, so that a lost file takes none away.",
        "Take the field away if the pool is to stay.",
    ),
    "undo": Entry(
        "An apply is taken back: the object is made again what it was before.",
        "`apply --undo REPORT` plans it from the report of that apply, and not from the files.",
        "Revert the files too, or the next plan brings the change back.",
    ),
    "intent": Entry(
        "The files moved away from the base: this is the change that somebody made.",
        "With --base a plan tells what a change wishes from what live state did by itself.",
        _NOTHING,
    ),
    "drift": Entry(
        "The live state moved away from the base's files: nobody wishes it in this change.",
        "An apply takes it back, whatever the change itself is about.",
        "`fleetctl drift` says since when, and by whom.",
    ),
    "both": Entry("The files moved, and the live state did too.", "Two changes meet in one value.", _FIND_OUT),
}
_STANDS: Final[Entries] = {
    "changed": Entry(
        "The server has it otherwise than the files, or one fleet otherwise than the other.",
        "Of drift: somebody changed it behind the files' back; its last event is not of this fleet.",
        _FIND_OUT,
    ),
    "pending": Entry(
        "The files are ahead: nobody applied them yet, or what was applied was taken back by `apply --undo`.",
        "The last change of the object was by this fleet.",
        "Apply the files; or revert them too, where an undo took the change back.",
    ),
    "removed": Entry(
        "It is live, of this fleet, and no entry names it; in a comparison: one fleet alone has it.",
        "Nothing is archived by omission: that needs --prune and a base which names it.",
        "Write its entry, or a tombstone, or plan with --base and --prune.",
    ),
    "added": Entry("The second fleet has it and the first has not.", "A comparison shows both ways.", _NOTHING),
    "foreign": Entry(
        "A live pool that is no business of this fleet.",
        "No entry names it, and its creator or its key are not this fleet's: it is counted, never touched.",
        "To take it over, write an entry with its `id`.",
    ),
    "stated": Entry("The files state all offers of the pool.", "A live one beside them is withdrawn.", _NOTHING),
    "unmanaged": Entry("The pool's offers are left to others.", "The entry says `offers: unmanaged`.", _NOTHING),
    "tighter": Entry("A limit lets less pass than before.", "It guards more.", _NOTHING),
    "looser": Entry("A limit lets more pass than before.", "It guards less.", "Let its owners look at it."),
    "other": Entry("A limit differs, and neither way is the stricter.", "The two cannot be ordered.", "Look at both."),
}
_NOTES: Final[Entries] = {
    "id": Entry("An entry means its pool by `id`.", "It adopts one that another made.", _NOTHING),
    "key": Entry("An entry means a pool that has another key.", "`previously` names that key.", _NOTHING),
    "caller": Entry("An entry means a pool of a previous caller.", "`previousCallers` names it.", _NOTHING),
    "unoffered": Entry(
        "A new pool is offered to nobody.", "Nobody but its owner can use it.", "Write offers, or `offers: []`."
    ),
}
_WEIGHTS: Final[Entries] = {
    "safe": Entry("Nobody loses anything by the operation.", "It adds or raises.", _NOTHING),
    "lowers": Entry("The operation lowers a quota or changes a model.", "A tenant may book less.", "Look at it."),
    "withdraws": Entry("The operation withdraws an offer.", "A tenant loses the pool.", "Ask the tenant first."),
    "irreversible": Entry("The operation cannot be undone.", "The key of an archived pool is spent.", "Be sure."),
    "error": Entry("A finding that blocks.", "A rule, a guard or a check does not hold.", "Look at its rule."),
    "warning": Entry("A finding that only tells.", "It may be meant.", "Look at it."),
    "unchecked": Entry("A rule was not judged.", "A fact that it needs is not known here.", "Ask the server."),
}
_OUTCOMES: Final[Entries] = {
    "done": Entry("The operation was carried out, or its object is as wished.", "The server says so.", _NOTHING),
    "failed": Entry("The operation was refused, or no answer came.", "The problem beside it says why.", "Look at it."),
    "blocked": Entry(
        "Nothing was written: of an operation, since one that it depends on failed; of a plan, since a guard said no.",
        "What stands on something that is not there would be wrong.",
        "Look at what failed or at the findings.",
    ),
    "found": Entry(
        "The operation is not taken back: its object was as wished before, and not by this apply.",
        "What another did is not this fleet's to take back.",
        _NOTHING,
    ),
    "released": Entry(
        "The operation is not taken back: the files let its pool go.",
        "It is no more this fleet's to change.",
        "Ask whoever keeps the pool now.",
    ),
    "noInverse": Entry(
        "The operation is not taken back: nothing does that.",
        "A key is spent, or an old value is not kept.",
        "Write what is wished into the files.",
    ),
    "heir": Entry(
        "The operation is not taken back: its pool took the place of one that is archived.",
        "An archived pool is not revived, and without its heir tenants would have neither.",
        "Write what is wished into the files.",
    ),
    "otherRun": Entry(
        "The operation is not taken back: the report does not tell of it.",
        "Another run of the same apply did it: that run was killed, or has a report of its own.",
        "Take that report back too, or change the files.",
    ),
    "notStarted": Entry("The operation was not begun.", "The run ended before.", "Run the same command again."),
    "plan": Entry("The apply was approved by a plan file.", "It is the file of --plan.", _NOTHING),
    "digest": Entry("The apply was approved by a digest.", "It is the one of --expect.", _NOTHING),
    "hand": Entry("The apply was approved by whoever ran it.", "They said yes, or --yes.", _NOTHING),
    "formatted": Entry("The file was written anew in canonical layout.", "It was in another.", _NOTHING),
    "unformatted": Entry("The file is not in canonical layout.", "Diffs show changes alone then.", "Run fleetctl fmt."),
    "unchanged": Entry("The file is in canonical layout already.", "Nothing differs.", _NOTHING),
    "left": Entry("The file was left as it is.", "It cannot be formatted; the text says why.", "Correct the file."),
}
_PARTS: Final[Entries] = {
    "expected": Entry(
        "The files say that it may differ for a time: drift tells it, and does not count it.",
        'An item of `expected`: `{key: gpu-fra1-h100, path: "offers[acme].quota.gpu", until: 2027-01-31T00:00Z, reason:'
        " load test}`; without `path` all of the pool may differ. A plan takes it back all the same, and says so.",
        "Leave it out of an apply by --except, or write what is live into the files.",
    ),
    "interrupted": Entry(
        "A signal came while an apply ran: nothing new was started after it.",
        "SIGINT is Ctrl-C, SIGTERM what ends a job in CI: calls in flight were finished, and the exit code says it.",
        "Run the same command again to go on.",
    ),
    "coverage": Entry(
        "How many of the live pools of the tenant an entry of the fleet names, and how many of their GPU atoms.",
        "A pool that no entry names is nobody's in review: it was made by hand, left the files, or is another fleet's.",
        "`fleetctl drift --verbose` names them; `fleetctl export` writes them as files.",
    ),
}
"""Parts of a report that people ask about by name."""
_OF: Final = {
    "operation": _ACTIONS,
    "drift": ("changed", "pending", "removed"),
    "diff": ("added", "removed", "changed", "tighter", "looser", "other"),
    "format": ("formatted", "unformatted", "unchanged", "left"),
}
"""The titles of results, for tools that list them: a family, and words of it."""

_PLAIN: Final[Entries] = {**_ACTIONS, **_REASONS, **_STANDS, **_NOTES, **_WEIGHTS, **_OUTCOMES, **_PARTS}
REPORTED: Final[Entries] = {
    **_PLAIN,
    **{f"{family}.{word}": _PLAIN[word] for family, words in _OF.items() for word in words},
}
