from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "report"))
import synthetic

from flatwater.analysis import compare
from flatwater.analysis.alike import Difference
from flatwater.analysis.side_by_side import HEADINGS, as_document, difference_lines, table_rows
from flatwater.report.document import Drawing, Heading, Rows
from flatwater.report.figure import Figure
from flatwater.results import open_result


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("compared")
    return [synthetic.sweep(folder / name, threads=(8,), count=60) for name in ("before", "after")]


def test_what_forbids_a_ratio_comes_first_and_the_unknown_last() -> None:
    found = [
        Difference("machine.cpu", "machine", "a", "b"),
        Difference("storage.fill", "stack", None, None, "other"),
        Difference("workload.block_size", "workload", 4096, 16384),
    ]
    assert list(difference_lines("A", "B", found)) == [
        "A / B differ, besides what is swept:",
        "  workload.block_size: 4 KiB / 16 KiB (workload)",
        "  machine.cpu: a / b (machine)",
        "  unknown: storage.fill (of B)",
    ]
    assert list(difference_lines("A", "B", [])) == []


def test_a_row_for_each_result_of_each_cell(opened: list[Path]) -> None:
    comparison = compare([open_result(path) for path in opened])
    rows = list(table_rows(comparison))
    assert len(rows) == 2 * 5 and {len(row) for row in rows} == {len(HEADINGS)}
    assert [row[1] for row in rows[:2]] == ["before", "after"] and rows[0][6] == "1"


def test_the_figures_stand_at_the_end(opened: list[Path]) -> None:
    comparison = compare([open_result(path) for path in opened])
    figure = Figure("key", "title", "about", [], {})
    blocks = as_document(comparison, [figure]).blocks
    assert blocks[-1] == Drawing(figure)
    assert [block for block in blocks if isinstance(block, Heading)][-1].text == "Cell by cell"
    assert any(isinstance(block, Rows) for block in blocks)
    assert not [block for block in as_document(comparison).blocks if isinstance(block, Drawing)]
