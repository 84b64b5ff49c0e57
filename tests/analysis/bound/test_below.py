"""What controllers, arrays and drives say of themselves stands in the evidence of the bounds that they cause."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flatwater.analysis.bound import diagnose, read_evidence
from flatwater.analysis.bound.onset import explain
from flatwater.results.health import ArrayHealth, CellHealth, ControllerHealth, DriveHealth
from flatwater.results.schema import Dip

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from known_series import make_result
from test_bounds import AT_WORK, QUIET, evidence

NO_BATTERY = CellHealth(controllers=[ControllerHealth(name="controller 0", battery_before="well", battery="missing")])
FORCED = ControllerHealth(name="controller 0", battery="missing", policies=["always write-back"])
PATROL = CellHealth(controllers=[ControllerHealth(name="controller 0", running=["patrol read"])])
CHECK = CellHealth(arrays=[ArrayHealth(name="/dev/md0", activity_before="check, 3 %", activity="check, 9 %")])
HOT = CellHealth(drives=[DriveHealth(device="/dev/nvme0n1", throttle_events=2)])


@pytest.mark.parametrize(
    ("bound", "health", "words"),
    [
        ("fsync path", NO_BATTERY, "controller 0 has no battery: writes may have waited for the disks"),
        ("device throughput", PATROL, "controller 0 was busy with a patrol read when the run ended"),
        ("device latency", CHECK, "/dev/md0 was busy with itself (check, 9 %) when the run began and when it ended"),
        ("fsync path", HOT, "/dev/nvme0n1 was hot while it was measured, and may have slowed itself down"),
    ],
)
def test_it_is_told_where_the_storage_bounds(bound: str, health: CellHealth, words: str, tmp_path: Path) -> None:
    quiet = evidence(tmp_path, {**QUIET, **AT_WORK[bound]})
    told = diagnose(replace(quiet, health=health))
    assert words in next(one for one in told.findings if one.name == bound).evidence
    for silent in (None, CellHealth(), CellHealth(controllers=[FORCED]), CellHealth(drives=[DriveHealth(device="a")])):
        assert diagnose(replace(quiet, health=silent)).findings == diagnose(quiet).findings


def test_a_check_that_begins_is_what_an_interruption_began_with(tmp_path: Path) -> None:
    """The array's own progress is recorded only while it is under way."""
    rate = [1000.0 + second % 3 for second in range(60)]
    rate[30:36] = [200.0] * 6
    check = [float("nan")] * 60
    check[30:36] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    more = {"workload.ops_per_s": rate, "storage.check_pct": check}
    result = make_result(tmp_path / "run", [({}, 0, rate)], more=more, layers={"workload": "real", "storage": "real"})
    cell = result.cells[0]
    assert cell.summary is not None
    cell.summary.dips = [Dip(start_s=30.0, length_s=6.0, depth=0.8)]
    (found,), _, text = explain(read_evidence(cell))
    assert found.began[0].startswith("progress of a check rose from 0 % to"), found
    assert "progress of a check" in text
