"""`flatwater run`, as a user calls it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.job import FILE_NAME, Finished, Job, Outcome, Setting
from flatwater import __version__
from flatwater.errors import FlatwaterError

EXPERIMENT = Path(__file__).parents[1] / "fileio.toml"


@dataclass(frozen=True)
class Flatwater:
    """flatwater, with everything recorded that it records by default."""

    name: str = "flatwater"

    def command(self, job: Job, setting: Setting, seed: int) -> list[str]:
        """`flatwater run --json`; the result folder is removed with the setting's."""
        changes = {
            "storage.path": FILE_NAME,
            "storage.size": setting.size_bytes,
            "workload.duration_s": setting.seconds,
            "workload.mode": job.mode,
            "workload.engine": job.engine,
            "workload.threads": job.threads,
            "workload.queue_depth": job.depth,
        }
        sets = [word for field, value in changes.items() for word in ("--set", f"{field}={value}")]
        out = ["--out", f"result-{job.mode}-{job.engine}-{job.threads}-{job.depth}-{seed}"]
        # The one beside this interpreter, not another that may be on the PATH.
        program = Path(sys.executable).with_name("flatwater")
        return [str(program), "run", str(EXPERIMENT), *sets, "--seed", str(seed), "--json", *out]

    def outcome(self, finished: Finished) -> Outcome:
        """Operations and CPU time of the measured phase, which is the whole run: there is no warm-up."""
        try:
            cell = json.loads(finished.output)
            measured_s = sum(phase["end_s"] - phase["start_s"] for phase in cell["phases"])
            operations = int(cell["operations"])
            return Outcome(
                operations / measured_s, float(cell["client_cpu_us_per_op"]), finished.cpu_s * 1e6 / operations
            )
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise FlatwaterError(f"flatwater's output is not understood: {error!r}") from None

    def version(self) -> str:
        """Its version."""
        return f"flatwater {__version__}"
