"""What a folder may cost in memory: a few bytes tell of billions of rows, or become gigabytes when they are read."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lab import Lab

from flatwater.errors import UserError
from flatwater.results import open_result, sealed
from flatwater.results.journal_phases import ENTRIES_MAX, events_of_journal, phases_of_journal
from flatwater.results.sealed import (
    GROUP_ROWS_MAX,
    GROUP_SERIES_MAX,
    UNREADABLE,
    check_series,
    list_metrics,
    read_series,
)
from flatwater.results.series import LINE_BYTES_MAX, SERIES_SCHEMA, read_journal
from flatwater.results.stored import BYTES_OF_A_VALUE_MIN, FILE_BYTES_MAX, SHORT_VALUES_MAX, VALUES_MAX, read_json

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import synthetic


def constant(rows: int, **columns: Any) -> pa.Table:
    """Rows that are all alike: next to nothing in a file."""
    own = {
        "cell": pa.array(np.zeros(rows, dtype=np.int32)),
        "layer": pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pa.array(["workload"])),
        "metric": pa.DictionaryArray.from_arrays(np.zeros(rows, dtype=np.int32), pa.array(["throughput"])),
        "time_s": pa.array(np.zeros(rows)),
        "value": pa.array(np.zeros(rows)),
    }
    return pa.table(own | columns)


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a few KB with one group of more rows than a run writes."""
    path = tmp_path_factory.mktemp("bomb") / "series.parquet"
    pq.write_table(constant(GROUP_ROWS_MAX + 1), path, compression="zstd", row_group_size=GROUP_ROWS_MAX + 1)
    assert path.stat().st_size < 64_000
    return path


def test_a_group_of_more_rows_than_a_run_writes(bomb: Path) -> None:
    for read in (lambda: list_metrics([bomb], 0), lambda: read_series([bomb], 0, "workload", "throughput")):
        with pytest.raises(ValueError, match="rows in one group, which no run writes"):
            read()
    with pytest.raises(ValueError, match="no run writes"):
        check_series(bomb)


def test_as_many_rows_as_may_be(tmp_path: Path) -> None:
    path = tmp_path / "series.parquet"
    pq.write_table(constant(GROUP_ROWS_MAX), path, row_group_size=GROUP_ROWS_MAX)
    assert len(read_series([path], 0, "workload", "throughput")) == GROUP_ROWS_MAX


def test_many_groups_are_no_way_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "SERIES_ROWS_MAX", 1000)
    path = tmp_path / "series.parquet"
    pq.write_table(constant(1000), path, row_group_size=100)
    assert len(read_series([path], 0, "workload", "throughput")) == 1000
    pq.write_table(constant(1001), path, row_group_size=100)
    with pytest.raises(ValueError, match="more than 1,000 samples"):
        read_series([path], 0, "workload", "throughput")


def test_as_many_series_as_rows_are_no_series(tmp_path: Path) -> None:
    cells = np.arange(GROUP_SERIES_MAX + 1, dtype=np.int32)
    path = tmp_path / "series.parquet"
    pq.write_table(constant(len(cells), cell=pa.array(cells)), path, row_group_size=GROUP_ROWS_MAX)
    with pytest.raises(ValueError, match="series, which no run writes"):
        read_series([path], 0, "workload", "throughput")


#: A column that is not what a run writes -> it.
COLUMNS: dict[str, Any] = {
    "a text for the cell": {"cell": pa.array(["0"] * 8)},
    "a wider number for the cell": {"cell": pa.array([0] * 8, pa.int64())},
    "numbers for the layer": {"layer": pa.array([1] * 8)},
    "bytes for the metric": {"metric": pa.array([b"throughput"] * 8)},
    "lists for the metric": {"metric": pa.array([["a"]] * 8)},
    "times for the time": {"time_s": pa.array([0] * 8, pa.timestamp("s"))},
    "a text for the value": {"value": pa.array(["1"] * 8)},
    "a hole in the cell": {"cell": pa.array([None] + [0] * 7, pa.int32())},
    "a hole in the layer": {"layer": pa.array([None] + ["workload"] * 7).dictionary_encode()},
    "a hole in the metric": {"metric": pa.array([None] + ["throughput"] * 7).dictionary_encode()},
    "a hole in the time": {"time_s": pa.array([None] + [1.0] * 7)},
    "a hole in the value": {"value": pa.array([None] + [1.0] * 7)},
    "another column": {"more": pa.array([0] * 8)},
}


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("what", sorted(COLUMNS))
def test_a_column_that_no_run_writes(tmp_path: Path, what: str, *, statistics: bool) -> None:
    path = tmp_path / "series.parquet"
    pq.write_table(constant(8, **COLUMNS[what]), path, write_statistics=statistics)
    with pytest.raises(UNREADABLE):
        list_metrics([path], 0)
        read_series([path], 0, "workload", "throughput")


@pytest.mark.parametrize("text", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())])
def test_texts_may_be_stored_in_several_ways(tmp_path: Path, text: pa.DataType) -> None:
    path = tmp_path / "series.parquet"
    schema = pa.schema(
        [pa.field(one.name, text if one.name in ("layer", "metric") else one.type) for one in SERIES_SCHEMA]
    )
    pq.write_table(constant(8).cast(schema), path)
    assert len(read_series([path], 0, "workload", "throughput")) == 8


