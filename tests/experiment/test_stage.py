"""Problems are collected once each, and none that only follows from a field that was left out."""

from __future__ import annotations

from flatwater.experiment.problem import Problem
from flatwater.experiment.stage import Findings, Read

WRONG = Problem("workload.threads", "must be at least 1, not 0")


def test_a_stage_hands_on_its_value() -> None:
    found = Findings()
    assert found.keep(Read(3, (WRONG,), frozenset({"workload.threads"}))) == 3
    assert (found.problems, found.left_out) == ((WRONG,), {"workload.threads"})


def test_a_problem_is_kept_once_and_in_order() -> None:
    found, other = Findings(), Problem("storage.size", "is missing")
    found.add([WRONG, other, WRONG])
    assert found.problems == (WRONG, other)


def test_the_problem_that_leaves_a_field_out_is_kept() -> None:
    found = Findings()
    found.keep(Read(None, (Problem("workload.kind", "there is no such kind"),), frozenset({"workload"})))
    assert [problem.field for problem in found.problems] == ["workload.kind"]


def test_what_depends_on_a_field_that_is_left_out_is_not_kept() -> None:
    found = Findings()
    found.keep(Read(None, (), frozenset({"workload", "storage.size"})))
    found.add(
        [
            Problem("workload.threads", "in a table that is left out"),
            Problem("sweep.workload.threads", "a sweep of it"),
            Problem("storage.fill", "depends on it", None, ("storage.fill", "storage.size")),
            Problem("storage.size_limit", "only begins like it"),
            Problem("storage", "holds it"),
        ]
    )
    assert [problem.field for problem in found.problems] == ["storage.size_limit", "storage"]


def test_what_rests_on_every_entry_of_a_table_rests_on_each() -> None:
    found = Findings()
    found.keep(Read(None, (), frozenset({"workload.transactions.a.weight"})))
    found.add([Problem("workload.parameters.k", "unused", None, ("workload.transactions.*",))])
    assert found.problems == ()
    found.add([Problem("workload.parameters.k", "unused", None, ("workload.trans.*", "workload.parameters.*"))])
    assert len(found.problems) == 1
