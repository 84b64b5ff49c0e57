"""Runs the installed program on real files, as a user would, and looks at what it left behind.

Everything that is asserted of every run is here: an exit code of the contract, one line of error at most, no
traceback and no panic, and with `--json` nothing but JSON on standard output.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import tomli_w
from waiting import PATIENCE_S

from flatwater.cli import main
from flatwater.results import Cell, CellSummary, Result, open_result

FLATWATER = Path(sys.executable).with_name("flatwater")
MIB = 2**20
#: A signal that was heard ends a run before the program could be started so many times: some 30 s on an idle machine,
#: half of the shortest time after which flatwater gives something up by itself (a login, a device at the end of a run).
STARTS_MAX = 120


@dataclass
class Ran:
    """A run of the program that has ended."""

    code: int
    stdout: str
    stderr: str
    out: Path
    took_s: float

    def check(self) -> None:
        """What holds for every run that was not killed."""
        for sign in ("Traceback", "panicked", "Aborted", "Exception"):
            assert sign not in self.stderr, self.stderr
        assert self.code in (0, 1, 2, 130), self
        errors = [line for line in self.stderr.splitlines() if line.startswith("error: ")]
        assert len(errors) == (self.code != 0), self.stderr
        assert not errors or self.stderr.splitlines()[-1] == errors[0], self.stderr

    @property
    def at_once(self) -> bool:
        """Whether it ended because it heard a signal, and not because a time was over, however busy the machine is."""
        begun = time.monotonic()
        subprocess.run([FLATWATER, "--version"], check=True, stdout=subprocess.DEVNULL)
        return self.took_s < STARTS_MAX * (time.monotonic() - begun)

    @property
    def measured_s(self) -> float:
        """How long was measured: on a busy machine not just as long as was asked for."""
        return float(sum(phase.end_s - phase.start_s for phase in self.summary.phases if phase.name == "measure"))

    @cached_property
    def cells(self) -> list[dict[str, Any]]:
        """The objects that `--json` printed."""
        return [json.loads(line) for line in self.stdout.splitlines()]

    @property
    def cell(self) -> dict[str, Any]:
        (only,) = self.cells
        return only

    @property
    def error(self) -> str:
        """The one line of error."""
        (only,) = [line for line in self.stderr.splitlines() if line.startswith("error: ")]
        return only

    @property
    def result(self) -> Result:
        return open_result(self.out)

    @property
    def recorded(self) -> Cell:
        """The only cell of the result."""
        (only,) = self.result.cells
        return only

    @property
    def summary(self) -> CellSummary:
        summary = self.recorded.summary
        assert summary is not None
        return summary


class Lab:
    """A directory with data, experiments and results of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.data.mkdir()
        self._count = 0
        self._started: list[subprocess.Popen[str]] = []

    def write(self, workload: Mapping[str, Any] = {}, storage: Mapping[str, Any] = {}, **rest: Any) -> Path:
        """An experiment file: random reads and writes of 8 MiB for 0.1 s, unless told otherwise."""
        self._count += 1
        path = self.folder / f"experiment{self._count}.toml"
        content = {
            "workload": {"mode": "rndrw", "duration_s": 0.1} | dict(workload),
            "storage": {"path": str(self.data), "size": 8 * MIB} | dict(storage),
            "record": {"interval_s": 0.1},
        } | rest
        path.write_text(tomli_w.dumps(content))
        return path

    def start(
        self,
        file: Path | str,
        *arguments: str | Path,
        out: Path | None = None,
        verb: str = "run",
        begin: Callable[[], object] | None = None,
    ) -> Running:
        """Starts `flatwater run FILE` and does not wait for it. `begin` is done by the process before the program."""
        if verb == "run":
            out = out or self.folder / f"out{self._count}"
            arguments = (*arguments, "--out", out)
        command = [str(FLATWATER), verb, str(file), *map(str, arguments)]
        process = subprocess.Popen(
            command,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=_environment(),
            preexec_fn=begin,
        )
        self._started.append(process)
        return Running(process, out or self.folder)

    def close(self) -> None:
        """Ends what a failed test left running, and gives the space back."""
        for process in self._started:
            with process:  # its pipes are closed, also where a test saw the end and never read them
                process.kill()
        shutil.rmtree(self.data, ignore_errors=True)

    def run(self, file: Path | str, *arguments: str | Path, out: Path | None = None, verb: str = "run") -> Ran:
        """Runs the program to its end, in this process: a new one takes longer to start than most runs take."""
        if verb == "run":
            out = out or self.folder / f"out{self._count}"
            arguments = (*arguments, "--out", out)
        return self.flatwater(verb, file, *arguments, out=out)

    def flatwater(self, *arguments: str | Path, out: Path | None = None) -> Ran:
        """Runs the program with these arguments and no others, in this process."""
        stdout, stderr, argv = io.StringIO(), io.StringIO(), sys.argv
        sys.argv = [str(FLATWATER), *map(str, arguments)]
        begun, code = time.monotonic(), 0
        try:
            with chdir(self.folder), redirect_stdout(stdout), redirect_stderr(stderr):
                main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.argv = argv
        ran = Ran(code, stdout.getvalue(), stderr.getvalue(), out or self.folder, time.monotonic() - begun)
        ran.check()
        return ran

    def go(
        self,
        workload: Mapping[str, Any] = {},
        storage: Mapping[str, Any] = {},
        *,
        arguments: Sequence[str | Path] = ("--json",),
        out: Path | None = None,
        **rest: Any,
    ) -> Ran:
        """Writes an experiment and runs it."""
        return self.run(self.write(workload, storage, **rest), *arguments, out=out)


@dataclass
class Running:
    """A run of the program under way."""

    process: subprocess.Popen[str]
    out: Path
    begun: float = 0.0

    def __post_init__(self) -> None:
        self.begun = time.monotonic()

    def wait(self) -> Ran:
        """Waits for the end, and checks what holds for every run."""
        try:
            stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it never ended: {self.process.communicate()}") from None
        took_s = time.monotonic() - self.begun
        ran = Ran(self.process.returncode, stdout, stderr, self.out, took_s)
        if ran.code != -signal.SIGKILL:
            ran.check()
        return ran

    def until(self, happened: Callable[[], object]) -> None:
        """Waits until something happened; fails when the program ended before."""
        until = time.monotonic() + PATIENCE_S
        while not happened():
            if self.process.poll() is not None and not happened():
                raise AssertionError(f"ended before it happened: {self.wait()}")
            assert time.monotonic() < until, "it never happened"
            time.sleep(0.01)

    def until_recorded(self, lines: int, cell: int = 0, phase: str = "measure") -> None:
        """Waits until a cell's journal has so many intervals of a phase."""
        journal = self.out / "cells" / f"{cell:04}" / "journal.jsonl"
        self.until(lambda: journal.exists() and journal.read_text().count(f'"phase":"{phase}"') >= lines)

    def send(self, number: signal.Signals) -> Ran:
        """Sends a signal and waits; `took_s` is the time from the signal to the end."""
        self.process.send_signal(number)
        self.begun = time.monotonic()
        return self.wait()


def _environment() -> dict[str, str]:
    # A terminal's width and colours must not change what is asserted.
    return {name: value for name, value in os.environ.items() if name not in ("FORCE_COLOR", "COLUMNS")}


def journal_lines(cell: Path) -> list[dict[str, Any]]:
    """The intervals and events of a cell that is not sealed into the merged files yet."""
    return [json.loads(line) for line in (cell / "journal.jsonl").read_text().splitlines()]
