"""The user's own statements on a server that flatwater did not start: nothing is written there unless it is allowed."""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.experiment.database import Server
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.problem import Problem
from flatwater.experiment.workload import OwnStatements, Sql
from flatwater.experiment.workload.sql.check import read_statement

_RESTS_ON = ("workload.allow_writes", "workload.transactions", "workload.on_connect", "database.url")


def sql_conflicts(experiment: Experiment) -> Iterator[Problem]:
    """Statements that write to, and a setup of, a server with a url."""
    workload, server = experiment.workload, experiment.database
    if not isinstance(workload, OwnStatements) or not isinstance(server, Server) or not server.attached:
        return
    if workload.has_setup and not server.load:
        what = "a server with a url gets no data unless database.load is true"
        hint = "database.load = true, or take the setup out if the data are there"
        field = "workload.setup_file" if workload.setup_file is not None else "workload.setup"
        yield Problem(field, what, hint, (field, "database.load", "database.url"))
    if workload.allow_writes:
        return
    allow = "workload.allow_writes = true, if this server's data may change"
    if server.load:
        what = "the setup writes to a server that flatwater did not start"
        yield Problem("database.load", what, allow, ("database.load", *_RESTS_ON))
    for place, sql in _statements(workload):
        if not _only_reads(sql):
            what = "it may write, and the server with the url is not flatwater's"
            yield Problem(place, what, allow, (place, *_RESTS_ON))


def _statements(workload: OwnStatements) -> Iterator[tuple[str, str]]:
    """The place and the text of each statement that runs in the measurement."""
    if not isinstance(workload, Sql):
        return  # a log is looked at while it is replayed
    for name, transaction in workload.transactions.items():
        for number, statement in enumerate(transaction.statements):
            yield f"workload.transactions.{name}.statements.{number}", statement.sql
    for number, sql in enumerate(workload.on_connect):
        yield f"workload.on_connect.{number}", sql


def _only_reads(sql: str) -> bool:
    try:
        return read_statement(sql)[1]
    except ValueError:
        return True  # it cannot be sent: that is told elsewhere
