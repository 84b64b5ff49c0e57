"""Modelled twins of measured cells: of which server and machine, and whether they are near what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from flatwater.analysis.twin_doubts import level_doubt
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.experiment import Experiment
from flatwater.experiment.database import InnodbModel, Server
from flatwater.experiment.database.generation import generation_of
from flatwater.experiment.database.innodb import CORES
from flatwater.experiment.twin import FIELD, Twin
from flatwater.results import Cell, Result
from flatwater.results.facts import MachineFacts
from flatwater.runner.progress import Reporter
from flatwater.server import Attached, describe, find_local, server_of

#: Of `[twin.database]`, what the measured server says, each with the fields by which a user says it himself.
_SAID = {"cores": {"cores", "machine"}, "generation": {"generation"}}
#: Fields that, swept, let each cell have another server.
_SERVERS = {"database", "database.binary", "database.url"}


def with_measured_server(experiment: Experiment, machine: MachineFacts, reporter: Reporter) -> Experiment:
    """The experiment with the server's generation and the cores of its machine for its twin, as far as it gives none.

    They are then part of the experiment, so a resumed run has the same twin. A note says what is not known: the cores
    of another host, and the generation of a server that cannot be asked.
    """
    twin, server = experiment.twin, experiment.database
    if twin is None or not isinstance(server, Server):
        return experiment
    wanted = {name for name, by in _SAID.items() if not by & set(twin.database)}
    attached = _ask(server) if wanted and server.address is not None else None
    said: dict[str, object] = {}
    if "cores" in wanted:
        cores = _cores(machine)
        why = _why_elsewhere(server, machine, attached) or ("its workers have different ones" if cores is None else "")
        if why or cores is None:
            reporter.note(
                f"warning: the cores of the server's machine are not known ({why}), and its twin has {CORES}: "
                "give [twin.database] cores = N"
            )
        else:
            said["cores"] = cores
    if "generation" in wanted:
        try:
            said["generation"] = _generation(experiment, machine, attached)
        except FlatwaterError as error:
            usual = InnodbModel.model_fields["generation"].default
            reporter.note(
                f"warning: the server's generation is not known ({error.what}), and its twin is a {usual}: "
                'give [twin.database] generation = "..."'
            )
    return _with(experiment, twin, said)


def with_server_of(experiment: Experiment, stored: Mapping[str, object]) -> Experiment:
    """The experiment with what the twin of a result (its `experiment.toml`) was given when the run began."""
    twin = experiment.twin
    table = stored.get("twin")
    database = table.get("database") if isinstance(table, dict) else None
    if twin is None or not isinstance(database, dict):
        return experiment
    given = set(twin.database)
    said = {name: database[name] for name, by in _SAID.items() if name in database and not by & given}
    return _with(experiment, twin, said)


def _with(experiment: Experiment, twin: Twin, said: Mapping[str, object]) -> Experiment:
    if not said:
        return experiment
    return experiment.model_copy(update={"twin": twin.model_copy(update={"database": {**twin.database, **said}})})


def _ask(server: Server) -> Attached | FlatwaterError:
    """What a server that is running says of itself, or why it says nothing. Errors: Interrupted."""
    try:
        return describe(server.login())
    except Interrupted:
        raise
    except FlatwaterError as error:
        return error


def _generation(experiment: Experiment, machine: MachineFacts, attached: Attached | FlatwaterError | None) -> str:
    """The generation that models a server. Errors: FlatwaterError, if it is not known."""
    if _SERVERS & set(experiment.sweep.fields):
        raise UserError("its cells have different servers")
    if isinstance(attached, FlatwaterError):
        raise attached
    if attached is None and machine.get("workers"):
        raise UserError("it is started on other machines")
    found = attached if attached is not None else server_of(experiment)
    return generation_of(found.flavour, found.version_text)


def warn_of_twins(experiment: Experiment, result: Result, reporter: Reporter) -> None:
    """Adds a warning to each twin whose level is far off its measured cell's, and tells the user. Errors: OSError."""
    if experiment.twin is None:
        return
    for real, twin in _pairs(result):
        measured, summary = real.stored_summary(), twin.stored_summary()
        doubt = level_doubt(measured.mean or 0.0, summary.mean or 0.0, summary.unit)
        if doubt is None or doubt in summary.warnings:
            continue
        summary.warnings.append(doubt)
        twin.finish(summary)
        reporter.note(f"warning: {twin.label}: {doubt}")


def _pairs(result: Result) -> Iterator[tuple[Cell, Cell]]:
    """Each complete twin beside its complete measured cell."""
    found: dict[str, dict[bool, Cell]] = {}
    for cell in result.cells:
        if (cell.folder / "summary.json").is_file() and cell.stored_summary().status == "complete":
            rest = {name: value for name, value in cell.set.items() if name != FIELD}
            key = json.dumps([rest, cell.plan.repeat], sort_keys=True, default=str)
            found.setdefault(key, {})[cell.set.get(FIELD) is True] = cell
    yield from ((pair[False], pair[True]) for pair in found.values() if len(pair) == 2)


def _why_elsewhere(server: Server, machine: MachineFacts, attached: Attached | FlatwaterError | None) -> str:
    """Why a server is not known to run on the machine of the cells; empty if it does.

    One that flatwater starts does, and so does one whose process is found there: neither its address nor its port
    tells. A tunnel may listen in its place, and a load of other hosts reaches a server of this machine by its address
    in the network.
    """
    address = server.address
    if address is None or attached is None:
        return ""
    if machine.get("workers"):
        return "" if address.socket is not None else "its process is not looked for on other machines"
    if isinstance(attached, FlatwaterError):
        return attached.what
    local = find_local(server.login(), attached)
    return local.why_not if local.pid is None else ""


def _cores(machine: MachineFacts) -> int | None:
    """Cores of the machine that ran the cells; None if several workers have different ones."""
    workers = machine.get("workers")
    if not workers:
        return machine.get("cores")
    counts = {worker.get("cores") for worker in workers}
    return counts.pop() if len(counts) == 1 else None
