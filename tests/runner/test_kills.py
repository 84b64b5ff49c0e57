"""Kill -9 at a random moment of each phase: what was measured before the kill is in the result, once.

Which phases there are is asked of the code, so that the next one is killed in too. A failure tells its seed; run again
with FLATWATER_SEED=... it draws the same moments.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from lab import FLATWATER, MIB, Lab, Ran, Running
from modelledlab import write_modelled
from serverlab import TPCC, ServerLab
from waiting import PATIENCE_S

from flatwater.results import open_result
from flatwater.results.phases import RECORDED, WARMUP, measured_s

SEED = int(os.environ.get("FLATWATER_SEED", "0")) or random.SystemRandom().randrange(1, 2**32)
#: What a run does besides the phases that its journal tells of.
PREPARE, RESUMED_WARMUP, MERGE, REPORT = "prepare", "resumed warm-up", "merge", "report"
PHASES = (PREPARE, *RECORDED, RESUMED_WARMUP, MERGE, REPORT)
#: After the first sign of a phase, at most so long until the kill, seconds.
WITHIN_S = 0.3


@dataclass
class Subject:
    """An experiment that has every phase that its kind can have."""

    lab: Lab
    file: Path
    duration_s: float
    #: Phases that its kind has not.
    without: frozenset[str]
    #: Waits until nothing of a killed run is left that could disturb the next.
    settle: Callable[[], None] = lambda: None
    #: A measured time is kept to so many seconds.
    slack_s: float = 0.35

    def __post_init__(self) -> None:
        self.out = self.file.with_suffix(".out")
        #: Time -> throughput of every interval that was measured before a kill.
        self.measured: dict[float, float] = {}
        self.killed = 0

    @property
    def journal(self) -> Path:
        return self.out / "cells/0000/journal.jsonl"

    def lines(self) -> list[dict[str, Any]]:
        with suppress(FileNotFoundError):
            text = self.journal.read_text()
            # The last line may be under way.
            return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
        return []

    def start(self) -> Running:
        return self.lab.start(self.file, "--resume", out=self.out)

    def kill(self, phase: str, chance: random.Random) -> None:
        """Runs until a phase has begun, and a little longer; or to its end, where that comes first."""
        before = sum(line.get("phase") == WARMUP for line in self.lines())
        run = self.start()
        deadline = time.monotonic() + PATIENCE_S
        while run.process.poll() is None and not self._began(phase, before):
            assert time.monotonic() < deadline, f"{phase} never began (seed {SEED})"
            time.sleep(0.002)
        with suppress(subprocess.TimeoutExpired):
            run.process.wait(chance.random() * WITHIN_S)
        if run.process.poll() is None:
            self.killed += 1
            run.process.kill()
        run.process.communicate()
        self.settle()
        self._remember()

    def _began(self, phase: str, before: int) -> bool:
        if phase == PREPARE:
            return (self.out / "flatwater.json").exists()
        if phase == MERGE:
            return (self.out / "summary.json").exists()
        if phase == RESUMED_WARMUP:
            return sum(line.get("phase") == WARMUP for line in self.lines()) > before
        return any(line.get("phase") == phase for line in self.lines())

    def _remember(self) -> None:
        for line in self.lines():
            if line.get("phase") == "measure":
                self.measured[line["time_s"]] = line["metrics"]["workload.throughput"]

    def finish(self) -> Ran:
        """Goes on to the end, and checks that all that was measured is there, once."""
        ran = self.lab.flatwater("resume", self.out, out=self.out)
        assert ran.code == 0, f"{ran.stderr} (seed {SEED})"
        cell = open_result(self.out).cells[0]
        series = cell.measured("workload", "throughput")
        times = series.time_s.tolist()
        assert times == sorted(set(times)), f"seed {SEED}"
        kept = dict(zip(times, series.value.tolist(), strict=True))
        lost = {at_s for at_s in self.measured if kept.get(at_s) != self.measured[at_s]}
        assert not lost, f"lost {sorted(lost)} (seed {SEED})"
        assert measured_s(cell.phases) == pytest.approx(self.duration_s, abs=self.slack_s), f"seed {SEED}"
        assert cell.summary is not None and cell.summary.samples == len(times)
        assert not list(self.out.glob("set-aside/*")), f"seed {SEED}"
        return ran

    def kill_report(self, chance: random.Random) -> None:
        """A report that is killed takes nothing from the result, and the next one is whole."""
        for _ in range(2):
            page = self.out.with_suffix(".html")
            done = subprocess.Popen(
                [FLATWATER, "report", self.out, "--out", page], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            with suppress(subprocess.TimeoutExpired):
                done.wait(0.3 + chance.random())
            done.kill()
            done.wait()
            assert self.lab.run(self.out, "--out", page, verb="report").code == 0
            assert page.read_text().rstrip().endswith("</html>"), f"seed {SEED}"


def fileio(lab: Lab) -> Subject:
    workload = {"mode": "rndrw", "block_size": "4KiB", "verify": True, "fsync": "end", "precondition_passes": 2}
    times = {"duration_s": 1.0, "warmup_s": 0.3}
    file = lab.write(workload | times, {"size": 32 * MIB})
    return Subject(lab, file, 1.0, frozenset())


def modelled(lab: Lab) -> Subject:
    file = write_modelled(lab, [20_000.0], duration_s=100)
    return Subject(lab, file, 100.0, frozenset({"precondition", "drain", "verify", RESUMED_WARMUP, WARMUP}), slack_s=1)


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    return random.Random(f"{SEED} {request.node.name}")


@pytest.fixture(params=["fileio", "tpcc", "modelled"])
def subject(request: pytest.FixtureRequest, lab: Lab) -> Iterator[Subject]:
    if request.param != "tpcc":
        yield {"fileio": fileio, "modelled": modelled}[request.param](lab)
        return
    servers: ServerLab = request.getfixturevalue("servers")
    file = servers.write({**TPCC, "duration_s": 1.5, "warmup_s": 0.3})
    yield Subject(lab, file, 1.5, frozenset({"precondition", "verify"}), settle=servers.until_gone)
    assert not servers.processes() and not list(servers.storage.glob("flatwater-servers/run/*/data"))
    # A folder that was just made, of which nothing tells yet, is all that a kill may leave.
    assert not [path for path in servers.sockets.rglob("*") if not path.is_dir()], f"seed {SEED}"


@pytest.mark.slow_cases("tpcc")
def test_killed_in_each_phase(subject: Subject, chance: random.Random) -> None:
    """One cell, killed in each of its phases in turn: each run goes on with what the one before left."""
    measure = PHASES.index("measure") + 1
    others = [phase for phase in PHASES[measure:] if phase not in (RESUMED_WARMUP, REPORT)]
    for phase in (*PHASES[:measure], RESUMED_WARMUP, *others):
        if phase not in subject.without:
            subject.kill(phase, chance)
    assert subject.killed > 1, f"none of them came in time (seed {SEED})"
    subject.finish()
    subject.kill_report(chance)


@pytest.mark.slow
@pytest.mark.parametrize("phase", PHASES)
def test_killed_in(subject: Subject, chance: random.Random, phase: str) -> None:
    if phase in subject.without:
        pytest.skip("its kind has no such phase")
    if phase == REPORT:
        assert subject.start().wait().code == 0
        subject.kill_report(chance)
    else:
        if phase == RESUMED_WARMUP:
            subject.kill("measure", chance)
        subject.kill(phase, chance)
    subject.finish()


@pytest.mark.slow
@pytest.mark.parametrize("round_", range(6))
def test_killed_again_and_again(subject: Subject, chance: random.Random, round_: int) -> None:
    """In phase after phase of the same cell, in whatever order."""
    phases = [phase for phase in PHASES if phase not in subject.without and phase != REPORT]
    for phase in chance.choices(phases, k=8):
        subject.kill(phase, chance)
    subject.finish()
    assert subject.killed, f"none of them came in time (seed {SEED})"


def test_every_phase_that_a_run_can_show_is_killed_in(lab: Lab) -> None:
    """Each is a phase of one of the subjects at least, and what they record is registered."""
    ran = lab.run(fileio(lab).file, "--json")
    assert {phase.name for phase in ran.recorded.phases} <= set(RECORDED)
    assert {phase.name for phase in ran.recorded.phases} >= set(RECORDED) - {"drain"}
