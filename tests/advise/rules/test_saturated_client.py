from __future__ import annotations

from cases import case, database, finding, served

from flatwater.advise.rules.saturated_client import SaturatedClient

BUSY = finding("client", 0.6, "the load generator used 7.8 cores")


def test_a_busy_client_measures_itself() -> None:
    told = SaturatedClient().advise(case(BUSY, database=database()))
    assert told is not None
    assert (told.change.kind, told.share, told.evidence) == ("measurement", 0.6, BUSY.evidence)


def test_silent_of_a_client_that_costs_little() -> None:
    assert SaturatedClient().advise(case(finding("CPU"), finding("client", 0.2), database=database())) is None
    assert SaturatedClient().advise(served(case(BUSY, database=database()))) is None
