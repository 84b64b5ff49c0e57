from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_type_hints

import numpy as np
import pytest

from flatwater.analysis.bound import read_evidence
from flatwater.analysis.bound.device import Device
from flatwater.analysis.bound.evidence import Cache, Database, Load, Machine, Variables, metrics_of
from flatwater.analysis.bound.line import Line
from flatwater.errors import UserError
from flatwater.results import Phase
from flatwater.results.schema import ServerFacts

sys.path.insert(0, str(Path(__file__).parents[1]))
from known_series import make_result

MODELLED: dict[str, Any] = {
    "workload": {"kind": "tpcc", "connections": 16, "warehouses": 10},
    "database": {"kind": "innodb-model", "generation": "mysql-5.5", "machine": "dell-r900"},
    "storage": {"kind": "ssd", "device": "intel-x25-e"},
}
LAYERS = dict.fromkeys(("workload", "database", "storage"), "modelled")


def column(value: float, length: int = 20) -> list[float]:
    return [value] * length


def test_a_modelled_run_tells_its_machine_its_settings_and_its_limits(tmp_path: Path) -> None:
    more = {
        "database.checkpoint_age_max_bytes": column(160.0),
        "storage.utilisation_pct": column(29.0),
        "storage.dies_busy_pct": column(70.0),
        "storage.link_busy_pct": column(20.0),
    }
    result = make_result(tmp_path / "run", [({}, 0, column(5.0))], more=more, experiment=MODELLED, layers=LAYERS)
    found = read_evidence(result.cells[0])
    assert found.load.concurrency == 16
    assert found.load.rate_per_s is None
    assert found.machine.cores == 16
    assert found.database is not None
    assert found.database.redo is not None
    assert found.database.redo.sync_bytes == 150.0
    assert found.database.variables.number("innodb_log_file_size") == 5 << 20
    assert found.database.variables.on("innodb_doublewrite") is True
    assert found.device is not None
    assert found.device.busy_pct is not None
    assert found.device.busy_pct.mean == 70.0, "how full a card is says nothing of how busy it is"
    assert found.device.valid_pct is not None


@pytest.mark.parametrize("database", ["server", "innodb-model"])
def test_storages_of_parts_have_their_own_lines(tmp_path: Path, database: str) -> None:
    """Each kind of a storage beside that of the data, real and modelled."""
    modelled = database == "innodb-model"
    busy = {"log": 35.0, "array": 97.0, "cold": 12.0}
    storages: dict[str, dict[str, Any]] = {
        "log": {"kind": "volume", "device": "ebs-gp2-100gib"} if modelled else {},
        "array": {"kind": "raid", "device": "raid10-8"},
        "cold": {"kind": "ssd", "device": "intel-x25-e"},
    }
    if not modelled:
        for name, storage in storages.items():
            storage |= {"path": f"/{name}", **({"real_time": True} if storage else {})}
    placement = {"redo_log": "log", "binary_log": "log", "doublewrite": "array", "tables": {"stock": "cold"}}
    asked = {
        **MODELLED,
        "database": {"kind": database, "storages": storages, "placement": placement},
        "storage": MODELLED["storage"] if modelled else {"path": "/data"},
    }
    if modelled:
        asked["database"] |= {"generation": "mysql-8.0", "machine": "dell-r900"}
    else:
        asked["workload"] = {"kind": "tpcc", "warehouses": 1}
    more = {
        f"storage.log_{'busy_pct' if modelled else 'utilisation_pct'}": column(busy["log"]),
        "storage.array_member0_busy_pct": column(busy["array"]),
        "storage.array_queue_depth": column(9.0),
        "storage.cold_dies_busy_pct": column(busy["cold"]),
        "storage.dies_busy_pct": column(1.0),
    }
    result = make_result(tmp_path / "run", [({}, 0, column(5.0))], more=more, experiment=asked, layers=LAYERS)
    cell = result.cells[0]
    assert cell.summary is not None
    cell.summary.servers = [] if modelled else [ServerFacts(flavour="mariadb", version="10.11.6-MariaDB")]
    own = {one.name: one for one in read_evidence(cell).own_devices}
    assert {name: one.device.busy_pct.mean for name, one in own.items() if one.device.busy_pct is not None} == busy
    assert own["array"].device.queue_depth is not None
    assert own["log"].text == "the storage of the redo log, binary log (log)"
    assert own["log"].put_back == (
        'database.placement.redo_log="storage"',
        'database.placement.binary_log="storage"',
    )
    assert own["cold"].put_back == ('database.placement.tables.stock="storage"',)
    assert (own["log"].model is None) == (not modelled)
    assert own["array"].model is not None


def test_what_was_not_recorded_is_none(tmp_path: Path) -> None:
    found = read_evidence(make_result(tmp_path / "run", [({}, 0, column(5.0))]).cells[0])
    assert found.database is None
    assert found.cache is None
    assert found.device is None
    assert found.machine.cpu_idle_pct is None
    assert found.load.throughput is not None


