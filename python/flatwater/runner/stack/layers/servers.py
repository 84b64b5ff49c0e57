"""The interface of database servers to the workload that runs on them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path

from flatwater._engine import EngineError
from flatwater.errors import FlatwaterError
from flatwater.experiment.database.login import Login
from flatwater.results.schema import Condition
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import Reporter
from flatwater.runner.stack.layers.database import Database

#: Checks the workload's data on all servers.
Check = Callable[[], Sequence[Condition]]


class Servers(Database):
    """One or several database servers, of this machine or of another."""

    #: The user's request to stop, of the current cell.
    _interrupt: Interrupt | None = None

    @abstractmethod
    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None, check: Check) -> None:
        """Starts the servers, with the workload's data in them.

        `kept_in` is the folder of the cell if a later run can resume it, else None. `check` checks data after a crash
        recovery. Errors: UserError, FlatwaterError, Interrupted.
        """

    @abstractmethod
    def logins(self, schema: str | None) -> list[Login]:
        """A login for each server."""

    def hurried(self) -> bool:
        """Whether the user asked to stop."""
        return self._interrupt is not None and self._interrupt.requested

    def why_not_started(self, error: EngineError) -> Exception:
        """The exception to raise when the workload could not start."""
        return error

    def require_there(self) -> None:
        """Checks after the run that no server died in it: a dead server must not count as a slow one.

        Errors: FlatwaterError.
        """

    def settle(self) -> None:
        """Waits until every server that died has been restarted. Errors: FlatwaterError, Interrupted."""

    def why_silent(self, error: EngineError) -> FlatwaterError:
        """The error to raise when the data of a server cannot be checked."""
        return FlatwaterError(f"the consistency of the data cannot be checked: {error}")
