"""One cell: its phases, its verification, what faults look like in it, and what is kept when it fails."""

from __future__ import annotations

from base64 import b64decode

import numpy as np
import pytest
from lab import MIB, Lab

from flatwater._engine import Histogram
from flatwater.results import Cell

#: One of them is enough for every day where the engine only passes on what happens above it.
EACH_ENGINE = pytest.mark.parametrize("engine", ["io_uring", pytest.param("psync", marks=pytest.mark.slow)])


def phase_names(cell: Cell) -> list[str]:
    return [phase.name for phase in cell.phases]


class TestPhases:
    def test_warm_up_is_recorded_and_left_out(self, lab: Lab) -> None:
        cell = lab.go({"warmup_s": 0.3, "duration_s": 0.4}).recorded
        assert phase_names(cell) == ["warmup", "measure"]
        warmup, measure = cell.phases
        # On a busy machine an interval ends late, and takes its time from the next one.
        assert 0.25 <= warmup.end_s <= measure.start_s < measure.end_s
        assert measure.end_s >= 0.65
        assert cell.summary is not None and 1 <= cell.summary.samples <= 4

    @EACH_ENGINE
    def test_preconditioning_writes_so_many_times_the_size(self, lab: Lab, engine: str) -> None:
        ran = lab.go({"precondition_passes": 8, "mode": "rndrd", "engine": engine}, {"size": 32 * MIB})
        cell = ran.recorded
        assert phase_names(cell)[:2] == ["precondition", "measure"]
        start_s, end_s = cell.phases[0].start_s, cell.phases[0].end_s
        ends = cell.series("workload", "write_bytes_per_s")
        written = ends.between(start_s, end_s)
        lengths = np.diff(np.concatenate([[start_s], written.time_s]))
        assert (written.value * lengths).sum() == pytest.approx(8 * 32 * MIB, rel=0.02)
        assert cell.summary is not None
        assert cell.summary.metrics["workload.write_ops_per_s"].max == 0, "the measured phase only reads"

    def test_a_short_preconditioning_is_recorded_too(self, lab: Lab) -> None:
        cell = lab.go({"precondition_passes": 1, "mode": "rndrd", "direct": False}, {"size": MIB}).recorded
        assert phase_names(cell)[:2] == ["precondition", "measure"]

    def test_snia_measures_rounds_until_they_agree(self, lab: Lab) -> None:
        """Reads at a fixed rate are steady from the first round on."""
        asked = {"mode": "rndrd", "direct": False, "rate_per_s": 2000, "steady_state": "snia"}
        ran = lab.go(asked | {"round_s": 0.2, "rounds_max": 12, "precondition_passes": 1})
        assert ran.code == 0, ran.stderr
        rounds = [event.text for event in ran.recorded.events if event.kind == "round"]
        assert rounds[0].startswith("round 1 of at most 12: ") and rounds[0].endswith(" IOPS")
        assert rounds[-1].startswith("steady after "), rounds
        assert ran.cell["verdict"] != "not steady"
        names = phase_names(ran.recorded)
        assert names[0] == "precondition" and names[-1] == "measure"
        measure = ran.recorded.phases[-1]
        assert measure.end_s - measure.start_s == pytest.approx(5 * 0.2, abs=0.15), "the last five rounds"

    @pytest.mark.slow
    def test_snia_gives_up_after_the_most_rounds(self, lab: Lab) -> None:
        """Four good rounds, two dead ones, and one that makes up for them."""
        stall = {"kind": "stall", "after_ops": 1200, "duration_s": 0.6}
        asked = {"mode": "rndrd", "direct": False, "rate_per_s": 1000, "steady_state": "snia"}
        ran = lab.go(asked | {"round_s": 0.3, "rounds_max": 7}, {"fault": stall})
        rounds = [event.text for event in ran.recorded.events if event.kind == "round"]
        assert rounds[-1].startswith("not steady after 7 rounds"), rounds
        assert phase_names(ran.recorded) == ["approach", "measure"]


