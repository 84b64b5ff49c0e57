"""A checkup as lines for people; its parts are those of the page too."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.health.checkup import Checkup
from flatwater.health.drive import Gauges
from flatwater.health.evidence import Drive
from flatwater.health.life import lifetime_write_amplification
from flatwater.health.warnings import Finding
from flatwater.health.words import bytes_text, life_text

_DAY_S = 86_400


def checkup_lines(checkup: Checkup) -> Iterator[str]:
    """The verdict, each drive, what is worth knowing, and what could not be seen."""
    evidence = checkup.evidence
    yield f"{checkup.level.upper()}: {headline(checkup)}"
    for drive in evidence.drives:
        identity = drive.reading.identity
        yield ""
        yield f"{drive.reading.device}  {identity.model or 'no model told'}"
        yield from (f"  {name:<12} {text}" for name, text in drive_rows(drive))
    for array in evidence.arrays:
        yield ""
        level = f"{array.kind} {array.level}".strip()
        yield f"{array.name}  {level}: {', '.join(disk.called for disk in array.members)}"
    if checkup.findings:
        yield ""
    yield from (finding_line(finding) for finding in checkup.findings)
    yield from (f"not seen: {text}" for text in unseen_lines(checkup))
    yield from (f"note: {note}" for note in checkup.notes)


def headline(checkup: Checkup) -> str:
    """One sentence: the worst finding, or how many drives could be read."""
    drives = checkup.evidence.drives
    worse = [finding for finding in checkup.findings if finding.level in ("critical", "warning")]
    if worse:
        return f"{worse[0].subject}: {worse[0].text}" + (f"; and {len(worse) - 1} more" if len(worse) > 1 else "")
    seen = sum(drive.is_seen for drive in drives)
    return f"{seen} of {len(drives)} drive{'' if len(drives) == 1 else 's'} could be read"


def finding_line(finding: Finding) -> str:
    """`warning: /dev/sda: what is so (what to do)`."""
    word = "note" if finding.level == "ok" else finding.level
    hint = f" ({finding.hint})" if finding.hint else ""
    return f"{word}: {finding.subject}: {finding.text}{hint}"


def unseen_lines(checkup: Checkup) -> list[str]:
    """What could not be seen, and why."""
    evidence = checkup.evidence
    found = [f"{drive.reading.device}: {why}" for drive in evidence.drives for why in drive.reading.unseen]
    return [*found, *evidence.unseen, *([] if evidence.drives else ["this machine shows no disk"])]


def drive_rows(drive: Drive) -> Iterator[tuple[str, str]]:
    """What is known of a drive: names and texts."""
    reading, gauges = drive.reading, drive.reading.gauges
    identity = reading.identity
    size = "" if identity.capacity_bytes is None else bytes_text(identity.capacity_bytes)
    protocol = "" if identity.protocol == "unknown" else identity.protocol
    if size or protocol:
        yield "size" if size else "protocol", ", ".join(filter(None, (size, protocol)))
    if gauges.used_pct is not None:
        yield "wear", f"{gauges.used_pct:g} % of the rated life is used{_spare(gauges)}"
    if gauges.host_written_bytes is not None:
        yield "written", f"{bytes_text(gauges.host_written_bytes)} by the host{_rate(drive)}{_flash(gauges)}"
    if drive.life is not None:
        over = f"; at the mean rate {drive.life.rate.over}" if drive.life.years else ""
        yield "life left", f"{life_text(drive.life)}{over}"
    if drive.warranty_life is not None:
        yield "by warranty", life_text(drive.warranty_life)
    if times := _listed(
        (gauges.power_on_hours, "hours"),
        (gauges.power_cycles, "power cycles"),
        (gauges.unsafe_shutdowns, "unsafe shutdowns"),
    ):
        yield "on", times
    if errors := _listed(
        (gauges.media_errors, "media errors"), (gauges.reallocated, "replaced"), (gauges.pending, "pending")
    ):
        yield "errors", errors
    if gauges.temperature_c is not None:
        yield "temperature", _temperature(gauges)
    if reading.sources:
        yield "read by", ", ".join(reading.sources)


def _listed(*counts: tuple[float | None, str]) -> str:
    """`5 hours, 2 power cycles`, of the counts that are known."""
    return ", ".join(f"{count:,.0f} {what}" for count, what in counts if count is not None)


def _temperature(gauges: Gauges) -> str:
    limit = gauges.temperature_warning_c or gauges.temperature_critical_c
    slowed = "" if not gauges.throttle_events else f", slowed itself down {gauges.throttle_events:,.0f} times"
    return f"{gauges.temperature_c:.0f} C" + (f" (limit {limit:.0f} C)" if limit else "") + slowed


def _spare(gauges: Gauges) -> str:
    if gauges.spare_pct is None:
        return ""
    threshold = "" if gauges.spare_threshold_pct is None else f" (threshold {gauges.spare_threshold_pct:.0f} %)"
    return f"; {gauges.spare_pct:.0f} % of the spare blocks are left{threshold}"


def _rate(drive: Drive) -> str:
    rate, writes = drive.rate_bytes_per_s, drive.drive_writes_per_day
    if rate is None:
        return ""
    return f", {bytes_text(rate * _DAY_S)} a day" + (f" ({writes:.2g} drive writes a day)" if writes else "")


def _flash(gauges: Gauges) -> str:
    amplified = lifetime_write_amplification(gauges)
    flash = "" if gauges.nand_written_bytes is None else f"; {bytes_text(gauges.nand_written_bytes)} to its flash"
    return flash + (f", write amplification {amplified:.2f}" if amplified is not None else "")
