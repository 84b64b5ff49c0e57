"""Series on disk: what goes into a journal comes out of Parquet."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flatwater.errors import FlatwaterError
from flatwater.results.merging import merge_parts
from flatwater.results.sealed import list_metrics, read_series
from flatwater.results.series import (
    EMPTY,
    Series,
    read_journal,
    seal_journal,
)

NAMES = ["workload.throughput", "workload.latency_p95_us", "storage.queue_depth", "a.b.c"]
Row = dict[str, float | None]
rows = st.lists(
    st.dictionaries(st.sampled_from(NAMES), st.none() | st.floats(allow_nan=False, allow_infinity=False)), max_size=30
)


def write(path: Path, lines: list[Row]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as journal:
        for at, metrics in enumerate(lines, 1):
            journal.write(
                json.dumps({"time_s": float(at), "start_s": at - 1.0, "phase": "measure", "metrics": metrics})
            )
            journal.write("\n")
    return path


@given(cells=st.lists(rows, min_size=1, max_size=3))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_goes_in_comes_out(tmp_path: Path, cells: list[list[Row]]) -> None:
    for old in sorted(tmp_path.rglob("*.parquet")):
        old.unlink()
    parts = []
    for cell, lines in enumerate(cells):
        folder = tmp_path / str(cell)
        seal_journal(cell, write(folder / "journal.jsonl", lines), folder)
        parts += sorted(folder.glob("series-*.parquet"))
    merged = tmp_path / "series.parquet"
    merge_parts(parts, merged, "cell, layer, metric, time_s")
    for cell, lines in enumerate(cells):
        for files in ([merged], [part for part in parts if part.parent.name == str(cell)]):
            known = {name for metrics in lines for name, value in metrics.items() if value is not None}
            assert {".".join(key) for key in list_metrics(files, cell)} == known
            for name in NAMES:
                series = read_series(files, cell, *name.split(".", 1))
                wanted = [(at, metrics[name]) for at, metrics in enumerate(lines, 1) if metrics.get(name) is not None]
                assert list(zip(series.time_s.tolist(), series.value.tolist(), strict=True)) == wanted


def test_between_takes_the_intervals_that_end_inside() -> None:
    series = Series(np.arange(1.0, 11.0), np.arange(10.0))
    assert series.between(2, 5).time_s.tolist() == [3, 4, 5]
    assert series.between(2.0004, 4.9996).time_s.tolist() == [3, 4, 5], "to the millisecond"
    assert len(series.between(20, 30)) == len(EMPTY.between(0, 1)) == 0


def test_a_journal_ends_at_a_torn_line(tmp_path: Path) -> None:
    path = write(tmp_path / "journal.jsonl", [{"a.b": 1.0}, {"a.b": 2.0}])
    path.write_bytes(path.read_bytes()[:-5])
    assert [line["metrics"]["a.b"] for line in read_journal(path)] == [1.0]


def test_a_journal_that_is_not_there_has_no_lines(tmp_path: Path) -> None:
    assert list(read_journal(tmp_path / "journal.jsonl")) == []


def test_a_line_damaged_in_the_middle_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "journal.jsonl", [{"a.b": 1.0}] * 3)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"{\n" + lines[2])
    with pytest.raises(FlatwaterError, match="line 2"):
        list(read_journal(path))


def test_an_empty_journal_is_an_empty_part(tmp_path: Path) -> None:
    seal_journal(0, write(tmp_path / "journal.jsonl", []), tmp_path)
    parts = sorted(tmp_path.glob("series-*.parquet"))
    assert list_metrics(parts, 0) == []
    assert len(read_series(parts, 0, "workload", "throughput")) == 0
