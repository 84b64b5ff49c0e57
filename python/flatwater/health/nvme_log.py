"""NVMe's log page 02h as bytes (NVM Express Base Specification 2.0, figure 207: SMART / Health Information)."""

from __future__ import annotations

import struct

from flatwater.health.drive import Gauges

LOG_ID, LOG_BYTES = 0x02, 512
#: A data unit is 1,000 blocks of 512 B (the specification, Data Units Read).
DATA_UNIT_BYTES = 512_000.0
_ZERO_CELSIUS_K = 273
#: The bits of the critical warning, in the specification's order.
_WARNINGS = (
    "the spare blocks are below their threshold",
    "the temperature is beyond a threshold",
    "reliability is degraded by media errors or by an internal error",
    "the media are read-only",
    "the backup of the volatile memory has failed",
    "the persistent memory region is read-only",
)


def critical_words(bits: int | None) -> tuple[str, ...]:
    """What a critical warning says. A bit that no specification names yet is told by its number."""
    if not bits or bits > 0xFF:
        return ()
    return tuple(
        _WARNINGS[bit] if bit < len(_WARNINGS) else f"critical warning bit {bit}" for bit in range(8) if bits & 1 << bit
    )


def whole(data: bytes | bytearray, offset: int, length: int) -> int:
    """A little-endian number of any length."""
    return int.from_bytes(data[offset : offset + length], "little")


def decode_log(data: bytes | bytearray) -> Gauges | None:
    """The gauges of the page; None for what cannot be one."""
    if len(data) < LOG_BYTES or not any(data[:LOG_BYTES]):
        return None
    (kelvin,) = struct.unpack_from("<H", data, 1)
    hot_minutes, _ = struct.unpack_from("<II", data, 192)
    transitions = struct.unpack_from("<II", data, 216)
    return Gauges(
        used_pct=float(data[5]),
        spare_pct=float(data[3]),
        spare_threshold_pct=float(data[4]),
        host_read_bytes=whole(data, 32, 16) * DATA_UNIT_BYTES,
        host_written_bytes=whole(data, 48, 16) * DATA_UNIT_BYTES,
        host_step_bytes=DATA_UNIT_BYTES,
        power_cycles=float(whole(data, 112, 16)),
        power_on_hours=float(whole(data, 128, 16)),
        unsafe_shutdowns=float(whole(data, 144, 16)),
        media_errors=float(whole(data, 160, 16)),
        temperature_c=float(kelvin - _ZERO_CELSIUS_K) if kelvin else None,
        hot_minutes=float(hot_minutes),
        throttle_events=float(sum(transitions)),
        critical=critical_words(data[0]),
        passed=data[0] == 0,
    )
