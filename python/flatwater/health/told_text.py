"""A checkup as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.checkup import Checkup
from flatwater.health.evidence import Drive
from flatwater.health.life import lifetime_write_amplification
from flatwater.health.words import bytes_text, life_text


def checkup_lines(checkup: Checkup) -> Iterator[str]:
    """The verdict, each drive, what is worth knowing, and what could not be seen."""
    evidence = checkup.evidence
    count = len(evidence.drives)
    yield f"{checkup.level.upper()}: {_verdict(checkup)}"
    for drive in evidence.drives:
        yield ""
        yield from _drive_lines(drive)
    for array in evidence.arrays:
        yield ""
        level = f"{array.kind} {array.level}".strip()
        yield f"{array.name}  {level}: {', '.join(disk.called for disk in array.members)}"
    if checkup.findings:
        yield ""
    for finding in checkup.findings:
        word = "note" if finding.level == "ok" else finding.level
        hint = f" ({finding.hint})" if finding.hint else ""
        yield f"{word}: {finding.subject}: {finding.text}{hint}"
    told = [f"{drive.reading.device}: {why}" for drive in evidence.drives for why in drive.reading.unseen]
    for why in (*told, *evidence.unseen):
        yield f"not seen: {why}"
    for note in checkup.notes:
        yield f"note: {note}"
    if not count:
        yield "not seen: this machine shows no disk"


def _verdict(checkup: Checkup) -> str:
    """One sentence."""
    drives = checkup.evidence.drives
    seen = sum(drive.is_seen for drive in drives)
    told = f"{seen} of {len(drives)} drive{'' if len(drives) == 1 else 's'} could be read"
    worse = [finding for finding in checkup.findings if finding.level in ("critical", "warning")]
    if worse:
        return f"{worse[0].subject}: {worse[0].text}" + (f"; and {len(worse) - 1} more" if len(worse) > 1 else "")
    return told


def _drive_lines(drive: Drive) -> Iterator[str]:
    reading, gauges = drive.reading, drive.reading.gauges
    identity = reading.identity
    size = "" if identity.capacity_bytes is None else f", {bytes_text(identity.capacity_bytes)}"
    protocol = "" if identity.protocol == "unknown" else f", {identity.protocol}"
    yield f"{reading.device}  {identity.model or 'no model told'}{size}{protocol}"
    if gauges.used_pct is not None:
        yield f"  wear         {gauges.used_pct:g} % of the rated life is used{_spare(drive)}"
    if gauges.host_written_bytes is not None:
        yield f"  written      {bytes_text(gauges.host_written_bytes)} by the host{_rate(drive)}{_flash(drive)}"
    if drive.life is not None:
        over = drive.life.rate.over
        yield f"  life left    {life_text(drive.life)}" + (f"; at the mean rate {over}" if drive.life.years else "")
    if drive.warranty_life is not None:
        yield f"  by warranty  {life_text(drive.warranty_life)}"
    told = [
        None if gauges.power_on_hours is None else f"{gauges.power_on_hours:,.0f} hours",
        None if gauges.power_cycles is None else f"{gauges.power_cycles:,.0f} power cycles",
        None if gauges.unsafe_shutdowns is None else f"{gauges.unsafe_shutdowns:,.0f} unsafe shutdowns",
    ]
    if any(told):
        yield f"  on           {', '.join(one for one in told if one)}"
    errors = [
        None if gauges.media_errors is None else f"{gauges.media_errors:,.0f} media errors",
        None if gauges.reallocated is None else f"{gauges.reallocated:,.0f} replaced",
        None if gauges.pending is None else f"{gauges.pending:,.0f} pending",
    ]
    if any(errors):
        yield f"  errors       {', '.join(one for one in errors if one)}"
    if gauges.temperature_c is not None:
        limit = gauges.temperature_warning_c or gauges.temperature_critical_c
        slowed = "" if not gauges.throttle_events else f", slowed itself down {gauges.throttle_events:,.0f} times"
        yield f"  temperature  {gauges.temperature_c:.0f} C" + (f" (limit {limit:.0f} C)" if limit else "") + slowed
    if reading.sources:
        yield f"  read by      {', '.join(reading.sources)}"


def _spare(drive: Drive) -> str:
    gauges = drive.reading.gauges
    if gauges.spare_pct is None:
        return ""
    threshold = "" if gauges.spare_threshold_pct is None else f" (threshold {gauges.spare_threshold_pct:.0f} %)"
    return f"; {gauges.spare_pct:.0f} % of the spare blocks are left{threshold}"


def _rate(drive: Drive) -> str:
    rate, writes = drive.rate_bytes_per_s, drive.drive_writes_per_day
    if rate is None:
        return ""
    daily = f", {bytes_text(rate * 86_400)} a day"
    return daily + (f" ({writes:.2g} drive writes a day)" if writes else "")


def _flash(drive: Drive) -> str:
    gauges = drive.reading.gauges
    amplified = lifetime_write_amplification(gauges)
    flash = "" if gauges.nand_written_bytes is None else f"; {bytes_text(gauges.nand_written_bytes)} to its flash"
    return flash + (f", write amplification {amplified:.2f}" if amplified is not None else "")
