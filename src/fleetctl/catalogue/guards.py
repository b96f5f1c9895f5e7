"""The guards, by the names that `--allow` takes."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

GUARDS: Final[Entries] = {
    "guard.archives": Entry(
        "The plan archives more pools than one apply may.",
        "An archive cannot be undone; many at once are more often a slip than a wish.",
        "Archive in steps, or give --allow archives=N; the limits are `maxArchives` and `maxArchivePercent`.",
    ),
    "guard.withdrawals": Entry(
        "The plan takes more offers away than one apply may.",
        "Each ends what a tenant may start. Counted are withdrawals, offers that go with a pool, and GPUs set to 0.",
        "Withdraw in several changes, or give --allow withdrawals=N; `maxWithdrawals` holds the limit.",
    ),
    "guard.gpusWithdrawn": Entry(
        "The plan lowers more GPU atoms than one apply may, or more than can be counted.",
        "Gross: what a tenant gains in another pool, or of another model, does not run the work that is in this one.",
        "Lower them in several changes, or give --allow gpusWithdrawn=N; `maxGpusWithdrawn` holds the limit.",
    ),
    "guard.oversell": Entry(
        "After the plan tenants may book more of a pool than `maxOversell` allows, or nobody knows what there is.",
        "What is sold many times over is there for the first who come. A pool that was over it before, and still is, "
        "blocks what lets any tenant book more, or makes less of it; what only lowers quotas is told, and passes.",
        "Lower quotas, add machines, or give --allow oversell=N for so many pools.",
    ),
    "guard.belowUse": Entry(
        "A quota would fall below what is in use.",
        "Bookings stay and charge, and the tenant can start nothing until enough of them end.",
        "Lower it to what is in use, or give --allow belowUse=N; `allowBelowUse` lets all pass.",
    ),
    "guard.archiveInUse": Entry(
        "A pool would be archived while reservations are placed or active in it.",
        "They run on and charge, in a pool that nobody but its owner sees any more.",
        "Wait until it is empty, or give --allow archiveInUse=N; `allowArchiveInUse` lets all pass, but in an undo.",
    ),
    "guard.modelChange": Entry(
        "A pool would get another GPU model.",
        "Meters and authorization move with it, also those of what runs.",
        "Write a new pool that replaces this one, or give --allow modelChange=N.",
    ),
    "guard.freeze": Entry(
        "There is something to do in a time in which nothing may be done; or such a window ends before it begins.",
        "The server's clock counts, once, when the plan is made.",
        "Wait for the end of the window, or give --allow freeze=N for so many operations.",
    ),
    "guard.protect": Entry(
        "Something would be taken from a protected pool; or a protected name is of no pool.",
        "It holds also when the entry is gone, and no flag lifts it.",
        "Take the name from `guards.protect`, or `protect` from the entry, in a change of its own.",
    ),
}
