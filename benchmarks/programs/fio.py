"""fio, from the distribution's package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from benchmarks.job import BLOCK_BYTES, FILE_NAME, Finished, Job, Outcome, Setting, run_child
from flatwater.errors import FlatwaterError

_MODES = {"rndrd": "randread", "rndwr": "randwrite"}


@dataclass(frozen=True)
class Fio:
    """fio with registered files and buffers; `batch` > 0 submits and reaps that many requests together."""

    batch: int = 0

    @property
    def name(self) -> str:
        """fio, or how it was batched."""
        return f"fio, batches of {self.batch}" if self.batch else "fio"

    def command(self, job: Job, setting: Setting, seed: int) -> list[str]:
        """Same file, size, block, depth and address distribution; fio's defaults otherwise."""
        command = [
            "fio",
            "--name=bench",
            f"--filename={FILE_NAME}",
            f"--size={setting.size_bytes}",
            f"--rw={_MODES[job.mode]}",
            f"--bs={BLOCK_BYTES}",
            f"--ioengine={job.engine}",
            "--direct=1",
            f"--iodepth={job.depth}",
            f"--numjobs={job.threads}",
            # Uniform with repetition, as the others: a map of the blocks already read would cost fio extra.
            "--norandommap=1",
            f"--randseed={seed}",
            "--time_based",
            f"--runtime={setting.seconds}",
            "--group_reporting",
            "--output-format=json",
        ]
        if job.engine == "io_uring":
            command += ["--registerfiles=1", "--fixedbufs=1"]
        if self.batch:
            # Submits when `batch` are queued; reaps from one (fio's default) to all that have completed.
            command += [f"--iodepth_batch_submit={self.batch}", "--iodepth_batch_complete_min=1"]
            command += [f"--iodepth_batch_complete_max={job.depth}"]
        return command

    def outcome(self, finished: Finished) -> Outcome:
        """Reads the JSON: fio counts its job's CPU time itself, as percents of the job's run time."""
        try:
            # fio may print notes before the JSON.
            job = json.loads(finished.output[finished.output.index("{") :])["jobs"][0]
            side = max((job["read"], job["write"]), key=lambda side: int(side["total_ios"]))
            operations = int(side["total_ios"])
            cpu_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1000
            return Outcome(
                operations * 1000 / side["runtime"], cpu_s * 1e6 / operations, finished.cpu_s * 1e6 / operations
            )
        except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
            raise FlatwaterError(f"fio's output is not understood: {error!r}") from None

    def version(self) -> str:
        """Its own words: fio-3.33."""
        return run_child(["fio", "--version"], Path.cwd()).output.strip().replace("-", " ", 1)
