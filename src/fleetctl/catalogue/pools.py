"""Rules of the control plane: pools, offers, quotas, machines, and policies as a whole."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

_FOR_LIFE = "It is for life in a pool, so that it is judged once and well."

POOLS: Final[Entries] = {
    "pool.agent": Entry(
        "`agent` is neither bcd nor none.",
        _FOR_LIFE,
        "Write bcd, or none for a provider pool.",
    ),
    "pool.class": Entry(
        "`class` is none that there is, or its pools take no machines.",
        "The class decides what a machine becomes that joins: only hosts add capacity.",
        "Write metal-host, vps-host, infra or provider.",
    ),
    "pool.key": Entry(
        "The key belongs to a pool that is otherwise, or that was archived.",
        "A key makes one pool, for ever: class, site, sharing, agent and account stay, and nothing revives it.",
        "Keep the live value, or write a new entry under a new key.",
    ),
    "pool.model": Entry(
        "`gpuModel` is no family name, or none of the known ones.",
        "Meters, policies and authorization are keyed by it, so that a slip would bill wrongly.",
        "Write the family in capitals, such as H100; `better-compute family NAME` derives it.",
    ),
    "pool.owner": Entry(
        "The pool is not there, or is not the acting tenant's.",
        "Only its owner changes, offers or archives a pool; to others it is as if it were not there.",
        "Check `tenantId`, and the pool's id.",
    ),
    "pool.ownerQuota": Entry(
        "The owner's quota grants none of the pool's own atoms, or rows that the pool cannot have.",
        "A missing row grants 0, also to the owner; whole GPUs are the default of exclusive pools alone.",
        "Write gpu.mig for a mig pool, gpu.slot for timeslice and mps.",
    ),
    "pool.provider": Entry(
        "A provider pool lacks its account or `agent: none`, or another class names an account.",
        "Its capacity is the account's: no machine of ours joins, and no agent runs.",
        "Write providerAccountId and agent: none for class provider, and neither for others.",
    ),
    "pool.sharing": Entry(
        "`sharing` is none of the modes.",
        _FOR_LIFE,
        "Write exclusive, mig, timeslice or mps.",
    ),
    "pool.site": Entry(
        "The site is not there, or is another tenant's.",
        "A pool stands at a site of the tenant that owns it.",
        "Correct `siteId`, or create the site.",
    ),
    "pool.update": Entry(
        "The pool cannot become as wished: it is archived, it holds machines of another model, or nothing was asked.",
        "What machines are, and what is offered to whom, must stay true after the change.",
        "Write a pool of the new model beside it, and let it replace the old one.",
    ),
    "offer.archived": Entry(
        "An archived pool is to be offered, or its quotas set.",
        "An archive is for good: it takes no new work.",
        "Offer another pool.",
    ),
    "offer.priority": Entry(
        "`priority` is no whole number from -1000 to 1000.",
        "It is stored and compared as one.",
        "Write a whole number; 0 is the default.",
    ),
    "offer.sharing": Entry(
        "A timeslice or mps pool is to be offered to somebody else than its owner.",
        "These modes keep no workload apart from another.",
        "Offer an exclusive or mig pool instead.",
    ),
    "offer.single": Entry(
        "A singleTenant pool would have two tenants, or one with its descendants.",
        "Its policy promises that one tenant besides the owner works in it.",
        "Withdraw the other offer first, or drop `singleTenant` from the policy.",
    ),
    "offer.tenant": Entry(
        "The tenant is not there, is not active, or is not known here.",
        "An offer to nobody would wait for somebody to take that name.",
        "Correct `toTenantId`, or create the tenant.",
    ),
    "offer.tenantOwned": Entry(
        "A pool with machines that a tenant owns would be offered to others.",
        "Nobody sells what belongs to a tenant.",
        "Keep such machines in a pool of their own.",
    ),
    "unoffer.owner": Entry(
        "A pool is to be withdrawn from its owner.",
        "The owner has no offer that could be withdrawn.",
        "Lower `ownerQuota`, or archive the pool.",
    ),
    "quota.set": Entry(
        "Rows are to be set for a tenant that the pool is not offered to.",
        "Without an offer there is nothing that rows could limit.",
        "Offer the pool; an offer brings its rows.",
    ),
    "quota.value": Entry(
        "A quota row is not what it may be: its resource, its number, or its meaning in this pool.",
        "A row for atoms that the pool cannot have grants nothing, and a missing row grants 0.",
        "Write whole numbers from 0 to 2147483647 (unlimited) for gpu, gpu.mig, gpu.slot, vcpu and the like.",
    ),
    "node.attestor": Entry(
        "Who speaks for a machine is not believed: the pool does not list it, no such attestor is here, or its evidence"
        " is none for this machine, has expired, counts for longer than an hour, or was used.",
        "A pool lets machines in by those that its policy lists in `joinAttestors`; left out, by join tokens alone.",
        "Join in a way that the pool lists; `better-compute attest` makes new evidence for exactly what a join states.",
    ),
    "node.busy": Entry(
        "A machine that is booked is to leave its pool, or a tenant is to take control of it.",
        "Nothing is taken from under what runs: a reservation keeps what it booked until it ends.",
        "End its reservations, or wait until they end.",
    ),
    "node.inventory": Entry(
        "An attribute of a machine's inventory has a meaning, and its value is none that it can have.",
        "`vramGiB` is the memory of each of its GPUs, and reservations select by it.",
        "Write a whole number of GiB, without quotes.",
    ),
    "node.join": Entry(
        "A machine is to join an archived pool.",
        "An archive takes nothing new.",
        "Let it join another pool.",
    ),
    "node.model": Entry(
        "A machine has other GPUs than its pool.",
        "A pool holds one model: it bills and authorizes by it.",
        "Let it join a pool of its own model.",
    ),
    "node.token": Entry(
        "A join token does not count: used, expired, or of another pool.",
        "One token lets one machine in.",
        "Create a new one with `better-compute nodes createJoinToken`.",
    ),
    "site.kind": Entry(
        "A tenant is to have a site of a kind that is not its own to have.",
        "Root owns shared and dedicated sites, customers own custom ones.",
        "Write the kind that the message names.",
    ),
    "policy.depth": Entry(
        "A policy is nested more than 32 deep.",
        "Both databases, and every reader, keep what is flatter than that.",
        "Write it flatter.",
    ),
    "policy.number": Entry(
        "A number in a policy is not finite, or beyond what JSON readers agree on.",
        "Beyond 2^53 two readers may see two numbers.",
        "Write it as a text, or smaller.",
    ),
    "policy.secret": Entry(
        "A value in a policy looks like a secret.",
        "Every tenant that the pool is offered to can read its policy.",
        "Keep the secret where only the hosts can read it, and name that place.",
    ),
    "policy.size": Entry(
        "A policy is larger than 64 KiB.",
        "It is sent with every pool that anybody lists.",
        "Keep large data elsewhere, and name that place.",
    ),
    "policy.string": Entry(
        "A text in a policy holds control characters, or half of a character.",
        "Databases and terminals would each make something else of it.",
        "Take them out.",
    ),
    "policy.type": Entry(
        "A policy is no JSON object, or holds what is no JSON.",
        "It is stored and compared as JSON.",
        "Write a map; {} is an empty one.",
    ),
    "policy.validator": Entry(
        "A validator of the policy failed itself.",
        "Whether the policy is good is then not known, so it is not written. This is a fault of the program.",
        "Report it with the message; leave the field out that it names, if you cannot wait.",
    ),
    "policy.unknown": Entry(
        "A field of a policy is none that anything reads, and nearly one that is.",
        "Unknown fields are stored as given, so that a slip would have no effect and no message.",
        "Correct its name, if it was meant.",
    ),
}
