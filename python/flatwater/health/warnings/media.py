"""Data that a drive could not read back, and sectors that it replaced."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.evidence import Drive, Evidence
from flatwater.health.warnings.finding import Finding

NAME = "media"


def warn(evidence: Evidence) -> Iterator[Finding]:
    """Errors of the media. One that came since the last look is more than an old one."""
    for drive in evidence.drives:
        gauges, device = drive.reading.gauges, drive.reading.device
        more = _more(drive, "media_errors", gauges.media_errors)
        if more:
            text = f"{more:,.0f} media errors since it was looked at before, {gauges.media_errors:,.0f} in all"
            yield Finding("critical", NAME, device, text, "back up its data, and check what is on it")
        elif gauges.media_errors:
            text = f"{gauges.media_errors:,.0f} media errors over its life"
            yield Finding("warning", NAME, device, text, "see whether there will be more: look again in a week")
        if gauges.pending:
            text = f"{gauges.pending:,.0f} sectors cannot be read at present"
            yield Finding("warning", NAME, device, text, "check what is on it: a sector that is written anew is mended")
        more = _more(drive, "reallocated", gauges.reallocated)
        if more:
            text = f"{more:,.0f} more sectors replaced since it was looked at before, {gauges.reallocated:,.0f} in all"
            yield Finding("warning", NAME, device, text, "plan its replacement if that goes on")


def _more(drive: Drive, name: str, now: float | None) -> float | None:
    """By how much a count grew since the last reading that had it."""
    before = next((value for entry in reversed(drive.before) if (value := getattr(entry, name)) is not None), None)
    return None if now is None or before is None or now <= before else now - before
