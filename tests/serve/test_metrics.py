from __future__ import annotations

import re
from pathlib import Path

import pytest
from servelab import started_run, told, write_latencies, write_seconds

from flatwater.serve.metrics import BUCKETS_S, Metrics


def buckets(text: str) -> dict[str, int]:
    return {end: int(count) for end, count in re.findall(r'_bucket\{.*le="([^"]+)"\} (\d+)', text)}


def test_a_run_under_way(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 2)
    write_latencies(result, 3.0, [90, 150, 1500], phase="warmup")
    metrics = Metrics()
    assert "_bucket" not in told(metrics, tmp_path)  # nothing was measured with latencies
    write_latencies(result, 4.0, [90, 150, 1500])
    write_latencies(result, 5.0, [90])
    text = told(metrics, tmp_path)
    assert "flatwater_runs 1\n" in text
    assert 'flatwater_throughput{run="run",cell="0",unit="MiB/s"} 3.0\n' in text
    found = buckets(text)
    assert list(found) == [f"{end:.6g}" for end in BUCKETS_S] + ["+Inf"]
    assert (found["5e-05"], found["0.0001"], found["0.0002"], found["0.002"], found["+Inf"]) == (0, 2, 3, 4, 4)
    assert list(found.values()) == sorted(found.values())
    assert 'flatwater_latency_seconds_count{run="run",cell="0",unit="MiB/s"} 4\n' in text
    total = float(re.findall(r"_sum\{[^}]*\} (\S+)", text)[0])
    assert abs(total - 1830e-6) < 20e-6  # an HdrHistogram has three digits


@pytest.mark.parametrize(
    ("series", "ratio"),
    [
        ({"storage__utilisation_pct": 25.0}, 0.25),
        # The utilisation of a modelled card is the share of its pages that are valid.
        ({"storage__utilisation_pct": 25.0, "storage__dies_busy_pct": 75.0}, 0.75),
        ({"storage__member0_busy_pct": 50.0}, 0.5),
        ({}, None),
    ],
)
def test_how_busy_the_device_is(tmp_path: Path, series: dict[str, float], ratio: float | None) -> None:
    write_seconds(started_run(tmp_path / "run"), 0, 1, **series)
    found = re.findall(r"^flatwater_device_busy_ratio\{.*\} (\S+)$", told(Metrics(), tmp_path), re.MULTILINE)
    assert [float(value) for value in found] == ([ratio] if ratio is not None else [])


def test_served_folders_of_one_name(tmp_path: Path) -> None:
    roots = [tmp_path / where / "results" for where in ("a", "b")]
    for root in roots:
        write_seconds(started_run(root / "run"), 0, 1)
    text = told(Metrics(), *roots, tmp_path / "a")
    samples = [line.partition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(samples) == len(set(samples)) and "flatwater_runs 2\n" in text


def test_nothing_runs(two_results: Path) -> None:
    assert "flatwater_runs 0" in told(Metrics(), two_results)


def test_a_name_with_everything_in_it(tmp_path: Path) -> None:
    name = 'a"b\\c\nd'
    write_seconds(started_run(tmp_path / name), 0, 1)
    text = told(Metrics(), tmp_path)
    assert 'run="a\\"b\\\\c\\nd"' in text
    assert all(line.startswith(("#", "flatwater_")) for line in text.splitlines())


def test_a_damaged_journal_is_left_out(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1)
    with result.cells[0].journal.open("a") as handle:
        handle.write('{"time_s": 2.0, "phase": "measure", "metrics": {}, "histograms": {"read": "AAAA"}}\n')
    assert "flatwater_runs 0" in told(Metrics(), tmp_path)


def test_all_runs_are_counted_and_the_last_ones_have_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatwater.serve.metrics.RUNS_MAX", 2)
    for number in range(5):
        write_seconds(started_run(tmp_path / f"run{number}"), 0, 1)
    text = told(Metrics(), tmp_path)
    assert "flatwater_runs 5\n" in text and len(re.findall(r"^flatwater_throughput", text, re.MULTILINE)) == 2
