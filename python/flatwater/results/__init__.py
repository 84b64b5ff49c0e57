"""The result folder: what a run leaves behind, and how everything else reads it.

    RESULT/
      flatwater.json      what this folder is: schema version, status, and its cells
      experiment.toml     the experiment as resolved
      machine.json        hardware, kernel, versions, mount options
      summary.json        one entry a cell, as `flatwater run --json` prints them; the agreement with what was published
      series.parquet      cell, layer, metric, time_s, value
      histograms.parquet  cell, kind, time_s, hdr (HdrHistogram V2+DEFLATE, ns)
      tags.json           tags and a note of the user's, if there are any (`flatwater tag`)
      run.lock            while it is run: the process that does, which holds it locked
      cells/NNNN/         a cell that is still running, or that a killed run left: its journal

While a cell runs, each second is one line of `journal.jsonl`; a torn last line is dropped on reading.
"""

from flatwater.results.agreement import Agreement, Contrast, Count, Finding, Published
from flatwater.results.collection import Results, results_in
from flatwater.results.create import create_result
from flatwater.results.opening import open_result
from flatwater.results.result import Cell, Result
from flatwater.results.schema import (
    SCHEMA_VERSION,
    CellSummary,
    Dip,
    Event,
    LatencyUs,
    MetricSummary,
    Phase,
    Stall,
    Verdict,
)
from flatwater.results.series import Series

__all__ = [
    "SCHEMA_VERSION",
    "Agreement",
    "Cell",
    "CellSummary",
    "Contrast",
    "Count",
    "Dip",
    "Event",
    "Finding",
    "LatencyUs",
    "MetricSummary",
    "Phase",
    "Published",
    "Result",
    "Results",
    "Series",
    "Stall",
    "Verdict",
    "create_result",
    "open_result",
    "results_in",
]
