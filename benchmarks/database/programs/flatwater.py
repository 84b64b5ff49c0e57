"""`flatwater run`, attached to the server, as a user calls it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.database.work import Address, Outcome, Setting, Work
from benchmarks.job import Finished
from flatwater import __version__
from flatwater.errors import FlatwaterError
from flatwater.experiment.database.server import PASSWORD_VARIABLE

EXPERIMENTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Flatwater:
    """flatwater, with everything recorded that it records by default."""

    pipeline: bool = False

    @property
    def name(self) -> str:
        """flatwater, and how it sends statements."""
        return "flatwater, pipeline" if self.pipeline else "flatwater"

    def missing(self) -> str | None:
        """Never: this is its checkout."""
        return None

    def version(self) -> str:
        """Its version."""
        return f"flatwater {__version__}"

    def environment(self, address: Address) -> dict[str, str]:
        """The password."""
        return {PASSWORD_VARIABLE: address.password}

    def command(self, work: Work, setting: Setting, seed: int) -> list[str]:
        """`flatwater run --json`; the result folder is removed with the setting's."""
        return self._run(work, setting, f"{seed}", {"workload.duration_s": setting.seconds})

    def idle_command(self, work: Work, setting: Setting, number: int) -> list[str]:
        """One transaction in a second: what is left is starting, connecting and writing a result."""
        return self._run(work, setting, f"idle-{number}", {"workload.duration_s": 1, "workload.rate_per_s": 1})

    def outcome(self, work: Work, finished: Finished, start_cpu_s: float) -> Outcome:
        """Transactions, queries and CPU time of the measured phase, which is the whole run: there is no warm-up."""
        try:
            cell = json.loads(finished.output)
            if cell["status"] != "complete":
                raise FlatwaterError(f"flatwater's run {cell['status']}: {cell['error']}")
            seconds = sum(phase["end_s"] - phase["start_s"] for phase in cell["phases"])
            operations, queries = int(cell["operations"]), int(cell["counters"]["queries"])
            if work.kind == "tpcc":
                count, rate = operations, cell["latency_by_kind_us"]["new_order"]["count"] * 60 / seconds
            else:
                count, rate = queries, queries / seconds
            cpu_s = float(cell["client_cpu_us_per_op"]) * operations / 1e6
            return Outcome(rate, count, cpu_s, max(0.0, finished.cpu_s - start_cpu_s))
        except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
            raise FlatwaterError(f"flatwater's output is not understood: {error!r}") from None

    def _run(self, work: Work, setting: Setting, name: str, more: dict[str, int]) -> list[str]:
        changes = {**experiment_changes(work, setting), **more, "workload.pipeline": str(self.pipeline).lower()}
        sets = [word for field, value in changes.items() for word in ("--set", f"{field}={value}")]
        out = f"result-{work.name}-{work.connections}-{'pipeline' if self.pipeline else 'plain'}-{name}"
        # The one beside this interpreter, not another that may be on the PATH.
        program = Path(sys.executable).with_name("flatwater")
        return [str(program), "run", str(experiment_file(work)), *sets, "--json", "--out", out]


def experiment_file(work: Work) -> Path:
    """The experiment that all of a kind of work share."""
    return EXPERIMENTS / f"{work.kind}.toml"


def experiment_changes(work: Work, setting: Setting) -> dict[str, object]:
    """What a work changes in it."""
    changes: dict[str, object] = {
        "database.url": setting.address.url,
        "workload.connections": work.connections,
    }
    if work.kind == "tpcc":
        return changes | {"workload.warehouses": setting.warehouses}
    return changes | {"workload.mode": work.mode, "workload.rows": setting.rows}
