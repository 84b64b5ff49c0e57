"""One modelled run in a process of its own: `python -m benchmarks.model.child FILE INTERVALS [FIELD=VALUE ...]`.

Prints one JSON object. CPU time is that of making the device, and that of the intervals after it; memory is what the
process holds more than before the device was made.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from benchmarks.job import run_child
from flatwater._engine import Run
from flatwater.engine_json import as_data, to_json
from flatwater.experiment import cell_at, load
from flatwater.plan.fileio import write_modelled_fileio


@dataclass(frozen=True)
class Told:
    """What a modelled run took, and did."""

    operations: int
    open_cpu_s: float
    run_cpu_s: float
    device_bytes: int
    #: After half of the intervals, and after all: a model may not grow.
    half_rss_bytes: int
    end_rss_bytes: int
    flash_pages: int
    write_amplification: float


def run_modelled(folder: Path, file: Path, intervals: int, *fields: str) -> Told:
    """Runs it in a new process. Errors: FlatwaterError."""
    words = [sys.executable, "-m", "benchmarks.model.child", str(file), str(intervals), *fields]
    root = Path(__file__).parents[2]
    return Told(**json.loads(run_child(words, folder, {"PYTHONPATH": str(root)}).output))


def _main(file: str, intervals: int, fields: list[str]) -> Told:
    cell = cell_at(load(Path(file), fields), 0).experiment
    plan = write_modelled_fileio(cell, cell.seed)
    text = to_json(plan)
    process = psutil.Process()
    before_bytes, started_s = process.memory_info().rss, time.process_time()
    run = Run.modelled(text)
    opened_s, open_bytes = time.process_time(), process.memory_info().rss
    operations, amplification, half_bytes = 0, [], open_bytes
    for number in range(intervals):
        interval = run.next_interval(0.0)
        assert interval is not None
        operations += sum(done for done, _, _ in interval["totals"].values())
        amplification.append(interval["storage"].get("write_amplification", 0.0))
        if number == intervals // 2:
            half_bytes = process.memory_info().rss
    failure = run.failure()
    if failure is not None:
        raise SystemExit(failure)
    geometry = as_data(plan.device).get("geometry", {})
    return Told(
        operations=operations,
        open_cpu_s=opened_s - started_s,
        run_cpu_s=time.process_time() - opened_s,
        device_bytes=open_bytes - before_bytes,
        half_rss_bytes=half_bytes,
        end_rss_bytes=process.memory_info().rss,
        flash_pages=geometry.get("raw_bytes", 0) // geometry.get("mapping_bytes", 1),
        write_amplification=sum(amplification) / max(1, len(amplification)),
    )


if __name__ == "__main__":
    print(json.dumps(asdict(_main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))))
