"""Time and memory of `flatwater report` for a long result."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.job import run_child

#: Eleven and a half days of seconds, each with every series of a fileio run.
SECONDS = 1_000_000
#: The number of reports. The median leaves out the first one, which reads from a cold cache.
TIMES = 3
_TESTS = Path(__file__).parents[1] / "tests" / "report"
_MAKE = "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]); import synthetic; "
_MAKE += "synthetic.single(Path(sys.argv[2]), int(sys.argv[3]))"


@dataclass(frozen=True)
class Opening:
    """Medians of the reports."""

    seconds: int
    wall_s: float
    rss_max_bytes: int


def make_long(result: Path, seconds: int) -> None:
    """Makes a result of one cell of `seconds` intervals, in a child process: so that it does not count as drawing."""
    run_child([sys.executable, "-c", _MAKE, str(_TESTS), str(result), str(seconds)], result.parent)


def measure_opening(folder: Path, seconds: int, tell: Callable[[str], None]) -> Opening:
    """Makes a result of `seconds` intervals, and draws it with the command of users."""
    result = folder / "long"
    make_long(result, seconds)
    command = [str(Path(sys.executable).with_name("flatwater")), "report", str(result)]
    drawn = [run_child(command, folder) for _ in range(TIMES)]
    found = Opening(
        seconds,
        statistics.median(one.wall_s for one in drawn),
        max(one.rss_max_bytes for one in drawn),
    )
    tell(f"report of {seconds:,} s: {found.wall_s:.2f} s, {found.rss_max_bytes / 2**20:.0f} MiB")
    return found
