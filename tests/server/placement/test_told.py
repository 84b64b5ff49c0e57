"""Where servers say that their parts are: the words of several versions, and a real server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from flatwater.experiment.database.placed import ITEMS
from flatwater.server import Instance, describe, told_places

DATA = Path("/data")
DEFAULTS = {
    "mysql-5.5": {
        "innodb_data_home_dir": "", "innodb_data_file_path": "ibdata1:10M:autoextend", "tmpdir": "/tmp",
        "innodb_log_group_home_dir": "./", "innodb_doublewrite": "ON", "log_bin": "OFF",
    },
    "mysql-8.0": {
        "innodb_data_home_dir": "", "innodb_data_file_path": "ibdata1:12M:autoextend", "tmpdir": "/tmp",
        "innodb_log_group_home_dir": "./", "innodb_undo_directory": "./", "innodb_undo_tablespaces": "2",
        "innodb_doublewrite": "ON", "innodb_doublewrite_dir": "", "innodb_directories": "",
        "innodb_temp_data_file_path": "ibtmp1:12M:autoextend", "innodb_temp_tablespaces_dir": "./#innodb_temp/",
        "innodb_tmpdir": "", "log_bin": "ON", "log_bin_basename": "/data/binlog",
    },
    "mariadb-10.11": {
        "innodb_data_home_dir": "", "innodb_data_file_path": "ibdata1:12M:autoextend", "tmpdir": "/tmp:/var/tmp",
        "innodb_log_group_home_dir": "./", "innodb_undo_directory": "./", "innodb_undo_tablespaces": "0",
        "innodb_doublewrite": "ON", "innodb_temp_data_file_path": "ibtmp1:12M:autoextend", "innodb_tmpdir": "",
        "log_bin": "OFF", "log_bin_basename": "",
    },
}  # fmt: skip


def told(of: str, variables: Mapping[str, str] = {}) -> dict[str, list[str]]:
    found = told_places(DEFAULTS[of] | variables, DATA)
    assert {*found} <= {*ITEMS}
    return {item: [str(place) for place in places] for item, places in found.items()}


def test_by_default_all_but_temporary_files_are_with_the_data() -> None:
    with_data = {"redo_log": ["/data"], "system_tablespace": ["/data/ibdata1"]}
    assert told("mysql-5.5") == with_data | {"temporary_files": ["/tmp"]}
    assert told("mysql-8.0") == with_data | {
        "undo_logs": ["/data"],
        "doublewrite": ["/data"],
        "binary_log": ["/data"],
        "temporary_files": ["/tmp", "/data/#innodb_temp", "/data/ibtmp1"],
    }
    # MySQL 9.7 has no such variable, and undo logs in files of their own.
    mysql_9_7 = {name: value for name, value in DEFAULTS["mysql-8.0"].items() if name != "innodb_undo_tablespaces"}
    assert [str(place) for place in told_places(mysql_9_7, DATA)["undo_logs"]] == ["/data"]
    # Without undo tablespaces, the folder of undo logs holds nothing.
    assert told("mariadb-10.11") == with_data | {"temporary_files": ["/tmp", "/var/tmp", "/data/ibtmp1"]}


@pytest.mark.parametrize(
    ("of", "variables", "item", "places"),
    [
        ("mysql-5.5", {"innodb_log_group_home_dir": "/logs"}, "redo_log", ["/logs"]),
        ("mysql-5.5", {"innodb_log_group_home_dir": "../logs"}, "redo_log", ["/data/../logs"]),
        ("mysql-8.0", {"innodb_undo_directory": "/undo"}, "undo_logs", ["/undo"]),
        ("mariadb-10.11", {"innodb_undo_directory": "/undo", "innodb_undo_tablespaces": "3"}, "undo_logs", ["/undo"]),
        ("mysql-8.0", {"innodb_doublewrite_dir": "/twice"}, "doublewrite", ["/twice"]),
        ("mysql-8.0", {"innodb_data_home_dir": "/home"}, "doublewrite", ["/home"]),
        ("mysql-5.5", {"innodb_doublewrite_file": "/twice/ib_doublewrite"}, "doublewrite", ["/twice/ib_doublewrite"]),
        ("mysql-8.0", {"log_bin_basename": "/logs/binlog"}, "binary_log", ["/logs"]),
        # It has one, and no variable that says where: nobody knows.
        ("mysql-5.5", {"log_bin": "ON"}, "binary_log", []),
        ("mysql-5.5", {"innodb_data_home_dir": "/home"}, "system_tablespace", ["/home/ibdata1"]),
        (
            "mysql-5.5",
            {"innodb_data_file_path": "ibdata1:1G;/other/ibdata2:1G:autoextend"},
            "system_tablespace",
            ["/data/ibdata1", "/other/ibdata2"],
        ),
        ("mysql-5.5", {"innodb_data_file_path": "/dev/sdb:1Graw"}, "system_tablespace", ["/dev/sdb"]),
        # Below the folder of the system tablespace, but below the data directory in MySQL 8.0.
        ("mariadb-10.11", {"innodb_data_home_dir": "/home", "tmpdir": ""}, "temporary_files", ["/home/ibtmp1"]),
        ("mysql-8.0", {"innodb_temp_data_file_path": "../tmp/ibtmp1:12M"}, "temporary_files", ["/data/../tmp/ibtmp1"]),
    ],
)
def test_each_part_elsewhere(of: str, variables: dict[str, str], item: str, places: list[str]) -> None:
    found = told(of, variables)[item]
    assert found == places or (item == "temporary_files" and found[-1:] == places)


@pytest.mark.parametrize("value", ["OFF", "0"])
def test_a_part_that_the_server_does_not_have_is_nowhere(value: str) -> None:
    off = {"log_bin": value, "innodb_doublewrite": value, "innodb_undo_tablespaces": "0"}
    assert not {"binary_log", "doublewrite", "undo_logs"} & told("mysql-8.0", off).keys()
    assert told_places({}, DATA) == {}


def test_a_real_server(make_instance: Callable[..., Instance], tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    instance = make_instance({"log_bin": str(logs / "b"), "tmpdir": str(logs)})
    instance.start()
    found = told_places(describe(instance.login()).variables, instance.data)
    assert found["binary_log"] == (logs,) and logs in found["temporary_files"]
    assert found["redo_log"] == (instance.data,) and found["system_tablespace"] == (instance.data / "ibdata1",)
