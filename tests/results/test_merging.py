"""Merging the parts of a run: whole or not at all, and nothing of somebody else's is touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import Lab
from modelledlab import write_modelled

from flatwater.errors import FlatwaterError
from flatwater.results import open_result
from flatwater.results.merging import merge_parts
from flatwater.results.sealed import read_series
from flatwater.results.series import seal_journal

ORDER = "cell, layer, metric, time_s"
LEFT = ".flatwater-0123456789abcdef"
LINE = '{{"time_s": {at}.0, "start_s": 0.0, "phase": "measure", "metrics": {{"a.b": {value}.0}}}}\n'


def parts_of(result: Path, cells: int = 2) -> list[Path]:
    """The parts of a run: in each cell, a second in which `a.b` is the number of the cell."""
    found = []
    for cell in range(cells):
        folder = result / "cells" / f"{cell:04}"
        folder.mkdir(parents=True)
        (folder / "journal.jsonl").write_text(LINE.format(at=1, value=cell))
        seal_journal(cell, folder / "journal.jsonl", folder)
        found += sorted(folder.glob("series-*.parquet"))
    return found


def test_nothing_half_written_is_left(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no more than that")
    with pytest.raises(FlatwaterError):
        merge_parts([tmp_path / "bad.parquet"], tmp_path / "series.parquet", "cell")
    assert [path.name for path in tmp_path.iterdir()] == ["bad.parquet"]


@pytest.mark.parametrize("name", ["a*", "a?", "[ab]", "a[", "{a,b}", "a'b", "über \\ \n", "a%20", "**"])
def test_a_folder_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "ab").mkdir()
    # What a pattern would find in place of the parts: other cells.
    for other in ("a", "ab"):
        parts_of(tmp_path / other, 3)
    parts = parts_of(tmp_path / name)
    target = tmp_path / name / "series.parquet"
    merge_parts(parts, target, ORDER)
    assert [read_series([target], cell, "a", "b").value.tolist() for cell in range(3)] == [[0.0], [1.0], []]
    assert sorted(path.name for path in target.parent.iterdir()) == ["cells", "series.parquet"]


def test_a_run_into_a_folder_with_a_pattern_for_a_name(lab: Lab) -> None:
    out = lab.folder / "x[1]*"
    assert lab.run(write_modelled(lab, [500.0, 900.0], duration_s=20), out=out).code == 0
    assert [len(cell.measured("workload", "throughput")) for cell in open_result(out).cells] == [20, 20]


def test_what_a_user_has_in_the_result_stays(tmp_path: Path) -> None:
    parts = parts_of(tmp_path)
    theirs = {"sealing/notes.txt", "series.partial", "merged.parquet", ".flatwater-mine/x", f"{LEFT}/notes.txt"}
    theirs |= {".flatwater-fedcba9876543210/spilled/notes.txt", ".flatwater-fedcba9876543210/merged.parquet"}
    for name in theirs:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mine")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "merged.parquet").write_text("mine")
    (tmp_path / ".flatwater-00000000000000ff").symlink_to("elsewhere")
    merge_parts(parts, tmp_path / "series.parquet", ORDER)
    assert all((tmp_path / name).read_text() == "mine" for name in [*theirs, "elsewhere/merged.parquet"])
    assert len(read_series([tmp_path / "series.parquet"], 1, "a", "b")) == 1


def test_what_a_kill_left_of_a_merge_is_cleared(tmp_path: Path) -> None:
    parts = parts_of(tmp_path)
    (tmp_path / LEFT / "spilled").mkdir(parents=True)
    (tmp_path / LEFT / "merged.parquet").write_bytes(b"half")
    (tmp_path / LEFT / "spilled" / "duckdb_temp_storage_DEFAULT-0.tmp").write_bytes(b"half")
    merge_parts(parts, tmp_path / "series.parquet", ORDER)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cells", "series.parquet"]


def test_a_link_at_the_target_is_replaced_and_not_followed(tmp_path: Path) -> None:
    parts = parts_of(tmp_path / "result")
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "result" / "series.parquet").symlink_to(tmp_path / "mine")
    merge_parts(parts, tmp_path / "result" / "series.parquet", ORDER)
    assert (tmp_path / "mine").read_text() == "mine"
    assert len(read_series([tmp_path / "result" / "series.parquet"], 0, "a", "b")) == 1
