from __future__ import annotations

from typing import Any

import pytest
from cases import GIB, case, database, finding

from flatwater.advise.rule import Case
from flatwater.advise.rules.redo_large import RedoLarge
from flatwater.analysis.bound.redo import RedoLimits

LIMITS = RedoLimits(28 * GIB, 30 * GIB, 32 * GIB)
CAPACITY = {"innodb_redo_log_capacity": str(40 * GIB)}


def run(server: str = "mysql 8.0.36", settings: dict[str, str] = CAPACITY, bound: str = "CPU", **told: Any) -> Case:
    quantities = {"checkpoint_age_bytes": 2.5 * GIB, "redo": LIMITS, "redo_bytes_per_s": 300e6} | told
    return case(finding(bound), database=database(server, settings, **quantities))


@pytest.mark.parametrize(
    ("server", "settings", "lines"),
    [
        ("mysql 8.0.36", CAPACITY, ("innodb_redo_log_capacity = 7424M",)),
        ("mariadb 10.11.6", {"innodb_log_file_size": str(40 * GIB)}, ("innodb_log_file_size = 7424M",)),
        (
            "mysql 5.7.44",
            {"innodb_log_file_size": str(20 * GIB), "innodb_log_files_in_group": "2"},
            ("innodb_log_file_size = 3840M",),
        ),
    ],
)
def test_a_log_whose_limit_is_twice_the_age(server: str, settings: dict[str, str], lines: tuple[str, ...]) -> None:
    told = RedoLarge().advise(run(server, settings))
    assert told is not None
    assert told.change.lines == lines
    assert (told.confidence, told.share) == ("low", 0)


def test_silent_where_the_log_is_used_or_not_large() -> None:
    rule = RedoLarge()
    assert rule.advise(run(checkpoint_age_bytes=8.0 * GIB)) is None, "more than a quarter of the limit"
    assert rule.advise(run(bound="log limit")) is None
    assert rule.advise(run(redo=RedoLimits(3 * GIB, 3 * GIB, 3 * GIB), checkpoint_age_bytes=0.1 * GIB)) is None
    assert rule.advise(run(redo=None)) is None, "the server's limit is unknown"
    assert rule.advise(run(settings={})) is None


def test_silent_while_the_age_still_grows() -> None:
    growing = [second * 40e6 for second in range(1, 61)]
    assert RedoLarge().advise(run(checkpoint_age_bytes=growing)) is None
    assert RedoLarge().advise(run(redo_bytes_per_s=40e6)) is None, "too little was written to tell"
