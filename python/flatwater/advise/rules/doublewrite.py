"""The doublewrite buffer: each page is written twice, so that a torn one can be repaired."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Elsewhere
from flatwater.advise.apart import parts_apart
from flatwater.advise.dialect import Dialect
from flatwater.advise.requests import writes_pages
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.words import figure, percent

_NAME = "innodb_doublewrite"
#: With these, pages are written twice.
_ON = {"on", "1", "true", "detect_and_recover", "fast"}


class Doublewrite(Rule):
    """Writes fill the device, and much of them is the doublewrite buffer: what it costs, and when it can go."""

    name = "doublewrite"
    about = "a doublewrite buffer that takes a large part of what a full device writes"
    source = "MySQL manual, Doublewrite Buffer: off for performance rather than integrity, or where writes are atomic"
    elsewhere = Elsewhere(
        1.55,
        1.72,
        "without doublewrite buffer, tpcc-mysql, MySQL 5.5.8 on a FusionIO 160 GB SLC card",
        "MySQL 5.5.8 in search of stability (2011)",
    )

    def advise(self, case: Case) -> Advice | None:
        """Off where pages are written atomically, else elsewhere; the risk comes first."""
        found, server = case.finding("garbage collection", "device throughput"), case.server
        written = _pages_text(case)
        if found is None or server is None or written is None or server.word(_NAME) not in _ON:
            return None
        if not writes_pages(case.evidence):
            return None  # reads fill the device
        if "doublewrite" in parts_apart(case.evidence):
            return None  # it is not written to the device of the data
        change = server.change(_text(server), {_NAME: _off(server, case.evidence.layers.database == "real")})
        if change is None:
            return None
        return self.advice(
            "The device is full, and pages are written to it twice.",
            change,
            written,
            *found.evidence,
            confidence="low",
            risk="DURABILITY: where the write of a page can be torn, a crash leaves pages that nothing can repair",
            relieves=found,
        )


def _off(server: Dialect, real: bool) -> str | bool:
    """Since MySQL 8.0.30 torn pages can be found without a copy of each page; a model has no torn pages."""
    return "DETECT_ONLY" if real and server.is_mysql((8, 0, 30)) else False


def _text(server: Dialect) -> str:
    text = "Only where the storage writes a whole page atomically (ask its maker), write each page once."
    if server.is_mysql((8, 0, 20)):
        return f"{text} Else put the files of the doublewrite buffer on another fast device (innodb_doublewrite_dir)."
    if server.is_mariadb((11, 0, 6)):
        return (
            f"{text} Else innodb_doublewrite = fast leaves out syncs of the data files, where the file system allows."
        )
    return text


def _pages_text(case: Case) -> str | None:
    """What the doublewrite buffer wrote; None if it wrote nothing, or that is unknown."""
    database = case.evidence.database
    if database is None or database.doublewrite_pages_per_s is None or database.pages_flushed_per_s is None:
        return None
    twice, once = database.doublewrite_pages_per_s.mean, database.pages_flushed_per_s.mean
    if twice <= 0:
        return None
    share = twice / (twice + once)
    return f"{figure(twice)} of the pages written a second were for the doublewrite buffer: {percent(share)} of them"
