"""The report of a fleet that was begun."""

from __future__ import annotations

from typing import TYPE_CHECKING

from better_compute.domain.policy.urls import mask_message
from fleetctl.spelling import FORMAT_VERSION
from fleetctl.starter import Started

if TYPE_CHECKING:
    from fleetctl.report import forms


def of_init(started: Started) -> forms.InitReport:
    choices, own = started.choices, started.to_own
    return {
        "formatVersion": FORMAT_VERSION,
        "kind": "init",
        "directory": mask_message(started.directory),
        "files": [mask_message(file) for file in started.files],
        "toIgnore": list(started.to_ignore),
        "toOwn": None if own is None else {"file": mask_message(own[0]), "lines": list(own[1])},
        "fleet": choices.fleet,
        "tenantId": choices.tenant,
        "caller": choices.caller,
        "server": None if choices.server is None else mask_message(choices.server),
    }
