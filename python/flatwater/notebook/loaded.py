"""A result, opened for analysis in Python: its tables and charts."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from flatwater.catalogue import Column, Table
from flatwater.catalogue.rows import cell_rows
from flatwater.catalogue.tables import EVENTS, METRICS, SUMMARY
from flatwater.errors import UserError
from flatwater.notebook.arguments import checked
from flatwater.notebook.chart import Chart
from flatwater.notebook.frames import Library, converted
from flatwater.printing import counted
from flatwater.results import Cell, Result, open_result
from flatwater.results.tags import read_tags
from flatwater.spelling import suggest
from flatwater.stores import readable, shown

_WORD = pa.dictionary(pa.int32(), pa.string())
_HISTOGRAMS = Table(
    "histograms",
    "a bucket that is not empty",
    (
        Column("cell", pa.int64(), "the cell"),
        Column("kind", _WORD, "all, read, write, ..."),
        Column("latency_us", pa.float64(), "the highest latency of the bucket"),
        Column("count", pa.int64(), "requests"),
    ),
)


class LoadedRun:
    """A result folder. Figures are those of the report and of `flatwater run --json`; tables are Arrow's by default.

    `to` of each table is "arrow" (`pyarrow.Table`), "polars" or "pandas"; UserError where that is not installed.
    """

    def __init__(self, result: Result) -> None:
        self._result = result

    @property
    def path(self) -> Path:
        """The result folder."""
        return self._result.path

    @property
    def name(self) -> str:
        """The experiment's name."""
        return self._result.name

    @property
    def status(self) -> str:
        """`running` (also of a run that was killed), `complete`, `interrupted` or `failed`."""
        return self._result.manifest.status

    @property
    def experiment(self) -> dict[str, object]:
        """The experiment as it was run, as its TOML file says it."""
        return self._result.experiment

    @property
    def machine(self) -> dict[str, object]:
        """The machine that ran it: `machine.json`."""
        return dict(self._result.machine)

    @property
    def tags(self) -> dict[str, str]:
        """The tags of `flatwater tag`, as they are now. Errors: UserError if they are damaged."""
        return read_tags(self.path).tags

    def __repr__(self) -> str:
        cells = len(self._result.cells)
        return f"<LoadedRun {shown(self.path)!r}: {self.name}, {counted(cells, 'cell')}, {self.status}>"

    def as_json(self) -> list[dict[str, object]]:
        """The finished cells as `flatwater run --json` prints them."""
        return [
            cell.summary.model_dump(mode="json", exclude={"histograms"})
            for cell in self._result.cells
            if cell.summary is not None
        ]

    @checked
    def summary(self, *, to: Library = "arrow") -> Any:
        """A row for each finished cell: verdict, mean, latencies, and more.

        Columns and units are those of the table `summary` of `flatwater query --schema`.
        """
        return self._table(SUMMARY, to)

    @checked
    def metrics(self, *, to: Library = "arrow") -> Any:
        """Mean and maximum of each recorded series over the measured phase: cell, layer, metric, mean, max."""
        return self._table(METRICS, to)

    @checked
    def events(self, *, to: Library = "arrow") -> Any:
        """What happened when: cell, time_s, kind, length_s, text. Dips and stalls are among them."""
        return self._table(EVENTS, to)

    @checked
    def names(self, cell: int | None = None) -> list[str]:
        """The recorded series as `layer.metric`, sorted: of one cell, or of all. Errors: UserError."""
        found = {f"{layer}.{metric}" for one in self._cells(cell) for layer, metric in one.metrics()}
        return sorted(found)

    @checked
    def series(self, *names: str, cell: int | None = None, measured: bool = False, to: Library = "arrow") -> Any:
        """Recorded series: cell, layer, metric, time_s (the end of the interval, in seconds of the cell), value.

        `names`: `layer.metric`, such as "workload.throughput"; none for all. `cell`: one cell, by its number; None for
        all. `measured`: only the measured phase, from which every figure of the summary is computed.

        Errors: UserError for a series that no chosen cell recorded, for a cell that there is not, and for damaged data.
        """
        cells = self._cells(cell)
        recorded = {
            (one.index, f"{layer}.{metric}"): (layer, metric) for one in cells for layer, metric in one.metrics()
        }
        every = sorted({name for _, name in recorded})
        for name in names:
            if name not in every:
                raise UserError(f"no series {name!r} was recorded", where=str(self.path), hint=suggest(name, every))
        parts = []
        for one in cells:
            for name in names or every:
                if (key := recorded.get((one.index, name))) is not None:
                    found = one.measured(*key) if measured else one.series(*key)
                    parts.append((one.index, key, found.time_s, found.value))
        return converted(_series_table(parts), to)

    @checked
    def histograms(self, *, cell: int | None = None, to: Library = "arrow") -> Any:
        """Latencies of the measured phase: cell, kind (`all`, `read`, ...), latency_us, count.

        Of a cell that is under way or was killed, they are those so far.

        A row is a bucket of the HdrHistogram that is not empty; latency_us is the highest latency that it holds.

        Errors: UserError for a cell that there is not, and for damaged data.
        """
        from flatwater._engine import Histogram

        rows: list[tuple[int, str, float, int]] = []
        for one in self._cells(cell):
            for kind, encoded in one.histograms.items():
                try:
                    buckets = Histogram.from_v2(base64.b64decode(encoded, validate=True)).buckets()
                except (ValueError, binascii.Error) as error:
                    what = f"the histogram {kind!r} of cell {one.index} is damaged: {error}"
                    raise UserError(what, where=str(self.path)) from None
                rows += [(one.index, kind, high_ns / 1000, count) for high_ns, count in buckets]
        return converted(_HISTOGRAMS.filled(rows), to)

    @checked
    def charts(self, cell: int | None = None) -> list[str]:
        """The names of the charts that the report has of this run, in its order. See `plot` for `cell`."""
        return [chart.name for chart in self._drawn(cell)]

    @checked
    def plot(self, name: str | None = None, *, cell: int | None = None) -> Chart:
        """A chart of the report: "throughput", "latency", "database" (the laboratory's picture), ... (`charts`).

        `name`: None for the first. `cell`: of a sweep, the cell that the chart is of; without it, the charts are those
        over all cells.

        Errors: UserError for a chart that this run does not have.
        """
        drawn = self._drawn(cell)
        for chart in drawn:
            if name in (None, chart.name):
                return chart
        if not self._result.cells:
            raise UserError("it has no cells, and so no charts", where=str(self.path), hint="import or run it anew")
        names = tuple(chart.name for chart in drawn)
        hint = suggest(str(name), names) if names else "give one of its cells: plot(..., cell=0)"
        raise UserError(f"there is no chart {name!r} of this run", where=str(self.path), hint=hint)

    def _drawn(self, cell: int | None) -> list[Chart]:
        from flatwater.report.drawing import alone, draw, sweep_figures

        if cell is None and len(self._result.cells) > 1:
            return [Chart(self.name, figure) for figure in sweep_figures(self._result)]
        cells = self._cells(cell)
        if not cells:
            return []
        (one,) = cells
        of = f"{self.name}: {one.label}" if len(self._result.cells) > 1 else self.name
        return [Chart(of, alone(drawn, figure)) for drawn in draw(self._result, [one]) for figure in drawn.figures]

    def _table(self, table: Table, to: Library) -> Any:
        cells = (cell.summary for cell in self._result.cells if cell.summary is not None)
        return converted(table.filled([row for one in cells for row in cell_rows(one)[table.name]]), to)

    def _cells(self, number: int | None) -> list[Cell]:
        if number is None:
            return self._result.cells
        for cell in self._result.cells:
            if cell.index == number:
                return [cell]
        count = len(self._result.cells)
        hint = "it has none" if count == 0 else "there is one, 0" if count == 1 else f"0 to {count - 1}"
        raise UserError(f"no cell {number}", where=str(self.path), hint=hint)


