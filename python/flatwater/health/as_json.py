"""A checkup as one JSON object. Figures that are not known are left out; nothing in it tells a serial number."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass

from flatwater.health.checkup import Checkup
from flatwater.health.life import lifetime_write_amplification
from flatwater.health.warnings import EXIT_CODES

SCHEMA_VERSION = 1


def checkup_json(checkup: Checkup) -> str:
    """The object, on one line."""
    evidence = checkup.evidence
    told = {
        "schema_version": SCHEMA_VERSION,
        "status": checkup.level,
        "exit_code": EXIT_CODES[checkup.level],
        "at_s": round(evidence.now_s, 3),
        "drives": [
            {
                "device": drive.reading.device,
                "seen": drive.is_seen,
                "sources": drive.reading.sources,
                **_known(drive.reading.identity),
                "gauges": _known(drive.reading.gauges),
                "write_amplification": lifetime_write_amplification(drive.reading.gauges),
                "host_bytes_per_s": drive.rate_bytes_per_s,
                "drive_writes_per_day": drive.drive_writes_per_day,
                "readings_kept": len(drive.before),
                "life": None if drive.life is None else _known(drive.life),
                "warranty_life": None if drive.warranty_life is None else _known(drive.warranty_life),
                "unseen": drive.reading.unseen,
            }
            for drive in evidence.drives
        ],
        "arrays": [_known(array) | {"members": [disk.called for disk in array.members]} for array in evidence.arrays],
        "controllers": [_known(controller) for controller in evidence.controllers],
        "checks": [{"kind": kind, **_known(task)} for kind, task in evidence.checks],
        "findings": [_known(finding) for finding in checkup.findings],
        "unseen": evidence.unseen,
        "notes": checkup.notes,
    }
    return json.dumps(told, allow_nan=False)


def _known(part: object) -> dict[str, object]:
    """A dataclass without what it does not know."""
    assert is_dataclass(part) and not isinstance(part, type)
    return {name: value for name, value in asdict(part).items() if value not in (None, "", ())}
