"""The work of others, from a server's counters, worked out by hand."""

from __future__ import annotations

import pytest

from flatwater.probe.server import Reading
from flatwater.runner.stack.database.real.outages import Outages
from flatwater.runner.stack.database.real.work import done_between, unit_of, was_restarted


def reading(at_s: float, *, session: int = 1, asked: int = 0, **figures: float) -> Reading:
    return Reading(at_s, session, {"uptime_s": at_s + 1000, **figures}, asked)


BEFORE = reading(10.0, asked=7, commits=100, rollbacks=5, xa_commits=1, inserts=50, questions=1000, deadlocks=2)
AFTER = reading(12.0, asked=9, commits=160, rollbacks=8, xa_commits=2, inserts=55, questions=1202, deadlocks=2)


def test_transactions_and_statements() -> None:
    done = done_between(BEFORE, AFTER)
    assert done is not None and done.seconds == 2.0
    assert (done.count("tps"), done.count("qps")) == (60 + 3 + 1, 202 - 2)
    # No more commits can have changed something than there were statements that change rows.
    assert done.changing_commits("tps") == 5 and done.changing_commits("qps") == 5
    assert done.deadlocks == 0


def test_statements_of_a_session_that_was_lost_count_once() -> None:
    done = done_between(BEFORE, reading(12.0, session=2, asked=3, commits=160, questions=1203))
    assert done is not None and done.statements == 200


def test_a_restart_and_a_reset() -> None:
    anew = Reading(12.0, 2, {"uptime_s": 1.0, "commits": 3, "questions": 9})
    assert was_restarted(BEFORE, anew) and done_between(BEFORE, anew) is None
    # FLUSH STATUS: the same start of the server, smaller counters.
    reset = reading(12.0, commits=3, questions=9)
    assert not was_restarted(BEFORE, reset) and done_between(BEFORE, reset) is None


@pytest.mark.parametrize(
    ("figures", "unit"),
    [
        ({"commits": 10, "selects": 900, "updates": 100}, "tps"),
        ({"commits": 10, "selects": 901, "updates": 100}, "qps"),
        ({"commits": 0, "updates": 100}, "qps"),
        ({"rollbacks": 1, "updates": 1}, "tps"),
        ({}, "qps"),
    ],
)
def test_the_unit_follows_from_how_clients_end_transactions(figures: dict[str, float], unit: str) -> None:
    assert unit_of(figures) == unit


def test_a_short_silence_under_load_is_no_outage() -> None:
    outages = Outages(silent_s=2.0)
    assert outages.see(0.1, BEFORE, "", down=False) == []
    told = [news for tenth in range(2, 30) for news in outages.see(tenth / 10, None, "busy", down=False)]
    assert [(one.at_s, one.kind) for one in told] == [(0.2, "fault")]
    assert [one.kind for one in outages.see(3.0, AFTER, "", down=False)] == ["recovered"]
    for tenth in range(31, 40):
        assert outages.see(tenth / 10, None, "busy", down=False) == []
    assert outages.see(4.0, AFTER, "", down=False) == []


class TestOutages:
    def test_one_late_answer_is_no_event(self) -> None:
        outages = Outages()
        assert outages.see(1, BEFORE, "", down=False) == []
        assert outages.see(2, None, "", down=False) == []
        assert outages.see(3, AFTER, "", down=False) == []

    def test_silence_and_return(self) -> None:
        outages = Outages()
        outages.see(1, BEFORE, "", down=False)
        assert outages.see(2, None, "lost", down=False) == []
        (gone,) = outages.see(3, None, "lost", down=False)
        assert (gone.at_s, gone.kind) == (2, "fault") and "lost" in gone.text
        assert outages.see(4, None, "lost", down=False) == []
        (back,) = outages.see(5, AFTER, "", down=False)
        assert back.kind == "recovered" and "after 3.0 s" in back.text and "200 statements" in back.text

    def test_a_restart_within_an_interval(self) -> None:
        outages = Outages()
        outages.see(1, BEFORE, "", down=False)
        (told,) = outages.see(2, Reading(12.0, 2, {"uptime_s": 1.0}), "", down=False)
        assert told.kind == "recovered" and told.text == "the server was started anew, 1 s ago"
