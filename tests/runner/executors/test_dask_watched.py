"""A run on a real cluster is watched as one of this machine is: every second of its cells is in the result folder."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from benchmarks.servers.cluster import Cluster
from lab import MIB, Lab, journal_lines
from modelledlab import write_modelled

sys.path.append(str(Path(__file__).parents[2] / "terminal"))
sys.path.append(str(Path(__file__).parents[2] / "serve"))
import servelab
from ptylab import OnTerminal

from flatwater.cli.watching import find_run
from flatwater.results.lock import LOCK
from flatwater.results.result import ELSEWHERE
from flatwater.serve.alive import runs_under_way
from flatwater.serve.folders import key_of
from flatwater.serve.followed import Followed
from flatwater.serve.metrics import Metrics
from flatwater.serve.writers import Writers
from flatwater.terminal import SERIES

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with closing(Cluster(tmp_path_factory.mktemp("cluster"))) as cluster:
        cluster.worker("first", host=1, real=1, threads=2)
        yield cluster


def write_long(lab: Lab, rates: list[float], *, duration_s: float = 600, **storage: Any) -> Path:
    """Real cells that end only when they are told to."""
    workload = {"mode": "rndrd", "direct": False, "duration_s": duration_s}
    storage = {"path": "data", "size": 4 * MIB, **storage}
    return lab.write(workload, storage, sweep={"workload.rate_per_s": rates})


def seconds(out: Path, cell: int = 0) -> int:
    """How many measured intervals of a cell are in the result."""
    journal = out / "cells" / f"{cell:04}" / "journal.jsonl"
    return journal.read_text().count('"phase":"measure"') if journal.exists() else 0


def test_every_second_while_it_runs(lab: Lab, shared: Cluster) -> None:
    run = lab.start(write_long(lab, [100, 200]), "--on", shared.address)
    run.until(lambda: seconds(run.out) >= 3)
    # What is here is the beginning of what the worker has, byte for byte.
    (there,) = (shared.folder / "first").rglob("journal.jsonl")
    here = (run.out / "cells/0000/journal.jsonl").read_bytes()
    assert there.read_bytes().startswith(here) and here.endswith(b"\n")
    assert Writers().of(run.out) == run.process.pid
    followed = Followed(run.out, Writers(), SERIES)
    followed.advance()
    state = followed.state()
    assert (state.word, state.told) == ("running", f"Process {run.process.pid} runs it.")
    assert followed.tail is not None and followed.tail.rows >= 3
    followed.close()
    assert find_run(run.out) == run.out and run.out in Writers.results_of_user()
    told = Metrics().text(runs_under_way([run.out], Writers()))
    assert "flatwater_runs 1\n" in told and "flatwater_throughput{" in told
    with servelab.Lab([run.out]) as served:
        events = served.watch(key_of(run.out))
        _, first = events.until(lambda name, told: name == "all")
        assert first["state"] == "running" and "IOPS" in dict(first["tiles"])["throughput"]
        events.until(lambda name, told: name == "more" and told["times"])
        events.close()
    # Nobody begins a second run in it.
    again = lab.flatwater("resume", run.out)
    assert again.code == 2 and f"{run.out}: process {run.process.pid} runs it already" in again.error
    assert f"flatwater watch {run.out}" in again.error
    ran = run.send(signal.SIGINT)
    assert ran.code == 130, ran
    # What came here is kept, and this machine does not go on with what another one measured.
    assert seconds(ran.out) >= 3 and (ran.out / "cells/0000" / ELSEWHERE).exists()
    assert not (ran.out / LOCK).exists()
    assert lab.flatwater("report", ran.out).code == 0


def test_what_is_delivered_takes_its_place(lab: Lab, shared: Cluster) -> None:
    fault = {"kind": "error", "after_ops": 300}
    run = lab.start(write_long(lab, [100, 40], duration_s=5, fault=fault), "--json", "--on", shared.address)
    run.until(lambda: seconds(run.out) >= 1)
    ran = run.wait()
    assert ran.code == 1
    assert {cell["cell"]: cell["status"] for cell in ran.cells} == {0: "failed", 1: "complete"}
    failed, complete = ran.out / "cells/0000", ran.out / "cells/0001"
    assert [line["event"]["kind"] for line in journal_lines(failed) if "event" in line] == ["fault"]
    assert not (failed / ELSEWHERE).exists()
    assert sorted(path.suffix for path in complete.iterdir()) == [".json", ".parquet", ".parquet"]
    assert not (ran.out / "set-aside").exists()


@pytest.mark.slow
def test_what_a_lost_worker_measured_is_kept(lab: Lab, tmp_path: Path) -> None:
    with closing(Cluster(tmp_path / "cluster")) as cluster:
        lost = cluster.worker("first", host=1, real=1)
        run = lab.start(write_long(lab, [100, 200]), "--on", cluster.address)
        run.until(lambda: seconds(run.out) >= 3)
        before = (run.out / "cells/0000/journal.jsonl").read_bytes()
        lost.kill()
        cluster.worker("second", host=2, real=1)
        aside = run.out / "set-aside/0000-1/journal.jsonl"
        run.until(lambda: aside.exists() and seconds(run.out) >= 1)
        assert aside.read_bytes().startswith(before)
        ran = run.send(signal.SIGINT)
        assert ran.code == 130 and "what was measured before elsewhere is kept in" in ran.stderr


def test_a_modelled_cell_is_watched_and_leaves_nothing(lab: Lab, shared: Cluster) -> None:
    """What is computed is computed again."""
    run = lab.start(write_modelled(lab, [60_000.0, 60_001.0], duration_s=36_000), "--on", shared.address)
    run.until(lambda: seconds(run.out) >= 3 or seconds(run.out, 1) >= 3)
    ran = run.send(signal.SIGINT)
    assert ran.code == 130, ran
    assert list((ran.out / "cells").iterdir()) == []


def test_the_terminal_draws_the_first_cell(lab: Lab, shared: Cluster) -> None:
    file = write_long(lab, [100, 200])
    arguments = ["run", str(file), "--out", "out", "--on", shared.address]
    with OnTerminal(arguments, lab.folder) as shown:
        shown.until(lambda text: "throughput " in text and "p99 latency" in text and "of the cell" in text)
        assert "rate_per_s 100: measure" in shown.text and "(on tcp://" in shown.text
        os.kill(shown.process.pid, signal.SIGINT)
        assert shown.end() == 130
