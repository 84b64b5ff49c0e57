"""`scale`: one number makes a whole experiment larger."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment import cell_at, load, longest_s, published_for, to_toml
from flatwater.experiment.library import library_files
from flatwater.experiment.scale import SCALED, scale_tables

FILE = """
[workload]
kind = "tpcc"
warehouses = 10
connections = 32
warmup_s = 20
duration_s = "1m"

[database]
kind = "server"

[database.settings]
innodb_buffer_pool_size = "512M"
innodb-io-capacity = 2000

[sweep]
"database.settings.innodb_log_file_size" = ["96M", "1G", 1048576]

[[published]]
set = { "database.settings.innodb_log_file_size" = "1G" }
value = 1
unit = "NOTPM"
source = "nobody"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "scaled.toml"
    path.write_text(FILE)
    return path


def test_data_memory_log_and_time_grow_together(file: Path) -> None:
    experiment = load(file, ["scale=50"])
    workload, settings = experiment.transactions, experiment.server.settings
    assert workload.model_dump()["warehouses"] == 500
    assert (workload.warmup_s, workload.duration_s) == (1000, 3000)
    assert settings["innodb_buffer_pool_size"] == "25G"
    sweep = experiment.sweep.grid["database.settings.innodb_log_file_size"]
    assert sweep == ["4800M", "50G", "50M"]
    assert (workload.connections, settings["innodb_io_capacity"]) == (32, 2000), "these are not amounts of anything"
    assert longest_s(experiment) == 3 * 4000


def test_published_figures_keep_their_cells(file: Path) -> None:
    experiment = load(file, ["scale=3"])
    plan = cell_at(experiment, 1)
    assert [figure.value for figure in published_for(experiment, plan.set)] == [1]


def test_it_acts_once(file: Path, tmp_path: Path) -> None:
    once = load(file, ["scale=2"])
    again = tmp_path / "again.toml"
    again.write_text(to_toml(once))
    assert load(again).transactions == once.transactions
    assert (once.scaled_by, load(again).scaled_by) == (2, 2)


def test_smaller_is_at_least_one(file: Path) -> None:
    experiment = load(file, ["scale=0.05"])
    assert experiment.transactions.model_dump()["warehouses"] == 1
    assert experiment.server.settings["innodb_buffer_pool_size"] == "26M"


@pytest.mark.parametrize("scale", ["0", "-1", "1e9", "nan", "true", "large"])
def test_a_scale_that_makes_no_sense_is_refused(file: Path, scale: str) -> None:
    with pytest.raises(UserError) as error:
        load(file, [f"scale={scale}"])
    assert "scale" in str(error.value)


def test_what_cannot_be_multiplied_is_left_to_be_refused() -> None:
    data = {"scale": 2, "workload": {"warehouses": "ten", "duration_s": []}, "sweep": {"zip": 3}, "storage": 7}
    data = scale_tables(data)
    assert data["workload"] == {"warehouses": "ten", "duration_s": []}


def test_every_scaled_field_is_a_field_of_the_library() -> None:
    text = "".join(path.read_text() for path in library_files().values())
    # What a newer server calls it, and what only modelled storage has: experiments of one's own.
    others = ("redo_log_capacity", "storage.events", "capacity_scale")
    unused = [field for field in SCALED if field.rpartition(".")[2] not in text]
    assert not [field for field in unused if not any(other in field for other in others)]


def test_a_smaller_card_in_less_time(tmp_path: Path) -> None:
    path = tmp_path / "card.toml"
    path.write_text(
        "[workload]\nmode = 'rndwr'\nduration_s = '2h'\n[storage]\nkind = 'ssd'\ncapacity_scale = 1.0\n"
        "[[published]]\nmetric = 'transition_s'\nvalue = 1800\nunit = 's'\nsource = 'nobody'\n"
        "[[published]]\nmetric = 'latency_us.p95'\nvalue = 1000\nunit = 'us'\nsource = 'nobody'\n"
    )
    experiment = load(path, ["scale=0.01"])
    assert (experiment.workload.duration_s, experiment.modelled.capacity_scale) == (72, 0.01)
    assert [figure.value for figure in experiment.published] == [18, 1000]
    text = path.read_text().replace("capacity_scale = 1.0\n", "")
    path.write_text(text)
    assert load(path, ["scale=0.01"]).modelled.capacity_scale == 1, "what is not written stays what it is"
