"""What an experiment asks for is what the files see: modes, engines, sizes, fsyncs, rates, addresses, data."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import pytest
from lab import MIB, Lab

from flatwater.results import Cell, Result

MODES = ["seqwr", "seqrewr", "seqrd", "seqrw", "rndrd", "rndwr", "rndrw"]
BLOCK = 16 * 1024


def values(cell: Cell, metric: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A series of the workload in the measured phase."""
    return cell.measured("workload", metric).value


def check_sane(cell: Cell, *, block: int = BLOCK, in_flight_max: int = 1) -> None:
    """What holds for any run that went well."""
    summary = cell.summary
    assert summary is not None
    assert (summary.status, summary.error, summary.errors) == ("complete", None, 0)
    ops, throughput = values(cell, "ops_per_s"), values(cell, "throughput")
    assert len(ops) == summary.samples > 0
    assert ops.sum() > 0
    np.testing.assert_allclose(throughput, ops, rtol=1e-6)
    np.testing.assert_allclose(values(cell, "bytes_per_s"), ops * block, rtol=1e-5)
    assert summary.bytes == summary.operations * block
    series = cell.measured("workload", "ops_per_s")
    lengths = np.diff(np.concatenate([[cell.measured_span()[0]], series.time_s]))
    assert summary.operations == pytest.approx((series.value * lengths).sum(), rel=1e-3)
    assert values(cell, "in_flight").max() <= in_flight_max
    last = np.zeros(len(ops))
    for name in ("p50", "p95", "p99", "p999", "max"):
        percentile = values(cell, f"latency_{name}_us")
        assert np.all(percentile >= last), name
        last = percentile
    assert np.all(values(cell, "latency_p50_us") > 0)
    whole = summary.latency_us
    assert whole is not None
    assert 0 < whole.p50 <= whole.p95 <= whole.p99 <= whole.p999 <= whole.max
    assert whole.count == summary.operations
    assert summary.client_cpu_us_per_op is not None and summary.client_cpu_us_per_op > 0
    for layer, metric in cell.metrics():
        # A neighbour's requests may show in the series of a device beside the phase only.
        told = summary.metrics.get(f"{layer}.{metric}")
        if told is None:
            assert len(cell.measured(layer, metric).value) == 0, f"{layer}.{metric}"
            continue
        assert told.mean is not None and told.max is not None, f"{layer}.{metric}"
        assert told.mean <= told.max + 1e-9 * abs(told.max)


def by_set(result: Result, *fields: str) -> dict[tuple[Any, ...], Cell]:
    return {tuple(cell.set[field] for field in fields): cell for cell in result.cells}


