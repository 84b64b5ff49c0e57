"""The twin of a run whose server had parts on other storages, and changes of where they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from recorded import READ_US, WRITE_US, recorded

from flatwater.errors import UserError
from flatwater.plan.device import Volume
from flatwater.plan.innodb import Other
from flatwater.what_if import parse_changes, read_base
from flatwater.what_if.twin import Scales, Twin

#: What the storage of the log is recorded to take.
LOG_US = (90.0, 30.0, 40.0)
_EMULATED = {"kind": "volume", "device": "ebs-gp2-100gib", "real_time": True, "size": "4GiB"}


def run_of(folder: Path, log: dict[str, Any] | None = None, **placement: Any) -> Path:
    """A run with a storage `log`, of files unless told otherwise, and one that nothing was on."""
    database = {
        "storages": {"log": {"path": str(folder), **(log or {})}, "idle": {"path": str(folder / "idle")}},
        "placement": placement or {"redo_log": "log"},
    }
    others = {"log": LOG_US} if placement != {"redo_log": "storage"} else {}
    return recorded(folder / "run", database=database, others=others)


def others_of(twin: Twin, change: str | None = None, scales: Scales | None = None) -> tuple[Other, ...]:
    """The devices beside that of the data in the plan of a twin."""
    experiment = twin.experiment(twin.data(), "here")
    if change is not None:
        (changed,) = parse_changes(twin, [change])
        experiment = changed.experiment
    return twin._plan(experiment, scales or Scales(), seed=1).others


def test_the_twin_has_the_same_placement(tmp_path: Path) -> None:
    base = read_base(str(run_of(tmp_path)))
    assert (base.placed["log"].read_us, base.placed["log"].write_us, base.placed["log"].flush_us) == LOG_US
    assert (base.storage.read_us, base.storage.write_us) == pytest.approx((READ_US, WRITE_US), rel=0.3)
    with Twin(base) as twin:
        (log,) = others_of(twin)
        assert (log.name, log.holds) == ("log", ("log",))
        assert isinstance(log.device, Volume)
        recorded_ns = log.device.write_ns
        assert recorded_ns == round(LOG_US[1] * 1000)
        # A slower way to the storage is one to each of them.
        (slower,) = others_of(twin, scales=Scales(storage=2.0))
        assert isinstance(slower.device, Volume) and slower.device.write_ns == 2 * recorded_ns


def test_a_part_moves_to_the_data(tmp_path: Path) -> None:
    with Twin(read_base(str(run_of(tmp_path)))) as twin:
        (change,) = parse_changes(twin, ["database.placement.redo_log=storage"])
        assert others_of(twin, "database.placement.redo_log=storage") == ()
        assert change.not_comparable == ()
        assert any("taken to answer as it did in the run" in note for note in change.notes)


def test_another_part_follows(tmp_path: Path) -> None:
    with Twin(read_base(str(run_of(tmp_path)))) as twin:
        (log,) = others_of(twin, "database.placement.tables.stock=log")
        assert len(log.holds) == 2 and log.holds[0] == "log"


def test_an_emulated_storage_is_its_own_device(tmp_path: Path) -> None:
    base = read_base(str(run_of(tmp_path, _EMULATED)))
    assert base.placed == {}
    with Twin(base) as twin:
        data = twin.data()["database"]["storages"]
        assert data == {"log": {"kind": "volume", "device": "ebs-gp2-100gib"}}
        (own,) = others_of(twin)
        (later,) = others_of(twin, scales=Scales(storage=2.0))
        assert own != later and isinstance(own.device, Volume)


def test_a_storage_that_nothing_was_on(tmp_path: Path) -> None:
    with Twin(read_base(str(run_of(tmp_path)))) as twin:
        with pytest.raises(UserError) as refused:
            parse_changes(twin, ["database.placement.redo_log=idle"])
        assert "nothing of the run was on the storage idle" in str(refused.value)
        assert "database.storages.idle.device=NAME" in str(refused.value)
        change = "database.storages.idle.device=samsung-pm9a3-7680-tlc,database.placement.redo_log=idle"
        (made,) = parse_changes(twin, [change])
        assert any("% of its capacity" in note for note in made.notes)
        assert [other.name for other in others_of(twin, change)] == ["idle"]


def test_a_storage_that_there_is_not(tmp_path: Path) -> None:
    with Twin(read_base(str(run_of(tmp_path)))) as twin:
        with pytest.raises(UserError) as refused:
            parse_changes(twin, ["database.placement.redo_log=lgo"])
        assert "there is no storage" in str(refused.value) and "\n" not in str(refused.value)
        for part in ("temporary_files", "redo_logs"):
            with pytest.raises(UserError) as refused:
                parse_changes(twin, [f"database.placement.{part}=log"])
            assert f"placement.{part}" in str(refused.value)


def test_what_the_model_does_not_place_is_told(tmp_path: Path) -> None:
    base = read_base(str(run_of(tmp_path, redo_log="log", temporary_files="log")))
    assert any("the twin lacks database.placement.temporary_files" in note for note in base.notes)
    with Twin(base) as twin:
        assert [other.holds for other in others_of(twin)] == [("log",)]


def test_a_storage_without_figures_is_refused(tmp_path: Path) -> None:
    database = {"storages": {"log": {"path": "/dev/shm"}}, "placement": {"redo_log": "log"}}
    with pytest.raises(UserError) as refused:
        read_base(str(recorded(tmp_path / "run", database=database)))
    assert "the latencies of the storage log were not recorded" in str(refused.value)
    assert "database.storages.log.path" in str(refused.value)
