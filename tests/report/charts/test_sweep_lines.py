from __future__ import annotations

from pathlib import Path
from typing import Any

import synthetic

from flatwater.report.charts import sweep_lines
from flatwater.report.swept import Swept, arrange
from flatwater.results import Result


def swept_of(path: Path, values: list[Any], field: str = "workload.block_size") -> Swept:
    result: Result = synthetic.create(path, [({field: value}, 0) for value in values])
    found = arrange(result)
    assert found is not None
    return found


def test_powers_of_two_are_logarithmic_and_labelled(tmp_path: Path) -> None:
    axis = sweep_lines.axis(swept_of(tmp_path / "r", [4096, 16384, 65536]))
    assert axis["type"] == "log"
    assert axis["tickvals"] == [4096.0, 16384.0, 65536.0]
    assert axis["ticktext"] == ["4 KiB", "16 KiB", "64 KiB"]


def test_words_keep_their_order(tmp_path: Path) -> None:
    axis = sweep_lines.axis(swept_of(tmp_path / "r", ["zebra", "<ant>"]))
    assert axis["type"] == "category"
    assert axis["categoryarray"] == ["zebra", "&lt;ant&gt;"]


def test_many_values_are_left_to_plotly(tmp_path: Path) -> None:
    assert "tickvals" not in sweep_lines.axis(swept_of(tmp_path / "r", list(range(100))))


def test_sizes_of_settings_stand_where_they_belong(tmp_path: Path) -> None:
    values = ["1G", "24M", "256M"]
    axis = sweep_lines.axis(swept_of(tmp_path / "r", values, "database.settings.innodb_log_file_size"))
    assert axis["type"] == "log"
    assert axis["ticktext"] == ["24 MiB", "256 MiB", "1 GiB"]
    # Of a field that is no size by its name, the values stay as they were set.
    axis = sweep_lines.axis(swept_of(tmp_path / "s", values, "database.settings.innodb_redo_log_capacity"))
    assert (axis["tickvals"][0], axis["ticktext"]) == (24 * 2**20, ["24M", "256M", "1G"])


def test_words_of_settings_are_categories(tmp_path: Path) -> None:
    values = ["O_DIRECT", "fsync", 0]
    axis = sweep_lines.axis(swept_of(tmp_path / "r", values, "database.settings.innodb_flush_method"))
    assert (axis["type"], axis["categoryarray"]) == ("category", ["O_DIRECT", "fsync", "0"])


def test_labels_that_would_run_into_each_other_are_left_out(tmp_path: Path) -> None:
    values = [0.2, 0.348966, 0.4, 0.6, 0.8, 0.966368, 1.0]
    axis = sweep_lines.axis(swept_of(tmp_path / "r", values, "storage.fill"))
    assert axis["tickvals"] == values
    assert axis["ticktext"] == ["0.2", "0.348966", "", "0.6", "0.8", "", "1"]


def test_many_lines_share_one_entry_for_what_was_published() -> None:
    ours = [{"name": f"a device of number {place}"} for place in range(6)]
    theirs = [{"name": f"a device of number {place}, published", "showlegend": False} for place in range(6)]
    (entry,) = sweep_lines.legend_only([*ours, *theirs])
    assert (entry["name"], entry["x"]) == ("published: hollow", [None])
    assert sweep_lines.legend_only(ours) == []
    assert sweep_lines.legend_height([*ours, *theirs]) == sweep_lines.legend_height(ours) > 0
    assert sweep_lines.legend_height(ours[:2]) == 0
