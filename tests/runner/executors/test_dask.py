"""Sweeps on a real scheduler and real workers, each a process: what they lose, refuse and are told to stop."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from benchmarks.servers.cluster import Cluster
from dasklab import another_build, another_version, other_flatwater
from lab import MIB, Lab
from modelledlab import summaries, write_modelled

from flatwater.results import open_result
from flatwater.runner.executors.scheduler import connect
from flatwater.server import Binary

pytest.importorskip("distributed")

#: Requests a second with which a modelled minute takes a good part of a second.
BUSY = 60_000.0
MakeCluster = Callable[[], Cluster]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Two hosts that take real cells, one each; one has room for modelled ones beside."""
    with closing(Cluster(tmp_path_factory.mktemp("cluster"))) as cluster:
        cluster.worker("first", host=1, real=1, threads=2)
        cluster.worker("second", host=2, real=1)
        yield cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler without workers, for tests that lose some."""
    with closing(Cluster(tmp_path / "cluster")) as cluster:
        yield cluster


def write_real(lab: Lab, threads: list[int], *, duration_s: float = 0.5, **storage: Any) -> Path:
    """Cells on files in the folder of whichever worker runs them."""
    workload = {"mode": "rndrd", "direct": False, "duration_s": duration_s}
    return lab.write(workload, {"path": "data", "size": 4 * MIB, **storage}, sweep={"workload.threads": threads})


def test_nothing_is_written_for_a_question_that_closing_leaves_behind(
    shared: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    async def leave() -> None:
        asyncio.get_running_loop().create_future().set_exception(TimeoutError("nobody waits for it"))

    with closing(connect(shared.address, "--on")) as client:
        client.sync(leave)
    assert not [record for record in caplog.records if record.name == "asyncio"]


class TestCells:
    def test_modelled_ones_have_the_bytes_that_they_have_here(self, lab: Lab, shared: Cluster) -> None:
        file = write_modelled(lab, [100.0 * number for number in range(1, 41)])
        there = lab.run(file, "--json", "--on", shared.address)
        assert there.code == 0, there.stderr
        assert sorted(cell["cell"] for cell in there.cells) == list(range(40))
        here = lab.run(file, out=lab.folder / "here")
        for name in ("series.parquet", "histograms.parquet"):
            assert (there.out / name).read_bytes() == (here.out / name).read_bytes()
        assert not (there.out / "cells").exists()

    def test_real_ones_run_one_at_a_time_on_each_host(self, lab: Lab, shared: Cluster) -> None:
        """A second cell at the same time would find the storage in use, and fail."""
        ran = lab.run(write_real(lab, [1, 2, 3, 4, 5, 6]), "--json", "--on", shared.address)
        assert ran.code == 0, ran.stderr
        assert [cell["status"] for cell in ran.cells] == ["complete"] * 6
        assert any((shared.folder / name / "data" / "flatwater-fileio.0000").exists() for name in ("first", "second"))
        result = ran.result
        assert all(len(cell.series("workload", "throughput")) >= 4 for cell in result.cells)
        assert [cell.set["workload.threads"] for cell in result.cells] == [1, 2, 3, 4, 5, 6]
        assert (result.machine["executor"], len(result.machine["workers"])) == ("dask", 2)

    def test_a_failed_one_keeps_its_error_and_its_journal(self, lab: Lab, shared: Cluster) -> None:
        fault = {"kind": "error", "after_ops": 300}
        workload = {"mode": "rndrd", "direct": False, "duration_s": 0.4}
        sweep = {"workload.rate_per_s": [100, 3000, 200]}
        file = lab.write(workload, {"path": "data", "size": 4 * MIB, "fault": fault}, sweep=sweep)
        ran = lab.run(file, "--json", "--on", shared.address)
        assert ran.code == 1
        states = {cell["cell"]: cell["status"] for cell in ran.cells}
        assert states == {0: "complete", 1: "failed", 2: "complete"}
        assert "1 of 3 cells failed; it was rate_per_s 3000" in ran.error and "Input/output error" in ran.error
        assert (ran.out / "cells/0001/journal.jsonl").exists()
        assert [event.kind for event in ran.result.cells[1].events] == ["fault"]
        again = lab.run(file, "--json", "--resume", "--on", shared.address, out=ran.out)
        assert [cell["cell"] for cell in again.cells] == [1]

    @pytest.mark.slow
    def test_a_servers_logs_come_back(self, lab: Lab, shared: Cluster, binary: Binary) -> None:
        workload = {"kind": "oltp", "mode": "read_write", "rows": 500, "tables": 1, "duration_s": 1, "warmup_s": 0}
        database = {"kind": "server", "binary": str(binary.path), "settings": {"innodb_buffer_pool_size": "32M"}}
        file = lab.folder / "oltp.toml"
        sweep = {"workload.connections": [1, 2]}
        content = {"workload": workload, "database": database, "storage": {"path": "data"}, "sweep": sweep}
        file.write_text(tomli_w.dumps(content))
        ran = lab.run(file, "--json", "--on", shared.address)
        assert ran.code == 0, ran.stderr
        for cell in ran.cells:
            assert cell["layers"]["server"] and cell["operations"] > 0
            logs = ran.out / "servers" / f"{cell['cell']:04}"
            assert {"my.cnf", "error.log"} <= {path.name for path in logs.iterdir()}

    def test_what_was_begun_here_is_finished_there(self, lab: Lab, shared: Cluster) -> None:
        file = write_modelled(lab, [BUSY + number for number in range(20)], duration_s=15)
        run = lab.start(file, "-j", "2")
        run.until(lambda: summaries(run.out) >= 2)
        run.send(signal.SIGKILL)
        after = lab.run(file, "--resume", "--on", shared.address, out=run.out)
        assert after.code == 0, after.stderr
        assert [cell.summary is not None for cell in after.result.cells] == [True] * 20

    def test_a_live_line_for_a_real_one(self, lab: Lab, shared: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("flatwater.runner.progress.PLAIN_LINE_S", 0.5)
        ran = lab.run(write_real(lab, [1, 2], duration_s=4), "--on", shared.address)
        assert "0 of 2 cells done, 2 running" in ran.stderr
        assert "threads 1: measure " in ran.stderr and " IOPS, p95 " in ran.stderr and "(on tcp://" in ran.stderr


class TestLostWorker:
    @pytest.mark.slow
    def test_its_modelled_cells_run_again_elsewhere(self, lab: Lab, cluster: Cluster) -> None:
        first, _ = cluster.worker("first"), cluster.worker("second")
        file = write_modelled(lab, [BUSY + number for number in range(60)], duration_s=15)
        run = lab.start(file, "--json", "--on", cluster.address)
        run.until(lambda: summaries(run.out) >= 4)
        first.kill()
        ran = run.wait()
        assert ran.code == 0, ran.stderr
        assert sorted(cell["cell"] for cell in ran.cells) == list(range(60))
        assert "is lost: its cells run again elsewhere" in ran.stderr
        whole = lab.run(file, out=lab.folder / "whole")
        assert (whole.out / "series.parquet").read_bytes() == (ran.out / "series.parquet").read_bytes()

    @pytest.mark.slow
    def test_its_real_cell_runs_again_elsewhere(self, lab: Lab, cluster: Cluster) -> None:
        first, _ = cluster.worker("first", host=1, real=1), cluster.worker("second", host=2, real=1)
        run = lab.start(write_real(lab, [1, 2, 3, 4], duration_s=2), "--json", "--on", cluster.address)
        run.until(lambda: summaries(run.out) >= 1)
        first.kill()
        ran = run.wait()
        assert ran.code == 0, ran.stderr
        assert sorted(cell["cell"] for cell in ran.cells) == [0, 1, 2, 3]
        assert all(cell["samples"] >= 18 for cell in ran.cells), "none is in two pieces"

    @pytest.mark.slow
    def test_one_that_comes_later_helps(self, lab: Lab, cluster: Cluster) -> None:
        first = cluster.worker("first", host=1, real=1)
        run = lab.start(write_real(lab, [1, 2, 3], duration_s=2), "--json", "--on", cluster.address)
        run.until(lambda: summaries(run.out) >= 1)
        first.kill()
        cluster.worker("second", host=2, real=1)
        assert run.wait().code == 0
        assert [cell.summary is not None for cell in open_result(run.out).cells] == [True] * 3


class TestInterrupted:
    @pytest.mark.slow
    def test_ctrl_c_cancels_what_is_under_way(self, lab: Lab, shared: Cluster) -> None:
        """On the workers too: otherwise the storage would still be in use when the run goes on."""
        file = write_real(lab, [1, 2, 3, 4, 5, 6], duration_s=3)
        run = lab.start(file, "--json", "--on", shared.address)
        run.until(lambda: summaries(run.out) >= 2)
        ran = run.send(signal.SIGINT)
        assert (ran.code, ran.at_once) == (130, True), ran
        done = {cell["cell"] for cell in ran.cells}
        assert 2 <= len(done) < 6
        assert "flatwater resume " in ran.error
        after = lab.run(file, "--json", "--resume", "--on", shared.address, out=ran.out)
        assert after.code == 0, after.stderr
        assert sorted([*done, *(cell["cell"] for cell in after.cells)]) == list(range(6))

    @pytest.mark.slow
    def test_a_killed_client_leaves_nothing_running(self, lab: Lab, shared: Cluster) -> None:
        file = write_real(lab, [1, 2], duration_s=60)
        run = lab.start(file, "--on", shared.address)
        journals = [shared.folder / name for name in ("first", "second")]
        run.until(lambda: all(list(place.rglob("journal.jsonl")) for place in journals))
        run.send(signal.SIGKILL)
        ran = lab.run(write_real(lab, [1, 2, 3]), "--on", shared.address)
        if ran.code:  # the scheduler notices a moment later
            ran = lab.run(write_real(lab, [1, 2, 3]), "--on", shared.address)
        assert ran.code == 0, ran.stderr

    @pytest.mark.slow
    def test_a_scheduler_that_dies_ends_the_run(self, lab: Lab, cluster: Cluster) -> None:
        cluster.worker("first", real=1)
        run = lab.start(write_real(lab, [1, 2, 3], duration_s=2), "--json", "--on", cluster.address)
        run.until(lambda: summaries(run.out) >= 1)
        cluster.scheduler.kill()
        ran = run.wait()
        assert ran.code == 1
        assert "the scheduler is gone" in ran.error and f"flatwater resume {ran.out}" in ran.error
        assert len(ran.cells) >= 1


class TestRefused:
    def test_no_scheduler(self, lab: Lab) -> None:
        ran = lab.run(write_modelled(lab, [1.0]), "--on", "tcp://127.0.0.1:1")
        assert (ran.code, ran.at_once) == (1, True)
        assert "no dask scheduler answers at tcp://127.0.0.1:1: Connection refused" in ran.error
        assert not ran.out.exists()

    @pytest.mark.parametrize("address", ["tcp://", "tcp://:8786", "tcp://here:port", "tcp://here:99999999"])
    def test_no_address(self, lab: Lab, address: str) -> None:
        ran = lab.run(write_modelled(lab, [1.0]), "--on", address)
        assert ran.code == 2 and f"{address} is no address" in ran.error

    def test_jobs_are_of_this_machine(self, lab: Lab) -> None:
        ran = lab.run(write_modelled(lab, [1.0]), "--on", "tcp://127.0.0.1:1", "--jobs", "3")
        assert ran.code == 2 and "--jobs" in ran.error and "--nworkers" in ran.error

    @pytest.mark.slow
    def test_no_workers_and_then_the_wrong_ones(self, lab: Lab, cluster: Cluster, tmp_path: Path) -> None:
        modelled, real = write_modelled(lab, [1.0, 2.0]), write_real(lab, [1, 2])

        def refused(file: Path) -> str:
            ran = lab.run(file, "--on", cluster.address)
            assert ran.code == 1 and not (ran.out / "summary.json").exists(), ran
            return ran.error

        assert "the scheduler has no workers" in refused(modelled) and "dask worker" in refused(modelled)
        cluster.worker("plain")
        assert "no worker takes real cells" in refused(real) and '--resources "flatwater=1"' in refused(real)
        cluster.worker("one", host=2, real=1)
        greedy = cluster.worker("greedy", host=3, real=2)
        assert "takes 2 real cells at once" in refused(real)
        greedy.terminate()
        greedy.wait()
        beside = cluster.worker("beside", host=2, real=1)
        assert "2 workers on the host 127.0.0.2 take real cells" in refused(real)
        beside.terminate()
        beside.wait()
        own = lab.folder / "appliance.toml"
        relative = modelled.read_text().replace(str(own), "./appliance.toml")
        modelled.write_text(relative)
        assert "./appliance.toml: worker tcp://127.0.0." in refused(modelled)

    @pytest.mark.parametrize(
        ("other", "told"),
        [
            (lambda folder: another_version(folder, "0.2.0"), " has flatwater 0.2.0, this is "),
            (another_build, " has another build of flatwater "),
            (
                lambda folder: other_flatwater(folder, "raise ImportError('no engine here')"),
                " has no flatwater that could be asked",
            ),
        ],
        ids=["another version", "another build", "one that cannot be imported"],
    )
    def test_another_flatwater(
        self, lab: Lab, cluster: Cluster, tmp_path: Path, other: Callable[[Path], Path], told: str
    ) -> None:
        cluster.worker("ours")
        cluster.worker("theirs", host=2, python_path=other(tmp_path / "other"))
        ran = lab.run(write_modelled(lab, [1.0]), "--on", cluster.address)
        assert ran.code == 1
        assert "worker tcp://127.0.0.2:" in ran.error and told in ran.error and "install the same" in ran.error
        assert not ran.out.exists()


def test_what_a_worker_sends_stays_in_the_result(lab: Lab, shared: Cluster) -> None:
    """The machine of each worker is told without its name."""
    ran = lab.run(write_modelled(lab, [1.0, 2.0]), "--on", shared.address)
    assert "127.0.0" not in json.dumps(json.loads((ran.out / "machine.json").read_text()))
