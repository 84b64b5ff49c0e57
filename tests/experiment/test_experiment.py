from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.experiment import Expectation, Experiment, make_cell, make_experiment
from flatwater.experiment.cache.settings import Settings
from flatwater.experiment.fields import all_fields
from flatwater.experiment.published import METRICS, PublishedFigure
from flatwater.experiment.report import Report

DOCS = Path(__file__).parents[2] / "docs"
DOCUMENT = DOCS / "experiment-file.md"
#: Where the settings of the cache are.
OF_CACHE = DOCS / "cache.md"


def test_the_document_names_every_field() -> None:
    text = DOCUMENT.read_text()
    of_cache = {f"cache.{name}" for name in Settings.model_fields}
    names = [name.rpartition(".")[2] for name in all_fields() if name not in of_cache]
    for model in (Experiment, Report, PublishedFigure, Expectation):
        names += model.model_fields
    missing = sorted({name for name in names if f"`{name}`" not in text})
    assert missing == [], f"{DOCUMENT} has no line for them"
    assert [metric for metric in METRICS if metric not in text] == []


def test_every_setting_of_the_cache_is_in_the_table_of_its_page() -> None:
    text = OF_CACHE.read_text()
    table = text[text.index("\n## Settings") : text.index("\n## What is promised")]
    rows = " ".join(line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `"))
    missing = [name for name in Settings.model_fields if f"`{name}`" not in rows]
    assert missing == [], f"{OF_CACHE} has no row for them under Settings"


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
