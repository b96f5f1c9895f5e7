"""The codes of problems: what a program branches on."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

CODES: Final[Entries] = {
    "INVALID_INPUT": Entry(
        "A value is not one that may stand there, whatever the state of anything else.",
        "It is refused before anything is looked up, so the same input is refused everywhere and always.",
        "Correct the field that the path names; the rule says what is allowed.",
    ),
    "INVALID_STATE": Entry(
        "The request is well formed, and what is there now does not allow it.",
        "A rule of pools, offers or machines would be broken by the result.",
        "Look at the rule and at the object's live state; change that first, or wish for something else.",
    ),
    "NOT_FOUND": Entry(
        "What is named is not there, or is not for this tenant to see.",
        "The two look alike on purpose: nobody learns of what is hidden from them.",
        "Check the spelling, the tenant that acts, and that it owns what it names.",
    ),
    "CONFLICT": Entry(
        "The same name stands for something else already.",
        "A key makes one pool for ever, and what is for life in it cannot differ in a second request.",
        "Keep the old value, or use a new key.",
    ),
    "VERSION_CONFLICT": Entry(
        "The object changed after it was read.",
        "Each write names the version it was planned on, so that nobody's change is lost unseen.",
        "Make a new plan; `fleetctl drift` and `fleetctl explain POOL` say who changed it.",
    ),
    "LIMIT_EXCEEDED": Entry(
        "A booking does not fit into a quota.",
        "What is in use never passes a limit through a booking, whatever runs at the same time.",
        "Raise the quota row in the files, or free what is booked.",
    ),
    "SPEND_LIMIT_REACHED": Entry(
        "The budget behind a pool's meter lets nothing more start.",
        "The pool's policy asks billing before it admits work (`admission.budgetCheck: meter`).",
        "Raise the budget, or take that field out of the policy.",
    ),
    "UNAUTHENTICATED": Entry(
        "The control plane does not know who is asking.",
        "Every call names an identity by a token; an embedded control plane believes the files' caller.",
        "Set FLEETCTL_TOKEN or give --token-file, with a token that is neither expired nor revoked.",
    ),
    "ACCESS_DENIED": Entry(
        "The identity is known and may not do this as this tenant.",
        "Rights are judged before anything is told of the object.",
        "`fleetctl whoami` lists the rights that are missing.",
    ),
    "TENANT_INACTIVE": Entry(
        "The tenant is there and not active.",
        "Nothing is offered to a tenant that is suspended or being deleted.",
        "Activate the tenant, or take its offers out of the files.",
    ),
    "METHOD_NOT_ALLOWED": Entry(
        "The path is one of the API's, and takes another HTTP method.",
        "Every operation has one method, so that proxies and caches cannot take a write for a read.",
        "Use the method that the answer's `allow` header names.",
    ),
    "PAYLOAD_TOO_LARGE": Entry(
        "The body of a request is larger than the control plane reads.",
        "What is unbounded would let one caller fill the memory of all.",
        "Send less at a time.",
    ),
    "REQUEST_TIMEOUT": Entry(
        "The body of a request did not arrive in time.",
        "A connection that sends nothing would hold a place for ever.",
        "Try again; look at the network in between when it repeats.",
    ),
    "RATE_LIMITED": Entry(
        "There were too many requests in a short time.",
        "One caller must not slow down all others.",
        "Wait as long as the answer asks; `apply --parallelism` makes fewer calls at a time.",
    ),
    "UNAVAILABLE": Entry(
        "No control plane gave an answer that can be used.",
        "It may be down, busy, or something else answers in its place.",
        "Try again; if it stays, check the server's URL and what stands before it.",
    ),
    "INTERNAL_ERROR": Entry(
        "Something failed that should not be able to.",
        "What it was stands in the log of where it happened, and not in an answer that anybody may read.",
        "For fleetctl, FLEETCTL_DEBUG=1 shows where; please report it.",
    ),
    "UNCHECKED": Entry(
        "A rule was not judged, because a fact that it needs is not known here.",
        "What nobody looked at must not pass for what is in order.",
        "Ask the server: it knows tenants, accounts and rights that files and snapshots do not.",
    ),
    "BLOCKED": Entry(
        "A limit of the fleet's own keeps the plan from being applied.",
        "Guards and checks stand between a slip in a file and the work of others.",
        "Make the change smaller, or name the override that the hint shows, with a reason.",
    ),
    "MISMATCH": Entry(
        "The plan is stale or was altered, or the server, tenant or caller is another than the files pin.",
        "What was approved for one place and one state is not done at another.",
        "The message says what differs: make a new plan, or correct the pin.",
    ),
    "USAGE": Entry(
        "The command line is not one that the command takes.",
        "Nothing was read or written.",
        "Look at the command's --help.",
    ),
    "STOPPED": Entry(
        "The command ended before it had a result.",
        "What it needs is not there, or it would have had to destroy something.",
        "Do what the hint says; the message says what is in the way.",
    ),
}
