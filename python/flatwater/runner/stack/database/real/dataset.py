"""The data of a database workload: what they are a function of, and loading them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace

from pydantic import JsonValue

from flatwater._engine import EngineError, Load
from flatwater.engine_json import as_data, to_json
from flatwater.errors import FlatwaterError, Interrupted
from flatwater.experiment import Experiment, Oltp
from flatwater.experiment.database.login import Login
from flatwater.plan.server import Loading, write_dataset
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter

#: Raised whenever the loaders write something else for the same description.
DATASET_VERSION = 1
#: Sessions that load: one a core, up to what one server's log takes.
LOAD_THREADS = max(2, min(16, os.cpu_count() or 2))
#: How long loaders that are told to stop are waited for, seconds: they look up ten times a second.
STOP_PATIENCE_S = 2.0


def describe_dataset(cell: Experiment) -> dict[str, JsonValue]:
    """What the rows are a function of, and nothing else: cells that differ only in what they do share a snapshot."""
    dataset = as_data(write_dataset(cell))
    described = {name: value for name, value in dataset.items() if name != "spec"}
    if isinstance(cell.workload, Oltp):
        spec = dataset["spec"]
        described |= {name: spec[name] for name in ("tables", "rows", "distribution", "auto_inc", "secondary")}
        # `insert` with the client's ids begins with empty tables, because what it draws could be there already.
        described["empty"] = cell.workload.mode == "insert" and not cell.workload.auto_inc
    return {**described, "schema": cell.schema_name}


def load_dataset(
    cell: Experiment,
    login: Login,
    reporter: Reporter,
    interrupt: Interrupt,
    died: Callable[[], str | None] | None = None,
) -> None:
    """Fills the schema of a login; what an earlier attempt loaded stays.

    `died` tells how the server ended, if it did. Errors: FlatwaterError in the server's words, Interrupted.
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
        if interrupt.asked:
            load.stop()
            give_up_at = give_up_at or time.monotonic() + STOP_PATIENCE_S
            if time.monotonic() > give_up_at:
                break  # it waits for a host that does not even accept a connection
    failure = load.failure()
    if interrupt.asked:
        raise Interrupted("interrupted while loading; the next run goes on from there")
    if failure is not None:
        ended = died() if died is not None else None
        raise FlatwaterError(f"the server {ended}" if ended else failure)
