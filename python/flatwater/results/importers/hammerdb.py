"""HammerDB's log of a run of TPROC-C: virtual users, ramp-up, length and result, without a series.

NOPM are New-Orders a minute that committed. TPM are all commits and rollbacks a minute. Seconds come from the
transaction counter or from samples beside it (`samplers/hammerdb_counter.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.results import MetricSummary
from flatwater.results.importers.imported import ImportedCell, Totals, bad_line, numbered_lines, read_text
from flatwater.results.schema import FieldValues

NAME = "hammerdb"
_RESULT = re.compile(r"System achieved (\d{1,12}) NOPM from (\d{1,12}) (\S.{0,40}?) TPM")
#: Before version 4, the order was another.
_OLD_RESULT = re.compile(r"System achieved (\d{1,12}) (\S.{0,40}?) TPM at (\d{1,12}) NOPM")
_RAMPUP = re.compile(r"Beginning rampup time of (\d{1,5}) minutes")
_LENGTH = re.compile(r"Timing test period of (\d{1,5}) in minutes")
_USERS = re.compile(r"(\d{1,6}) Active Virtual Users configured")
_FAILURE = re.compile(r"Vuser (\d{1,6}):(?:FINISHED FAILED|Error\b)|Error in Virtual User (\d{1,6})")
_MINUTE_S = 60.0
#: The warning about a run of which only totals are known.
NO_SERIES = (
    "these are totals, without a series: whether the line was flat cannot be said. "
    "HammerDB's transaction counter (tcset, tcstart) writes one"
)

NO_LENGTH = "the length of the test is not told"


@dataclass
class _Run:
    """What was said of one run before its result."""

    rampup_s: float = 0.0
    length_s: float = 0.0
    users: int | None = None
    failed: set[str] = field(default_factory=set)
    cells: list[ImportedCell] = field(default_factory=list)


def recognises(path: Path, head: str) -> bool:
    """Whether a line has HammerDB's result, or the messages of its first virtual user."""
    del path
    return "TEST RESULT : System achieved" in head or re.search(r"^Vuser 1:", head, re.MULTILINE) is not None


def read(paths: list[Path]) -> list[ImportedCell]:
    """One cell for each result in the files. Errors: UserError for a file without a result."""
    return [cell for path in paths for cell in _read_file(path)]


def _read_file(path: Path) -> list[ImportedCell]:
    run = _Run()
    cells: list[ImportedCell] = []
    for _, line in numbered_lines(read_text(path)):
        if match := _RAMPUP.search(line):
            run.rampup_s = float(match[1]) * _MINUTE_S
        elif match := _LENGTH.search(line):
            run.length_s = float(match[1]) * _MINUTE_S
        elif match := _USERS.search(line):
            run.users = int(match[1])
        elif match := _FAILURE.search(line):
            run.failed.add(match[1] or match[2])
        elif match := _RESULT.search(line):
            cells.append(_cell(path, run, int(match[1]), int(match[2]), match[3]))
            run = _Run()
        elif match := _OLD_RESULT.search(line):
            cells.append(_cell(path, run, int(match[3]), int(match[1]), match[2]))
            run = _Run()
    if not cells:
        raise bad_line(path, 1, "HammerDB's log without a result: the run did not end", "it ends with TEST RESULT")
    if len(cells) > 1:
        for number, cell in enumerate(cells, 1):
            cell.label = f"{cell.label} {number}"
    return cells


def _cell(path: Path, run: _Run, nopm: int, tpm: int, database: str) -> ImportedCell:
    figures = {
        "workload.throughput": MetricSummary(mean=float(nopm), max=None),
        "workload.ops_per_s": MetricSummary(mean=tpm / _MINUTE_S, max=None),
    }
    warnings = [NO_SERIES]
    if run.failed:
        warnings.append(f"{len(run.failed)} virtual users failed")
    if not run.length_s:
        warnings.append(NO_LENGTH)
    fields: FieldValues = {"workload.kind": "tpcc", "workload.variant": "tproc-c"}
    if run.users is not None:
        fields["workload.connections"] = run.users
    return ImportedCell(
        label=path.stem,
        unit="NOPM",
        intervals=[],
        interval_s=run.length_s or 1.0,
        totals_only=Totals(run.length_s, figures),
        settings=fields,
        layers={"workload": "real", "database": "real"},
        operations=round(tpm * run.length_s / _MINUTE_S),
        warnings=warnings,
        rampup_s=run.rampup_s,
        totals={"tool": "HammerDB", "nopm": nopm, "tpm": tpm, "database": database},
    )
