from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import fio_json, read_files
from flatwater.results.importers.fio_objects import Direction, Job, Latency

sys.path.insert(0, str(Path(__file__).parent))
from import_samples import SAMPLES, imported, summary


def test_totals_of_a_mixed_run_with_bins(tmp_path: Path) -> None:
    raw = json.loads((SAMPLES / "fio_mix.json").read_text())["jobs"][0]
    (cell,) = imported(tmp_path / "r", "fio_mix.json").cells
    found = summary(cell)
    assert found.unit == "IOPS"
    assert found.mean == pytest.approx(raw["read"]["iops"] + raw["write"]["iops"])
    assert found.operations == 300
    assert found.bytes == 300 * 16384
    assert found.verdict is None
    assert [warning for warning in found.warnings if "write_iops_log" in warning]
    by_kind = found.latency_by_kind_us
    assert set(by_kind) == {"read", "write"}
    assert by_kind["read"].p95 == pytest.approx(raw["read"]["clat_ns"]["percentile"]["95.000000"] / 1000)
    assert found.latency_us is not None, "from the bins of both directions"
    assert found.latency_us.count == 300
    assert min(k.p50 for k in by_kind.values()) <= found.latency_us.p50 <= max(k.p50 for k in by_kind.values())
    assert found.client_cpu_us_per_op is not None
    assert cell.metrics() == [], "totals have no line"


def test_bins_become_a_histogram(tmp_path: Path) -> None:
    engine = pytest.importorskip("flatwater._engine")
    (cell,) = imported(tmp_path / "r", "fio_mix.json").cells
    histogram = engine.Histogram.from_v2(base64.b64decode(summary(cell).histograms["all"]))
    assert histogram.count() == 300
    latency = summary(cell).latency_us
    assert latency is not None
    assert histogram.quantile_ns(0.95) / 1000 == pytest.approx(latency.p95, rel=0.01)


