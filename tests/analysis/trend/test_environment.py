from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from flatwater.analysis.trend import Run, read_run
from flatwater.analysis.trend.environment import VARIABLES_MAX, what_changed
from flatwater.results import open_result
from flatwater.results.health import ArrayHealth, CellHealth, ControllerHealth, DriveHealth

sys.path.insert(0, str(Path(__file__).parent))
from repeated import make_run


def told(folder: Path, before: dict[str, Any], after: dict[str, Any], *, place: int = 10, at: int = 10) -> list[str]:
    """What changed at run `place` of 20, if the circumstances changed at run `at`."""
    runs: list[Run] = [
        read_run(open_result(make_run(folder, number, 100.0, **(before if number < at else after))), ["mean"])
        for number in range(20)
    ]
    cells = [run.cells["{}"] for run in runs]
    return [one.text for one in what_changed(runs, cells, place, range(20))]


def test_nothing_changed(tmp_path: Path) -> None:
    same: dict[str, Any] = {"server": "8.0.36", "variables": {"innodb_io_capacity": "200"}}
    assert told(tmp_path, same, same) == []


def test_facts_of_the_machine_and_the_server(tmp_path: Path) -> None:
    before: dict[str, Any] = {
        "server": "8.0.15",
        "variables": {"innodb_io_capacity": "200", "version": "8.0.15", "port": "3306"},
    }
    after: dict[str, Any] = {
        "server": "8.0.36",
        "variables": {"innodb_io_capacity": "10000", "version": "8.0.36", "port": "3307"},
        "machine": {"kernel": "6.5", "storage": {"scheduler": "none", "path": "/mnt/other"}},
        "flatwater_version": "0.2.0",
    }
    assert sorted(told(tmp_path, before, after)) == [
        "flatwater 0.1.0 -> 0.2.0",
        "kernel 6.1.0-18-amd64 -> 6.5",
        "scheduler not told -> none",
        "server mysql 8.0.15 -> mysql 8.0.36",
        "variable innodb_io_capacity 200 -> 10000",
    ]


def test_runs_beside_the_place(tmp_path: Path) -> None:
    kernel = {"machine": {"kernel": "6.5"}}
    texts = {at: told(tmp_path / str(at), {}, kernel, at=at) for at in (6, 7, 9, 12, 13, 14)}
    assert texts == {
        6: [],
        7: ["kernel 6.1.0-18-amd64 -> 6.5 (3 runs before)"],
        9: ["kernel 6.1.0-18-amd64 -> 6.5 (1 run before)"],
        12: ["kernel 6.1.0-18-amd64 -> 6.5 (2 runs later)"],
        13: ["kernel 6.1.0-18-amd64 -> 6.5 (3 runs later)"],
        14: [],
    }


def test_many_variables_are_counted(tmp_path: Path) -> None:
    before = {f"old_{number}": "1" for number in range(9)} | {"both": "1"}
    texts = told(tmp_path, {"variables": before}, {"variables": {"both": "2"}})
    assert texts[0] == "variable both 1 -> 2" and len(texts) == VARIABLES_MAX + 1
    assert texts[-1] == "10 variables in all"


def test_neighbours_wear_and_room(tmp_path: Path) -> None:
    def circumstances(others: float, used: float, free: int) -> dict[str, Any]:
        return {
            "metrics": {"machine.others_cpu_pct": others, "database.server_cpu_user_pct": 100.0},
            "health": CellHealth(drives=[DriveHealth(device="/dev/nvme0n1", used_pct=used)]),
            "machine": {"storage": {"file_system_free_bytes": free * 2**30}},
        }

    assert told(tmp_path / "a", circumstances(104, 3, 60), circumstances(190, 9, 20)) == [
        "neighbours' CPU 0.0 cores -> 0.9 cores",
        "file system in use 40 % -> 80 %",
        "wear of the drive 3 % -> 9 %",
    ]
    assert told(tmp_path / "b", circumstances(104, 3, 60), circumstances(120, 4, 55)) == []


def test_drives_controllers_and_arrays(tmp_path: Path) -> None:
    well = CellHealth(
        drives=[DriveHealth(device="/dev/sda", media_errors=0)],
        controllers=[ControllerHealth(name="controller 0", battery="well")],
        arrays=[ArrayHealth(name="md0")],
    )
    ill = CellHealth(
        drives=[DriveHealth(device="/dev/sda", media_errors=4, throttle_events=2)],
        controllers=[ControllerHealth(name="controller 0", battery="replace", running=["patrol read"])],
        arrays=[ArrayHealth(name="md0", activity="check, 12 %", missing=1)],
    )
    assert told(tmp_path, {"health": well}, {"health": ill}) == [
        "/dev/sda slowed itself down for heat no -> yes",
        "media errors of /dev/sda 0 -> 4",
        "battery of controller 0 well -> replace",
        "tasks of controller 0 none -> patrol read",
        "missing members of md0 0 -> 1",
        "work of md0 none -> check",
    ]


def test_variables_that_cannot_be_read(tmp_path: Path) -> None:
    damaged = make_run(tmp_path, 0, 100.0, variables={"a": "1"})
    (damaged / "servers/0000/variables.json").write_text("{")
    runs = [read_run(open_result(path), ["mean"]) for path in (damaged, make_run(tmp_path, 1, 100.0))]
    assert what_changed(runs, [run.cells["{}"] for run in runs], 1, range(2)) == []
