"""Writes the table of docs/models/innodb.md in which one mechanism at a time is removed: `python -m
benchmarks.ablations`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.tables import page_with
from flatwater._engine import Run
from flatwater.engine_json import to_json
from flatwater.experiment import load
from flatwater.experiment.cells import cell_at
from flatwater.plan.innodb import ModelledDatabase, write_innodb

PAGE = Path(__file__).parents[1] / "docs" / "models" / "innodb.md"
#: The table is between these lines.
BEGIN, END = "<!-- ablations -->", "<!-- end of the ablations -->"
EXPERIMENT = "stability"
#: Cells of the experiment, by the published row: at the log's limit, without doublewrite, with doublewrite and a large
#: log, with neither a busy master thread nor neighbours.
ROWS = {"a": 0, "c": 2, "i": 8, "l": 11}
#: The times of the experiment.
BEFORE_S, MEASURED_S = 900, 900
_PATIENCE_S = 600.0

Change = Callable[[ModelledDatabase], ModelledDatabase]


def _costs(**values: int) -> Change:
    return lambda plan: replace(plan, cpu=replace(plan.cpu, **values))


def _settings(**values: Any) -> Change:
    return lambda plan: replace(plan, settings=replace(plan.settings, **values))


def _as_measured(plan: ModelledDatabase) -> ModelledDatabase:
    names = ("statement_ns", "read_ns", "write_ns", "read_mutex_ns")
    return _costs(**{name: round(getattr(plan.cpu, name) / 2.08) for name in names})(plan)


#: The removed mechanisms.
ABLATIONS: dict[str, Change] = {
    "nothing": lambda plan: plan,
    "log writes that wait for the pages of a sync": _costs(sync_page_ns=0),
    "round trips": _costs(round_trip_ns=0),
    "the mutex of a page read": _costs(read_mutex_ns=0),
    "a machine slower than the measured one": _as_measured,
    "the time that a page takes its writer": _costs(write_ns=0),
    "the kernel's fixed part of syncs": _costs(fsync_ns=0),
    "doublewrite": _settings(innodb_doublewrite=False),
    "neighbours": _settings(innodb_flush_neighbors=0),
    "the change buffer": _settings(innodb_change_buffering="none"),
    "instances of the pool": _settings(innodb_buffer_pool_instances=1),
    "adaptive flushing": lambda plan: replace(plan, flushing="none"),
}


def plans() -> Iterator[tuple[str, str, ModelledDatabase]]:
    """The removed mechanism, the row, and the plan for the engine."""
    experiment = load(EXPERIMENT, [])
    for row, index in ROWS.items():
        for name, change in ABLATIONS.items():
            cell = cell_at(experiment, index).experiment
            yield name, row, change(write_innodb(cell, experiment.seed or 1))


def measure(plan: ModelledDatabase) -> tuple[float, float, float, float]:
    """New-Orders a minute; the lowest ten seconds as a share of it; checkpoint age, MB; dirty %. Errors: ValueError."""
    run = Run.modelled_database(to_json(plan))
    done: list[int] = []
    ages, dirty = [], []
    while len(done) < BEFORE_S + MEASURED_S:
        interval = run.next_interval(_PATIENCE_S)
        if interval is None:
            raise ValueError(run.failure() or "the run ended early")
        done.append(interval["totals"].get("new_order", (0, 0, 0))[0])
        ages.append(interval["storage"]["database.checkpoint_age_bytes"])
        dirty.append(interval["storage"]["database.dirty_pct"])
    run.stop()
    done = done[BEFORE_S:]
    tens = [sum(done[at : at + 10]) for at in range(0, MEASURED_S, 10)]
    mean = sum(tens) / len(tens)
    count = MEASURED_S * 1e6
    return 6 * mean, min(tens) / mean, sum(ages[BEFORE_S:]) / count, 1e6 * sum(dirty[BEFORE_S:]) / count


def main() -> None:
    """Runs all plans, two in parallel, and writes the table into the page."""
    argparse.ArgumentParser(prog="python -m benchmarks.ablations", description=__doc__).parse_args()
    wanted = list(plans())
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(measure, [spec for _, _, spec in wanted]))
    told = {(name, row): figures for (name, row, _), figures in zip(wanted, found, strict=True)}
    lines = ["| taken away | " + " | ".join(f"row {row}" for row in ROWS) + " |", "|---" * (len(ROWS) + 1) + "|"]
    for name in ABLATIONS:
        cells = [
            f"{notpm:,.0f} (least {least:.0%}), {age:,.0f} MB, {dirty:.0f} %"
            for notpm, least, age, dirty in (told[name, row] for row in ROWS)
        ]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    PAGE.write_text(page_with(PAGE, BEGIN, END, "\n".join(lines)))


if __name__ == "__main__":
    main()
