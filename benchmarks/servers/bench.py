"""A server of the registry with room for its data and results: what every step of the matrix runs on."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import psutil
import tomli_w
from pydantic import JsonValue

from flatwater.errors import FlatwaterError
from flatwater.results import Result, open_result
from flatwater.server import Binary

#: A part of an experiment's file.
Table: TypeAlias = Mapping[str, JsonValue]

FLATWATER = Path(sys.executable).with_name("flatwater")
#: A step of a few seconds takes minutes on a machine with a load of twenty, and a hang is a failure.
PATIENCE_S = 1200.0
#: Small enough that every server flushes: a warehouse and its undo are some four times as large.
SETTINGS: Table = {
    "innodb_buffer_pool_size": "32M",
    "innodb_log_file_size": "8M",
    "innodb_log_files_in_group": 2,
    "innodb_flush_log_at_trx_commit": 2,
}
#: Three intervals of the measured phase, in the journal of a cell.
MEASURED = re.compile(r'(?s)("phase":\s*"measure".*){3}')
#: The journal of the first cell, below a result.
JOURNAL = "cells/0000/journal.jsonl"
TPCC_S = 60.0
#: `flatwater fit workload` and `what-if` need 500 New-Orders, however busy the machine is.
COUNTED_MIN = 700
#: No longer than this: a server that does not do that many in ten minutes fails the step.
COUNTED_MAX_S = 600.0


class StepFailed(AssertionError):
    """Why a server does not do what a step asks for, in one line."""


def require(holds: object, what: str) -> None:
    """Errors: StepFailed."""
    if not holds:
        raise StepFailed(what)


@dataclass(frozen=True)
class Running:
    """A run or an observation under way."""

    process: subprocess.Popen[bytes]
    out: Path

    def until(self, came: re.Pattern[str], what: str, file: str = JOURNAL) -> re.Match[str]:
        """Waits until something is in its journal, or in another file of its result.

        Errors: StepFailed if it ended before, or never came.
        """
        found = self.until_ended_or(came, what, file)
        require(found is not None, f"it ended before {what}: {error_of(self.said)}")
        assert found is not None
        return found

    def until_ended_or(self, came: re.Pattern[str], what: str, file: str = JOURNAL) -> re.Match[str] | None:
        """Waits until something is in a file of its result, or until it has ended (None). Errors: StepFailed."""
        journal, deadline = self.out / file, time.monotonic() + PATIENCE_S
        while True:
            ended = self.process.poll() is not None
            if found := came.search(journal.read_text(encoding="utf-8") if journal.exists() else ""):
                return found
            if ended:
                return None
            require(time.monotonic() < deadline, f"{what} never came")
            time.sleep(0.2)

    def end(self, number: signal.Signals) -> int:
        """Its exit code after a signal. Errors: StepFailed if it does not end."""
        self.process.send_signal(number)
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise StepFailed(f"it did not end after {number.name}") from None

    @property
    def said(self) -> str:
        """What it has said."""
        return self.out.with_suffix(".err").read_text(encoding="utf-8", errors="replace")


@dataclass
class Bench:
    """One server, and a folder of its own on the storage."""

    name: str
    binary: Binary
    folder: Path
    #: What each result of this bench was called, and how many there were.
    _count: int = field(default=0)

    @property
    def storage(self) -> Path:
        """Where the servers' data are."""
        path = self.folder / "data"
        path.mkdir(exist_ok=True)
        return path

    def call(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """A verb that has ended well. Errors: StepFailed with its line of error."""
        done = self._ended(*arguments)
        if done.returncode != 0:
            raise StepFailed(error_of(done.stderr) or f"exit code {done.returncode}")
        return done

    def fails(self, *arguments: str | Path, code: int = 1) -> str:
        """The line of error of a verb that must fail. Errors: StepFailed if it does not."""
        done = self._ended(*arguments)
        ended = f"flatwater {arguments[0]} ended with exit code {done.returncode}, not with {code}"
        require(done.returncode == code, ended)
        told = error_of(done.stderr)
        require(told, f"flatwater {arguments[0]} failed and did not say why")
        return told

    def _ended(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                [FLATWATER, *map(str, arguments)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise StepFailed(f"flatwater {arguments[0]} did not end in {PATIENCE_S:.0f} s") from None
        for sign in ("Traceback", "panicked"):
            require(sign not in done.stderr, f"flatwater {arguments[0]} ended with a {sign.lower()}")
        return done

    def write(
        self,
        workload: Table,
        settings: Table | None = None,
        database: Table | None = None,
        storage: Path | None = None,
        **tables: Table,
    ) -> tuple[Path, Path]:
        """The file of an experiment on this server, and the folder of its result."""
        self._count += 1
        content = {
            "title": f"step {self._count}",
            "workload": workload,
            "database": {
                "kind": "server",
                "binary": str(self.binary.path),
                "settings": {**SETTINGS, **(settings or {})},
                **(database or {}),
            },
            "storage": {"path": str(storage or self.storage)},
            **tables,
        }
        file, out = self.folder / f"step-{self._count}.toml", self.folder / f"result-{self._count}"
        file.write_text(tomli_w.dumps(content), encoding="utf-8")
        return file, out

    def run(
        self, workload: Table, settings: Table | None = None, database: Table | None = None, **tables: Table
    ) -> tuple[Result, str]:
        """The result of an experiment on this server, and what `flatwater run` said. Errors: StepFailed."""
        file, out = self.write(workload, settings, database, None, **tables)
        told = self.call("run", file, "--out", out)
        result = open_result(out)
        for cell in result.cells:
            require(
                cell.summary is not None and cell.summary.status == "complete", f"cell {cell.index} is not complete"
            )
        return result, told.stdout + told.stderr

    def variables(self, result: Result) -> Sequence[Mapping[str, str]]:
        """What the server said of itself in each cell."""
        folders = [result.path / "servers" / f"{cell.index:04}" for cell in result.cells]
        return [json.loads((folder / "variables.json").read_text()) for folder in folders]

    @contextmanager
    def running(self, *arguments: str | Path, out: Path, through: Sequence[str] = ()) -> Iterator[Running]:
        """A verb under way, with its result in `out`. What it has said is in `out`.err; it is killed in the end.

        `through` is a program that starts it.
        """
        with out.with_suffix(".err").open("wb") as said:
            process = subprocess.Popen(
                [*through, FLATWATER, *map(str, arguments), "--out", str(out)],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
            )
            try:
                yield Running(process, out)
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()

    @cached_property
    def tpcc(self) -> Result:
        """A run of tpcc, which several steps look at: made by the first of them."""
        result, _ = self.run(tpcc(TPCC_S))
        return result

    @cached_property
    def counted(self) -> Result:
        """A run of tpcc with enough transactions to count costs by: the same, or a longer one."""
        summary = self.tpcc.cells[0].summary
        assert summary is not None
        done = summary.latency_by_kind_us["new_order"].count
        if done >= COUNTED_MIN:
            return self.tpcc
        result, _ = self.run(tpcc(min(2 * TPCC_S * COUNTED_MIN / max(done, 1), COUNTED_MAX_S)))
        return result


def servers_on(storage: Path) -> list[psutil.Process]:
    """The servers that run on data below a folder."""
    told = f"--defaults-file={storage}/"
    return [
        process
        for process in psutil.process_iter(["cmdline"])
        if any(argument.startswith(told) for argument in process.info["cmdline"] or ())
    ]


def require_gone(storage: Path) -> None:
    """Waits for the end of the servers on a storage. Errors: StepFailed."""
    deadline = time.monotonic() + 60
    while servers_on(storage):
        require(time.monotonic() < deadline, "its server is still there")
        time.sleep(0.2)


def free_port(address: str) -> int:
    """A port of an address of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((address, 0))
        port: int = probe.getsockname()[1]
        return port


def tpcc(duration_s: float, warmup_s: float = 1.0) -> Table:
    """TPC-C on one warehouse."""
    times = {"warmup_s": warmup_s, "duration_s": duration_s}
    return {"kind": "tpcc", "warehouses": 1, "connections": 4, **times}


def oltp(mode: str, duration_s: float = 2.0, **more: JsonValue) -> Table:
    """OLTP of sysbench on two small tables."""
    times = {"warmup_s": 0.5, "duration_s": duration_s}
    return {"kind": "oltp", "mode": mode, "tables": 2, "rows": 5000, "connections": 2, **times, **more}


def error_of(told: str) -> str:
    """The line of error in what flatwater said; empty if there is none."""
    errors = [line for line in told.splitlines() if line.startswith("error: ")]
    return errors[-1].removeprefix("error: ") if errors else ""


def why(error: BaseException) -> str:
    """The reason of a failed step, in one line."""
    text = str(error) if isinstance(error, (FlatwaterError, StepFailed)) else f"{type(error).__name__}: {error}"
    return " ".join(text.split())
