"""Flash that is nearly full: the collector moves valid pages to make room."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change, Elsewhere
from flatwater.advise.host import disk_name, medium, modelled_device, mount_options, storage_facts
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.finding import Finding
from flatwater.experiment import ModelledStorage
from flatwater.experiment.device.ssd import SsdDevice

#: The published advice is to leave 20 to 25 % of a drive unused; 25 is where the curve of write amplification is flat.
_RESERVE_PCT = 25
#: From here on less than the published fifth is left.
_FULL = 0.80
#: Below this write amplification, four in five of the programmed pages are the host's, so that more room gains little
#: (our choice; a modelled drive with 1.16 got 1 % faster with a quarter left unused, and one with 2.03 got 66 %).
_AMPLIFICATION_MIN = 1.25
#: Where fewer of the bytes are written, the collector has little to do (our choice).
_WRITES_MIN_SHARE = 0.1


class SpareSpace(Rule):
    """The collector, or a drive that is nearly full, bounds the run."""

    name = "spare-space"
    about = "flash that is nearly full"
    source = (
        "Random writes on flash cards by fill level, 2010-2011: leave 20 to 25 % of an SSD unused; Desnoyers, Analytic "
        "Modeling of SSD Write Performance, SYSTOR 2012; fstrim(8)"
    )
    elsewhere = Elsewhere(
        1.47,
        2.39,
        "cards filled to 80 % instead of 100 %, random writes of 16 KiB",
        "Random writes on flash cards by fill level (2010-2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """A quarter of the drive left unused, and TRIM, so that the drive knows."""
        found = case.finding("garbage collection")
        if found is not None:
            return self._of_collector(case, found)
        return self._of_full_drive(case)

    def _of_collector(self, case: Case, found: Finding) -> Advice | None:
        device = case.evidence.device
        amplification = device.write_amplification if device is not None else None
        if amplification is not None and amplification.mean < _AMPLIFICATION_MIN:
            return None
        storage = case.evidence.experiment.storage if case.evidence.experiment is not None else None
        reserved = getattr(storage, "reserve_pct", None)
        is_card = isinstance(modelled_device(case.evidence), SsdDevice) and isinstance(storage, ModelledStorage)
        valid = device.valid_pct.mean if device is not None and device.valid_pct is not None else None
        on_files = case.evidence.database is not None
        if on_files and valid is not None:
            # The files of a server leave the rest of the card unwritten: that is left unused, too.
            reserved = max(reserved or 0.0, float(round(100 - valid)))
        # A smaller partition changes nothing for files that do not fill the card.
        can = not on_files and is_card and reserved is not None and reserved < _RESERVE_PCT
        return self.advice(
            "Garbage collection keeps writes waiting: the flash has too little spare space.",
            Change(
                "hardware",
                _room(reserved or 0),
                (),
                (f"storage.reserve_pct={_RESERVE_PCT}",) if can else (),
            ),
            *found.evidence,
            confidence="high",
            relieves=found,
        )

    def _of_full_drive(self, case: Case) -> Advice | None:
        facts, device = storage_facts(case), case.evidence.device
        found = case.finding("device throughput", "device latency", "fsync path")
        whole, free = facts.get("file_system_bytes", 0), facts.get("file_system_free_bytes")
        if found is None or device is None or medium(case) != "flash" or not whole or free is None:
            return None
        read, written = (
            one.mean if one is not None else 0.0 for one in (device.read_bytes_per_s, device.write_bytes_per_s)
        )
        # A file system on a small part of the drive says nothing of the drive's spare space.
        covers = whole >= _FULL * facts.get("device_bytes", 0) and "partition_start_bytes" not in facts
        if not covers or 1 - free / whole < _FULL or written < _WRITES_MIN_SHARE * (read + written):
            return None
        trims = "discard" in mount_options(case)
        return self.advice(
            "The drive is nearly full: its collector has little room.",
            Change(
                "host",
                "Leave 20 to 25 % of the drive unused, and tell the drive what is free.",
                () if trims else (f"fstrim --verbose MOUNTPOINT  # of /dev/{disk_name(case)}; weekly: fstrim.timer",),
            ),
            f"{100 * (1 - free / whole):.0f} % of the file system was in use before the run",
            *found.evidence,
            confidence="low",
        )


def _room(reserved_pct: float) -> str:
    if reserved_pct >= _RESERVE_PCT:
        left = f"{reserved_pct:g} % of the drive are left unused already"
        return f"Use a drive with more spare flash, and trim what is free: {left}."
    return (
        f"Leave {_RESERVE_PCT} % of the drive unused (a smaller partition on a drive that was erased), trim what is "
        "free, or use a drive with more spare flash."
    )
