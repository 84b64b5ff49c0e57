"""HammerDB's log of a run of TPROC-C: virtual users, ramp-up, length and result, without a series.

NOPM are New-Orders a minute that committed. TPM are all commits and rollbacks a minute. Seconds come from the
transaction counter or from samples beside it (`samplers/hammerdb_counter.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.printing import counted
from flatwater.results import MetricSummary
from flatwater.results.importers.figures import count_of
from flatwater.results.importers.imported import NO_LENGTH, ImportedCell, Totals, bad_line, numbered_lines
from flatwater.results.importers.texts import read_text, stem_of
from flatwater.results.schema import FieldValues

NAME = "hammerdb"
_RESULT = re.compile(r"System achieved ([\d,]{1,15}) NOPM from ([\d,]{1,15}) (\S.{0,40}?) TPM")
#: Before version 4, the order was another.
_OLD_RESULT = re.compile(r"System achieved ([\d,]{1,15}) (\S.{0,40}?) TPM at ([\d,]{1,15}) NOPM")
_RAMPUP = re.compile(r"Beginning rampup time of (\d+) minutes")
_LENGTH = re.compile(r"Timing test period of (\d+) in minutes")
#: Possessive: digits without end are looked at once.
_USERS = re.compile(r"(?<!\d)(\d++) Active Virtual Users configured")
#: No test is longer (two months), and none has more users.
_MINUTES_MAX, _USERS_MAX = 99_999, 999_999
_FAILURE = re.compile(r"Vuser (\d{1,6}):(?:FINISHED FAILED|Error\b)|Error in Virtual User (\d{1,6})")
_MINUTE_S = 60.0
#: The warning about a run of which only totals are known.
NO_SERIES = (
    "these are totals, without a series: whether the line was flat cannot be said. "
    "HammerDB's transaction counter (tcset, tcstart) writes one"
)


@dataclass
class _Run:
    """What was said of one run before its result."""

    rampup_s: float = 0.0
    length_s: float = 0.0
    users: int | None = None
    failed: set[str] = field(default_factory=set)
    #: Figures that no run has, each with its file and line.
    absurd: list[str] = field(default_factory=list)

    def told(self, text: str, least: int, most: int, what: str, place: str) -> int:
        """A number that the log tells; 0, and a warning, for one that no run has."""
        digits = text.lstrip("0") or "0"
        if len(digits) <= len(str(most)) and least <= int(digits) <= most:
            return int(digits)
        self.absurd.append(f"{place}: {digits[:20]} {what} cannot be: not taken")
        return 0


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
    for number, line in numbered_lines(read_text(path)):
        place = f"{path.name}:{number}"
        if match := _RAMPUP.search(line):
            run.rampup_s = run.told(match[1], 0, _MINUTES_MAX, "minutes of ramp-up", place) * _MINUTE_S
        elif match := _LENGTH.search(line):
            run.length_s = run.told(match[1], 1, _MINUTES_MAX, "minutes of test", place) * _MINUTE_S
        elif match := _USERS.search(line):
            run.users = run.told(match[1], 1, _USERS_MAX, "virtual users", place) or None
        elif match := _FAILURE.search(line):
            run.failed.add(match[1] or match[2])
        elif match := _RESULT.search(line):
            cells.append(_cell(path, run, _count(path, number, match[1]), _count(path, number, match[2]), match[3]))
            run = _Run()
        elif match := _OLD_RESULT.search(line):
            cells.append(_cell(path, run, _count(path, number, match[3]), _count(path, number, match[1]), match[2]))
            run = _Run()
    if not cells:
        raise bad_line(path, 1, "HammerDB's log without a result: the run did not end", "it ends with TEST RESULT")
    if len(cells) > 1:
        for number, cell in enumerate(cells, 1):
            cell.label = f"{cell.label} {number}"
    return cells


def _count(path: Path, number: int, text: str) -> int:
    """A figure of the result, whose thousands may be apart. Errors: UserError."""
    value = count_of(text)
    if value is None or value % 1:
        raise bad_line(path, number, f"no figure of HammerDB's result: {text!r}")
    return int(value)


def _cell(path: Path, run: _Run, nopm: int, tpm: int, database: str) -> ImportedCell:
    figures = {
        "workload.throughput": MetricSummary(mean=float(nopm), max=None),
        "workload.ops_per_s": MetricSummary(mean=tpm / _MINUTE_S, max=None),
    }
    warnings = [*run.absurd, NO_SERIES]
    if run.failed:
        warnings.append(f"{counted(len(run.failed), 'virtual user')} failed")
    if not run.length_s:
        warnings.append(NO_LENGTH)
    fields: FieldValues = {"workload.kind": "tpcc", "workload.variant": "tproc-c"}
    if run.users is not None:
        fields["workload.connections"] = run.users
    return ImportedCell(
        label=stem_of(path),
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
