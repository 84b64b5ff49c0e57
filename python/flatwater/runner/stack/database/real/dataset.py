"""The data of a database workload: the description that determines them, and their loading."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

from pydantic import JsonValue

from flatwater._engine import EngineError, Load
from flatwater.engine_json import as_data, to_json
from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import Experiment, Oltp, OwnStatements, Tpcc
from flatwater.experiment.database.login import Login
from flatwater.plan.server import Loading, write_dataset
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter

#: Incremented when the loaders write other rows for the same description.
DATASET_VERSION = 1
#: Of the procedures of TPROC-C: incremented with the comment that each of them has (`tproc_c/procedures.rs`).
PROCEDURES_VERSION = 2
#: Sessions that load: one for each core, up to what the log of one server can take.
LOAD_THREADS = max(2, min(16, os.cpu_count() or 2))
#: Seconds to wait for loaders after they are asked to stop: they check ten times a second.
STOP_PATIENCE_S = 2.0


def describe_dataset(cell: Experiment) -> dict[str, JsonValue]:
    """The fields that determine the rows, and no others: cells with equal descriptions share a snapshot."""
    dataset = as_data(write_dataset(cell))
    described = {name: value for name, value in dataset.items() if name not in ("spec", "setup")}
    if isinstance(cell.workload, Tpcc) and cell.workload.variant == "tpcc-mysql":
        # Snapshots of before there were variants are of this one.
        del described["tables"]
    if isinstance(cell.workload, Tpcc) and cell.workload.variant == "tproc-c":
        described["procedures"] = PROCEDURES_VERSION
    if isinstance(cell.workload, Oltp):
        spec = dataset["spec"]
        described |= {name: spec[name] for name in ("tables", "rows", "distribution", "auto_inc", "secondary")}
        # `insert` with ids of the client starts with empty tables: the ids that it draws could exist already.
        described["empty"] = cell.workload.mode == "insert" and not cell.workload.auto_inc
    if isinstance(cell.workload, OwnStatements):
        setup = dataset["setup"]
        # Where the file stands does not matter: its digest says what is in it.
        described["setup"] = {name: setup[name] for name in ("file_digest", "statements", "parameters", "seed")}
    return {**described, "schema": cell.schema_name}


def load_dataset(
    cell: Experiment,
    login: Login,
    reporter: Reporter,
    interrupt: Interrupt,
    died: Callable[[], str | None] | None = None,
) -> None:
    """Loads the data into the schema of a login. Rows of an earlier attempt stay.

    `died` says how the server ended, if it did. Errors: FlatwaterError with the server's message, Interrupted.
    """
    login = replace(login, schema=cell.schema_name)
    plan = Loading(login=login, dataset=write_dataset(cell), threads=LOAD_THREADS, bulk=True)
    try:
        load = Load(to_json(plan))
    except EngineError as error:
        raise FlatwaterError(str(error)) from None
    shown = "rows"
    reporter.phase("load rows", None)
    give_up_at: float | None = None
    while not load.join(0.1):
        if load.phase() != shown:
            shown = load.phase()
            reporter.phase("load rows" if shown == "rows" else "build indexes", None)
        if shown == "rows":
            reporter.loaded(load.done_rows(), load.total_rows())
        if interrupt.requested:
            load.stop()
            give_up_at = give_up_at or time.monotonic() + STOP_PATIENCE_S
            if time.monotonic() > give_up_at:
                break  # the thread waits for a host that does not accept the connection
    failure = load.failure()
    if interrupt.requested:
        raise Interrupted("interrupted while loading; the next run goes on from there")
    if failure is not None:
        ended = died() if died is not None else None
        raise FlatwaterError(f"the server {ended}" if ended else failure)
