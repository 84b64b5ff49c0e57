"""The programs that are compared: one file each, met here.

To add a program: write `programs/NAME.py` with a class that has what `Program` says, and use it in rows.py.
"""

from __future__ import annotations

from typing import Protocol

from benchmarks.database.programs.flatwater import Flatwater
from benchmarks.database.programs.sysbench import Sysbench
from benchmarks.database.programs.tpcc_mysql import TpccMysql
from benchmarks.database.work import Address, Outcome, Setting, Work
from benchmarks.job import Finished


class Program(Protocol):
    """A program that can do a work."""

    @property
    def name(self) -> str:
        """Its name in the tables."""
        ...

    def missing(self) -> str | None:
        """Why it cannot be run here; None when it can."""
        ...

    def version(self) -> str:
        """Its name and version."""
        ...

    def command(self, work: Work, setting: Setting, seed: int) -> list[str]:
        """The command line that does the work; it is run in the setting's folder."""
        ...

    def idle_command(self, work: Work, setting: Setting, number: int) -> list[str]:
        """One that starts, connects and does next to nothing; the `number`th of them."""
        ...

    def environment(self, address: Address) -> dict[str, str]:
        """What it wants in its environment."""
        ...

    def outcome(self, work: Work, finished: Finished, start_cpu_s: float) -> Outcome:
        """What its output says. Errors: FlatwaterError when it says nothing."""
        ...


FLATWATER = Flatwater()
FLATWATER_PIPELINE = Flatwater(pipeline=True)
TPCC_MYSQL = TpccMysql()
SYSBENCH = Sysbench()
PROGRAMS: tuple[Program, ...] = (FLATWATER, FLATWATER_PIPELINE, TPCC_MYSQL, SYSBENCH)
