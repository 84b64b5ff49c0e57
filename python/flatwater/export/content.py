"""What is exported of a result: a row for each cell, and the series in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from flatwater.catalogue.rows import cell_rows
from flatwater.catalogue.tables import SERIES, SUMMARY
from flatwater.results import CellSummary, Result, Series

#: The columns of the series, as `series.parquet` has them.
SERIES_SCHEMA = SERIES.own
#: The columns of the cells, as `flatwater query --schema` lists them.
SUMMARY_SCHEMA = SUMMARY.own


@dataclass(frozen=True)
class Recorded:
    """One series of one cell."""

    cell: int
    layer: str
    metric: str
    series: Series

    def as_table(self) -> pa.Table:
        """Its rows in the columns of `SERIES_SCHEMA`."""
        count = len(self.series)
        columns: list[Any] = [pa.repeat(pa.scalar(self.cell, pa.int64()), count)]
        columns += [pa.repeat(pa.scalar(word, pa.string()), count) for word in (self.layer, self.metric)]
        columns += [pa.array(self.series.time_s), pa.array(self.series.value)]
        return pa.Table.from_arrays(columns, schema=SERIES_SCHEMA)


def recorded(result: Result) -> Iterator[Recorded]:
    """Every series of every cell, one at a time. Errors: UserError for damaged data."""
    for cell in result.cells:
        for layer, metric in cell.metrics():
            yield Recorded(cell.index, layer, metric, cell.series(layer, metric))


def finished(result: Result) -> list[CellSummary]:
    """The summaries of the finished cells."""
    return [cell.summary for cell in result.cells if cell.summary is not None]


def summary_table(result: Result) -> pa.Table:
    """A row for each finished cell."""
    return SUMMARY.filled([row for one in finished(result) for row in cell_rows(one)[SUMMARY.name]])


def began_s(result: Result, summary: CellSummary | None) -> float:
    """When a cell began, in seconds since 1970: its own start, or that of the result where it tells none."""
    for text in (summary.started_at if summary is not None else "", result.manifest.created_at):
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            continue
        return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).timestamp()
    return 0.0