def test_only_the_measured_phase_counts(tmp_path: Path) -> None:
    idle = [90.0] * 10 + [10.0] * 10
    result = make_result(tmp_path / "run", [({}, 0, column(5.0))], more={"machine.cpu_idle_pct": idle})
    cell = result.cells[0]
    assert cell.summary is not None
    cell.summary.phases = [Phase(name="warmup", start_s=0, end_s=10), Phase(name="measure", start_s=10, end_s=20)]
    found = read_evidence(cell)
    assert found.machine.cpu_idle_pct is not None
    assert (found.samples, found.machine.cpu_idle_pct.mean) == (10, 10.0)


def test_a_real_server_tells_its_own_variables(tmp_path: Path) -> None:
    result = make_result(
        tmp_path / "run",
        [({}, 0, column(5.0))],
        more={"database.checkpoint_age_max_bytes": column(80.0)},
        experiment={"workload": {"kind": "tpcc"}, "database": {"kind": "server"}, "storage": {"path": "/mnt"}},
        layers={"workload": "real", "database": "real", "storage": "real"},
    )
    cell = result.cells[0]
    assert cell.summary is not None
    cell.summary.servers = [ServerFacts(flavour="mariadb", version="10.11.6-MariaDB")]
    folder = result.path / "servers" / "0000"
    folder.mkdir(parents=True)
    (folder / "variables.json").write_text(json.dumps({"innodb_io_capacity": "200", "log_bin": "OFF"}))
    found = read_evidence(cell).database
    assert found is not None
    assert (found.generation, found.release) == ("mariadb-10.11", (10, 11, 6))
    assert found.variables.number("innodb_io_capacity") == 200
    assert found.variables.on("log_bin") is False
    assert found.redo is not None
    assert (found.redo.async_bytes, found.redo.sync_bytes) == (70.0, 80.0)
    (folder / "variables.json").write_text("{broken")
    assert read_evidence(cell).database is not None, "a damaged file is as one that is not there"


def test_a_cell_that_is_not_over_has_none(tmp_path: Path) -> None:
    result = make_result(tmp_path / "run", [({}, 0, column(5.0))])
    result.cells[0].summary = None
    with pytest.raises(UserError, match="is not over"):
        read_evidence(result.cells[0])


def test_every_line_is_read_from_something() -> None:
    made_of_others = {"busy_pct", "valid_pct"}
    for group in (Load, Machine, Device, Database, Cache):
        lines = {name for name, hint in get_type_hints(group).items() if Line in get_args(hint)}
        assert lines - metrics_of(group).keys() <= made_of_others


@pytest.mark.parametrize(("text", "number", "on"), [("ON", None, True), ("0", 0.0, False), ("", None, None)])
def test_a_setting_is_read_as_what_it_is(text: str, number: float | None, on: Literal[True, False] | None) -> None:
    variables = Variables({"one": text})
    assert (variables.number("one"), variables.on("one")) == (number, on)
    assert (variables.number("two"), variables.on("two")) == (None, None)


def test_a_line_passes_over_intervals_without_a_value() -> None:
    line = Line(np.array([1.0, np.nan, 3.0, 5.0]))
    assert (line.mean, line.median, line.min, line.max) == (3.0, 3.0, 1.0, 5.0)
    assert line.share_at_least(3.0) == pytest.approx(2 / 3)


def test_each_of_several_servers_tells_its_own_variables(tmp_path: Path) -> None:
    result = make_result(
        tmp_path / "run",
        [({}, 0, column(5.0))],
        more={"database.dirty_pct": column(5.0)},
        experiment={"workload": {"kind": "tpcc"}, "database": {"kind": "server"}, "storage": {"path": "/mnt"}},
        layers={"workload": "real", "database": "real", "storage": "real"},
    )
    cell = result.cells[0]
    assert cell.summary is not None
    cell.summary.servers = [ServerFacts(instance=number, flavour="mariadb", version="10.11.6") for number in range(11)]
    for number in range(11):
        folder = result.path / "servers" / "0000" / str(number)
        folder.mkdir(parents=True)
        (folder / "variables.json").write_text(json.dumps({"innodb_buffer_pool_size": str(number << 20)}))
    found = read_evidence(cell).database
    assert found is not None
    assert found.named["server 10"].number("innodb_buffer_pool_size") == 10 << 20
    assert found.pool_bytes == sum(range(11)) << 20
    (result.path / "servers" / "0000" / "3" / "variables.json").write_text("{broken")
    damaged = read_evidence(cell).database
    assert damaged is not None
    assert damaged.each == (), "whose variables these are cannot be told any more"


def test_modelled_servers_share_the_memory_of_the_pool_out(tmp_path: Path) -> None:
    several = {**MODELLED, "database": {**MODELLED["database"], "servers": 2}}
    several["database"]["settings"] = {"innodb_buffer_pool_size": "1G"}
    more = {"database.checkpoint_age_max_bytes": column(160.0)}
    result = make_result(tmp_path / "run", [({}, 0, column(5.0))], more=more, experiment=several, layers=LAYERS)
    found = read_evidence(result.cells[0]).database
    assert found is not None
    assert [one.number("innodb_buffer_pool_size") for one in found.each] == [512 << 20] * 2
    assert found.pool_bytes == found.variables.number("innodb_buffer_pool_size") == 1 << 30
