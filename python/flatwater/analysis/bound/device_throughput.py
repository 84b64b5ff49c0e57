"""The device does all that it can: more sessions, or a faster server, would only wait longer for it."""

from __future__ import annotations

from flatwater.analysis.bound.below import battery_text, chores_text, degraded_text, heat_text
from flatwater.analysis.bound.device import Device, OwnDevice
from flatwater.analysis.bound.evidence import Evidence
from flatwater.analysis.bound.finding import Finding, found
from flatwater.analysis.bound.storage_time import fullest_own, own_saturated_share, saturated_share, waited_for
from flatwater.analysis.bound.words import each_second, figure, size


def find(evidence: Evidence) -> Finding | None:
    """The share of the seconds in which the device was saturated."""
    own = fullest_own(evidence)
    if own is not None:
        return _of_own(evidence, own)
    device, name = waited_for(evidence)
    if device is None or device.busy_pct is None:
        return None
    # Time in which a card's collector keeps writes out is the collector's, and has a bound of its own.
    collected = device.gc_share_pct.mean / 100 if device.gc_share_pct is not None else 0.0
    return found(
        "device throughput",
        saturated_share(device) * (1 - collected),
        "seconds",
        f"{name} was busy for {device.busy_pct.mean:.0f} % of the time",
        f"{figure(device.queue_depth.mean)} requests were in its queue" if device.queue_depth is not None else None,
        _work(device),
        f"its credits were used up: {figure(device.credits.min)} were left at the lowest"
        if device.credits is not None and device.credits.min < 1
        else None,
        degraded_text(evidence),
        battery_text(evidence),
        chores_text(evidence),
        heat_text(evidence),
    )


def _of_own(evidence: Evidence, own: OwnDevice) -> Finding | None:
    device, rest = own.device, evidence.device
    return found(
        "device throughput",
        own_saturated_share(own),
        "seconds",
        f"{own.text} was busy for {device.busy_pct.mean:.0f} % of the time" if device.busy_pct is not None else None,
        f"{figure(device.queue_depth.mean)} requests were in its queue" if device.queue_depth is not None else None,
        f"the device of the data was busy for {rest.busy_pct.mean:.0f} % of the time"
        if rest is not None and rest.busy_pct is not None
        else None,
    )


def _work(device: Device) -> str | None:
    parts = [each_second(device.read_ops_per_s, "reads"), each_second(device.write_ops_per_s, "writes")]
    parts.append(_moved(device))
    return ", ".join(part for part in parts if part is not None) or None


def _moved(device: Device) -> str | None:
    """Bytes of both directions, or of the one that the device counts: a modelled card counts what is written only."""
    read, written = device.read_bytes_per_s, device.write_bytes_per_s
    if read is not None and written is not None:
        return f"{size(read.mean + written.mean)} a second"
    if written is not None:
        return f"{size(written.mean)} a second were written"
    return f"{size(read.mean)} a second were read" if read is not None else None
