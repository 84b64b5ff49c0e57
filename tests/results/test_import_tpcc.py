from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import read_files

sys.path.insert(0, str(Path(__file__).parent))
from import_samples import SAMPLES, imported, summary


def test_notpm_with_the_ramp_up_as_warm_up(tmp_path: Path) -> None:
    result = imported(tmp_path / "r", "tpcc.txt")
    (cell,) = result.cells
    found = summary(cell)
    assert (found.unit, found.interval_s, found.samples) == ("NOTPM", 10, 12)
    assert [(phase.name, phase.start_s, phase.end_s) for phase in found.phases] == [
        ("warmup", 0, 10),
        ("measure", 10, 130),
    ]
    assert found.mean == pytest.approx(2 * result.experiment["import"][0]["tpmc"] / 2, rel=1e-4)
    assert result.experiment["workload"] == {
        "kind": "tpcc",
        "variant": "tpcc-mysql",
        "table_sets": 1,
        "foreign_keys": True,
        "history_key": False,
        "all_warehouses": False,
        "partitions": 0,
        "keying_and_think": False,
        "rate_per_s": 0.0,
        "pipeline": False,
        "reconnect_every": 0,
        "warehouses": 500,
        "connections": 32,
        "unit": "NOTPM",
    }
    assert cell.series("workload", "payment_per_s").value[0] > 1000


def test_the_first_interval_has_no_percentiles_and_a_dead_one_neither(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", "tpcc.txt").cells
    latency = cell.series("workload", "latency_p95_us")
    assert latency.time_s.tolist() == [30, 40, 50, 60, 70, 90, 100, 110, 120, 130]
    assert latency.value.min() > 9000
    found = summary(cell)
    assert found.verdict == "stalls"
    assert [(stall.start_s, stall.length_s) for stall in found.stalls] == [(70, 10)]


def test_percentiles_without_a_sign(tmp_path: Path) -> None:
    """tpcc_start's "95%:" is no conversion of printf's: some C libraries print 95: for it."""
    text = (SAMPLES / "tpcc.txt").read_text()
    (tmp_path / "tpcc.txt").write_text(text.replace("95%:", "95:").replace("99%:", "99:"))
    (cell,) = read_files([tmp_path / "tpcc.txt"])
    assert cell == read_files([SAMPLES / "tpcc.txt"])[0] and cell.intervals[1].metrics["workload.latency_p95_us"] > 0


def test_the_old_format(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", "tpcc_old.txt").cells
    found = summary(cell)
    assert found.verdict == "flat"
    assert found.mean == pytest.approx(24_000, rel=0.02)
    assert not [name for name in cell.metrics() if "latency" in name[1]], "its unit differs between versions"
    assert [warning for warning in found.warnings if "response times left out" in warning]
    assert [warning for warning in found.warnings if "2 lines of errors among the intervals" in warning]


def test_the_password_stays_out(tmp_path: Path) -> None:
    imported(tmp_path / "r", "tpcc.txt")
    assert "hush-secret" in (SAMPLES / "tpcc.txt").read_text()
    for path in (tmp_path / "r").rglob("*"):
        assert path.is_dir() or b"hush-secret" not in path.read_bytes()


def test_an_interval_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    lines = (SAMPLES / "tpcc.txt").read_text().splitlines()
    places = [number for number, line in enumerate(lines) if ", trx: " in line]
    whole = read_files([SAMPLES / "tpcc.txt"])[0].intervals
    torn = [*lines]
    torn[places[4]] = torn[places[4]][:20]
    torn[places[-1] :] = [torn[places[-1]][:25]]
    (tmp_path / "t.txt").write_text("\n".join(torn))
    (cell,) = read_files([tmp_path / "t.txt"])
    assert cell.intervals == [*whole[:4], *whole[5:-1]], "the interval behind it has its own length"
    assert cell.unread == [f"2 lines that cannot be read left out, first line {places[4] + 1}"]
    assert cell.unread[0] in cell.warnings


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("  10, trx: 12920, 95%: 9.4", r":2: not an interval"),
        ("  10, 4012(0):0.4|0.6, 40", r":2: not an interval"),
        ("<TpmC>\n                 0.000 TpmC", r":1: this run of tpcc_start has no interval"),
        ("<TpmC>\n                 -nan TpmC", r":1: this run of tpcc_start has no interval"),
        ("  10, 1(0):1, 1(0):1, 1(0):1, 1(0):1, 1(0):1\n  10, 1(0):1, 1(0):1, 1(0):1, 1(0):1, 1(0):1", ":3: time goes"),
    ],
)
def test_malformed(tmp_path: Path, line: str, says: str) -> None:
    (tmp_path / "t.txt").write_text(f"*** ###easy### TPC-C Load Generator ***\n{line}\n")
    with pytest.raises(UserError, match=says):
        read_files([tmp_path / "t.txt"])
