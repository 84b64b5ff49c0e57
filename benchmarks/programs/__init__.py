"""The programs that are compared: one file each, met here.

To add a program: write `programs/NAME.py` with a class that has what `Program` says, and list it in PROGRAMS.
"""

from __future__ import annotations

from typing import Protocol

from benchmarks.job import Finished, Job, Outcome, Setting
from benchmarks.programs.fio import Fio
from benchmarks.programs.flatwater import Flatwater
from benchmarks.programs.sysbench import Sysbench


class Program(Protocol):
    """A program that can do a job."""

    @property
    def name(self) -> str:
        """Its name in the tables."""
        ...

    def command(self, job: Job, setting: Setting, seed: int) -> list[str]:
        """The command line that does the job; it is run in the setting's folder."""
        ...

    def outcome(self, finished: Finished) -> Outcome:
        """What its output says. Errors: FlatwaterError when it says nothing."""
        ...

    def version(self) -> str:
        """Its name and version. Errors: UserError when it is not installed."""
        ...


FLATWATER = Flatwater()
FIO = Fio()
FIO_BATCHED = Fio(batch=8)
SYSBENCH = Sysbench()
PROGRAMS: tuple[Program, ...] = (FLATWATER, FIO, FIO_BATCHED, SYSBENCH)
