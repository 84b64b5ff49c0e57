from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cases import case, database, finding

from flatwater.advise.advice import Change
from flatwater.advise.adviser import consult, ranked
from flatwater.advise.dialect import Dialect
from flatwater.advise.rules.redo_size import RedoSize
from flatwater.advise.telling import as_data, as_document
from flatwater.advise.verify import verify
from flatwater.errors import UserError
from flatwater.experiment import load
from flatwater.report.document import as_text
from flatwater.results import Result, open_result
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment

SMALL_LOG = """
title = "A log that is too small"
[workload]
kind = "tpcc"
warehouses = 20
connections = 16
warmup_s = 20
duration_s = 60
[database]
kind = "innodb-model"
machine = "cisco-ucs-c250"
generation = "mysql-5.7"
[database.settings]
innodb_buffer_pool_size = "1536M"
innodb_log_file_size = "64M"
innodb_io_capacity = 1000
innodb_flush_log_at_trx_commit = 2
[storage]
kind = "ssd"
device = "fusion-io-iodrive-320-mlc"
capacity_scale = 0.05
[sweep]
"workload.connections" = [8, 16]
"""


@pytest.fixture(scope="module")
def small_log(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """Two modelled cells with a log that is too small."""
    folder = tmp_path_factory.mktemp("advice")
    (folder / "small-log.toml").write_text(SMALL_LOG)
    run_experiment(load(folder / "small-log.toml"), folder / "result", SilentReporter(), lambda *_: None)
    return open_result(folder / "result")


def test_ranked_by_what_is_relieved_then_by_confidence() -> None:
    told = RedoSize().advise(
        case(finding("log limit", 0.5), database=database(settings={"innodb_log_file_size": "100663296"}))
    )
    assert told is not None
    unsure, larger = replace(told, confidence="low"), replace(told, share=0.9)
    assert ranked([unsure, told, larger]) == [larger, told, unsure]


def test_a_sweep_needs_a_cell(small_log: Result) -> None:
    with pytest.raises(UserError, match="advice is for one"):
        consult(small_log)
    with pytest.raises(UserError, match="no finished cell 9"):
        consult(small_log, 9)


def test_a_dialect_of_a_generation_is_its_last_release() -> None:
    dialect = Dialect.of(replace(database("mysql 8.0"), version="", release=(8, 0)))
    assert dialect.has("innodb_redo_log_capacity")
    assert dialect.lines({"innodb_log_file_size": 1 << 30}) == ("innodb_redo_log_capacity = 2G",)
    assert dialect.lines({"no_such_setting": 1}) == ()


def test_the_change_is_made_in_a_new_run_and_measured(small_log: Result, tmp_path: Path) -> None:
    before = sorted((path, path.stat().st_mtime_ns) for path in small_log.path.rglob("*"))
    told = consult(small_log, 1)
    assert told.diagnosis.name == "log limit"
    first = told.advice[0]
    assert first.rule == "redo-size"
    verified = verify(told.cell, first, SilentReporter(), tmp_path / "after")
    assert verified.ratio is not None
    assert verified.ratio > 1, "a larger log gives more"
    assert verified.after.set == {}
    after = consult(open_result(tmp_path / "after"))
    assert sum(one.share for one in after.advice if one.rule == "redo-size") < first.share
    assert sorted((path, path.stat().st_mtime_ns) for path in small_log.path.rglob("*")) == before
    data = json.loads(json.dumps(as_data(told, verified)))
    assert data["verified"]["keeps_promise"] is None
    assert data["advice"][0]["change"]["lines"] == ["innodb_log_file_size = 256M"]
    assert "before" in "\n".join(as_text(as_document(told, verified)))


def test_a_change_outside_the_experiment_is_not_made(small_log: Result, tmp_path: Path) -> None:
    told = consult(small_log, 0)
    outside = replace(told.advice[0], change=Change("host", "Plan the patrol read."))
    with pytest.raises(UserError, match="outside the experiment"):
        verify(told.cell, outside, SilentReporter(), tmp_path / "after")
    assert not (tmp_path / "after").exists()
