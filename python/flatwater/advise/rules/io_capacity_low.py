"""A limit on what is flushed in the background, on a device that could do more."""

from __future__ import annotations

import math

from flatwater.advise.advice import Advice, Elsewhere
from flatwater.advise.dialect import Dialect
from flatwater.advise.rule import Case, Rule
from flatwater.advise.storage import busy_text, device_idles
from flatwater.analysis.bound.words import figure

_BASE, _MAX = "innodb_io_capacity", "innodb_io_capacity_max"
#: Flushing is at its limit from this share of it on: it is averaged over seconds, and misses the limit by chance.
_AT_LIMIT = 0.9
#: The manual's words: a higher value is not recommended unless lower ones are proven insufficient.
_LARGEST = 20_000
_STEP = 1000
#: XtraDB's own policies of 5.5 do not keep to innodb_io_capacity (Percona Server 5.5, Improved InnoDB I/O Scalability).
_POLICY = "innodb_adaptive_flushing_method"
_FREE_POLICIES = {"estimate", "1", "keep_average", "2"}


class IoCapacityLow(Rule):
    """Flushing falls behind at its limit while the device idles: a higher limit."""

    name = "io-capacity-low"
    about = "flushing that falls behind at innodb_io_capacity while the device idles"
    source = "MySQL manual, Configuring InnoDB I/O Capacity: not so low that background activities fall behind"
    elsewhere = Elsewhere(
        1.0,
        1.0,
        "innodb_io_capacity 4000 instead of 500, tpcc-mysql, MySQL 5.5.8 on a FusionIO 320 GB MLC card: no gain",
        "MySQL 5.5.8 and Percona Server in 8-hour runs (2010)",
    )

    def advise(self, case: Case) -> Advice | None:
        """A limit of twice what was flushed, and no more than the manual's 20000."""
        found, server, database = case.finding("log limit", "dirty limit"), case.server, case.evidence.database
        if found is None or server is None or database is None:
            return None
        flushed, limit = database.pages_flushed_per_s, _limit(server)
        if flushed is None or limit is None or not device_idles(case.evidence):
            return None
        each = flushed.mean / database.servers
        if each < _AT_LIMIT * limit:
            return None
        settings = _raised(server, each)
        change = server.change(f"Let it flush up to {max(settings.values())} pages a second.", settings)
        if change is None or max(settings.values()) <= limit:
            return None
        return self.advice(
            "Flushing falls behind because the server limits it, and the device could do more.",
            change,
            f"{figure(each)} pages were flushed a second, with {_limit_name(server)} = {limit:g}",
            busy_text(case.evidence),
            *found.evidence,
            confidence="medium",
            risk="a page that changes often is written more often, which costs a flash device some of its life",
            relieves=found,
        )


def _limit_name(server: Dialect) -> str:
    """Since 5.6 adaptive flushing may reach a limit of its own."""
    return _MAX if server.has(_MAX) else _BASE


def _limit(server: Dialect) -> float | None:
    """Pages that the policy flushes in a second at most; None if it has no limit, or an unknown one."""
    if server.has(_POLICY) and server.word(_POLICY) in _FREE_POLICIES:
        return None
    return server.number(_limit_name(server))


def _raised(server: Dialect, pages_per_s: float) -> dict[str, int]:
    """The limit is twice what was flushed: of its own since 5.6, where it is twice the base (the manual's default)."""
    base = int(server.number(_BASE) or 0)
    if server.has(_MAX):
        base = max(base, min(math.ceil(pages_per_s / _STEP) * _STEP, _LARGEST))
        return {_BASE: base, _MAX: 2 * base}
    return {_BASE: max(base, min(math.ceil(2 * pages_per_s / _STEP) * _STEP, _LARGEST))}
