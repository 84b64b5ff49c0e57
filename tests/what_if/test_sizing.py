"""How much of a card a twin gets: the modelled server says what it stores, whatever its flavour and settings."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from recorded import recorded

from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.experiment.database.generation import SERIES, Series
from flatwater.experiment.database.innodb_settings import defaults
from flatwater.plan.device.ssd import Ssd
from flatwater.plan.innodb import write_innodb
from flatwater.what_if import Base, parse_changes, read_base
from flatwater.what_if.sizing import ROOM
from flatwater.what_if.twin import Twin

GIB = 2**30
CARD = "samsung-pm9a3-7680-tlc"
#: What makes a server store more than its tables; a generation has some of these.
LARGE: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "a large redo log": {
        "innodb_log_file_size": GIB,
        "innodb_log_files_in_group": 4,
        "innodb_redo_log_capacity": 4 * GIB,
    },
    "a binary log": {"log_bin": True, "max_binlog_size": GIB},
    "hardly a redo log": {"innodb_log_file_size": 4 << 20, "innodb_redo_log_capacity": 8 << 20, "log_bin": False},
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Base:
    return read_base(str(recorded(tmp_path_factory.mktemp("run") / "run")))


def of(base: Base, series: Series, changed: dict[str, Any]) -> Base:
    """The same run on a server of another series, with its defaults."""
    has = {name: value for name, value in defaults(series.generation).items() if value is not None}
    settings = {**has, "innodb_buffer_pool_size": 32 << 20, **{name: changed[name] for name in changed if name in has}}
    return replace(
        base, flavour=series.flavour, release=(*series.least, 0), generation=series.generation, settings=settings
    )


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("series", SERIES, ids=lambda series: series.name)
def test_a_card_has_room_for_what_a_server_stores(base: Base, series: Series, large: str) -> None:
    with Twin(of(base, series, LARGE[large])) as twin:
        (change,) = parse_changes(twin, [f"storage.device={CARD}"])
        (stored,) = twin.used_bytes(change.experiment, "here")
        plan = write_innodb(change.experiment, seed=1)
        assert isinstance(plan.device, Ssd)
        capacity = plan.device.capacity_bytes * plan.device.modules
        assert capacity == pytest.approx(ROOM * stored, rel=0.01), "the share that is in use decides the card's speed"
        settings = plan.settings
        assert stored > (settings.innodb_redo_log_capacity or settings.innodb_log_file_size)


def test_the_card_of_a_server_with_a_large_binary_log_can_be_run(base: Base) -> None:
    # MySQL 8.0 writes a binary log of 1 GiB unless it is told not to: the data of this run are a fifth of that.
    (newest,) = [series for series in SERIES if series.generation == "mysql-8.0" and series.flavour == "mysql"]
    with Twin(of(base, newest, {})) as twin:
        (change,) = parse_changes(twin, [f"storage.device={CARD}"])
        assert (twin.used_bytes(change.experiment, "here")[0]) > GIB
        Run.modelled_database(to_json(write_innodb(change.experiment, seed=1))).stop()
        assert any(note.startswith(CARD) and "4 times what the server stores" in note for note in change.notes)


def test_settings_of_the_same_change_count(base: Base) -> None:
    redo = "database.settings.innodb_log_file_size"
    with Twin(base) as twin:
        told = parse_changes(twin, [f"storage.device={CARD}", f"{redo}=4GiB,storage.device={CARD}"])
        small, large = (one.experiment.modelled.capacity_scale for one in told)
        assert large - small > ROOM * 3.5 * GIB / 7.68e12


def test_a_device_for_the_log_alone_has_room_for_it(base: Base) -> None:
    other = "intel-910-200"
    with Twin(base) as twin:
        set_ = f"storage.device={CARD},database.log_device={other},database.settings.innodb_log_file_size=8GiB"
        (change,) = parse_changes(twin, [set_])
        assert any("the fullest of its devices" in note for note in change.notes)
        Run.modelled_database(to_json(write_innodb(change.experiment, seed=1))).stop()


def test_a_share_that_is_asked_for_is_kept(base: Base) -> None:
    with Twin(base) as twin:
        (change,) = parse_changes(twin, [f"storage.device={CARD},storage.capacity_scale=0.001"])
        assert change.experiment.modelled.capacity_scale == 0.001
        assert change.notes == ()