class TestVerify:
    @pytest.mark.parametrize(("mode", "engine"), [("rndrw", "io_uring"), ("rndwr", "psync"), ("seqrw", "io_uring")])
    def test_a_sound_storage_passes(self, lab: Lab, mode: str, engine: str) -> None:
        depth = 8 if engine == "io_uring" else 1
        ran = lab.go({"mode": mode, "engine": engine, "queue_depth": depth, "threads": 2, "verify": True})
        assert (ran.code, ran.cell["status"]) == (0, "complete"), ran.stderr
        assert phase_names(ran.recorded)[-1] == "verify"
        again = lab.go({"mode": mode, "engine": engine, "queue_depth": depth, "verify": True})
        assert again.code == 0, "a second run accepts what the first wrote: " + again.stderr

    def test_every_block_is_read_back(self, lab: Lab) -> None:
        ran = lab.go({"mode": "rndwr", "verify": True}, {"size": 64 * MIB})
        verify = ran.recorded.phases[-1]
        read = ran.recorded.series("workload", "read_bytes_per_s").between(verify.start_s, verify.end_s)
        lengths = np.diff(np.concatenate([[verify.start_s], read.time_s]))
        assert (read.value * lengths).sum() == pytest.approx(64 * MIB, rel=0.02)

    @EACH_ENGINE
    def test_a_lost_write_is_named(self, lab: Lab, engine: str) -> None:
        fault = {"kind": "lost-write", "after_ops": 5}
        # Slowly and in order: the workload writes 400 of the 512 blocks, and none twice, because a second write of a
        # block hides the lost one.
        asked = {"mode": "seqwr", "engine": engine, "verify": True, "rate_per_s": 1000, "duration_s": 0.4}
        ran = lab.go(asked, {"fault": fault})
        assert ran.code == 1
        assert str(lab.data / "flatwater-fileio.0000") in ran.error
        assert "offset" in ran.error and "stale" in ran.error
        assert ran.cell["status"] == "failed"

    def test_a_misplaced_write_is_named(self, lab: Lab) -> None:
        fault = {"kind": "misplaced-write", "after_ops": 5}
        asked = {"mode": "seqwr", "verify": True, "rate_per_s": 1000, "duration_s": 0.4}
        ran = lab.go(asked, {"fault": fault})
        assert ran.code == 1
        assert "misplaced" in ran.error or "stale" in ran.error

    def test_a_corrupt_read_is_named(self, lab: Lab) -> None:
        ran = lab.go({"mode": "rndrd", "verify": True}, {"fault": {"kind": "corrupt-read", "after_ops": 5}})
        assert ran.code == 1
        assert "damaged" in ran.error and "offset" in ran.error

    def test_what_someone_else_overwrote_is_named(self, lab: Lab) -> None:
        assert lab.go({"mode": "rndwr", "verify": True}).code == 0
        with (lab.data / "flatwater-fileio.0000").open("rb+") as handle:
            handle.seek(3 * 16384)
            handle.write(b"someone else was here".ljust(16384))
        ran = lab.go({"mode": "seqrd", "verify": True})
        assert ran.code == 1
        assert f"offset {3 * 16384}" in ran.error and "overwritten by someone else" in ran.error

    def test_blocks_are_prepared_anew_after_a_run_without_verification(self, lab: Lab) -> None:
        assert lab.go({"mode": "rndwr", "verify": True}).code == 0
        assert lab.go({"mode": "rndwr"}).code == 0
        ran = lab.go({"mode": "rndrw", "verify": True})
        assert ran.code == 0, ran.stderr

    def test_after_preconditioning(self, lab: Lab) -> None:
        ran = lab.go({"mode": "rndrw", "verify": True, "precondition_passes": 1})
        assert ran.code == 0, ran.stderr

    @pytest.mark.parametrize("mode", ["rndrw", "rndwr", "rndrd"])
    def test_after_a_purge(self, lab: Lab, mode: str) -> None:
        ran = lab.go({"mode": mode, "verify": True}, {"purge": True})
        assert ran.code == 0, ran.stderr


