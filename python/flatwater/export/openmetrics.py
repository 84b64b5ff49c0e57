"""OpenMetrics 1.0 text with time stamps, as Prometheus takes it for the past:
`promtool tsdb create-blocks-from openmetrics FILE`.

A series is a gauge `flatwater_LAYER_METRIC{run="...",cell="0"}` with a sample at the end of each interval, on the clock
of the day. The specification wants the samples of one metric together, so that each is written over all cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator

from flatwater.export.content import began_s
from flatwater.results import Cell, CellSummary, Result

#: What a name may not have (OpenMetrics 1.0, `metricname`).
_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_]")


def pieces(result: Result) -> Iterator[str]:
    """The whole text, metric by metric; it ends as the specification asks. Errors: UserError for damaged data."""
    names: dict[str, list[tuple[Cell, str, str]]] = {}
    for cell in result.cells:
        for layer, metric in cell.metrics():
            name = _NOT_IN_NAMES.sub("_", f"flatwater_{layer}_{metric}")
            names.setdefault(name, []).append((cell, layer, metric))
    for name, some in sorted(names.items()):
        yield f"# TYPE {name} gauge\n"
        yield f"# HELP {name} {_escaped(f'{some[0][1]}.{some[0][2]}')}\n"
        seen: set[int] = set()
        for cell, layer, metric in some:
            if cell.index in seen:
                # Another series of the same cell has the same name once its signs are replaced.
                continue
            seen.add(cell.index)
            yield _samples(result, cell, name, layer, metric)
    for name, about, of in _FIGURES:
        found = [(cell, of(cell.summary)) for cell in result.cells if cell.summary is not None]
        known = [(cell, value) for cell, value in found if value is not None and math.isfinite(value)]
        if known:
            yield f"# TYPE {name} gauge\n# HELP {name} {about}\n"
            yield "".join(_figure(result, cell, name, value) for cell, value in known)
    yield "# EOF\n"


def _samples(result: Result, cell: Cell, name: str, layer: str, metric: str) -> str:
    series = cell.series(layer, metric)
    zero_s = began_s(result, cell.summary)
    labels = _labels(result, cell)
    pairs = zip(series.time_s.tolist(), series.value.tolist(), strict=True)
    return "".join(
        f"{name}{{{labels}}} {value!r} {zero_s + at_s:.3f}\n" for at_s, value in pairs if math.isfinite(value)
    )


def _figure(result: Result, cell: Cell, name: str, value: float) -> str:
    summary = cell.summary
    assert summary is not None
    end_s = max((phase.end_s for phase in summary.phases), default=0.0)
    unit = f',unit="{_escaped(summary.unit)}",verdict="{_escaped(summary.verdict or "")}"'
    return f"{name}{{{_labels(result, cell)}{unit}}} {value!r} {began_s(result, summary) + end_s:.3f}\n"


def _p99(summary: CellSummary) -> float | None:
    return summary.latency_us.p99 if summary.latency_us is not None else None


#: The figures of a cell: the name, what it is, and where it stands.
_FIGURES: tuple[tuple[str, str, Callable[[CellSummary], float | None]], ...] = (
    ("flatwater_mean", "Throughput over the measured phase, in the label's unit.", lambda one: one.mean),
    ("flatwater_flatness_ratio", "5th percentile of the intervals over their median.", lambda one: one.flatness),
    ("flatwater_latency_p99_us", "99th percentile of the latency, microseconds.", _p99),
)


def _labels(result: Result, cell: Cell) -> str:
    return f'run="{_escaped(result.path.resolve().name)}",experiment="{_escaped(result.name)}",cell="{cell.index}"'


def _escaped(text: str) -> str:
    """What a label's value or a help text may not have as it is (OpenMetrics 1.0, escaped-string)."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
