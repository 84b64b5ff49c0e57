from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.experiment import Experiment, count_cells, iter_cells, load

SWEPT = """
[workload]
mode = "rndrw"
rw_ratio = 3

[storage]
size = "1GiB"

[sweep]
"workload.threads" = [1, 2]
storage.fill = [0.5, 1.0]

[report]
x = "workload.threads"
series = "storage.fill"

[[published]]
set = { "workload.threads" = 2, "storage.fill" = 1.0 }
value = 100
unit = "IOPS"
source = "someone"
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "swept.toml"
    path.write_text(SWEPT)
    return path


def field(experiment: Experiment, dotted: str) -> Any:
    value: Any = experiment
    for part in dotted.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("storage.path=/mnt/a b", "/mnt/a b"),
        ('storage.path="/mnt/x"', "/mnt/x"),
        ("storage.path=2024", "2024"),
        ("storage.path=true", "true"),
        ("storage.path=a=b", "a=b"),
        ("storage.size=16GiB", 16 * 2**30),
        ("storage.size=1000000", 1000000),
        ("workload.mode=randread", "rndrd"),
        ("workload.block_size={ 4KiB = 50, 8KiB = 50 }", {4096: 50.0, 8192: 50.0}),
        ("workload.direct=false", False),
        ("workload.duration_s=5m", 300.0),
        ("workload.read_pct=10", 10.0),
        ("workload.rw_ratio=1", None),
        ("title=2020-01-01", "2020-01-01"),
        ("title=x\ny = 3", "x\ny = 3"),
        ("storage.fault.kind=stall", "stall"),
        ('"storage"."size"=1MiB', 2**20),
        (" storage.size =1MiB", 2**20),
        ("repeat=3", 3),
    ],
)
def test_a_field_is_replaced(path: Path, override: str, value: Any) -> None:
    dotted = override.partition("=")[0].replace('"', "").strip()
    assert field(load(path, [override]), dotted) == value


def test_a_ratio_replaces_a_percentage(path: Path) -> None:
    assert load(path).workload.read_pct == 75
    assert load(path, ["workload.rw_ratio=1"]).workload.read_pct == 50


def test_the_last_override_of_a_field_counts(path: Path) -> None:
    assert load(path, ["storage.size=1MiB", "storage.size=2MiB"]).storage.size == 2 * 2**20


def test_an_overridden_field_is_no_longer_swept(path: Path) -> None:
    experiment = load(path, ["workload.threads=8"])
    assert count_cells(experiment) == 2
    assert [cell.experiment.workload.threads for cell in iter_cells(experiment)] == [8, 8]
    # What the file says of the cells that are gone goes with them.
    assert (experiment.report.x, experiment.report.series) == (None, "storage.fill")
    assert experiment.published == []
    assert len(load(path, ["workload.threads=2"]).published) == 1


def test_a_sweep_is_replaced_or_added(path: Path) -> None:
    experiment = load(path, ["sweep.workload.threads=[4]", "sweep.storage.fill=[0.1, 0.2, 0.3]"])
    assert [cell.set for cell in iter_cells(experiment)] == [
        {"workload.threads": 4, "storage.fill": fill} for fill in (0.1, 0.2, 0.3)
    ]
    experiment = load(path, ['sweep."workload.files"=[1, 2, 3]'])
    assert count_cells(experiment) == 12
    assert load(path, ["sweep={}"]).sweep.fields == []


def test_a_field_that_is_walked_with_others_is_taken_out(tmp_path: Path) -> None:
    path = tmp_path / "zip.toml"
    path.write_text('[workload]\nmode="rndrd"\n[sweep.zip]\n"workload.threads" = [1, 2]\nworkload.files = [1, 2]\n')
    experiment = load(path, ["workload.files=1"])
    assert [cell.set for cell in iter_cells(experiment)] == [{"workload.threads": 1}, {"workload.threads": 2}]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("foo", "--set foo: must look like path.to.field=VALUE"),
        ("=3", "--set =3: must look like path.to.field=VALUE"),
        ("a b=3", "--set a b=3: must look like path.to.field=VALUE"),
        ("a\nb=3", "--set a b=3: must look like path.to.field=VALUE"),
        ("seed.x=3", "--set seed.x=3: seed: must be a whole number, not {'x': 3}"),
        ("workload.mode.x=3", "--set workload.mode.x=3: mode is a value or a list, not a table"),
        ("published.set=3", "--set published.set=3: published is a value or a list, not a table"),
        ("workload.treads=3", "--set workload.treads=3: workload.treads: unknown field (hint: did you mean threads?)"),
        ("storage.fill=2", "--set storage.fill=2: storage.fill: must be at most 1, not 2"),
        ("storage.path=", "--set storage.path=: storage.path: must not be empty"),
        ("title=\udcff", "--set title=\udcff: the value is not UTF-8 text"),
        ("workload.queue_depth=9", "--set workload.queue_depth=9: workload.queue_depth: "),
    ],
)
def test_a_wrong_override_is_told_as_one(path: Path, override: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        load(path, [override])
    assert str(caught.value).startswith(message)


SERVER = """
[workload]
kind = "tpcc"