class TestFaults:
    @EACH_ENGINE
    def test_a_device_error_ends_the_run_and_keeps_the_result(self, lab: Lab, engine: str) -> None:
        fault = {"kind": "error", "after_ops": 2000}
        asked = {"mode": "rndrd", "engine": engine, "duration_s": 30, "rate_per_s": 4000}
        ran = lab.go(asked, {"fault": fault})
        assert ran.code == 1
        assert "Input/output error" in ran.error and "offset" in ran.error
        summary = ran.summary
        assert summary.status == "failed" and "Input/output error" in str(summary.error)
        assert summary.errors >= 1
        assert summary.operations >= 1500
        assert [event.kind for event in summary.events] == ["fault"]
        assert any("injected on purpose" in warning for warning in summary.warnings)
        assert len(ran.recorded.series("workload", "ops_per_s")) >= 4
        assert ran.result.manifest.status == "failed"
        assert lab.run(ran.out, verb="report").code == 0

    def test_an_error_in_the_first_interval_is_told_too(self, lab: Lab) -> None:
        ran = lab.go({"mode": "rndrd", "duration_s": 5}, {"fault": {"kind": "error"}})
        assert (ran.code, ran.summary.errors > 0) == (1, True)
        assert lab.run(ran.out, verb="report").code == 0

    def test_errors_are_counted_when_asked_to_go_on(self, lab: Lab) -> None:
        asked = {"mode": "rndrd", "duration_s": 0.6, "on_error": "continue", "rate_per_s": 1000}
        ran = lab.go(asked, {"fault": {"kind": "error", "after_ops": 300}})
        assert (ran.code, ran.cell["status"]) == (0, "complete")
        assert ran.cell["errors"] == pytest.approx(300, abs=60)
        assert ran.cell["operations"] == pytest.approx(300, abs=60)
        assert ran.cell["metrics"]["workload.errors_per_s"]["max"] == pytest.approx(1000, rel=0.1)
        assert any("requests failed" in warning for warning in ran.cell["warnings"])

    def test_a_full_device_ends_the_run_and_keeps_the_result(self, lab: Lab) -> None:
        asked = {"mode": "rndwr", "duration_s": 30, "rate_per_s": 2000}
        ran = lab.go(asked, {"fault": {"kind": "full", "after_ops": 1000}})
        assert ran.code == 1
        assert "No space left on device" in ran.error
        assert ran.summary.operations >= 800

    @EACH_ENGINE
    def test_a_dead_second_looks_dead(self, lab: Lab, engine: str) -> None:
        stall = {"kind": "stall", "after_ops": 1600, "duration_s": 1}
        asked = {"mode": "rndrd", "direct": False, "rate_per_s": 4000, "duration_s": 1.8, "engine": engine}
        ran = lab.go(asked, {"fault": stall})
        assert ran.cell["verdict"] == "stalls", ran.cell["verdict_text"]
        # A busy machine can stall the run once more at another time, and the verdict is right to say so.
        stalled = max(ran.cell["stalls"], key=lambda stall: stall["length_s"])
        assert stalled["length_s"] == pytest.approx(1, abs=0.2)
        assert stalled["oldest_us"] == pytest.approx(0.95e6, abs=0.15e6)
        cell = ran.recorded
        ops, oldest = cell.series("workload", "ops_per_s"), cell.series("workload", "oldest_in_flight_us")
        # Times are those of intervals' ends, and a stall ends with the end of one. On a busy machine the next one may
        # be short, and requests go on in it.
        into_s = ops.time_s - stalled["start_s"]
        dead = ops.time_s[(into_s > 0.05) & (into_s < stalled["length_s"] + 1e-3)]
        assert (ops.value[np.isin(ops.time_s, dead)] == 0).all()
        assert len(dead) >= 8
        ages = oldest.value[np.isin(oldest.time_s, dead)]
        assert len(ages) == len(dead)
        np.testing.assert_allclose(np.diff(ages), 0.1e6, atol=0.03e6)
        for name in ("p50", "p99", "max"):
            latency = cell.series("workload", f"latency_{name}_us")
            np.testing.assert_allclose(latency.value[np.isin(latency.time_s, dead)], ages, rtol=0.01)


class TestSummary:
    def test_published_figures_stand_beside_ours(self, lab: Lab) -> None:
        published = [
            {"value": 1000.0, "unit": "IOPS", "source": "someone, 2010"},
            {"value": 500.0, "unit": "us", "metric": "latency_us.p95", "source": "someone, 2010"},
        ]
        ran = lab.go({"rate_per_s": 2000, "mode": "rndrd", "direct": False, "duration_s": 0.5}, published=published)
        first, second = ran.cell["published"], ran.cell["published_others"][0]
        assert (first["value"], first["source"]) == (1000.0, "someone, 2010")
        assert first["ours"] == ran.cell["mean"]
        assert first["error"] == pytest.approx(ran.cell["mean"] / 1000 - 1)
        assert second["ours"] == ran.cell["latency_us"]["p95"]

    def test_the_histogram_is_that_of_the_measured_phase(self, lab: Lab) -> None:
        ran = lab.go({"warmup_s": 0.2, "duration_s": 0.4})
        whole = Histogram.from_v2(b64decode(ran.summary.histograms["all"]))
        assert whole.count() == ran.cell["operations"]
        assert whole.max_ns() / 1000 == pytest.approx(ran.cell["latency_us"]["max"])
