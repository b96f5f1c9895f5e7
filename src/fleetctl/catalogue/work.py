"""Rules of what runs: reservations, and what they book."""

from __future__ import annotations

from typing import Final

from fleetctl.catalogue.entry import Entries, Entry

WORK: Final[Entries] = {
    "quota.exact": Entry(
        "More of a resource is asked for than the tenant has left of its quota in the pool.",
        "What is booked never passes the quota, whoever books beside it; a quota may be set below what is booked.",
        "Ask for less, end what is not needed, or let the pool's owner raise the quota.",
    ),
    "quota.missing": Entry(
        "A resource is asked for that the tenant has no quota of in the pool.",
        "A missing row grants 0, as a row of 0 does.",
        "Leave the resource out, or let the pool's owner grant it.",
    ),
    "reservation.atoms": Entry(
        "A reservation asks for no atom of its pool, or for one of another sharing mode.",
        "A pool has one kind of atom: gpu where GPUs are exclusive, gpu.mig, or gpu.slot where they are shared.",
        "Ask for the atom that the message names.",
    ),
    "reservation.class": Entry(
        "A reservation asks for GPUs of a pool whose class has no hosts.",
        "It would wait for ever: machines of an infra pool add no capacity, and a provider pool takes none.",
        "Name a pool of class metal-host or vps-host.",
    ),
    "reservation.key": Entry(
        "A key that made a reservation is used again for another wish.",
        "A key stands for one reservation for ever, also when it is over.",
        "Use another key, or ask for what was asked for first.",
    ),
    "reservation.resources": Entry(
        "A reservation asks for a resource that there is none of, or for no whole number of it.",
        "What is asked for is booked exactly.",
        "Write whole numbers from 1 for gpu, gpu.mig, gpu.slot, vcpu and the like.",
    ),
    "reservation.selectors": Entry(
        "No device of the pool has what a reservation selects by, however free it is.",
        "It would wait for ever. One device must have all of the attributes; a number is no text. While the pool has "
        "no device that can be booked, any attributes may wait for one.",
        "Correct the attribute that the message names, or leave it out.",
    ),
    "reservation.waiting": Entry(
        "Too many reservations wait already.",
        "In a pool 1,000 of a tenant may wait and 10,000 of all: more would hardly come to their turn.",
        "Try again when some of them are placed, or end some.",
    ),
}
