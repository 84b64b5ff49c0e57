"""What a tool did not measure second by second is absent, whatever the tool: no figure of a line is made of totals.

Before, an fio JSON without samples had flatness 1.0, one sample and a median.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from flatwater.analysis import analyse
from flatwater.analysis.compare import compare
from flatwater.report.page import write_page
from flatwater.results import Result, open_result
from flatwater.results.importers import FORMATS, find_importer, keep, read_files

sys.path.insert(0, str(Path(__file__).parent))
from import_samples import SAMPLES, summary

#: Sets of files that are one import: each sample alone, and the logs of a prefix together.
WHOLE = [[path] for path in sorted(SAMPLES.iterdir()) if path.is_file()]
WHOLE += [sorted((SAMPLES / "fio_logs").glob(f"{prefix}_*")) for prefix in ("avg", "each")]
#: Every figure that only a line of several intervals can give.
OF_A_LINE = ("flatness", "median", "verdict", "steady", "steady_since_s", "warmup_end_s", "mean_ci95", "dip_period_s")


def imported(out: Path, paths: list[Path]) -> Result:
    keep(read_files(paths), out, "r", "", analyse)
    return open_result(out)


def test_the_samples_are_of_every_format() -> None:
    assert {find_importer(paths[0]).NAME for paths in WHOLE} == {importer.NAME for importer in FORMATS}


@pytest.mark.parametrize("paths", WHOLE, ids=lambda paths: paths[0].name)
def test_no_importer_invents_a_line(tmp_path: Path, paths: list[Path]) -> None:
    for cell, read in zip(imported(tmp_path / "r", paths).cells, read_files(paths), strict=True):
        found = summary(cell)
        line = cell.series("workload", "throughput")
        assert (read.totals_only is None) == bool(read.intervals)
        assert len(line) == len(read.intervals)
        if len(read.intervals) > 1:
            assert found.samples == len(read.intervals)
            continue
        assert found.mean is not None
        told = {name: getattr(found, name) for name in OF_A_LINE if getattr(found, name) is not None}
        assert told == {}
        assert (found.dips, found.stalls) == ([], [])
        if read.totals_only is not None:
            assert len(line) == 0
            assert "totals" in found.verdict_text
            known = {name for name, one in found.metrics.items() if one.max is not None}
            sampled = {name for name, one in read.totals_only.figures.items() if one.max is not None}
            assert known == sampled
            assert found.stddev == read.totals_only.stddev


@pytest.mark.parametrize("path", [SAMPLES / "fio_sweep.json", SAMPLES / "sysbench_totals.txt"], ids=lambda p: p.name)
def test_totals_are_told_as_such_everywhere(tmp_path: Path, path: Path) -> None:
    one, other = (imported(tmp_path / name, [path]) for name in ("a", "b"))
    page = write_page(one, tmp_path / "page.html").read_text()
    assert "flatness 1" not in page
    (row, *_) = compare([one, other], anyway=True).rows
    assert (row.baseline.flatness, row.other.flatness, row.low, row.difference) == (None, None, None, None)
    assert row.ratio == 1
    assert "too few samples for a confidence interval" in row.text


def fio_json(out: Path, **figures: Any) -> Path:
    """The sample with its first job's reads given other figures."""
    raw = json.loads((SAMPLES / "fio_sweep.json").read_text())
    raw["jobs"] = raw["jobs"][:1]
    raw["jobs"][0]["read"] |= figures
    out.write_text(json.dumps(raw))
    return out


def test_fios_own_samples_are_used(tmp_path: Path) -> None:
    sampled = {"iops_samples": 120, "iops_min": 5000, "iops_max": 6000, "iops_stddev": 150.5, "bw_samples": 120}
    found = summary(imported(tmp_path / "r", [fio_json(tmp_path / "f.json", **sampled, bw_max=96000)]).cells[0])
    assert (found.samples, found.stddev, found.flatness, found.verdict) == (120, 150.5, None, None)
    assert found.metrics["workload.throughput"].max == 6000
    assert found.metrics["workload.read_bytes_per_s"].max == 96000 * 1024
    (told,) = [warning for warning in found.warnings if "totals" in warning]
    assert "its own 120 samples of reads were 5,000 to 6,000 IOPS, standard deviation 150" in told


@pytest.mark.parametrize("kind", ["iops", "bw"])
def test_a_log_beside_it_is_its_line(tmp_path: Path, kind: str) -> None:
    """fio itself writes both; the JSON alone had no line although it lay beside it."""
    if shutil.which("fio") is None:
        pytest.skip("needs fio")
    command = ["fio", "--name=job", "--rw=randread", "--bs=4k", "--size=4m", "--ioengine=psync", "--time_based"]
    command += ["--runtime=3", "--rate_iops=200", f"--write_{kind}_log=own", "--log_avg_msec=250"]
    command += ["--output-format=json", "--output=out.json"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    log = tmp_path / f"own_{kind}.1.log"
    assert log.exists()
    for paths in ([tmp_path / "out.json"], [log, tmp_path / "out.json"]):
        cells = read_files(paths)
        assert len(cells) == 1, "the log is the JSON's line, and no run of its own"
        assert len(cells[0].intervals) >= 10
        assert cells[0].totals_only is None
        assert cells[0].latency_us is not None, "which only the JSON has"
        assert cells[0].unit == {"iops": "IOPS", "bw": "MiB/s"}[kind]
    found = summary(imported(tmp_path / "r", [tmp_path / "out.json"]).cells[0])
    assert found.flatness is not None
    # A log of another run, which was left there.
    log.write_text("".join(f"{250 * number}, 9999999, 0, 0, 0\n" for number in range(1, 13)))
    (cell,) = read_files([tmp_path / "out.json"])
    assert cell.totals_only is not None
    assert any("not those of this run" in warning for warning in cell.warnings)


def test_what_an_import_was_not_told_is_unknown_and_not_equal(tmp_path: Path) -> None:
    raw = json.loads((SAMPLES / "fio_sweep.json").read_text())
    raw["jobs"] = raw["jobs"][:1]
    del raw["global options"]["bs"]
    (tmp_path / "f.json").write_text(json.dumps(raw))
    bare = imported(tmp_path / "bare", [tmp_path / "f.json"])
    told = imported(tmp_path / "told", [fio_json(tmp_path / "g.json")])
    comparison = compare([bare, told])
    (row,) = comparison.rows
    unknown = {one.field: one.unknown_in for one in comparison.differences["told"] if one.unknown_in}
    assert unknown["workload.block_size"] == "baseline"
    assert unknown["workload.distribution"] == unknown["machine"] == "both"
    assert "workload.mode" not in unknown, "both were told"
    assert (row.comparable, row.ratio, row.difference) == ("unknown", None, None)
    assert row.text.startswith("not comparable: unknown: ")
    assert "workload.block_size" in row.text
    (anyway,) = compare([bare, told], anyway=True).rows
    assert anyway.ratio == 1
    assert anyway.text.endswith("although it is not known to be the same question")


def test_runs_of_tpcc_start_tell_all_that_a_comparison_asks_for(tmp_path: Path) -> None:
    results = [imported(tmp_path / name, [SAMPLES / "tpcc.txt"]) for name in ("a", "b")]
    (row,) = compare(results).rows
    assert (row.comparable, row.not_comparable, row.difference) == ("yes", [], False)
