"""Spare blocks that run out: below the threshold, a drive may turn read-only."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.evidence import Evidence
from flatwater.health.warnings.finding import Finding

NAME = "spare"
#: Our choice: so far above the threshold there is time to order a drive.
_NEAR_PCT = 10


def warn(evidence: Evidence) -> Iterator[Finding]:
    """Spare blocks against the drive's own threshold."""
    for drive in evidence.drives:
        gauges = drive.reading.gauges
        spare, threshold = gauges.spare_pct, gauges.spare_threshold_pct
        # Some makers call 99 % the threshold, and mean nothing by it while all spare blocks are there.
        if spare is None or not threshold or spare >= 100:
            continue
        text = f"{spare:.0f} % of the spare blocks are left, and the drive's threshold is {threshold:.0f} %"
        if spare <= threshold:
            yield Finding("critical", NAME, drive.reading.device, text, "replace it: it may turn read-only")
        elif spare <= threshold + _NEAR_PCT:
            yield Finding("warning", NAME, drive.reading.device, text, "plan its replacement")
