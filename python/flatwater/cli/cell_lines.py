"""A finished cell as a line, for people and for programs; and the output while cells run."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import TYPE_CHECKING

from flatwater.cli.drive_lines import DriveLines
from flatwater.cli.warned import Warned

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from flatwater.results import CellSummary

#: The sentences of evidence in a line; the report and --json have all of them.
EVIDENCE_PRINTED = 2
#: With more cells than this, only failed ones are printed one by one.
CELLS_PRINTED = 100


class CellPrinter:
    """Prints each cell when it ends; at the end of the `with`, the warnings of all."""

    def __init__(
        self, *, as_json: bool, names: Sequence[str] = (), then: Callable[[CellSummary], object] | None = None
    ) -> None:
        """`names`: what the experiment calls its cells, in the sweep's order; without them, by their swept values.
        `then` is called with each printed cell.
        """
        from flatwater.runner.progress import start_reporter

        self.reporter = start_reporter(charts=not as_json)
        self._as_json = as_json
        self._names = names
        self._warned = Warned()
        self._bounds: list[str] = []
        self._drives = DriveLines()
        #: What could not be recorded; of all cells, each once.
        self._gaps: dict[str, None] = {}
        self._then = then

    def __enter__(self) -> CellPrinter:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for line in [*self._drives.lines(), *self._gaps, *self._warned.lines(), *self._bounds]:
            self.note(line)
        self.reporter.close()

    def note(self, text: str) -> None:
        """Prints a line for people, but not with --json."""
        if not self._as_json:
            self.reporter.note(text)

    def print(self, summary: CellSummary, done: int, total: int, experiment: str = "") -> None:
        """Prints a finished cell. `experiment` names its experiment in a run of several."""
        name = cell_label(summary, self._names)
        label = f"{experiment} {name}".strip()
        if self._as_json:
            print(cell_json(summary, experiment), flush=True)
        elif total <= CELLS_PRINTED or summary.status == "failed":
            self.note(f"{experiment} {cell_line(summary, done, total, name)}".lstrip())
            if (line := bound_line(summary, label)) is not None:
                self._bounds.append(line)
        self._warned.add(summary, label)
        self._drives.add(summary, label)
        self._gaps |= {f"not recorded: {gap.text}": None for gap in summary.gaps}
        if self._then is not None:
            self._then(summary)


def metrics_at(address: str | None, folder: Path, printer: CellPrinter) -> AbstractContextManager[None]:
    """The metrics of the run in a folder, served as long as the `with` lasts. Errors: UserError for the address."""
    if address is None:
        return nullcontext()
    from flatwater.serve.exporter import exporting

    return exporting(address, folder, printer.reporter.note)


def cell_json(summary: CellSummary, experiment: str = "") -> str:
    """A cell as a line of JSON, without the fields that only programs for results need."""
    more = {"experiment": experiment} if experiment else {}
    return json.dumps(more | summary.model_dump(mode="json", exclude={"histograms"}))


def cell_label(summary: CellSummary, names: Sequence[str] = ()) -> str:
    """The label of a cell in its sweep: its name, or its swept values."""
    if names:
        # Cells are numbered one whole repeat after another.
        return names[summary.cell % len(names)]
    return ", ".join(f"{name.split('.')[-1]} {value}" for name, value in summary.set.items())


def bound_line(summary: CellSummary, cell: str) -> str | None:
    """The bound of a cell with its evidence, in a line; None if too little was measured for a verdict."""
    if summary.bound is None or summary.verdict is None:
        return None
    why = "; ".join(summary.bound.evidence[:EVIDENCE_PRINTED])
    told = summary.bound.text.rstrip(".") + (f": {why}." if why else ".")
    return " ".join(part for part in (f"{cell}:" if cell else "", told, summary.bound.interruptions_text) if part)


def cell_line(summary: CellSummary, done: int, total: int, label: str) -> str:
    """A finished cell in a line: what it was, what it gave."""
    from flatwater.experiment import print_duration

    place = f"[{done}/{total}] {label}: " if label else f"[{done}/{total}] "
    if summary.status == "failed" and total > 1:
        return f"{place}failed: {summary.error}"
    if summary.status != "complete":
        # An interrupted cell does not count as finished. The error of a single failed cell is the error of the run.
        measured = print_duration(summary.samples * summary.interval_s)
        return f"{label or 'cell'}: {summary.status} after {measured} of measurement"
    return place + summary.verdict_text
