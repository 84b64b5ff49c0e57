from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.experiment import Expectation, Experiment, make_cell, make_experiment
from flatwater.experiment.fields import all_fields
from flatwater.experiment.published import METRICS, PublishedFigure
from flatwater.experiment.report import Report

DOCUMENT = Path(__file__).parents[2] / "docs" / "experiment-file.md"


def test_the_document_names_every_field() -> None:
    text = DOCUMENT.read_text()
    names = [name.rpartition(".")[2] for name in all_fields()]
    for model in (Experiment, Report, PublishedFigure, Expectation):
        names += model.model_fields
    missing = sorted({name for name in names if f"`{name}`" not in text})
    assert missing == []
    assert [metric for metric in METRICS if metric not in text] == []


def test_a_copy_with_other_layers_keeps_nothing_stale() -> None:
    experiment = make_experiment({"workload": {"mode": "rndrd"}})
    make_cell(experiment, {})
    other = experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"files": 7})})
    assert make_cell(other, {}).workload.files == 7


def test_the_part_of_each_file_that_is_used() -> None:
    data = {"workload": {"mode": "rndrd", "files": 4}, "storage": {"size": "1MiB", "fill": 0.5}}
    assert make_experiment(data).size_per_file == 131072
    assert make_experiment({"workload": {"mode": "rndrd"}}).size_per_file is None


def test_each_kind_is_at_hand_as_what_it_is() -> None:
    files = make_experiment({"workload": {"mode": "rndrd"}})
    assert files.fileio is files.workload
    for wrong in ("server", "transactions", "schema_name"):
        with pytest.raises(TypeError):
            getattr(files, wrong)
    tpcc = make_experiment({"workload": {"kind": "tpcc"}, "database": {"kind": "server"}})
    assert (tpcc.transactions, tpcc.server) == (tpcc.workload, tpcc.database)
    with pytest.raises(TypeError):
        _ = tpcc.fileio


@pytest.mark.parametrize(
    ("database", "schema"),
    [
        ({}, "sbtest"),
        ({"schema_name": "mine"}, "mine"),
        ({"url": "mysql://me@db/theirs"}, "theirs"),
        ({"url": "mysql://me@db/"}, "sbtest"),
    ],
)
def test_the_schema_of_the_tables(database: dict[str, str], schema: str) -> None:
    workload = {"kind": "oltp", "mode": "insert"}
    data = {"workload": workload, "database": {"kind": "server", **database}}
    assert make_experiment(data).schema_name == schema
