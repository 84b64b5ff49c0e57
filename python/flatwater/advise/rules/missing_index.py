"""Statements that read very many pages each: a scan where an index would do."""

from __future__ import annotations

from flatwater.advise.advice import Advice, Change
from flatwater.advise.rule import Case, Rule
from flatwater.analysis.bound.words import figure

#: A lookup reads one page a level, four in a table of 10^8 rows; a range of 100 rows over a secondary index looks up
#: each of them: some 400. A statement that takes thousands on average scans.
_PAGES_MIN = 2000.0


class MissingIndex(Rule):
    """Page requests for each statement are those of scans."""

    name = "missing-index"
    about = "statements that read thousands of pages each"
    source = "MySQL manual, How MySQL Uses Indexes; log_queries_not_using_indexes"
    elsewhere = "it depends on how many of the pages an index saves"

    def advise(self, case: Case) -> Advice | None:
        """Look for the scan, and give it an index: before any hardware is bought."""
        found = case.finding("CPU", "cache misses", "device throughput", "device latency", "contention")
        database, queries = case.evidence.database, case.evidence.load.queries_per_s
        if found is None or database is None or database.read_requests_per_s is None or queries is None:
            return None
        if queries.mean <= 0 or case.evidence.layers.virtual or case.evidence.load.variant == "tproc-c":
            # A call of a procedure is counted as one statement, whatever it does.
            return None
        pages = database.read_requests_per_s.mean / queries.mean
        if pages < _PAGES_MIN:
            return None
        return self.advice(
            "Statements read thousands of pages each, as scans do: an index is probably missing.",
            Change(
                "workload",
                "Find the statement (slow log with log_queries_not_using_indexes, or sys.statement_analysis), look at "
                "its EXPLAIN, and give it an index. Do this before hardware is bought.",
            ),
            f"{figure(pages)} page requests for each statement",
            *found.evidence,
            confidence="medium",
            relieves=found,
        )
