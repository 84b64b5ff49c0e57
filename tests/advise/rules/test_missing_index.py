from __future__ import annotations

from cases import case, database, finding, load, served

from flatwater.advise.rules.missing_index import MissingIndex

BUSY = finding("CPU", 0.9, "used 7.5 cores")


def test_statements_that_scan() -> None:
    scans = case(BUSY, database=database(read_requests_per_s=2e6), load=load(queries_per_s=200))
    told = MissingIndex().advise(scans)
    assert told is not None
    assert told.change.kind == "workload"
    assert "10,000 page requests" in told.evidence[0]
    assert MissingIndex().advise(served(scans)) is None
    calls = case(BUSY, database=database(read_requests_per_s=2e6), load=load(queries_per_s=200, variant="tproc-c"))
    assert MissingIndex().advise(calls) is None


def test_silent_of_lookups_and_ranges() -> None:
    ranges = database(read_requests_per_s=400 * 1000)
    assert MissingIndex().advise(case(BUSY, database=ranges, load=load(queries_per_s=1000))) is None
    assert MissingIndex().advise(case(BUSY, database=ranges)) is None
    many = database(read_requests_per_s=2e6)
    assert MissingIndex().advise(case(finding("log limit"), database=many, load=load(queries_per_s=200))) is None
