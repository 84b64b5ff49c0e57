"""What one layer asks of another; the wording is in golden/errors.txt."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment import make_experiment
from flatwater.experiment.problem import ProblemsError

FILEIO = {"mode": "rndrd"}
TPCC = {"kind": "tpcc"}
SERVER = {"kind": "server"}
ATTACHED = {"kind": "server", "url": "mysql://me@db/"}


@pytest.mark.parametrize(
    "data",
    [
        {"workload": FILEIO},
        {"workload": FILEIO, "database": {"kind": "none"}},
        {"workload": TPCC, "database": SERVER},
        {"workload": {"kind": "oltp", "mode": "insert"}, "database": SERVER, "storage": {"keep": False, "path": "/x"}},
        {"workload": TPCC, "database": ATTACHED},
        # What is said but is the default harms nothing: a resolved file says everything.
        {"workload": TPCC, "database": ATTACHED, "storage": {"fill": 1.0, "purge": False, "keep": True}},
        {"workload": {**TPCC, "connections": 4}, "database": {**SERVER, "instances": 4}},
        {
            "workload": {**TPCC, "duration_s": 1, "steady_state": "snia"},
            "database": {**SERVER, "fault": {"kind": "kill", "at_s": 60}},
        },
    ],
)
def test_what_goes_together(data: dict[str, Any]) -> None:
    make_experiment(data)


@pytest.mark.parametrize(
    ("data", "place"),
    [
        ({"workload": TPCC}, "workload.kind"),
        ({"workload": FILEIO, "database": SERVER}, "database.kind"),
        ({"workload": {**TPCC, "connections": 3}, "database": {**SERVER, "instances": 4}}, "workload.connections"),
        ({"workload": TPCC, "database": SERVER, "storage": {"size": "1GiB"}}, "storage.size"),
        ({"workload": TPCC, "database": SERVER, "storage": {"fill": 0.5}}, "storage.fill"),
        ({"workload": TPCC, "database": SERVER, "storage": {"purge": True}}, "storage.purge"),
        ({"workload": TPCC, "database": SERVER, "storage": {"overwrite": True}}, "storage.overwrite"),
        ({"workload": TPCC, "database": SERVER, "storage": {"fault": {"kind": "full"}}}, "storage.fault"),
        ({"workload": TPCC, "database": ATTACHED, "storage": {"path": "/x"}}, "storage.path"),
        ({"workload": TPCC, "database": ATTACHED, "storage": {"keep": False}}, "storage.keep"),
        ({"workload": TPCC, "database": {**SERVER, "fault": {"kind": "kill", "at_s": 60}}}, "database.fault.at_s"),
        ({"workload": {**FILEIO, "files": 2}, "storage": {"size": "16KiB"}}, "workload.block_size"),
        ({"workload": {**TPCC, "duration_s": 0.5}, "database": SERVER}, "workload.duration_s"),
    ],
)
def test_what_does_not(data: dict[str, Any], place: str) -> None:
    with pytest.raises(ProblemsError) as caught:
        make_experiment(data)
    (problem,) = caught.value.problems
    assert problem.field == place


def test_a_swept_instance_without_a_connection_is_found() -> None:
    data = {"workload": TPCC, "database": SERVER, "sweep": {"database.instances": [1, 8, 9]}}
    with pytest.raises(ProblemsError, match="too few for 9 instances"):
        make_experiment(data)
