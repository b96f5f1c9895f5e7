"""The peer: octoDNS, a dry run that finds nothing to do, its live side in one JSON file; a record for each object."""

from __future__ import annotations

import json
from pathlib import Path

PER_ZONE = 100

PROVIDER = '''\
"""A target whose live records come from one JSON file."""
import json
from logging import getLogger

from octodns.provider.base import BaseProvider
from octodns.record import Record


class JsonProvider(BaseProvider):
    SUPPORTS = {"A"}
    SUPPORTS_GEO = SUPPORTS_DYNAMIC = False

    def __init__(self, id, filename, *args, **kwargs):
        self.log = getLogger(id)
        super().__init__(id, *args, **kwargs)
        with open(filename) as stream:
            self._live = json.load(stream)

    def populate(self, zone, target=False, lenient=False):
        for name, data in self._live.get(zone.name, {}).items():
            zone.add_record(Record.new(zone, name, data, source=self, lenient=lenient), lenient=lenient)
        return True

    def _apply(self, plan):
        raise AssertionError("a dry run applies nothing")
'''


def make(records: int, directory: Path) -> Path:
    """Write a tree of so many records, unless it is there, and return its configuration."""
    config = directory / "config.yaml"
    if config.exists():
        return config
    (directory / "zones").mkdir(parents=True)
    (directory / "json_provider.py").write_text(PROVIDER)
    live: dict[str, dict[str, object]] = {}
    for n in range(records):
        zone = f"zone{n // PER_ZONE:05d}.test."
        address = f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}"
        record = {"ttl": 300, "type": "A", "values": [address, "10.255.0.1"]}
        live.setdefault(zone, {})[f"pool-{n % PER_ZONE:06d}"] = record
    for zone, entries in live.items():
        text = "".join(f"{name}:\n{_yaml(record)}" for name, record in entries.items())
        (directory / "zones" / f"{zone}yaml").write_text(f"---\n{text}")
    (directory / "live.json").write_text(json.dumps(live))
    config.write_text(_config(directory, list(live)))
    return config


def _yaml(record: object) -> str:
    assert isinstance(record, dict)
    values = "".join(f"  - {value}\n" for value in record["values"])
    return f"  ttl: {record['ttl']}\n  type: {record['type']}\n  values:\n{values}"


def _config(directory: Path, zones: list[str]) -> str:
    files = (
        f"    class: octodns.provider.yaml.YamlProvider\n    directory: {directory}/zones\n    enforce_order: false\n"
    )
    target = f"    class: json_provider.JsonProvider\n    filename: {directory}/live.json\n"
    listed = "".join(f"  {zone}:\n    sources: [files]\n    targets: [live]\n" for zone in zones)
    return f"---\nmanager:\n  max_workers: 1\nproviders:\n  files:\n{files}  live:\n{target}zones:\n{listed}"
