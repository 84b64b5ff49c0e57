"""The device does all that it can: more sessions, or a faster server, would only wait longer for it."""

from __future__ import annotations

from flatwater.analysis.bound.evidence import Device, Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.storage_time import saturated_share
from flatwater.analysis.bound.words import each_second, figure, size


def find(evidence: Evidence) -> Finding | None:
    """The share of the seconds in which the device was saturated."""
    device = evidence.device
    if device is None or device.busy_pct is None:
        return None
    # Time in which a card's collector keeps writes out is the collector's, and has a bound of its own.
    collected = device.gc_share_pct.mean / 100 if device.gc_share_pct is not None else 0.0
    return found(
        "device throughput",
        saturated_share(device) * (1 - collected),
        "seconds",
        f"the device was busy for {device.busy_pct.mean:.0f} % of the time",
        f"{figure(device.queue_depth.mean)} requests were in its queue" if device.queue_depth is not None else None,
        _work(device),
        f"its credits were used up: {figure(device.credits.min)} were left at the lowest"
        if device.credits is not None and device.credits.min < 1
        else None,
    )


def _work(device: Device) -> str | None:
    parts = [each_second(device.read_ops_per_s, "reads"), each_second(device.write_ops_per_s, "writes")]
    moved = [one.mean for one in (device.read_bytes_per_s, device.write_bytes_per_s) if one is not None]
    parts.append(f"{size(sum(moved))} a second" if moved else None)
    return ", ".join(part for part in parts if part is not None) or None
