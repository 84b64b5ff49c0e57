"""Numbers as C and Python write them, and values that cannot be read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.results.importers.samplers import SAMPLERS, Recording
from flatwater.results.importers.samplers.sampler import number_of

sys.path.insert(0, str(Path(__file__).parent))
from sampled import EPOCH, at, dstat_csv, nopm_samples


def read(folder: Path, text: str) -> Recording:
    path = folder / "x.txt"
    path.write_text(text)
    return next(one for one in SAMPLERS if one.recognises(path, text)).read(path)


@pytest.mark.parametrize("value", [0.1, 800 + 1 / 7, 1e-05, 1.6384e06, 1e16, 123456789.987654321, -3.0])
@pytest.mark.parametrize("form", ["{!r}", "{:.6e}", "{:.12f}", "{:.20f}"])
def test_a_float_is_read(value: float, form: str) -> None:
    assert number_of(form.format(value)) == pytest.approx(value, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("text", ["nan", "inf", "1e999", "1e21", "9" * 400, "", "1.2.3", "0x10"])
def test_what_is_no_figure(text: str) -> None:
    assert number_of(text) is None


def test_counters_with_many_decimals(tmp_path: Path) -> None:
    rows = [f"{EPOCH + i}.5,{800 + i / 7},{'nan' if i == 4 else 3}" for i in range(30)]
    recording = read(tmp_path, "\n".join(["timestamp,tps,threads_running", *rows]))
    assert sum("workload.throughput" in sample.metrics for sample in recording.samples) == 29
    assert "1 value that cannot be read left out, first line 6" in recording.notes


def test_dstat_with_exponents(tmp_path: Path) -> None:
    text = dstat_csv(20).replace("1638400.0", "1.6384e+06").replace(",10.0,", ",10.000000000000,")
    recording = read(tmp_path, text)
    assert {one.metrics["storage.read_bytes_per_s"] for one in recording.devices["sda"]} == {1638400.0}
    assert {one.metrics["machine.cpu_user_pct"] for one in recording.samples} == {10.0}
    damaged = read(tmp_path, text.replace("1.6384e+06", "many", 5))
    assert "4 values that cannot be read left out, first line 8" in damaged.notes


def test_samples_of_nopm(tmp_path: Path) -> None:
    recording = read(
        tmp_path, nopm_samples(20).replace(",3000", ",3000.5") + f"NOPM_SAMPLE {EPOCH + 50} none {at(0)}\n"
    )
    assert {sample.metrics["workload.throughput"] for sample in recording.samples} == {3000.5}
    assert any("1 value that cannot be read" in note for note in recording.notes)
