"""A drive that says itself that it fails, or that something of it is critical."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.evidence import Evidence
from flatwater.health.warnings.finding import Finding

NAME = "failing"


def warn(evidence: Evidence) -> Iterator[Finding]:
    """The drive's own verdict."""
    for drive in evidence.drives:
        gauges, device = drive.reading.gauges, drive.reading.device
        if gauges.critical:
            text = f"the drive calls this critical: {'; '.join(gauges.critical)}"
            yield Finding("critical", NAME, device, text, "back up its data, and plan its replacement")
        elif gauges.passed is False:
            text = "the drive's own verdict is that it is failing"
            yield Finding("critical", NAME, device, text, "back up its data now, and replace it")