def test_verbs_tell_it_in_one_line(bomb: Path, tmp_path: Path, lab: Lab) -> None:
    result = synthetic.single(tmp_path / "runs" / "bad", 20, histograms=False)
    synthetic.single(tmp_path / "runs" / "good", 20, histograms=False)
    (result / "series.parquet").write_bytes(bomb.read_bytes())
    for arguments in (("report", result, "--force"), ("export", result, "--to", tmp_path / "x.csv")):
        ran = lab.flatwater(*arguments)
        assert ran.code == 2 and "no run writes" in ran.error, ran
    asked = lab.flatwater("query", "select run, count(*) from series group by run", "--in", tmp_path / "runs")
    assert asked.code == 0 and "runs/good" in asked.stdout and "runs/bad" not in asked.stdout
    assert "no run writes" in asked.stderr
    # Of a run that the question excludes, nothing is opened.
    only = f"select count(*) from series where run = '{tmp_path / 'runs/good'}'"
    asked = lab.flatwater("query", only, "--in", tmp_path / "runs")
    assert asked.code == 0 and not asked.stderr


def _in_memory(code: str, mib: int, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs Python with so much more memory than it has when flatwater is imported."""
    begun = f"""
import resource, sys
from pathlib import Path
from flatwater.results import open_result
from flatwater.results.series import read_journal
from flatwater.results.stored import read_json
from flatwater.errors import UserError
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + ({mib} << 20),) * 2)
path = Path(sys.argv[1])
try:
    {code}
except UserError as error:
    print(error)
"""
    command = [sys.executable, "-c", begun, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_journal_of_one_endless_line(tmp_path: Path) -> None:
    """As a file of holes: a terabyte that takes no room on the disk."""
    journal = tmp_path / "journal.jsonl"
    with journal.open("wb") as handle:
        handle.truncate(1 << 40)
    ran = _in_memory("list(read_journal(path))", 256, journal)
    assert ran.returncode == 0 and "line 1 is longer than 8 MiB" in ran.stdout, ran.stderr


def test_a_line_as_long_as_may_be(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    line = '{"event": {"time_s": 0.0, "kind": "incident", "text": ""}}'
    journal.write_text(line.replace('""', f'"{"x" * (LINE_BYTES_MAX - len(line) - 1)}"') + "\n")
    assert len(list(read_journal(journal))) == 1
    journal.write_text(line.replace('""', f'"{"x" * (LINE_BYTES_MAX - len(line))}"') + "\n")
    with pytest.raises(UserError, match="line 1 is longer than 8 MiB"):
        list(read_journal(journal))


def test_more_events_and_phases_than_a_run_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatwater.results.journal_phases.ENTRIES_MAX", 100)
    journal = tmp_path / "journal.jsonl"
    event = '{"event": {"time_s": 0.0, "kind": "incident", "text": "x"}}\n'
    phases = "".join(f'{{"time_s": {at}.0, "start_s": 0.0, "phase": "p{at}", "metrics": {{}}}}\n' for at in range(101))
    for text, read in ((event * 101, events_of_journal), (phases, phases_of_journal)):
        journal.write_text("".join(text.splitlines(keepends=True)[:100]))
        assert len(read(journal)) == 100
        journal.write_text(text)
        with pytest.raises(UserError, match="which no run has"):
            read(journal)
    assert ENTRIES_MAX > 200_000


@pytest.mark.parametrize("value", ["[]", "0", '{"a":0}', '""'])
def test_json_of_many_short_values(tmp_path: Path, value: str) -> None:
    file = tmp_path / "machine.json"
    count = FILE_BYTES_MAX // (len(value) + 1) - 1
    file.write_text("[" + f"{value}," * (count - 1) + f"{value}]")
    ran = _in_memory("read_json(path)", 256, file)
    assert ran.returncode == 0 and "which no run writes" in ran.stdout, ran.stderr
    file.write_text(json.dumps([0] * (SHORT_VALUES_MAX - 1)))
    assert len(read_json(file)) == SHORT_VALUES_MAX - 1


def test_json_of_more_values_than_any_run_has(tmp_path: Path) -> None:
    file = tmp_path / "machine.json"
    file.write_text("[" + "1234567," * VALUES_MAX + "1]")
    with pytest.raises(UserError, match="which no run writes"):
        read_json(file, 1 << 28)


@pytest.mark.parametrize("name", ["flatwater.json", "machine.json", "experiment.toml", "summary.json"])
def test_a_file_of_holes(tmp_path: Path, name: str) -> None:
    result = synthetic.single(tmp_path / "result", 20, histograms=False)
    with (result / name).open("wb") as handle:
        handle.truncate(1 << 40)
    ran = _in_memory("open_result(path)", 256, result)
    assert ran.returncode == 0 and "larger than" in ran.stdout, ran.stderr


def test_the_largest_summary_of_a_run_is_read(tmp_path: Path) -> None:
    """Its values are not short: what is refused is far from it."""
    result = synthetic.sweep(tmp_path / "result", count=20)
    text = (result / "summary.json").read_bytes()
    values = sum(text.count(sign) for sign in (b",", b"[", b"{"))
    assert len(text) / values > 1.5 * BYTES_OF_A_VALUE_MIN
    assert len(open_result(result).cells) == 10


def test_limits_of_memory_are_kept_by_this_machine() -> None:
    """Else the tests above could not fail."""
    ran = _in_memory("bytes(1 << 30)", 256, "x")
    assert ran.returncode != 0 and "MemoryError" in ran.stderr
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != 256 << 20
