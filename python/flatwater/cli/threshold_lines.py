"""The outcome of the limits in `[thresholds]` after a run: lines for people, and the exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flatwater.results.schema import ThresholdResult

#: With more limits than this, only failed ones are printed.
PRINTED_MAX = 30


@dataclass(frozen=True)
class Judged:
    """One limit of one cell; `label` names the cell, and is empty if there is only one."""

    label: str
    result: ThresholdResult

    @property
    def text(self) -> str:
        """The limit and the figure, with the cell."""
        return f"{self.label}: {self.result.text}" if self.label else self.result.text


def read_thresholds(folder: Path, experiment: str = "") -> list[Judged]:
    """Every limit of a result's cells. Errors: UserError."""
    from flatwater.results import open_result

    result = open_result(folder)
    many = len(result.cells) > 1
    found = []
    for cell in result.cells:
        label = " ".join(part for part in (experiment, cell.label if many else "") if part)
        if cell.summary is not None:
            found += [Judged(label, one) for one in cell.summary.thresholds]
    return found


def threshold_lines(judged: Sequence[Judged]) -> Iterator[str]:
    """A line for each limit, with a mark at failed ones; then the number of passed ones."""
    shown = judged if len(judged) <= PRINTED_MAX else [one for one in judged if not one.result.passed]
    for one in shown:
        word = "pass" if one.result.passed else "FAIL"
        yield f"threshold {word}: {one.text}"
    yield f"thresholds: {sum(one.result.passed for one in judged)} of {len(judged)} passed"


def raise_unless_passed(folders: Sequence[tuple[str, Path]], *, as_json: bool) -> None:
    """Prints the outcome of the limits in `[thresholds]`, for one experiment or several by name.

    Errors: ThresholdsFailed, with the first failed limit.
    """
    from flatwater.errors import ThresholdsFailed

    judged = [one for name, folder in folders for one in read_thresholds(folder, name if len(folders) > 1 else "")]
    if not as_json:
        for line in threshold_lines(judged):
            print(line)
        sys.stdout.flush()
    failed = [one for one in judged if not one.result.passed]
    if failed:
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise ThresholdsFailed(f"{len(failed)} of {len(judged)} thresholds failed: {failed[0].text}{more}")