@checked
def load(path: Path | str) -> LoadedRun:
    """Opens the result folder that `flatwater run`, `import` or `observe` made. Nothing in it is changed.

    Of `s3://BUCKET/PREFIX`, all of it is fetched into a temporary folder that is gone when Python ends.

    Errors: UserError when it is no result, is damaged, or was written by a newer flatwater; FlatwaterError when a store
    does not answer.
    """
    return LoadedRun(open_result(readable(path)))


_Values = np.ndarray[Any, np.dtype[np.float64]]


def _series_table(parts: Sequence[tuple[int, tuple[str, str], _Values, _Values]]) -> pa.Table:
    lengths = [len(times) for _, _, times, _ in parts]
    codes = pa.array(np.repeat(np.arange(len(parts), dtype=np.int32), lengths))
    words = [pa.array([key[place] for _, key, _, _ in parts], pa.string()) for place in (0, 1)]
    times, values = ([part[place] for part in parts] for place in (2, 3))
    # A word that several parts have is in the dictionary once: other libraries demand it.
    layers, metrics = (pa.DictionaryArray.from_arrays(codes, one).cast(pa.string()).cast(_WORD) for one in words)
    return pa.table(
        {
            "cell": pa.array(np.repeat(np.array([index for index, *_ in parts], dtype=np.int64), lengths)),
            "layer": layers,
            "metric": metrics,
            "time_s": pa.array(np.concatenate(times) if times else np.empty(0)),
            "value": pa.array(np.concatenate(values) if values else np.empty(0)),
        }
    )
