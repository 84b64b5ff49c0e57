"""The gauges as OpenMetrics text (OpenMetrics 1.0; Prometheus reads it too): for a node exporter's textfile folder.

Names end in their unit, as the specification asks; counters end in `_total`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from flatwater.health.checkup import Checkup
from flatwater.health.evidence import Drive
from flatwater.health.life import YEAR_S, lifetime_write_amplification
from flatwater.health.warnings import EXIT_CODES

_HOUR_S, _MINUTE_S = 3600.0, 60.0


@dataclass(frozen=True)
class Family:
    """One metric: its name without the suffix of a counter, its sort, its unit, and which gauge times what it is."""

    name: str
    sort: Literal["gauge", "counter"]
    unit: str
    help: str
    gauge: str
    factor: float = 1.0

    def of(self, drive: Drive) -> float | None:
        """Its value; None where the drive does not tell."""
        value: float | None = getattr(drive.reading.gauges, self.gauge)
        return None if value is None else value * self.factor


FAMILIES = (
    Family("used_ratio", "gauge", "ratio", "Rated life used, by the drive's own account.", "used_pct", 0.01),
    Family("spare_ratio", "gauge", "ratio", "Spare blocks left.", "spare_pct", 0.01),
    Family("spare_threshold_ratio", "gauge", "ratio", "Where the drive warns.", "spare_threshold_pct", 0.01),
    Family("host_written_bytes", "counter", "bytes", "Written by the host.", "host_written_bytes"),
    Family("host_read_bytes", "counter", "bytes", "Read by the host.", "host_read_bytes"),
    Family("flash_written_bytes", "counter", "bytes", "Written to the flash.", "nand_written_bytes"),
    Family("media_errors", "counter", "", "Data that could not be read back.", "media_errors"),
    Family("reallocated", "counter", "", "Sectors or blocks that were replaced.", "reallocated"),
    Family("temperature_celsius", "gauge", "celsius", "Temperature.", "temperature_c"),
    Family("throttle_events", "counter", "", "Times that it slowed down because it was hot.", "throttle_events"),
    Family("hot_seconds", "counter", "seconds", "Time at its warning temperature.", "hot_minutes", _MINUTE_S),
    Family("power_on_seconds", "counter", "seconds", "Time that it was on.", "power_on_hours", _HOUR_S),
)


def openmetrics(checkup: Checkup) -> str:
    """The whole text, which ends as the specification asks."""
    return "\n".join([*_lines(checkup), "# EOF", ""])


def _lines(checkup: Checkup) -> Iterator[str]:
    drives = checkup.evidence.drives
    for family in FAMILIES:
        yield from _family(family, [(drive, family.of(drive)) for drive in drives])
    amplified = Family("write_amplification_ratio", "gauge", "ratio", "Flash writes over host writes, of its life.", "")
    yield from _family(amplified, [(drive, lifetime_write_amplification(drive.reading.gauges)) for drive in drives])
    left = Family("life_left_seconds", "gauge", "seconds", "Rated life left at the present rate.", "")
    years = [(drive, drive.life.years if drive.life is not None else None) for drive in drives]
    yield from _family(left, [(drive, None if value is None else value * YEAR_S) for drive, value in years])
    yield "# TYPE flatwater_drive_seen gauge"
    yield "# HELP flatwater_drive_seen Whether any gauge of the drive itself could be read."
    for drive in drives:
        yield f"flatwater_drive_seen{{{_labels(drive)}}} {int(drive.is_seen)}"
    yield "# TYPE flatwater_health_finding gauge"
    yield "# HELP flatwater_health_finding Findings: 0 a note, 1 a warning, 2 critical."
    # Labels must differ: what one rule says twice of one subject is one sample, the worst first.
    shown = {(one.name, one.subject): one.level for one in reversed(checkup.findings)}
    for (rule, subject), level in sorted(shown.items()):
        yield f'flatwater_health_finding{{rule="{_escape(rule)}",subject="{_escape(subject)}"}} {EXIT_CODES[level]}'
    yield "# TYPE flatwater_health_status gauge"
    yield "# HELP flatwater_health_status 0 ok, 1 warning, 2 critical, 3 unknown."
    yield f"flatwater_health_status {EXIT_CODES[checkup.level]}"


def _family(family: Family, values: Iterable[tuple[Drive, float | None]]) -> Iterator[str]:
    samples = [(drive, value) for drive, value in values if value is not None and math.isfinite(value)]
    if not samples:
        return
    name = f"flatwater_drive_{family.name}"
    yield f"# TYPE {name} {family.sort}"
    if family.unit:
        yield f"# UNIT {name} {family.unit}"
    yield f"# HELP {name} {family.help}"
    suffix = "_total" if family.sort == "counter" else ""
    for drive, value in samples:
        yield f"{name}{suffix}{{{_labels(drive)}}} {_number(value)}"


def _labels(drive: Drive) -> str:
    return f'device="{_escape(drive.reading.device)}",model="{_escape(drive.reading.identity.model)}"'


def _escape(text: str) -> str:
    """What a label's value may not have as it is (OpenMetrics 1.0, escaped-string)."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    """A number with all its digits; whole ones without a fraction."""
    return str(int(value)) if value == int(value) and value < 2**63 else repr(value)
