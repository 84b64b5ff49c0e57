"""sysbench's OLTP scripts, from the distribution's package."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from benchmarks.database.work import Address, Outcome, Setting, Work
from benchmarks.job import Finished, run_child
from benchmarks.loopback import HOST
from flatwater.errors import FlatwaterError


@dataclass(frozen=True)
class Sysbench:
    """sysbench 1.0 with its defaults (prepared statements), rows drawn uniformly."""

    name: str = "sysbench"

    def missing(self) -> str | None:
        """Without its package."""
        return None if shutil.which("sysbench") else "sysbench is not on the PATH (Debian's package sysbench)"

    def version(self) -> str:
        """Its own words: sysbench 1.0.20."""
        return " ".join(run_child(["sysbench", "--version"], Path.cwd()).output.split()[:2])

    def environment(self, address: Address) -> dict[str, str]:
        """Nothing."""
        return {}

    def command(self, work: Work, setting: Setting, seed: int) -> list[str]:
        """The same tables, connections and distribution."""
        return [*self._common(work, setting), f"--rand-seed={seed}", f"--time={setting.seconds}", "run"]

    def idle_command(self, work: Work, setting: Setting, number: int) -> list[str]:
        """One transaction."""
        return [*self._common(work, setting), "--time=0", "--events=1", "run"]

    def outcome(self, work: Work, finished: Finished, start_cpu_s: float) -> Outcome:
        """Reads the totals; of CPU time there is none, so it is the process's, less what starting takes."""
        queries = re.search(r"^\s+total:\s+(\d+)$", finished.output, re.MULTILINE)
        seconds = re.search(r"total time:\s+([\d.]+)s", finished.output)
        if queries is None or seconds is None or not int(queries[1]) or not float(seconds[1]):
            raise FlatwaterError("sysbench's output is not understood")
        cpu_s = max(0.0, finished.cpu_s - start_cpu_s)
        return Outcome(int(queries[1]) / float(seconds[1]), int(queries[1]), cpu_s, cpu_s)

    def _common(self, work: Work, setting: Setting) -> list[str]:
        address = setting.address
        link = [f"--mysql-socket={address.socket}"]
        if address.port is not None:
            link = [f"--mysql-host={HOST}", f"--mysql-port={address.port}"]
        return [
            "sysbench",
            f"oltp_{work.mode}",
            *link,
            f"--mysql-user={address.user}",
            f"--mysql-password={address.password}",
            f"--mysql-db={work.schema}",
            "--tables=1",
            f"--table-size={setting.rows}",
            f"--threads={work.connections}",
            "--rand-type=uniform",
        ]
