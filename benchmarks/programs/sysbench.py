"""sysbench fileio, from the distribution's package."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks.job import BLOCK_BYTES, Finished, Job, Outcome, Setting, run_child
from flatwater.errors import FlatwaterError


@dataclass(frozen=True)
class Sysbench:
    """sysbench 1.0's fileio test with pread and pwrite."""

    name: str = "sysbench"

    def command(self, job: Job, setting: Setting, seed: int) -> list[str]:
        """Same file, size, block, threads and address distribution; no fsync, as the others do none."""
        return [
            "sysbench",
            "fileio",
            "--file-num=1",
            f"--file-total-size={setting.size_bytes}",
            f"--file-block-size={BLOCK_BYTES}",
            "--file-io-mode=sync",
            "--file-extra-flags=direct",
            f"--file-test-mode={job.mode}",
            "--file-fsync-freq=0",
            "--file-fsync-end=off",
            "--rand-type=uniform",
            f"--rand-seed={seed}",
            f"--threads={job.threads}",
            f"--time={setting.seconds}",
            "run",
        ]

    def outcome(self, finished: Finished) -> Outcome:
        """Reads the totals; of CPU time there is none, so it is the process's, less what starting takes."""
        events = re.search(r"total number of events:\s+(\d+)", finished.output)
        seconds = re.search(r"total time:\s+([\d.]+)s", finished.output)
        if events is None or seconds is None or not int(events[1]) or not float(seconds[1]):
            raise FlatwaterError("sysbench's output is not understood")
        us = 1e6 / int(events[1])
        cpu_s = max(0.0, finished.cpu_s - start_cpu_s())
        return Outcome(int(events[1]) / float(seconds[1]), cpu_s * us, finished.cpu_s * us)

    def version(self) -> str:
        """Its own words: sysbench 1.0.20."""
        return " ".join(run_child(["sysbench", "--version"], Path.cwd()).output.split()[:2])


@cache
def start_cpu_s() -> float:
    """CPU time of a sysbench that has next to nothing to do: 1 to 4 % of a short run with one thread."""
    command = ["sysbench", "cpu", "--cpu-max-prime=3", "--events=1", "run"]
    return statistics.median(run_child(command, Path.cwd()).cpu_s for _ in range(5))
