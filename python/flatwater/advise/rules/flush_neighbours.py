"""Neighbours of a page are flushed with it to save a disk's arm a way. Flash has no arm."""

from __future__ import annotations

from flatwater.advise.advice import Advice
from flatwater.advise.dialect import Dialect
from flatwater.advise.requests import writes_pages
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import on_flash
from flatwater.analysis.bound.finding import MAIN_MIN, Finding
from flatwater.analysis.bound.words import each_second

_NAME, _OF_XTRADB = "innodb_flush_neighbors", "innodb_flush_neighbor_pages"
#: How servers report that no neighbours are flushed.
_NONE = {"", "0", "off", "none"}
#: What fewer writes of pages relieve.
_WRITES = ("log limit", "dirty limit", "free pages", "garbage collection", "device throughput", "device latency")


class FlushNeighbours(Rule):
    """Pages are flushed with their neighbours, to flash: each page by itself."""

    name = "flush-neighbours"
    about = "neighbours of a page that are flushed with it, on flash"
    source = "MySQL manual, innodb_flush_neighbors; WL#9631 made 0 the default of 8.0; MDEV-17380: ignored on an SSD"
    elsewhere = "nobody is known to have published it alone, with all else unchanged"

    def advise(self, case: Case) -> Advice | None:
        """No neighbours, where writes bound the run on flash and the server heeds the setting."""
        found, server, database = case.finding(*_WRITES), case.server, case.evidence.database
        if found is None or server is None or database is None:
            return None
        if not writes_pages(case.evidence) or not _writes_hold_back(case, found):
            return None
        had = _value(server)
        if had in _NONE or not on_flash(case) or server.is_mariadb((10, 4, 0)):
            # MariaDB sees by itself since 10.4 that a device does not rotate.
            return None
        change = server.change("Flush each page by itself.", {_NAME: 0})
        if change is None:
            return None
        return self.advice(
            "Pages are flushed together with their neighbours, which only helps a disk that must move its arm.",
            change,
            f"{_OF_XTRADB if server.word(_OF_XTRADB) else _NAME} = {had}",
            each_second(database.pages_flushed_per_s, "pages flushed"),
            *found.evidence,
            confidence="high",
            relieves=found,
        )


def _value(server: Dialect) -> str:
    """As the server reports it, under its own name; a model has it under the newer one. Empty if it is unknown."""
    return server.word(_OF_XTRADB) or server.word(_NAME)


def _writes_hold_back(case: Case, found: Finding) -> bool:
    """Whether fewer writes of pages would be felt: of a device that is mostly idle, a request meets no others."""
    if found.name != "device latency":
        return True
    busy = case.evidence.device.busy_pct if case.evidence.device is not None else None
    return busy is not None and busy.mean >= 100 * MAIN_MIN
