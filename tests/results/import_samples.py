"""Sample outputs of other tools, and the importing of them."""

from __future__ import annotations

from pathlib import Path

from flatwater.analysis import analyse
from flatwater.results import Cell, CellSummary, Result, open_result
from flatwater.results.importers import keep, read_files

SAMPLES = Path(__file__).parent / "imports"


def imported(out: Path, *names: str, form: str = "auto") -> Result:
    """Imports sample files and opens the result again, as a report would."""
    cells = read_files([SAMPLES / name for name in names], form)
    keep(cells, out, "sample", "a sample", analyse)
    return open_result(out)


def summary(cell: Cell) -> CellSummary:
    assert cell.summary is not None
    return cell.summary
