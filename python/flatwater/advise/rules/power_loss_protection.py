"""Flash without power-loss protection: each sync waits until cells are programmed."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.apart import parts_apart
from flatwater.advise.host import medium, modelled_device, storage_facts
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import ARRAY_OF_LOGS, LOGS_ON_AN_ARRAY
from flatwater.analysis.bound.sessions import session_time
from flatwater.analysis.bound.words import duration
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.device.ssd import CELLS, SsdDevice

#: A sync that ends in a cache with a capacitor takes tens of microseconds (Callaghan, 2026: 12 to 58 us); one that
#: programs cells takes about a millisecond or more (the same: 0.9 to 10 ms; MLC programs in 900 us: Micron
#: MT29F16G08MAA data sheet, 2008).
_SYNC_MIN_US = 1000.0
#: On a device that is fast otherwise, a sync takes several times as long as a read. With less the device is busy.
_TIMES_A_READ = 3.0


class PowerLossProtection(Rule):
    """Commits wait for flash that has no safe write cache."""

    name = "power-loss-protection"
    about = "flash without power-loss protection below the redo log"
    source = (
        "Mark Callaghan, SSDs, power loss protection and fsync latency, January 2026; Databases on flash, 2008-2011: "
        "redo and binary log on an array with a battery gave up to 45 % more"
    )
    elsewhere = LOGS_ON_AN_ARRAY

    def advise(self, case: Case) -> Advice | None:
        """A drive with capacitors, or the logs on an array with a battery."""
        found = case.finding("fsync path")
        if found is None or medium(case) != "flash":
            return None
        device = modelled_device(case.evidence)
        shown = _of_model(device) if isinstance(device, SsdDevice) else _of_drive(case)
        if shown is None:
            return None
        if "log" in parts_apart(case.evidence):
            return None  # commits wait for another storage
        database = case.evidence.experiment.database if case.evidence.experiment is not None else None
        overrides = (f'database.log_device="{ARRAY_OF_LOGS}"',) if isinstance(database, InnodbModel) else ()
        return self.advice(
            "Commits wait for flash without power-loss protection: a sync ends in the cells, and not in a safe cache.",
            Change(
                "hardware",
                "Put the redo log and the binary log on a drive with power-loss protection (capacitors), or on an "
                "array whose write cache has a battery. Hot tables may stay where they are.",
                (),
                overrides,
            ),
            shown,
            *found.evidence,
            confidence="high" if isinstance(device, SsdDevice) else "medium",
            relieves=found,
        )


def _of_model(card: SsdDevice) -> str | None:
    if card.buffer.size and card.buffer.power_safe:
        return None
    program_us = card.timing.program_us or CELLS[card.wear.cell].program_us
    return f"the modelled drive has no safe write buffer, and programs a page in {duration(program_us)}"


def _of_drive(case: Case) -> str | None:
    """A sentence if the kernel says that the drive's cache is volatile, and a sync takes far longer than a read."""
    time, device = session_time(case.evidence), case.evidence.device
    volatile = storage_facts(case).get("write_cache") == "write back"
    if time is None or device is None or not volatile or device.read_await_us is None:
        return None
    sync_us = time.sync_us or (device.flush_await_us.mean if device.flush_await_us is not None else 0.0)
    read_us = device.read_await_us.median
    if sync_us < max(_SYNC_MIN_US, _TIMES_A_READ * read_us):
        return None
    return f"a sync takes {duration(sync_us)} on a drive that reads in {duration(read_us)}; its write cache is volatile"
