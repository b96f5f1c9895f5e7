"""Rules of fleets: what files may say, and which pools they mean."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

FLEETS: Final[Entries] = {
    "fleet.adopt": Entry(
        "An entry's `id` names no pool of the fleet's tenant.",
        "To adopt is to take over a pool that is there; one with a given id cannot be made.",
        "Correct the id, or drop it: then the key makes a pool.",
    ),
    "fleet.agree": Entry(
        "Two documents give one root field different values.",
        "A root field holds for the whole fleet.",
        "Keep it in one document, or make both say the same.",
    ),
    "fleet.caller": Entry(
        "Nobody names the caller; or all pools would be made anew beside live ones that look the same.",
        "Pool ids derive from tenant, caller and key: under another caller every key means another pool.",
        "Write `caller:`; after a change of identity list the old one under `previousCallers`.",
    ),
    "fleet.contradiction": Entry(
        "Two fields cannot both be meant, such as `archived` beside `offers`.",
        "Whichever was taken, the other would be ignored in silence.",
        "Keep one of them.",
    ),
    "fleet.document": Entry(
        "A YAML file in the fleet's directory is no fleet document.",
        "A misspelt document that is skipped would look like pools that are gone.",
        "Move the file, or list it under `exclude:` in the root document.",
    ),
    "fleet.empty": Entry(
        "The files have no entry at all, or none that keeps a pool, and some of the base have none any more.",
        "Half a checkout must not read as the wish to have nothing; what is archived or let go by its entry is a wish.",
        "Check the path; if it is meant, write `allowEmpty: true` in a change of its own, or a tombstone of each pool.",
    ),
    "fleet.expected": Entry(
        "A difference that the files expect is one of no pool, or of no field of it.",
        "A slip in `expected` would be told as drift of something else, and never as what it is.",
        "Write the key or id of the pool, and the path as drift tells it; or take the item away.",
    ),
    "fleet.forEach": Entry(
        "A `forEach` makes no entries, or more than one template may.",
        "A template stands for entries that a reader can count.",
        "Give each of its names a list of one value or more.",
    ),
    "fleet.foreign": Entry(
        "Live pools that this fleet did not make have keys that begin with its `keyPrefix`.",
        "They are left alone, and neither plan nor drift tells when they change; they look as if this fleet kept them.",
        "Adopt those that are this fleet's by their ids; others should have keys of their own.",
    ),
    "fleet.keyPrefix": Entry(
        "A key does not begin with the fleet's `keyPrefix`, or the prefix is too short.",
        "The prefix says which pools are this fleet's; an old key outside of it means another fleet's pool.",
        "Rename the new entry; a pool that is there may keep its key when it is adopted by `id`.",
    ),
    "fleet.null": Entry(
        "A field is blank or null.",
        "Nobody can tell none, all and the default apart by a blank.",
        "Give it a value, or take the field out; a list of nothing is `[]`.",
    ),
    "fleet.offers": Entry(
        "A list offers a pool whose own entry says that it has no offers, or that others keep them.",
        "Both cannot hold.",
        "Take `offers: []` or `offers: unmanaged` from the entry, or the offer from the list.",
    ),
    "fleet.offersUnstated": Entry(
        "A live pool has offers, and the files say nothing of them.",
        "Silence neither keeps nor withdraws: nothing is lost by leaving something out.",
        "Write the offers, or `offers: []` to withdraw all, or `offers: unmanaged` to leave them to others.",
    ),
    "fleet.order": Entry(
        "Some operations each wait for another, so that no order is legal.",
        "Every state on the way must be one that the rules allow, also where an apply is cut short.",
        "Make the change in two steps.",
    ),
    "fleet.other": Entry(
        "The last change of a pool that names a fleet names another one, and the pool left these files, or would go.",
        "Two fleets may have one caller, and pools move from one to the other: an archive cannot be undone.",
        "Let that fleet keep it, by `released: true`; to archive it all the same, write a tombstone with its id.",
    ),
    "fleet.ownTenant": Entry(
        "A pool is offered to the tenant that owns it.",
        "An owner sees its pools without an offer; its own limits are `ownerQuota`.",
        "Write `ownerQuota` instead.",
    ),
    "fleet.part": Entry(
        "What was named is a folder or a file of a fleet whose root fields stand in a directory above.",
        "A part that is taken for a whole would be another fleet, without guards, defaults and most of its pools.",
        "Name the fleet's own directory; --only looks at a part of it.",
    ),
    "fleet.policyRef": Entry(
        "A `policyRef` names no policy of this fleet.",
        "A pool without the policy it was given would run on other terms.",
        "Correct the name, or add the policy under `policies:`.",
    ),
    "fleet.pool": Entry(
        "An offer in a list is for a pool that no entry has.",
        "A list offers what this fleet keeps.",
        "Write the key or id of an entry.",
    ),
    "fleet.previously": Entry(
        "The pool of the old key and that of the new key are both live; or an entry lets go of a renamed pool and no "
        "longer says which.",
        "An entry means one pool: the old one, as `previously` says.",
        "Drop `previously` and give each an entry, or archive the one that is not meant; or write `previously` again.",
    ),
    "fleet.removed": Entry(
        "A live pool of this fleet stands in no entry; or nobody can tell whether one does.",
        "What left the files is listed in every plan, and never archived by that alone.",
        "Write the tombstone of the hint, `released: true` to let it go, or plan with --base and --prune.",
    ),
    "fleet.rename": Entry(
        "An entry would make a pool of the very shape of one that just left the files.",
        "A new key makes an empty pool, and leaves the one that work runs in without an entry: --prune archives it.",
        "Write `previously: OLD-KEY`; if it is a new pool, say so with --allow rename=N.",
    ),
    "fleet.replaces": Entry(
        "The pool that an entry replaces cannot go yet, or two places claim it.",
        "A replaced pool is archived once nothing waits or runs in it.",
        "Wait until it is empty and plan again; let one entry replace it, and give it none of its own.",
    ),
    "fleet.required": Entry(
        "A field that must be there is missing.",
        "It has no default that would be right for everybody.",
        "Add it.",
    ),
    "fleet.selection": Entry(
        "What --only or --except names is nothing, or leaves nothing.",
        "A slip in a selector must not look like a fleet that is in sync.",
        "Correct the selector: key=GLOB, site=, model=, tenant= or file=.",
    ),
    "fleet.server": Entry(
        "No server is named.",
        "A plan is of one control plane.",
        "Write `server:` in the files, set FLEETCTL_SERVER, or give --server.",
    ),
    "fleet.tenantId": Entry(
        "There is no fleet here, and the environment names no tenant.",
        "Live state is always read as somebody's.",
        "Name a fleet, or set FLEETCTL_TENANT and FLEETCTL_CALLER.",
    ),
    "fleet.tombstone": Entry(
        "An entry is to be archived, and its pool never existed.",
        "There is nothing to do; it is said because a slip in the key looks the same.",
        "Check the key, or take the entry out.",
    ),
    "fleet.twice": Entry(
        "A key, a policy name, or an offer to one tenant of one pool stands twice.",
        "Whichever was taken, the other would be lost in silence.",
        "Keep one of the two places that the message names.",
    ),
    "fleet.type": Entry(
        "A value is of another type, or outside what the field allows.",
        "Values are never converted: a text is no number.",
        "Write what the message asks for.",
    ),
    "fleet.unknown": Entry(
        "A field is none that a fleet has.",
        "A misspelt field that is ignored is a wish that nobody grants.",
        "Correct its name; a place for your own anchors is a field that begins with `x-`.",
    ),
    "fleet.variable": Entry(
        "`${...}` names no variable of the entry's `forEach`.",
        "It would stand in a key or a site as it is.",
        "Name one of the variables; `$${` writes `${`.",
    ),
    "fleet.world": Entry(
        "The world file that the files name is not there, is a fleet document, or stands unnamed among these.",
        "A new control plane starts with it; tenants, sites and machines are no wishes of a fleet.",
        "Name it under `server.world`, relative to that file, or move it out of the fleet's directory.",
    ),
}
