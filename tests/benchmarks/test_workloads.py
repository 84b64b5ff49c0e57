"""The page of what transactions cost on each server: it is what the files of `workloads/` say."""

from __future__ import annotations

import pytest
from benchmarks.workloads import PAGE, measured_servers, page

from flatwater.experiment.database.generation import SERIES
from flatwater.experiment.database.measured import load_workload, workload_files


def test_the_page_is_as_the_files_are() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m benchmarks.workloads writes it again"


@pytest.mark.parametrize("name", sorted(workload_files()))
def test_every_file_is_a_row(name: str) -> None:
    measured = load_workload(name)
    assert measured in measured_servers(measured.workload)
    rows = [
        line
        for line in page().splitlines()
        if line.startswith("| ") and measured.server.split()[1].split("-")[0] in line
    ]
    assert any(f"{measured.statements.value:.1f}" in row for row in rows)
    redo = next(iter(measured.redo_bytes.values())).value
    assert any(f" {redo:,.0f} " in row for row in rows)


def test_every_series_has_its_file_and_what_is_only_near_is_told() -> None:
    lines = page().splitlines()
    for series in SERIES:
        (row,) = [line for line in lines if line.startswith(f"| {series.name} | {series.generation} |")]
        for kind in ("tpcc", "oltp"):
            near = "" if series.is_measured(kind) else ", the nearest"
            assert f" {series.measured(kind)}{near} " in row
