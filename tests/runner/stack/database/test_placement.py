"""Parts of real servers on other storages, through `flatwater run`."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lab import Running
from serverlab import OLTP, SMALL, ServerLab, made_in

from flatwater.analysis.bound import read_evidence
from flatwater.server import Binary
from flatwater.server.placement.means import why_not

#: A binary log, and undo logs in files of their own, so that every part is there.
SETTINGS = {**SMALL, "log_bin": True, "innodb_undo_tablespaces": 3}
#: Part -> a file of it that the server has open, below its folder.
FILES = {
    "redo_log": "ib_logfile0",
    "binary_log": "binlog.000001",
    "undo_logs": "undo001",
    "system_tablespace": "ibdata1",
    "temporary_files": "ibtmp1",
}


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A directory for parts of servers."""
    place = tmp_path / "other"
    place.mkdir()
    return place


def placed(other: Path, *items: str, tables: Mapping[str, str] = {}, **storage: Any) -> dict[str, Any]:
    """The fields of a database with these parts on a storage `log`."""
    said = {**dict.fromkeys(items, "log"), **({"tables": dict(tables)} if tables else {})}
    return {"placement": said, "storages": {"log": {"path": str(other), **storage}}}


def open_files(servers: ServerLab, run: Running) -> set[str]:
    """The files that the servers have open once the workload runs."""
    run.until_recorded(2)
    found = set()
    for process in servers.processes():
        for link in Path(f"/proc/{process.pid}/fd").iterdir():
            try:
                found.add(str(link.readlink()))
            except OSError:
                continue  # it was closed meanwhile
    return found


def check_other_clean(other: Path) -> None:
    assert made_in(other, "flatwater-parts/run/*") == []


# All at once is each of them, too.
@pytest.mark.parametrize(
    "items",
    [*(pytest.param((item,), marks=pytest.mark.slow) for item in FILES), tuple(FILES)],
    ids=lambda items: "+".join(items),
)
def test_each_part_is_where_it_was_put(servers: ServerLab, binary: Binary, other: Path, items: tuple[str, ...]) -> None:
    if any(why_not(item, binary.flavour, binary.version) for item in items):
        pytest.skip(f"{binary.title} cannot place it")
    run = servers.start(servers.write({**OLTP, "duration_s": 4}, placed(other, *items), settings=SETTINGS))
    files = open_files(servers, run)
    for item, name in FILES.items():
        below = [file for file in files if file.endswith(f"/{name}")]
        assert len(below) == 1, (item, sorted(files))
        assert below[0].startswith(f"{other}/flatwater-parts/run/") == (item in items), below
    ran = run.wait()
    assert ran.code == 0, ran.stderr
    assert ran.cell["metrics"]["storage.log_write_bytes_per_s"]["mean"] >= 0
    told = ran.cell["layers"]["storage log"]
    assert all(item.replace("_", " ") in told for item in items)
    own = read_evidence(ran.recorded).own_devices
    assert [one.device.busy_pct is not None for one in own] == [True] * (items != ("temporary_files",))
    servers.check_clean()
    check_other_clean(other)


@pytest.mark.slow
def test_tables_of_their_own_storage(servers: ServerLab, other: Path) -> None:
    run = servers.start(servers.write({**OLTP, "duration_s": 4}, placed(other, tables={"sbtest1": "log"})))
    files = open_files(servers, run)
    tables = [file for file in files if file.endswith("/sbtest1.ibd")]
    assert len(tables) == 1 and tables[0].startswith(f"{other}/flatwater-parts/run/")
    ran = run.wait()
    assert ran.code == 0, ran.stderr
    check_other_clean(other)


@pytest.mark.slow
def test_a_partitioned_table_is_placed_as_a_whole(servers: ServerLab, other: Path) -> None:
    workload = {"kind": "tpcc", "variant": "tproc-c", "warehouses": 1, "partitions": 3, "connections": 2}
    run = servers.start(servers.write({**workload, "duration_s": 4}, placed(other, tables={"order_line": "log"})))
    files = open_files(servers, run)
    parts = [file for file in files if "/order_line#" in file]
    assert len(parts) == 3 and all(file.startswith(f"{other}/flatwater-parts/run/") for file in parts), sorted(files)
    assert any(file.endswith("/stock.ibd") and file.startswith(str(servers.storage)) for file in files)
    ran = run.wait()
    assert ran.code == 0, ran.stderr
    assert all(one["holds"] is not False for one in ran.cell["consistency"])
    check_other_clean(other)


@pytest.mark.slow
def test_several_servers_each_have_their_own_parts(servers: ServerLab, other: Path) -> None:
    database = {"instances": 2, **placed(other, "redo_log", tables={"sbtest1": "log"})}
    run = servers.start(servers.write({**OLTP, "duration_s": 4}, database))
    files = open_files(servers, run)
    for name in ("ib_logfile0", "sbtest1.ibd"):
        below = {file for file in files if file.endswith(f"/{name}")}
        assert len(below) == 2 and all(file.startswith(str(other)) for file in below)
    assert run.wait().code == 0
    check_other_clean(other)


