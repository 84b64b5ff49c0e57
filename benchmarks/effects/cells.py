"""Both sides of the table: the experiment of a server and that of its model, run, and read back."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from benchmarks.servers.bench import FLATWATER
from flatwater.errors import FlatwaterError, Interrupted, UserError
from flatwater.results import Result, open_result
from flatwater.results.schema import CellSummary


@dataclass(frozen=True)
class Outcome:
    """One cell. Pages are those of a transaction."""

    throughput: float
    pages_read: float
    pages_written: float
    age_mib: float
    #: The server's processor time of a transaction; None if it was not recorded.
    cpu_us: float | None
    #: Of the card; None if it does not tell.
    write_amplification: float | None
    verdict: str


def measure(content: Mapping[str, Any], out: Path) -> Result:
    """The result of one cell of the real server in this folder, run unless it is there.

    Errors: UserError if the folder has the result of another cell; FlatwaterError if nothing was run.
    """
    file, text = out.with_suffix(".toml"), tomli_w.dumps(content)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.exists() and file.read_text() != text:
        hint = "move it away, or give another folder with --results"
        what = f"{out} has results of another scale, of another server's program, or of another --dir"
        raise UserError(what, where="--results", hint=hint)
    file.write_text(text)
    if out.exists() and not failures(found := open_result(out)):
        return found
    return _run(file, out, *(["--resume"] if out.exists() else []))


def model(content: Mapping[str, Any], folder: Path) -> Result:
    """The model's result, always made anew: it takes seconds, and tells of the model of today."""
    file = folder / "model.toml"
    file.write_text(tomli_w.dumps(content))
    return _run(file, folder / "model")


def _run(file: Path, out: Path, *options: str) -> Result:
    words = [str(FLATWATER), "run", str(file), "--out", str(out), "--yes", *options]
    code = _wait_for(words)
    if code == Interrupted.exit_code:
        raise KeyboardInterrupt
    if code and not (out / "flatwater.json").exists():
        raise FlatwaterError(f"`flatwater run {file.name}` failed: its own words are above")
    return open_result(out)


def _wait_for(words: Sequence[str]) -> int:
    """The exit code. What interrupts this process interrupts the program once, and then waits for its clean end."""
    # In a session of its own Ctrl-C does not reach it: a second signal would be an order to end at once.
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True) as program:
        while True:
            try:
                return program.wait()
            except KeyboardInterrupt:
                program.send_signal(signal.SIGINT)


def failures(result: Result) -> list[str]:
    """A line for each cell that did not end well."""
    found = []
    for cell in result.cells:
        if cell.summary is None:
            found.append(f"cell {cell.index} has no result")
        elif cell.summary.status != "complete":
            found.append(f"cell {cell.index}: {cell.summary.error or cell.summary.status}")
    return found


def outcome_of(result: Result | None) -> Outcome | None:
    """The outcome of the result of one cell; None if there is none that ended well."""
    return _outcome(result.cells[0].summary) if result is not None and result.cells else None


def outcomes(result: Result, positions: int) -> list[list[Outcome | None]]:
    """For the base and each change, one outcome a repeat; None for a cell that did not end well."""
    found: list[list[Outcome | None]] = [[] for _ in range(positions)]
    for cell in result.cells:
        found[cell.index % positions].append(_outcome(cell.summary))
    return found


def _cpu_us(means: Mapping[str, float], transactions: float) -> float | None:
    """Of a transaction. Percent are of one processor. A model has no other time than the user's."""
    if "database.server_cpu_user_pct" not in means:
        return None
    percent = means["database.server_cpu_user_pct"] + means.get("database.server_cpu_system_pct", 0.0)
    return percent * 1e4 / transactions


def _outcome(summary: CellSummary | None) -> Outcome | None:
    if summary is None or summary.status != "complete" or not summary.mean:
        return None
    means = {name: one.mean for name, one in summary.metrics.items() if one.mean is not None}
    transactions = means.get("workload.ops_per_s")
    if not transactions:
        return None
    return Outcome(
        throughput=summary.mean,
        pages_read=means.get("database.pages_read_per_s", 0.0) / transactions,
        pages_written=means.get("database.pages_flushed_per_s", 0.0) / transactions,
        age_mib=means.get("database.checkpoint_age_bytes", 0.0) / 2**20,
        cpu_us=_cpu_us(means, transactions),
        write_amplification=means.get("storage.write_amplification"),
        verdict=summary.verdict or "",
    )
