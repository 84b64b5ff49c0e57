"""Runs the installed program on real database servers, in a place that the tests of one session share.

What is loaded once serves all of them. After each test nothing may be left of its servers: no process, no socket.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import tomli_w
from lab import Lab, Ran, Running
from waiting import PATIENCE_S

from flatwater.owned.folder import LEDGER
from flatwater.server import Instance

#: As quick to load as data can be, for tests to which the workload does not matter.
OLTP = {"kind": "oltp", "mode": "read_write", "rows": 1000, "connections": 4, "duration_s": 1.5}
#: One warehouse: some 100 MB.
TPCC = {"kind": "tpcc", "warehouses": 1, "connections": 4, "duration_s": 1.5}
#: Servers that start quickly, and take little room.
SMALL = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "32M"}


def made_in(storage: Path, pattern: str) -> list[Path]:
    """What was made in flatwater's folders, without their ledgers."""
    return [path for path in storage.glob(pattern) if path.name != LEDGER]


@dataclass
class ServerLab:
    """Experiments on servers: `lab` runs them, `storage` holds their snapshots, `sockets` their sockets."""

    lab: Lab
    storage: Path
    sockets: Path

    def write(
        self,
        workload: Mapping[str, Any],
        database: Mapping[str, Any] = {},
        *,
        settings: Mapping[str, Any] = SMALL,
        storage: Path | None = None,
        interval_s: float = 0.1,
        **rest: Any,
    ) -> Path:
        """An experiment file; of an attached server (`url`) it says nothing that is not asked for."""
        own = {"settings": dict(settings)} if "url" not in database else {}
        place = {"storage": {"path": str(storage or self.storage)}} if "url" not in database else {}
        content = {
            "workload": dict(workload),
            "database": {"kind": "server"} | own | dict(database),
            "record": {"interval_s": interval_s},
        }
        path = self.lab.folder / f"servers{len(list(self.lab.folder.glob('servers*.toml')))}.toml"
        path.write_text(tomli_w.dumps(content | place | rest))
        return path

    def go(self, workload: Mapping[str, Any], database: Mapping[str, Any] = {}, **rest: Any) -> Ran:
        """Writes an experiment and runs it to its end."""
        return self.run(self.write(workload, database, **rest))

    def run(self, file: Path, *arguments: str) -> Ran:
        """Runs an experiment to its end; its result is beside it."""
        return self.lab.run(file, "--json", *arguments, out=file.with_suffix(""))

    def start(self, file: Path, *arguments: str) -> Running:
        """Starts an experiment and does not wait for it."""
        return self.lab.start(file, "--json", *arguments, out=file.with_suffix(""))

    def processes(self, storage: Path | None = None) -> list[psutil.Process]:
        """The servers that run on data under the storage."""
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                told = f"--defaults-file={storage or self.storage}/"
                ours = any(argument.startswith(told) for argument in process.cmdline())
                if ours and process.status() != psutil.STATUS_ZOMBIE:
                    found.append(process)
        return found

    def until_gone(self, storage: Path | None = None) -> None:
        """Waits until no server runs; fails when one stays."""
        until = time.monotonic() + PATIENCE_S
        while left := self.processes(storage):
            assert time.monotonic() < until, left
            time.sleep(0.02)

    def check_clean(self, storage: Path | None = None, *, waiting: int = 0) -> None:
        """Nothing is left of a run but the data of so many servers that wait to be gone on with."""
        assert self.processes(storage) == []
        assert list(self.sockets.iterdir()) == []
        kept = made_in(storage or self.storage, "flatwater-servers/run/*")
        assert len(kept) == waiting, kept


@dataclass
class Foreign:
    """A server that somebody else runs, with an account for flatwater."""

    instance: Instance
    socket: Path
    user: str = "bench"
    password: str = "geheim-4711"

    def url(self, schema: str, password: str | None = None) -> str:
        """Its url; with `password=""` without one."""
        told = self.password if password is None else password
        secret = f"&password={told}" if told else ""
        return f"mysql://{self.socket}?user={self.user}&schema={schema}{secret}"

    def schema(self, name: str) -> str:
        """A schema of this name, empty, and its name."""
        self.instance.query(f"DROP DATABASE IF EXISTS {name}")
        self.instance.query(f"CREATE DATABASE {name}")
        return name