@pytest.mark.slow
def test_a_sweep_over_the_placement_begins_with_one_snapshot(servers: ServerLab, other: Path) -> None:
    database = {"storages": {"log": {"path": str(other)}}}
    swept = {
        "database.placement.redo_log": ["storage", "log"],
        "database.placement.tables.sbtest1": ["storage", "log"],
    }
    before = set(made_in(servers.storage, "flatwater-servers/snapshots/*"))
    ran = servers.go(OLTP, database, sweep=swept)
    assert ran.code == 0, ran.stderr
    summary = json.loads((ran.out / "summary.json").read_text())
    assert [cell["status"] for cell in summary["cells"]] == ["complete"] * 4
    assert ["storage log" in cell["layers"] for cell in summary["cells"]] == [False, True, True, True]
    assert len(set(made_in(servers.storage, "flatwater-servers/snapshots/*")) - before) <= 1
    check_other_clean(other)


def test_a_killed_cell_goes_on_with_all_its_parts(servers: ServerLab, other: Path) -> None:
    file = servers.write({**OLTP, "duration_s": 4}, placed(other, "redo_log", "undo_logs"), settings=SETTINGS)
    run = servers.start(file)
    run.until_recorded(4)
    run.send(signal.SIGKILL)
    servers.until_gone()
    assert len(made_in(other, "flatwater-parts/run/*")) == 1
    ran = servers.run(file, "--resume")
    assert ran.code == 0, ran.stderr
    assert any(event.kind == "seam" for event in ran.recorded.events)
    servers.check_clean()
    check_other_clean(other)


@pytest.mark.slow
def test_a_killed_cell_whose_parts_are_gone_is_measured_anew(servers: ServerLab, other: Path) -> None:
    file = servers.write({**OLTP, "duration_s": 4}, placed(other, "redo_log"))
    run = servers.start(file)
    run.until_recorded(4)
    run.send(signal.SIGKILL)
    servers.until_gone()
    for folder in made_in(other, "flatwater-parts/run/*"):
        shutil.rmtree(folder)
    ran = servers.run(file, "--resume")
    assert ran.code == 0, ran.stderr
    assert "is gone from" in ran.stderr
    assert not any(event.kind == "seam" for event in ran.recorded.events)
    servers.check_clean()
    check_other_clean(other)


def test_what_others_have_there_is_not_touched(servers: ServerLab, other: Path) -> None:
    (other / "flatwater-parts").mkdir()
    (other / "flatwater-parts" / "mine").write_text("mine")
    ran = servers.go(OLTP, placed(other, "redo_log"))
    assert ran.code == 2
    assert "was not made by flatwater" in ran.stderr and "database.storages.log.path" in ran.stderr
    assert (other / "flatwater-parts" / "mine").read_text() == "mine"
    servers.check_clean()


def test_a_table_that_there_is_not(servers: ServerLab, other: Path) -> None:
    ran = servers.go(OLTP, placed(other, tables={"stock": "log"}))
    assert ran.code == 2, ran.stderr
    assert "the workload has no table 'stock'" in ran.stderr and "sbtest1" in ran.stderr
    assert "loads into" not in ran.stderr
    servers.check_clean()
    check_other_clean(other)


def test_a_directory_that_there_is_not(servers: ServerLab, other: Path) -> None:
    ran = servers.go(OLTP, placed(other / "nowhere", "redo_log"))
    assert ran.code == 2
    assert "does not exist" in ran.stderr and "database.storages.log.path" in ran.stderr


def test_undo_logs_without_files_are_refused_before_loading(servers: ServerLab, binary: Binary, other: Path) -> None:
    if binary.options().get("innodb_undo_tablespaces") != "0":
        pytest.skip(f"{binary.title} has undo logs in files of their own")
    ran = servers.go(OLTP, placed(other, "undo_logs"))
    assert ran.code == 2
    assert "database.placement.undo_logs" in ran.stderr and "innodb_undo_tablespaces = 3" in ran.stderr


def test_a_binary_log_that_is_off_is_told(servers: ServerLab, binary: Binary, other: Path) -> None:
    settings = {**SMALL, "log_bin": False}
    ran = servers.go(OLTP, placed(other, "binary_log"), settings=settings)
    assert ran.code == 0, ran.stderr
    assert any("binary_log has no effect" in warning for warning in ran.cell["warnings"])


@pytest.mark.slow
def test_ctrl_c_leaves_the_parts_for_a_resumed_run(servers: ServerLab, other: Path) -> None:
    file = servers.write({**OLTP, "duration_s": 6}, placed(other, "redo_log"))
    run = servers.start(file)
    run.until_recorded(4)
    assert run.send(signal.SIGINT).code == 130
    assert len(made_in(other, "flatwater-parts/run/*")) == 1
    assert servers.run(file, "--resume").code == 0
    check_other_clean(other)


def test_a_storage_without_room_for_the_redo_logs_is_refused_before_loading(servers: ServerLab, other: Path) -> None:
    gib = 4 * shutil.disk_usage(other).free >> 30
    file = servers.write(OLTP, placed(other, "redo_log"), settings={**SMALL, "innodb_log_file_size": f"{gib}G"})
    ran = servers.run(file)
    assert ran.code == 2, ran.stderr
    # It is on the file system of the data.
    assert "are free" in ran.stderr and "parts on other storages of the same file system" in ran.stderr
    servers.check_clean()
    check_other_clean(other)
