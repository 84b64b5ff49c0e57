from __future__ import annotations

from cases import case, finding, on_storage

from flatwater.advise.rules.block_size import BlockSize

WAITS = finding("fsync path", 0.5, "a sync took 8 ms")


def test_blocks_that_are_smaller_than_the_devices() -> None:
    told = BlockSize().advise(case(WAITS, machine=on_storage(file_system_block_bytes=1024)))
    assert told is not None
    assert told.change.lines == ("mkfs.ext4 -b 4096 DEVICE",)
    assert (told.confidence, told.share) == ("high", 0.5)
    assert "deletes" in told.risk


def test_less_sure_where_the_device_writes_small_blocks_too() -> None:
    told = BlockSize().advise(case(WAITS, machine=on_storage(file_system_block_bytes=1024, physical_block_bytes=512)))
    assert told is not None
    assert (told.confidence, told.share) == ("medium", 0)


def test_silent_of_four_kibibytes_and_where_nobody_waits() -> None:
    assert BlockSize().advise(case(WAITS, machine=on_storage(file_system_block_bytes=4096))) is None
    assert BlockSize().advise(case(finding("CPU"), machine=on_storage(file_system_block_bytes=1024))) is None
    assert BlockSize().advise(case(WAITS, machine=on_storage(file_system_block_bytes=512, file_system="tmpfs"))) is None
