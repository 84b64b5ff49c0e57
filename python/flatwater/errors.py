"""Everything that flatwater raises on purpose.

    FlatwaterError          exit 1   the run or the command failed
    ├── UserError           exit 2   the file or the arguments are wrong
    ├── ThresholdsFailed    exit 1   the run ended, and what it measured breaks a limit of its experiment
    ├── RegressionFound     exit 1   the newest runs of an experiment are worse than those before
    ├── OutputError         exit 1   what was asked for cannot be printed
    │   └── ReaderGoneError exit 0   nobody reads it any more; says nothing
    └── Interrupted         exit 130 the user stopped it; the result is whole

Each carries *what* happened, *where* in the user's input, and a *hint* (what to do next), and prints as one
line. Anything else that escapes is a bug and shows a traceback.
"""

from __future__ import annotations


class FlatwaterError(Exception):
    """A failure with a cause that the user can act on."""

    exit_code = 1

    def __init__(self, what: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        hint = f" (hint: {self.hint})" if self.hint else ""
        # One line, whatever came from outside.
        return " ".join(f"{place}{self.what}{hint}".split())


class UserError(FlatwaterError):
    """The experiment file or the arguments are wrong."""

    exit_code = 2


class ThresholdsFailed(FlatwaterError):
    """The run ended well, and a figure of it breaks a limit of `[thresholds]`, or cannot be held against it."""


class RegressionFound(FlatwaterError):
    """The newest runs of an experiment are worse than those before, and the user asked to be told by the exit code."""


class OutputError(FlatwaterError):
    """What was asked for cannot be printed: the disk is full, for example."""


class ReaderGoneError(OutputError):
    """Whoever read the output (head, less) went away: not an error of ours, and there is nobody to tell."""

    exit_code = 0


class Interrupted(FlatwaterError):
    """The user stopped the run; what was measured is kept."""

    exit_code = 130
