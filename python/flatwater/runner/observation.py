"""Observing a running server: the experiment that watches its clients, and its run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from flatwater._engine import Connection, EngineError
from flatwater.engine_json import to_json
from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import Experiment, make_experiment, require_runnable
from flatwater.experiment.database.login import Login
from flatwater.experiment.problem import ProblemsError
from flatwater.probe.server.names import find_names
from flatwater.results import CellSummary
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.database.real.work import COUNTED, unit_of
from flatwater.runner.sweep import Outcome, run_experiment
from flatwater.server import ask, describe, in_url, named_by_url

#: The name of the experiment.
NAME = "observed"
#: Fields of the experiment: the option that sets each, and what it takes.
_OPTIONS = {"workload.duration_s": ("--for", "30s, 10m, 24h"), "workload.unit": ("--unit", "tps or qps")}


def plan_observation(url: str, duration_s: float, unit: str | None = None, *, samples: bool = False) -> Experiment:
    """The experiment that observes the server at a url. Without a `unit`, the one that fits the server's clients. With
    `samples`, statements of the clients are kept.

    Errors: UserError if the url is wrong, the server does not answer, refuses the login, or is too old.
    """
    with named_by_url():
        asked = _experiment(url, duration_s, unit or "tps", samples=samples)
        login = asked.server.login()
        server = describe(login)
        if unit is None:
            unit = ask(lambda: _unit(login))
        return _experiment(url, duration_s, unit, f"{server.title}, observed", samples=samples)


def observe(
    experiment: Experiment, out: Path, reporter: Reporter, on_cell: Callable[[CellSummary, int, int], None]
) -> Outcome:
    """Observes into the folder `out`, until the time is over or the user ends it. Errors: UserError, FlatwaterError."""
    reporter.note(f"throughput in {experiment.workload.unit} is {COUNTED[experiment.workload.unit]}")
    with named_by_url():
        outcome = run_experiment(experiment, out, reporter, on_cell)
    return replace(outcome, error=in_url(outcome.error)) if outcome.error is not None else outcome


def _experiment(url: str, duration_s: float, unit: str, title: str = "", *, samples: bool) -> Experiment:
    tables = {
        "name": NAME,
        "title": title,
        "workload": {"kind": "observed", "duration_s": duration_s, "unit": unit, "samples": samples},
        "database": {"kind": "server", "url": url},
    }
    try:
        experiment = make_experiment(tables)
    except ProblemsError as error:
        problem = error.problems[0]
        # There is no file: the field is an option, and so is what can be done.
        where, hint = _OPTIONS.get(problem.field, (problem.field, problem.hint))
        raise UserError(problem.what, where=where, hint=hint) from None
    require_runnable(experiment)
    return experiment


def _unit(login: Login) -> str:
    try:
        connection = Connection(to_json(login))
        try:
            return unit_of(find_names(connection, own=False).read(connection))
        finally:
            connection.close()
    except EngineError as error:
        raise FlatwaterError(f"{login.address} does not answer: {error}", where="database.url") from None
