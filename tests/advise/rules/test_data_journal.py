from __future__ import annotations

from cases import case, device, finding, on_storage

from flatwater.advise.rules.data_journal import DataJournal

SYNCS = finding("fsync path", 0.5, "a sync took 8 ms")
WRITES = device(read_bytes_per_s=1e6, write_bytes_per_s=20e6)
JOURNALED = on_storage(mount_options="rw,relatime,data=journal")


def test_data_that_are_written_twice() -> None:
    told = DataJournal().advise(case(SYNCS, machine=JOURNALED, device=WRITES))
    assert told is not None
    assert (told.change.kind, told.share) == ("host", 0.5)
    assert "ordered" in told.change.text


def test_silent_of_the_default_and_of_a_run_that_reads() -> None:
    assert DataJournal().advise(case(SYNCS, machine=on_storage(), device=WRITES)) is None
    reads = device(read_bytes_per_s=50e6, write_bytes_per_s=1e5)
    assert DataJournal().advise(case(finding("device latency"), machine=JOURNALED, device=reads)) is None
    assert DataJournal().advise(case(finding("CPU"), machine=JOURNALED, device=WRITES)) is None
