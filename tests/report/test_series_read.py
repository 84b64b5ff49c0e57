"""Reading series by the statistics of row groups gives what reading everything gives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import synthetic

from flatwater.errors import FlatwaterError
from flatwater.results import open_result
from flatwater.results.merging import merge_parts
from flatwater.results.sealed import list_metrics, read_series
from flatwater.results.series import SERIES_SCHEMA


def table(shuffled: bool) -> pa.Table:
    rng = np.random.default_rng(1)
    rows = [
        (cell, layer, metric, float(at), float(rng.integers(1000)))
        for cell in (0, 1, 2)
        for layer in ("storage", "workload")
        for metric in ("a", "b" * 80, "c")
        for at in range(1, 60 if cell == 1 else 400)
        if (cell, metric) != (2, "a")
    ]
    if shuffled:
        rows = [rows[place] for place in rng.permutation(len(rows))]
    columns = [pa.array(column) for column in zip(*rows, strict=True)]
    return pa.table(columns, names=SERIES_SCHEMA.names).cast(SERIES_SCHEMA)


@pytest.mark.parametrize("kind", ["arrow", "merged", "no statistics", "shuffled", "two files"])
def test_every_series_comes_back(tmp_path: Path, kind: str) -> None:
    whole = table(kind == "shuffled")
    files = [tmp_path / "a.parquet"]
    pq.write_table(whole, files[0], row_group_size=100, write_statistics=kind != "no statistics")
    if kind == "merged":
        merge_parts(files, tmp_path / "m.parquet", "cell, layer, metric, time_s")
        files = [tmp_path / "m.parquet"]
    if kind == "two files":
        half = len(whole) // 2
        files.append(tmp_path / "b.parquet")
        pq.write_table(whole[:half], files[0], row_group_size=70)
        pq.write_table(whole[half:], files[1], row_group_size=70)
    rows = whole.to_pylist()
    for cell in (0, 1, 2, 7):
        expected = sorted({(row["layer"], row["metric"]) for row in rows if row["cell"] == cell})
        assert list_metrics(files, cell) == expected
        for layer, metric in [*expected, ("workload", "none")]:
            found = read_series(files, cell, layer, metric)
            wanted = [row for row in rows if (row["cell"], row["layer"], row["metric"]) == (cell, layer, metric)]
            assert found.time_s.tolist() == [row["time_s"] for row in wanted]
            assert found.value.tolist() == [row["value"] for row in wanted]


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = tmp_path / "series.parquet"
    whole = table(False)
    pq.write_table(whole, path)
    assert len(read_series([path], 0, "workload", "a")) == 399
    path.unlink()
    pq.write_table(whole[:100], path)
    assert len(read_series([path], 0, "workload", "a")) == 0


@pytest.mark.parametrize("columns", [["cell", "layer"], ["cell", "layer", "metric", "time_s", "text"]])
def test_other_columns_are_one_line(tmp_path: Path, columns: list[str]) -> None:
    path = synthetic.single(tmp_path / "result", 20, histograms=False)
    pq.write_table(pa.table({name: ["x"] for name in columns}), path / "series.parquet")
    with pytest.raises(FlatwaterError, match=r"cannot read the series: .*not the columns of a series"):
        open_result(path).cells[0].series("workload", "throughput")
