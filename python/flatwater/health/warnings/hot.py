"""A drive that is hot: it slows itself down, and so does whoever waits for it."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.evidence import Evidence
from flatwater.health.warnings.finding import Finding, Level

NAME = "hot"


def warn(evidence: Evidence) -> Iterator[Finding]:
    """The temperature against the drive's own limits, and how often it slowed down since it was looked at before."""
    for drive in evidence.drives:
        gauges, device = drive.reading.gauges, drive.reading.device
        degrees, limit, most = gauges.temperature_c, gauges.temperature_warning_c, gauges.temperature_critical_c
        if degrees is not None and (limit or most) and degrees >= min(one for one in (limit, most) if one):
            level: Level = "critical" if most and degrees >= most else "warning"
            bound = most if level == "critical" else limit or most
            text = f"{degrees:.0f} degrees Celsius, and its limit is {bound:.0f}"
            yield Finding(level, NAME, device, text, "more air over it: it slows itself down")
        before = next((one.throttle_events for one in reversed(drive.before) if one.throttle_events is not None), None)
        if before is not None and gauges.throttle_events is not None and gauges.throttle_events > before:
            times = gauges.throttle_events - before
            often = "once" if times == 1 else f"{times:,.0f} times"
            text = f"it was hot and slowed itself down {often} since it was looked at before"
            yield Finding("warning", NAME, device, text, "more air over it: figures measured meanwhile are too low")