@pytest.fixture(scope="module")
def every_mode(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """One sweep over everything, so that the program starts only once."""
    lab = Lab(tmp_path_factory.mktemp("modes"))
    sweep = {
        "workload.mode": MODES,
        "workload.direct": [True, False],
        "zip": {"workload.engine": ["psync", "io_uring"], "workload.threads": [3, 2], "workload.queue_depth": [1, 4]},
    }
    ran = lab.go({"duration_s": 0.1}, sweep=sweep)
    assert ran.code == 0, ran.stderr
    return ran.result


@pytest.mark.parametrize("engine", ["psync", "io_uring"])
@pytest.mark.parametrize("direct", [True, False], ids=["direct", "buffered"])
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_runs_on_every_engine(every_mode: Result, mode: str, direct: bool, engine: str) -> None:
    cells = by_set(every_mode, "workload.mode", "workload.direct", "workload.engine")
    cell = cells[mode, direct, engine]
    check_sane(cell, in_flight_max=3 if engine == "psync" else 8)
    reads, writes = values(cell, "read_ops_per_s").sum(), values(cell, "write_ops_per_s").sum()
    if mode in ("seqrd", "rndrd"):
        assert (writes, reads > 0) == (0, True)
    elif mode in ("seqwr", "seqrewr", "rndwr"):
        assert (reads, writes > 0) == (0, True)
    else:
        # 60 % reads unless told otherwise; some hundred requests at least.
        assert reads / (reads + writes) == pytest.approx(0.6, abs=0.1)


def test_every_outstanding_request_is_in_flight(lab: Lab) -> None:
    # Each interval tells the moment of its end. At one moment, threads that were not run have nothing to wait for.
    depths = {"engine": "io_uring", "queue_depth": 16, "threads": 2}
    cell = lab.go(depths | {"mode": "rndrd", "duration_s": 1.0}).recorded
    check_sane(cell, in_flight_max=32)
    assert values(cell, "in_flight").max() > 16


def test_shares_of_reads(lab: Lab) -> None:
    ran = lab.go({"direct": False}, sweep={"workload.read_pct": [10, 100]})
    for cell in ran.result.cells:
        reads = values(cell, "read_ops_per_s").sum() / values(cell, "ops_per_s").sum()
        assert 100 * reads == pytest.approx(cell.set["workload.read_pct"], abs=3)


def test_mixed_block_sizes(lab: Lab) -> None:
    ran = lab.go({"block_size": {"4KiB": 75, "64KiB": 25}, "unit": "MiB/s", "direct": False})
    # One of two sizes with these chances: the mean of so many, within five standard errors.
    error = 60 * 1024 * math.sqrt(0.75 * 0.25 / ran.summary.operations)
    mean = ran.summary.bytes / ran.summary.operations
    assert mean == pytest.approx((0.75 * 4 + 0.25 * 64) * 1024, abs=5 * error) and ran.summary.operations > 200
    np.testing.assert_allclose(values(ran.recorded, "throughput"), values(ran.recorded, "bytes_per_s") / MIB, rtol=1e-6)
    assert ran.cell["unit"] == "MiB/s"


def test_several_files_are_all_used(lab: Lab) -> None:
    ran = lab.go({"files": 5, "mode": "rndwr", "block_size": "4KiB"}, {"size": 10 * MIB})
    check_sane(ran.recorded, block=4096)
    files = sorted(lab.data.glob("flatwater-fileio.0*"))
    assert [path.stat().st_size for path in files] == [2 * MIB] * 5
    begun = (lab.data / "flatwater-fileio.json").stat().st_ctime - 1
    assert all(path.stat().st_mtime > begun for path in files)


class TestFsync:
    def fsyncs(self, cell: Cell) -> float:
        """Per request."""
        summary = cell.summary
        assert summary is not None
        return float(values(cell, "fsync_ops_per_s").sum() / values(cell, "ops_per_s").sum())

    def test_every_so_many_requests_for_every_file(self, lab: Lab) -> None:
        ran = lab.go({"fsync_every": 20, "files": 2, "mode": "rndwr"})
        assert self.fsyncs(ran.recorded) == pytest.approx(2 / 20, rel=0.2)
        assert ran.summary.latency_by_kind_us["fsync"].p50 > 0
        # The workload's latency is that of its requests.
        assert ran.cell["latency_us"]["count"] == ran.cell["operations"]

    @pytest.mark.parametrize(("call", "engine"), [("fsync", "psync"), ("fdatasync", "io_uring")])
    def test_after_every_write(self, lab: Lab, call: str, engine: str) -> None:
        ran = lab.go({"fsync": "every-write", "fsync_call": call, "mode": "rndwr", "engine": engine})
        # The phase may begin and end between a write and its fsync. On a slow disk that is one of few.
        writes = ran.summary.operations
        assert writes > 0 and self.fsyncs(ran.recorded) * writes == pytest.approx(writes, abs=1.01)

    def test_at_the_end(self, lab: Lab) -> None:
        ran = lab.go({"fsync": "end", "mode": "rndwr", "direct": False, "files": 3})
        assert ran.code == 0
        assert ran.summary.latency_by_kind_us["fsync"].count == 3, "one of every file"

    def test_opened_for_write_through(self, lab: Lab) -> None:
        for cell in lab.go({"mode": "rndwr"}, sweep={"workload.sync": ["sync", "dsync"]}).result.cells:
            check_sane(cell)


class TestRate:
    def test_is_kept(self, lab: Lab) -> None:
        sweep = {"zip": {"workload.engine": ["psync", "io_uring"], "workload.arrival": ["fixed", "poisson"]}}
        asked = {"rate_per_s": 10_000, "threads": 4, "mode": "rndrd", "direct": False, "duration_s": 0.6}
        ran = lab.go(asked, sweep=sweep)
        assert len(ran.cells) == 2
        for cell in ran.cells:
            # 6,000 Poisson arrivals vary by 1.3 % (one standard deviation).
            assert cell["mean"] == pytest.approx(10_000, rel=0.05), cell["set"]

    def test_latency_counts_from_the_intended_start(self, lab: Lab) -> None:
        """A stall of 0.5 s at 1,000 a second delays the 500 requests that arrive in it, 0.25 s on average."""
        stall = {"kind": "stall", "after_ops": 500, "duration_s": 0.5}
        asked = {"mode": "rndrd", "direct": False, "duration_s": 1.5, "rate_per_s": 1000}
        ran = lab.go(asked, {"fault": stall})
        latency = ran.cell["latency_us"]
        assert latency["p999"] >= 0.45e6
        assert latency["max"] >= 0.5e6
        assert latency["p95"] > 0.25e6, "a third of all requests arrived in the stall"
        assert ran.cell["mean"] == pytest.approx(1000, rel=0.05), "what was late was made up for"

    @pytest.mark.slow
    def test_a_closed_loop_sees_one_slow_request(self, lab: Lab) -> None:
        stall = {"kind": "stall", "after_ops": 200, "duration_s": 0.5}
        ran = lab.go({"mode": "rndrd", "direct": False, "duration_s": 1}, {"fault": stall})
        assert ran.cell["latency_us"]["max"] >= 0.5e6
        assert ran.cell["latency_us"]["p99"] < 0.1e6

    @pytest.mark.slow
    def test_more_than_the_device_can_do_is_seen_as_a_queue(self, lab: Lab) -> None:
        ran = lab.go({"mode": "rndwr", "fsync": "every-write", "rate_per_s": 1e6, "duration_s": 0.6})
        waiting = values(ran.recorded, "in_flight")
        assert waiting[-1] > 2 * waiting[0] > 0
        assert ran.cell["latency_us"]["max"] > 0.3e6


@pytest.mark.parametrize(
    "distribution",
    ["uniform", "zipf", *(pytest.param(name, marks=pytest.mark.slow) for name in ("pareto", "hotspot"))],
)
def test_distributions_reach_the_disk(lab: Lab, distribution: str) -> None:
    """Writes into a file of holes: the blocks that are then there are those that were drawn."""
    ran = lab.go(
        {"mode": "rndwr", "block_size": "4KiB", "distribution": distribution, "rate_per_s": 5000, "duration_s": 0.4},
        {"size": 64 * MIB, "purge": True},
    )
    assert ran.code == 0, ran.stderr
    share = (lab.data / "flatwater-fileio.0000").stat().st_blocks * 512 / (64 * MIB)
    # Of 16,384 blocks, 2,000 uniform writes hit 11.5 %, and the others repeat themselves. A busy machine does less.
    drawn = 1 - math.exp(-ran.cell["operations"] / 16_384)
    if distribution == "uniform":
        assert share == pytest.approx(drawn, rel=0.15)
    else:
        assert 0.005 < share < 0.95 * drawn


@pytest.mark.parametrize("percent", [0, 30, 75])
def test_data_is_as_compressible_as_asked(lab: Lab, percent: int) -> None:
    lab.go({"mode": "seqwr", "compressible_pct": percent})
    data = (lab.data / "flatwater-fileio.0000").read_bytes()
    blocks = [data[at : at + 4096] for at in range(0, len(data), 4096)]
    packed = sum(len(zlib.compress(data[at : at + MIB], 1)) for at in range(0, len(data), MIB))
    assert 1 - packed / len(data) == pytest.approx(percent / 100, abs=0.03)
    assert len(set(blocks)) == len(blocks), "nothing to deduplicate"


@pytest.mark.slow
def test_the_seed_chooses_the_addresses(lab: Lab) -> None:
    def touched(seed: int, folder: str) -> list[int]:
        (lab.data / folder).mkdir()
        path = lab.data / folder / "file"
        # 300 requests exactly would need a limit: rate and time give nearly as many, in the same order.
        lab.go(
            {"mode": "rndwr", "block_size": "4KiB", "rate_per_s": 1000, "duration_s": 0.3},
            {"size": 64 * MIB, "purge": True, "path": str(path)},
            seed=seed,
        )
        data = path.read_bytes()
        return [at for at in range(0, len(data), 4096) if any(data[at : at + 64])]

    first, again, other = touched(1, "first"), touched(1, "again"), touched(2, "other")
    assert len(set(first) & set(again)) > 0.9 * len(first)
    assert len(set(first) & set(other)) < 0.2 * len(first)


def test_without_latencies_the_throughput_is_still_there(lab: Lab) -> None:
    ran = lab.go({"record_latency": False, "mode": "rndrd"})
    assert ran.code == 0
    assert ran.cell["mean"] > 0
    assert ran.cell["latency_us"] is None
