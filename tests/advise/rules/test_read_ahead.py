from __future__ import annotations

from cases import case, database, device, finding, on_storage

from flatwater.advise.rules.read_ahead import ReadAhead

BUSY = finding("device throughput", 0.5, "the device was busy for 99 % of the time")
ASKS = database(data_read_bytes_per_s=20e6, cpu_user_pct=100)
FAR = on_storage(read_ahead_bytes=4 << 20)


def test_a_device_that_reads_what_nobody_asked_for() -> None:
    told = ReadAhead().advise(case(BUSY, database=ASKS, device=device(read_bytes_per_s=90e6), machine=FAR))
    assert told is not None
    assert told.change.lines == ("blockdev --setra 256 /dev/nvme0n1",)


def test_silent_where_only_that_is_read_which_was_asked_for() -> None:
    """With O_DIRECT the kernel's setting has no effect, whatever it is."""
    assert ReadAhead().advise(case(BUSY, database=ASKS, device=device(read_bytes_per_s=21e6), machine=FAR)) is None
    near = on_storage(read_ahead_bytes=128 << 10)
    assert ReadAhead().advise(case(BUSY, database=ASKS, device=device(read_bytes_per_s=90e6), machine=near)) is None
