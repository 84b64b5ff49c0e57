"""A real experiment and its modelled twin in one sweep."""

from __future__ import annotations

from typing import Any

import pytest

from flatwater.experiment import iter_cells, make_experiment, to_toml
from flatwater.experiment.database import InnodbModel, Server
from flatwater.experiment.problem import ProblemsError

TWIN = {
    "database": {"generation": "percona-5.5", "cores": 2, "settings": {"innodb_io_capacity": 400}},
    "storage": {"kind": "ssd", "device": "samsung-pm9a3-7680-tlc"},
}
SETTINGS = {"innodb_buffer_pool_size": "256M", "innodb_lru_scan_depth": 128}


def content(**rest: Any) -> dict[str, Any]:
    return {
        "workload": {"kind": "tpcc", "warehouses": 2},
        "database": {"kind": "server", "settings": SETTINGS},
        "storage": {"path": "/tmp/somewhere"},
        "twin": TWIN,
    } | rest


def test_each_cell_has_a_twin_with_its_settings() -> None:
    sweep = {"database.settings.innodb_log_file_size": ["64M", "512M"]}
    cells = list(iter_cells(make_experiment(content(sweep=sweep))))
    assert [cell.set["twin.modelled"] for cell in cells] == [False, True, False, True]
    for real, twin in zip(cells[::2], cells[1::2], strict=True):
        assert isinstance(real.experiment.database, Server) and isinstance(twin.experiment.database, InnodbModel)
        assert (real.experiment.in_virtual_time, twin.experiment.in_virtual_time) == (False, True)
        assert twin.experiment.layers["storage"] == "modelled"
        settings = twin.experiment.database.settings
        # What the model does not have is the real one's alone; what the twin says itself comes first.
        log = real.set["database.settings.innodb_log_file_size"]
        assert settings == {
            "innodb_buffer_pool_size": "256M",
            "innodb_log_file_size": log,
            "innodb_io_capacity": 400,
        }
        assert real.experiment.workload == twin.experiment.workload


@pytest.mark.parametrize(("url", "warm"), [(None, False), ("mysql://user@host/schema", True)])
def test_it_begins_as_the_real_server_begins(url: str | None, warm: bool) -> None:
    """A server that flatwater starts has an empty pool; one that was running has a full one, as far as is known."""
    database = {"kind": "server", "settings": SETTINGS} if url is None else {"kind": "server", "url": url}
    rest = {"storage": {}} if url is not None else {}
    twin = list(iter_cells(make_experiment(content(database=database, **rest))))[1].experiment.database
    assert isinstance(twin, InnodbModel) and twin.warm is warm
    told = TWIN | {"database": {"warm": not warm}}
    twin = list(iter_cells(make_experiment(content(database=database, twin=told, **rest))))[1].experiment.database
    assert isinstance(twin, InnodbModel) and twin.warm is not warm


def test_it_is_read_as_it_was_written() -> None:
    import tomllib

    first = make_experiment(content())
    again = make_experiment(tomllib.loads(to_toml(first)))
    assert again.sweep == first.sweep
    assert [cell.experiment for cell in iter_cells(again)] == [cell.experiment for cell in iter_cells(first)]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"twin": {"storage": {"kind": "ssd"}}}, "twin's modelled storage"),
        ({"twin": TWIN | {"database": {"cores": 0}}}, "cores"),
        ({"database": {"kind": "innodb-model"}, "storage": TWIN["storage"]}, "is of a real server"),
    ],
)
def test_what_cannot_have_one_is_told(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ProblemsError, match=why):
        make_experiment(content(**changes))
