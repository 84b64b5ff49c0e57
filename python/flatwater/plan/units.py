"""The engine's units: nanoseconds, milliseconds, bytes a second."""

from __future__ import annotations

from flatwater.experiment import Experiment


def ns(us: float | None) -> int:
    """Microseconds as nanoseconds; 0 for None."""
    return round((us or 0) * 1000)


def bytes_per_s(mib_per_s: float | None) -> float:
    """MiB a second as bytes a second; 0, which means no limit, for None."""
    return (mib_per_s or 0) * 2**20


def interval_ms(cell: Experiment) -> int:
    """Length of an interval of the series, milliseconds."""
    return round(cell.record.interval_s * 1000)
