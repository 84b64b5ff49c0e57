"""Jobs: begun, asked after, ended, handed over."""

from __future__ import annotations

import pytest

from flatwater.cache.jobs import Jobs
from flatwater.errors import UserError


def test_a_job_is_asked_after_until_it_ended() -> None:
    jobs = Jobs([])
    number = jobs.begin({"do": "flush", "range": [0, 4096]})["job"]
    jobs.progress({number: (3, 10)})
    assert {"kind": "flush", "state": "running", "done": 3, "total": 10}.items() <= jobs.get(number).items()
    jobs.hear({"job": number, "state": "done"})
    assert jobs.get(number)["state"] == "done" and jobs.get(number)["done"] == 10
    jobs.progress({number: (1, 10)})
    assert jobs.get(number)["done"] == 10, "what ended stays ended"
    assert jobs.running() == []


def test_after_a_restart_what_was_done_is_not_undone() -> None:
    jobs = Jobs([])
    number = jobs.begin({"do": "preload", "range": [0, 4096]})["job"]
    jobs.progress({number: (7, 10)})
    later = Jobs(jobs.unfinished())
    assert later.running() == [{"do": "preload", "job": number, "range": [0, 4096], "bytes": None}]
    later.progress({number: (0, 3)})
    assert later.get(number)["done"] == 7
    assert later.begin({"do": "flush"})["job"] == number + 1


def test_only_the_last_that_ended_are_remembered() -> None:
    jobs = Jobs([])
    numbers = []
    for _ in range(50):
        numbers.append(jobs.begin({"do": "flush"})["job"])
        jobs.hear({"job": numbers[-1], "state": "stopped"})
    assert len(jobs.all()) <= 22
    with pytest.raises(UserError, match="there is no job"):
        jobs.get(numbers[0])
    assert jobs.get(numbers[-1])["state"] == "stopped"
    jobs.hear({"job": 9999, "state": "done"})
