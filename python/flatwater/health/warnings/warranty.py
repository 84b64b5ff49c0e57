"""Wear beside a warranty: more writes a day than the maker allows end the promise early."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.evidence import Evidence
from flatwater.health.warnings.finding import Finding
from flatwater.health.words import bytes_text, span_text

NAME = "warranty"
_HOURS_A_YEAR = 8766.0


def warn(evidence: Evidence) -> Iterator[Finding]:
    """The writes so far and their rate against drive writes a day over the warranty's years."""
    warranty = evidence.warranty
    if warranty is None:
        return
    for drive in evidence.drives:
        gauges, device = drive.reading.gauges, drive.reading.device
        capacity, written, life = drive.reading.identity.capacity_bytes, gauges.host_written_bytes, drive.warranty_life
        if not capacity or written is None:
            continue
        rated = warranty.rated_bytes(capacity)
        allowed = f"{warranty.drive_writes_per_day:g} drive writes a day over {warranty.years:g} years"
        if written >= rated:
            text = f"{bytes_text(written)} written, and the warranty ends at {bytes_text(rated)} ({allowed})"
            yield Finding("critical", NAME, device, text, "it is out of warranty: replace it, or accept the risk")
            continue
        own = drive.drive_writes_per_day
        if life is None or life.years is None or own is None:
            continue
        left_years = max(0.0, warranty.years - (gauges.power_on_hours or 0) / _HOURS_A_YEAR)
        text = f"{own:.2g} drive writes a day; the warranty's {allowed} last {span_text(life.years)} more"
        if life.years < left_years:
            early = span_text(left_years - life.years)
            yield Finding(
                "warning", NAME, device, f"{text}, and end {early} early", "write less to it, or buy more endurance"
            )
        else:
            yield Finding("ok", NAME, device, text)
