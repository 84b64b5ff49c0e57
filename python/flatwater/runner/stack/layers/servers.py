"""What database servers are to the workload that runs on them."""

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
    """One or several database servers of this machine, or of another."""

    #: Says whether the user asked to stop; of the cell that is prepared, or was last.
    _interrupt: Interrupt | None = None

    @abstractmethod
    def prepare(self, reporter: Reporter, interrupt: Interrupt, kept_in: Path | None, check: Check) -> None:
        """Makes the servers ready, with the workload's data in them.

        `kept_in` is the cell's folder, where a later run would go on with it; None where none could. `check` checks
        data that servers recovered. Errors: UserError, FlatwaterError, Interrupted.
        """

    @abstractmethod
    def logins(self, schema: str | None) -> list[Login]:
        """How to log in to each server."""

    def hurried(self) -> bool:
        """Whether the user asked to stop."""
        return self._interrupt is not None and self._interrupt.asked

    def why_not_started(self, error: EngineError) -> Exception:
        """What a workload that could not begin is to be ended with."""
        return error

    def require_there(self) -> None:
        """After the run: a server that died in the middle of it must not pass for one that was slow.

        Errors: FlatwaterError.
        """

    def settle(self) -> None:
        """Waits until every server that died is there again. Errors: FlatwaterError, Interrupted."""

    def why_silent(self, error: EngineError) -> FlatwaterError:
        """What is to be said when a server's data cannot be checked."""
        return FlatwaterError(f"the consistency of the data cannot be checked: {error}")
