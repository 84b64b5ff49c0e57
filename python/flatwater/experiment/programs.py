"""Programs that an experiment names: a flushing policy of the user's own, the server of a path.

Whoever runs an experiment's own file lets them run (`load(..., programs=True)`). The experiment of a result may be
anybody's: what only reads results, or only checks a file, runs none of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from flatwater.errors import UserError
from flatwater.experiment.database import Server
from flatwater.experiment.database.innodb import InnodbModel
from flatwater.experiment.experiment import Experiment
from flatwater.experiment.problem import quote

#: Servers that are found where packages put them, or on PATH. Any other name is a program of the user's choice.
SERVERS = ("mariadbd", "mysqld")


def require_allowed(experiment: Experiment) -> None:
    """Refuses an experiment that names a program, unless whoever loaded it lets its programs run. Errors: UserError."""
    if experiment.lets_programs_run:
        return
    for field, program in programs_of(experiment):
        what = f"{quote(program)} is a program that the experiment names: it is not run for who only reads a result"
        raise UserError(what, where=field, hint="if it is yours: flatwater run FILE, or flatwater advise --trust")


def programs_of(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """The fields that name programs, with the programs. Of a sweep: those of the first cell."""
    database = experiment.database
    if isinstance(database, InnodbModel) and database.own_policy is not None:
        yield "database.flushing", database.own_policy
    if isinstance(database, Server) and database.binary is not None and database.binary not in SERVERS:
        yield "database.binary", database.binary