[database]
kind = "server"
settings = { innodb-io-capacity = 200, innodb_log_file_size = "24M" }

[sweep]
"database.settings.innodb-flush-neighbors" = [0, 1]
"workload.connections" = [1, 8]
"""


@pytest.fixture
def server(tmp_path: Path) -> Path:
    path = tmp_path / "server.toml"
    path.write_text(SERVER)
    return path


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ("database.settings.innodb_log_file_size=1G", "1G"),
        ("database.settings.innodb_io_capacity=2000", 2000),
        ("database.settings.innodb-io-capacity=2000", 2000),
        ("database.settings.new=0.5", 0.5),
        ("database.settings.new=true", True),
        ("database.settings.new=ON", "ON"),
        ("database.settings.new=007", "007"),
        ("database.settings.new=", ""),
        ('database.settings.new="2000"', "2000"),
        ("database.settings={ a = 1 }", None),
    ],
)
def test_a_server_s_setting_is_replaced(server: Path, override: str, value: Any) -> None:
    name = override.partition("=")[0].rpartition(".")[2].replace("-", "_")
    assert load(server, [override]).server.settings.get(name) == value


@pytest.mark.parametrize("name", ["innodb_flush_neighbors", "innodb-flush-neighbors"])
def test_a_swept_setting_is_taken_out_however_it_is_spelled(server: Path, name: str) -> None:
    assert load(server).sweep.fields == ["database.settings.innodb_flush_neighbors", "workload.connections"]
    experiment = load(server, [f"database.settings.{name}=0"])
    assert experiment.sweep.fields == ["workload.connections"]
    assert experiment.server.settings["innodb_flush_neighbors"] == 0


def test_a_sweep_of_settings_is_added(server: Path) -> None:
    experiment = load(server, ['sweep.database.settings.innodb-log-file-size=["24M", "1G"]'])
    assert [cell.experiment.server.settings["innodb_log_file_size"] for cell in iter_cells(experiment)][:2] == [
        "24M",
        "1G",
    ]
    assert count_cells(experiment) == 8


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("database.settings.datadir=/x", "--set database.settings.datadir=/x: database.settings.datadir: is not the"),
        ("database.settings.a=[1]", "--set database.settings.a=[1]: database.settings.a: must be one value, not [1]"),
        ("database.settings.a.b=1", "--set database.settings.a.b=1: database.settings.a: must be a number, text"),
        ("database.url=http://me:secret@db/", "--set database.url=...: database.url: must begin with mysql://"),
        ("database.url=mysql://me:secret@db:x/", "--set database.url=...: database.url: the host and port"),
        ('"database" . url=mysql://me:secret@db/', None),
    ],
)
def test_a_wrong_setting_is_told_and_a_password_is_not(server: Path, override: str, message: str | None) -> None:
    with pytest.raises(UserError) as caught:
        load(server, [override])
    assert "secret" not in str(caught.value)
    assert str(caught.value).startswith(message or "--set database.url=...: ")
