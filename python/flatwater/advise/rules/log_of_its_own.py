"""Logs and the doublewrite buffer beside the data: short sequential writes that wait behind random ones."""

from __future__ import annotations

from pathlib import PurePosixPath

from flatwater.advise.advice import Advice, Change
from flatwater.advise.dialect import Dialect
from flatwater.advise.host import medium, modelled_device, storage_facts
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import ARRAY_OF_LOGS, LOGS_ON_AN_ARRAY, busy_text
from flatwater.analysis.bound.evidence import PAGE_BYTES, Database
from flatwater.analysis.bound.words import percent
from flatwater.experiment.database import Server
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.device.raid import RaidDevice

#: Where the device has nothing to do for half of the time, a log of its own waits no less (our choice, as
#: `storage.device_idles` has it).
_BUSY_MIN_PCT = 50
#: Under a tenth of what is written, taking it away gives 11 % at most (Amdahl's law).
_SHARE_MIN = 0.1


class LogOfItsOwn(Rule):
    """Commits wait, or writes fill the device, and the logs share it with the data."""

    name = "log-of-its-own"
    about = "a redo log, binary log or doublewrite buffer on the device of the data"
    source = (
        "Databases on flash, 2008-2011: redo, binary log and doublewrite on an array with a battery gave up to 45 % "
        "more; Yoshinori Matsunobu, Tables on SSD, Redo/Binlog/SYSTEM-tablespace on HDD, 2009"
    )
    elsewhere = LOGS_ON_AN_ARRAY

    def advise(self, case: Case) -> Advice | None:
        """The sequential files on other storage whose cache survives a power failure; the tables stay."""
        found, server, database = case.finding("fsync path", "device throughput"), case.server, case.evidence.database
        if found is None or server is None or database is None or not _is_beside(case, server):
            return None
        device = case.evidence.device
        if device is None or device.busy_pct is None or device.busy_pct.mean < _BUSY_MIN_PCT or _is_array(case):
            return None
        share = _sequential_share(database)
        if share is None or share < _SHARE_MIN:
            return None
        return self.advice(
            "The logs are on the device of the data, and wait there behind reads and writes of pages.",
            Change("hardware", _text(case, server), _lines(server), _overrides(case)),
            f"{percent(share)} of what the server wrote were redo log and doublewrite buffer",
            busy_text(case.evidence),
            *found.evidence,
            confidence="medium" if medium(case) is not None else "low",
            risk="logs on storage whose cache is lost with the power lose commits; and a server needs both to start",
            relieves=found,
        )


_TEXT = (
    "Put the redo log, the binary log and the doublewrite buffer on storage of their own: an array whose write cache "
    "has a battery, or a second drive with power-loss protection. Their writes are sequential, and need little of it."
)


def _text(case: Case, server: Dialect) -> str:
    """The change; for servers that flatwater starts also how to try it."""
    asked = case.evidence.experiment.database if case.evidence.experiment is not None else None
    if not isinstance(asked, Server) or asked.attached:
        return _TEXT
    parts = ["redo_log", *(["binary_log"] if server.on("log_bin") else [])]
    # Before, the doublewrite buffer is in the system tablespace; MariaDB has it there still (MySQL manual, 8.0.20).
    parts += ["doublewrite"] if server.is_mysql((8, 0, 20)) else []
    tried = " ".join(
        ["--set database.storages.logs.path=DIR", *(f"--set database.placement.{one}=logs" for one in parts)]
    )
    return f"{_TEXT} To try it: flatwater run with {tried}."


def _is_beside(case: Case, server: Dialect) -> bool:
    """Whether the redo log is known to be on the device of the data. A folder elsewhere may be on another one."""
    asked = case.evidence.experiment.database if case.evidence.experiment is not None else None
    if isinstance(asked, InnodbModel):
        return not asked.log_is_apart and asked.doublewrite_device is None and asked.placement.doublewrite is None
    folder, data = (server.variables.text.get(name) for name in ("innodb_log_group_home_dir", "datadir"))
    if folder is None:
        return False
    path = PurePosixPath(folder)
    return not path.is_absolute() or (data is not None and PurePosixPath(data) in (path, *path.parents))


def _is_array(case: Case) -> bool:
    """Whether the data are on an array that writes back already: a log of its own gains little beside it."""
    if isinstance(modelled_device(case.evidence), RaidDevice):
        return True
    return storage_facts(case).get("write_cache") == "write through" and medium(case) == "disks"


def _sequential_share(database: Database) -> float | None:
    """Of the bytes that the server wrote, those of the redo log and the doublewrite buffer; None if not known."""
    redo, pages, twice = database.redo_bytes_per_s, database.pages_flushed_per_s, database.doublewrite_pages_per_s
    if redo is None or pages is None:
        return None
    sequential = redo.mean + PAGE_BYTES * (twice.mean if twice is not None else 0.0)
    whole = sequential + PAGE_BYTES * pages.mean
    return sequential / whole if whole > 0 else None


def _lines(server: Dialect) -> tuple[str, ...]:
    """The lines of the option file, with a folder that the reader fills in."""
    told = ["innodb_log_group_home_dir = /OTHER/STORAGE"]
    # Before, the doublewrite buffer is in the system tablespace; MariaDB has it there still (MySQL manual, 8.0.20).
    if server.is_mysql((8, 0, 20)):
        told.append("innodb_doublewrite_dir = /OTHER/STORAGE")
    if server.on("log_bin"):
        told.append("log_bin = /OTHER/STORAGE/binlog")
    return tuple(told)


def _overrides(case: Case) -> tuple[str, ...]:
    asked = case.evidence.experiment.database if case.evidence.experiment is not None else None
    if not isinstance(asked, InnodbModel):
        return ()
    parts = ("log_device", "doublewrite_device", "binlog_device")
    return tuple(f'database.{part}="{ARRAY_OF_LOGS}"' for part in parts)
