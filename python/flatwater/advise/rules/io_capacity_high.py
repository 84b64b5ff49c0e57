"""A limit so high that pages are written long before they must be, to a device that has no time for it."""

from __future__ import annotations

import math

from flatwater.advise.advice import Advice
from flatwater.advise.dialect import Dialect
from flatwater.advise.requests import writes_pages
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import busy_text
from flatwater.analysis.bound.evidence import Database
from flatwater.analysis.bound.words import figure, size

_BASE, _MAX = "innodb_io_capacity", "innodb_io_capacity_max"
#: Half of the age at which the server must flush: the log has room for pages to be written half as often.
_AGE_SHARE = 0.5
#: A capacity of less than twice what was flushed is about what is needed.
_TIMES = 2
_STEP = 1000
#: The default since MySQL 8.4. Its makers chose it for flash.
_DEFAULT_8_4 = 10_000


class IoCapacityHigh(Rule):
    """The device is full, and much of what it writes could wait: a lower limit."""

    name = "io-capacity-high"
    about = "an innodb_io_capacity so high that pages are written too early"
    source = (
        "MySQL manual, Configuring InnoDB I/O Capacity: as low as practical; "
        "Percona, Give Love to Your SSDs: Reduce innodb_io_capacity_max (2019)"
    )
    elsewhere = "nobody is known to have published the throughput with both, and all else unchanged"

    def advise(self, case: Case) -> Advice | None:
        """A capacity of about what was flushed, where the log was never half full."""
        found, server, database = (
            case.finding("device throughput", "garbage collection"),
            case.server,
            case.evidence.database,
        )
        # The older servers do not flush in proportion to it.
        if found is None or server is None or database is None or not server.has(_MAX):
            return None
        age, flushed, capacity = _age_text(database), database.pages_flushed_per_s, server.number(_BASE)
        if age is None or flushed is None or capacity is None or _is_forced(case):
            return None
        if not writes_pages(case.evidence):
            return None  # reads fill the device
        each = flushed.mean / database.servers
        wanted = math.ceil(each / _STEP) * _STEP
        if capacity < _TIMES * max(each, wanted) or capacity <= _usual(server) or not each:
            return None
        change = server.change(
            f"Lower innodb_io_capacity to {wanted}, about what is flushed.", {_BASE: wanted, _MAX: _TIMES * wanted}
        )
        if change is None:
            return None
        return self.advice(
            "Pages are written earlier than they must be, and the device has no time for it.",
            change,
            f"innodb_io_capacity = {capacity:g}, and {figure(each)} pages were flushed a second",
            age,
            busy_text(case.evidence),
            confidence="low",
            risk="with a load that writes more, flushing may fall behind: then raise it again",
            relieves=found,
        )


def _usual(server: Dialect) -> int:
    return _DEFAULT_8_4 if server.is_mysql((8, 4, 0)) else 0


def _is_forced(case: Case) -> bool:
    """Whether something else than its capacity made the server flush."""
    return case.finding("log limit", "dirty limit", "free pages") is not None


def _age_text(database: Database) -> str | None:
    """How far the age stayed from the server's limit; None where it came near, or is unknown."""
    age, redo = database.checkpoint_age_bytes, database.redo
    if age is None or redo is None or age.max >= _AGE_SHARE * redo.async_bytes:
        return None
    return f"the checkpoint age was {size(age.max)} at most, and the server must flush from {size(redo.async_bytes)} on"