def test_a_status_interval_is_a_series(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", "fio_status.json").cells
    series = cell.series("workload", "throughput")
    assert len(series) == 3
    found = summary(cell)
    assert found.interval_s == pytest.approx(1, abs=0.1)
    assert (series.value.mean() * 3) == pytest.approx(found.operations, rel=0.1)
    assert found.latency_us is not None
    assert ("workload", "read_latency_p99_us") not in cell.metrics(), "fio's percentiles are those since the start"


def test_jobs_that_differ_in_an_option_are_a_sweep(tmp_path: Path) -> None:
    result = imported(tmp_path / "r", "fio_sweep.json")
    assert [cell.set for cell in result.cells] == [
        {"workload.engine": "psync", "workload.queue_depth": 1},
        {"workload.engine": "io_uring", "workload.queue_depth": 8},
    ]
    assert result.experiment["workload"] == {
        "kind": "fileio",
        "mode": "rndrd",
        "block_size": "16KiB",
        "direct": True,
        "unit": "IOPS",
    }


def test_fio_2_from_a_client_with_a_preamble(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", "fio_2.json").cells
    found = summary(cell)
    assert found.mean == 1000
    assert found.bytes == 160_000 * 1024, "fio 2 counts KiB"
    assert found.latency_us is not None
    assert (found.latency_us.p50, found.latency_us.p999, found.latency_us.max) == (800, 8000, 9000)
    assert found.started_at.startswith("2017-02-20")
    assert cell.set == {}


def test_percentiles_that_fio_did_not_print_stay_unknown(tmp_path: Path) -> None:
    raw = json.loads((SAMPLES / "fio_mix.json").read_text())
    job = raw["jobs"][0]
    for name in ("read", "write"):
        del job[name]["clat_ns"]["percentile"]["99.900000"], job[name]["clat_ns"]["bins"]
    (tmp_path / "fio.json").write_text(json.dumps(raw, indent=1))
    (cell,) = read_files([tmp_path / "fio.json"])
    assert (cell.latency_us, cell.latency_by_kind_us, cell.buckets_ns) == (None, {}, {})


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ('{\n "fio version" : "fio-3.33",\n "jobs" : [\n', 4, "not JSON"),
        ('{\n "fio version" : "fio-3.33",\n "jobs" : []\n}\n', 1, "no jobs"),
        ('{\n "fio version" : "fio-3.33",\n "jobs" : 3\n}\n', 1, "jobs"),
        ('x\n{\n "fio version" : "fio-3.33",\n "jobs" : [{"jobname": "a", "read": {"iops": "x"}}]\n}\n', 2, "iops"),
        ('{"fio version": ' + "[" * 100_000, 1, "nested"),
    ],
)
def test_malformed(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = tmp_path / "fio.json"
    path.write_text(text)
    with pytest.raises(UserError, match=what) as error:
        fio_json.read([path])
    assert f"fio.json:{line}: " in str(error.value)
    assert "\n" not in str(error.value)


def fields() -> list[list[str]]:
    """Every field that is read, by its names from the job on."""
    found: list[list[str]] = []
    for names, model in (([], Job), (["read"], Direction), (["read", "clat_ns"], Latency)):
        found += [[*names, field.alias or name] for name, field in model.model_fields.items()]
    return found


@pytest.mark.parametrize("names", fields(), ids=".".join)
def test_a_wrong_value_is_told_in_plain_words(tmp_path: Path, names: list[str]) -> None:
    told = set()
    for value in ("x", [1], {"a": "b"}, -1, 1e30, 0.5, None):
        job: dict[str, Any] = {"jobname": "a"}
        inner = job
        for name in names[:-1]:
            inner = inner.setdefault(name, {})
        inner[names[-1]] = value
        (tmp_path / "fio.json").write_text(json.dumps({"fio version": "fio-3.33", "jobs": [job]}))
        try:
            read_files([tmp_path / "fio.json"])
        except UserError as error:
            told.add(error.what)
    plain = r"in the object that begins here, \.jobs\[0\]\S.* is .+, and not (a|an) [a-z0-9 ]+"
    wrong = [what for what in told if "did nothing" not in what]
    assert wrong and all(re.fullmatch(plain, what) for what in wrong), wrong


def test_numbers_of_any_length(tmp_path: Path) -> None:
    for number in ("1e999", "9" * 400, "-1", '"' + "9" * 5000 + '"', "NaN"):
        path = tmp_path / "fio.json"
        path.write_text('{"fio version": "x", "jobs": [{"jobname": "a", "read": {"total_ios": ' + number + "}}]}")
        with pytest.raises(UserError, match=r"\.jobs\[0\]\.read\.total_ios is "):
            read_files([path])
    path.write_text('{"fio version": "x", "jobs": [' + "9" * 5000 + "]}")
    with pytest.raises(UserError, match="a number is too long"):
        read_files([path])


def test_a_job_that_did_nothing(tmp_path: Path) -> None:
    (tmp_path / "fio.json").write_text('{"fio version": "fio-3.33", "jobs": [{"jobname": "a", "error": 5}]}')
    with pytest.raises(UserError, match=r"did nothing.*error code 5"):
        read_files([tmp_path / "fio.json"])


@pytest.mark.parametrize("cut", [0.2, 0.5, 0.9, 0.999])
def test_truncated_anywhere(tmp_path: Path, cut: float) -> None:
    text = (SAMPLES / "fio_status.json").read_text().rstrip()
    (tmp_path / "fio.json").write_text(text[: int(len(text) * cut)])
    with pytest.raises(UserError, match=r"fio\.json:\d+: not JSON"):
        read_files([tmp_path / "fio.json"])


@pytest.mark.parametrize(
    "blanks", [" " * 500_000, "\n" * 500_000, (" " * 999 + "\n") * 500], ids=["line", "lines", "both"]
)
def test_blanks_without_end_are_looked_at_once(tmp_path: Path, blanks: str) -> None:
    """With a time that grows with their square, this took an hour."""
    text = (SAMPLES / "fio_status.json").read_text()
    for number, content in enumerate((text + blanks + "x", "x\n" + blanks[:60_000] + text)):
        (tmp_path / f"{number}.json").write_text(content)
    whole, *found = (read_files([path]) for path in (SAMPLES / "fio_status.json", *sorted(tmp_path.iterdir())))
    assert [[cell.intervals for cell in cells] for cells in found] == [[cell.intervals for cell in whole]] * 2
