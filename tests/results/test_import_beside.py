"""Several recordings beside one run: which of them gives a series, and which device is taken."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import FORMATS, Found, Options, read_folder
from flatwater.results.importers.samplers import SAMPLERS

sys.path.insert(0, str(Path(__file__).parent))
from sampled import (
    HEADING,
    SAMPLES,
    at,
    counters,
    dstat_csv,
    iostat,
    mpstat,
    mpstat_json,
    mysqladmin,
    sysbench,
    sysstat_json,
    vmstat,
)

N = 30
RUN = sysbench(N, prefix=lambda second: f"{at(second)}Z ")


def read(place: Path, files: dict[str, str]) -> Found:
    for name, text in {"run.txt": RUN, **files}.items():
        (place / name).write_text(text)
    return read_folder([place], FORMATS, Options())


def values(found: Found, metric: str) -> list[float]:
    (cell,) = found.cells
    return [one.metrics[metric] for one in cell.others if metric in one.metrics]


def told(found: Found) -> dict[str, str]:
    return {report.path.name: report.taken or f"left out: {report.left_out}" for report in found.reports}


def devices(first: int, last: int, **requests: float) -> str:
    """`iostat -d -t`: a report for each second; the requests of each device a second, of 16 KiB."""
    lines = [f"Linux 6.8.0 (host) \t{at(0, '%m/%d/%Y')} \t_x86_64_\t(8 CPU)", ""]
    for second in range(first, last + 1):
        lines += [at(second, "%m/%d/%Y %H:%M:%S"), HEADING]
        lines += [f"{name} {rate} {rate / 64} 0 0 0.5 16 {'0.00 ' * 9} 5.00" for name, rate in requests.items()]
        lines += [""]
    return "\n".join(lines)


@pytest.mark.parametrize("name", [sampler.NAME for sampler in SAMPLERS])
def test_two_recordings_of_one_program_are_not_mixed(tmp_path: Path, name: str) -> None:
    """Two hosts, or pt-stalk's `-iostat` and `-iostat-overall`: one is taken, and it is told which, and why."""
    text = SAMPLES[name](N)
    found = read(tmp_path, {"a.log": text, "b.log": text.replace("10", "20")})
    texts = told(found)
    assert texts["a.log"].partition(":")[0] != "left out" and "at the same time" in texts["b.log"]
    for metric in {name for one in found.cells[0].others for name in one.metrics}:
        assert len(values(found, metric)) <= N
    assert any("a.log is taken, and b.log is not" in warning for warning in found.cells[0].warnings)


def test_of_two_the_one_with_more_samples_is_taken(tmp_path: Path) -> None:
    found = read(tmp_path, {"all-overall": iostat(1, N, stamped=True), "all": iostat(N, stamped=True)})
    assert len(values(found, "storage.read_ops_per_s")) == N
    assert "taken of all, which is of iostat, too" in told(found)["all-overall"]


def test_rotated_parts_are_joined(tmp_path: Path) -> None:
    """The second begins while the first still runs: what both have counts once."""
    found = read(tmp_path, {"iostat.1": devices(0, 15, sda=100.0), "iostat.2": devices(13, N, sda=300.0)})
    assert sorted(values(found, "storage.read_ops_per_s")) == [100.0] * 13 + [300.0] * 17
    assert "2 samples that another part has, too, are left out" in told(found)["iostat.1"]
    assert not any("same time" in warning for warning in found.cells[0].warnings)


def test_iostat_and_mpstat_as_json_are_two_programs(tmp_path: Path) -> None:
    found = read(tmp_path, {"a.json": sysstat_json(N), "b.json": mpstat_json(N)})
    assert not any("same time" in warning for warning in found.cells[0].warnings)
    assert len(values(found, "machine.cpu_user_pct")) == N


def test_a_recording_of_another_day_takes_nothing_away(tmp_path: Path) -> None:
    """iostat is more exact than vmstat, but none of its samples lie in the run."""
    stale = iostat(N, stamped=True, form="%m/%d/%Y %H:%M:%S").replace("03/13/2026", "02/13/2026")
    found = read(tmp_path, {"old.log": stale.replace("03/14", "02/14"), "vmstat.log": vmstat(N, stamped=True)})
    assert values(found, "machine.cpu_user_pct") == [10.0] * N
    assert "times do not lie in the run" in told(found)["old.log"]


def test_one_of_which_another_has_all_is_told_so(tmp_path: Path) -> None:
    """Its times do lie in the run."""
    found = read(tmp_path, {"a.json": sysstat_json(N), "b.log": iostat(N, stamped=True)})
    assert "series are taken of sysstat-json with devices" in told(found)["b.log"]
    assert "do not lie in the run" not in told(found)["b.log"]


class TestTheBusiestDevice:
    def test_of_all_parts_together(self, tmp_path: Path) -> None:
        parts = {"io.1": devices(0, 20, sda=5000.0, sdb=1.0), "io.2": devices(20, N, sda=0.0, sdb=1.0)}
        found = read(tmp_path, parts)
        assert values(found, "storage.read_ops_per_s") == [5000.0] * 20 + [0.0] * 10

    def test_by_requests_where_no_bytes_are_told(self, tmp_path: Path) -> None:
        """`iostat -s` has no columns of reads and of writes."""
        heading = "Device tps kB/s rqm/s await areq-sz aqu-sz %util"
        rows = "\n".join(f"{name} {rate} 0.00 0.00 0.50 16.00 0.10 5.00" for name, rate in (("sda", 10), ("sdb", 5000)))
        found = read(tmp_path, {"iostat.txt": f"{heading}\n{rows}\n\n" * (N + 1)})
        assert set(values(found, "storage.ops_per_s")) == {5000.0}

    def test_during_the_run_only(self, tmp_path: Path) -> None:
        """What another disk did on another day says nothing of this run."""
        stale = devices(0, N, sdb=9000.0).replace("03/13/2026", "02/13/2026").replace("03/14", "02/14")
        found = read(tmp_path, {"io.1": devices(0, N, sda=100.0, sdb=1.0), "io.old": stale})
        assert values(found, "storage.read_ops_per_s") == [100.0] * N

    @pytest.mark.parametrize("name", ["srvdata", "fdb", "ramdata", "loopback"])
    def test_a_volume_whose_name_begins_like_that_of_no_drive(self, tmp_path: Path, name: str) -> None:
        found = read(tmp_path, {"io": devices(0, N, **{name: 100.0, "sr0": 900.0, "ram1": 900.0, "sda": 1.0})})
        assert values(found, "storage.read_ops_per_s") == [100.0] * N


def test_the_line_of_a_run_has_its_series_for_itself(tmp_path: Path) -> None:
    """Without a benchmark, one server's counters are the line; those of another are not mixed into its gauges."""
    for name in ("mysqladmin.txt", "ext.txt"):
        (tmp_path / name).write_text(mysqladmin(N))
    found = read_folder([tmp_path], FORMATS, Options())
    (cell,) = found.cells
    assert sum("database.threads_running" in one.metrics for one in [*cell.intervals, *cell.others]) == N


def test_a_report_that_was_cut_off_is_told_once(tmp_path: Path) -> None:
    """The last report has its processors, but no devices."""
    text = iostat(N)
    told_of_it = told(read(tmp_path, {"x": text[: text.rindex("sda")]}))["x"]
    assert told_of_it.startswith(f"{N} samples of 1 s; no times: taken to begin with the run")
    assert told_of_it.count("no times: taken to begin") == 1 and f"{N - 1} samples of 1 s (sda)" in told_of_it


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        (dstat_csv(N, form="%d-%m %H:%M:%S").replace("13-03", "30-02").replace("14-03", "31-02"), 8, "30-02 23:59:31"),
        (vmstat(N, stamped=True).replace("2026-03-1", "2026-02-3"), 3, "2026-02-33 23:59:30"),
        (counters(N).replace("2026-03-1", "2026-02-3"), 2, "2026-02-33 23:59:30"),
    ],
    ids=["dstat", "vmstat", "counters"],
)
def test_a_date_that_does_not_exist_is_told_with_its_line(tmp_path: Path, text: str, line: int, says: str) -> None:
    (tmp_path / "x").write_text(text)
    (sampler,) = [one for one in SAMPLERS if one.recognises(tmp_path / "x", text)]
    with pytest.raises(UserError, match=rf"x:{line}: no such time: '{says}'; no "):
        sampler.read(tmp_path / "x")


def test_one_of_a_thing_is_told_in_the_singular(tmp_path: Path) -> None:
    assert "1 sample of 1 s" in told(read(tmp_path, {"x": mysqladmin(1)}))["x"]
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "z").write_text("hello")
    with pytest.raises(UserError, match=r"nothing can be imported of 1 file; z:"):
        read_folder([tmp_path / "y"], FORMATS, Options())


@pytest.mark.parametrize("every_s", [None, 10.0])
def test_an_mpstat_without_its_heading_keeps_its_seconds(tmp_path: Path, every_s: float | None) -> None:
    """It is shorter than the run: it was stretched over all of that."""
    (tmp_path / "run.txt").write_text(sysbench(600))
    (tmp_path / "mpstat.txt").write_text(mpstat(30, 10).partition("\n")[2])
    (cell,) = read_folder([tmp_path], FORMATS, Options(every_s=every_s)).cells
    assert [(one.start_s, one.end_s) for one in cell.others] == [(10.0 * i, 10.0 * i + 10) for i in range(30)]


def test_an_mpstat_without_its_heading_lies_where_its_times_say(tmp_path: Path) -> None:
    """Its day is the nearest one, also where midnight is in between."""
    found = read(tmp_path, {"mpstat.txt": "\n".join(mpstat(N).splitlines()[20:])})
    (cell,) = found.cells
    assert [one.end_s for one in cell.others] == [float(second) for second in range(6, N + 1)]
    assert "its times have no day: taken for the one that is nearest" in told(found)["mpstat.txt"]


def test_the_day_that_is_nearest_to_the_run_is_a_warning(tmp_path: Path) -> None:
    """An iostat that began a day before does not move it."""
    early = iostat(N, stamped=True, form="%m/%d/%Y %H:%M:%S").replace("03/13/2026", "03/12/2026")
    files = {"mpstat.txt": "\n".join(mpstat(N).splitlines()[20:]), "iostat.txt": early}
    (cell,) = read(tmp_path, files).cells
    assert min(one.end_s for one in cell.others if "machine.cpu_user_pct" in one.metrics) == 6.0
    assert any("its times have no day" in warning for warning in cell.warnings)


@pytest.mark.parametrize(
    ("command", "every_s", "step_s"),
    [("dstat -cd 5 --output x.csv", None, 5), ("dstat -cd --output x.csv 5", None, 5), ("dstat --output=x", 2.0, 2)],
)
def test_the_interval_of_a_dstat_without_times(
    tmp_path: Path, command: str, every_s: float | None, step_s: int
) -> None:
    lines = dstat_csv(12).replace("dstat -tcd --output x.csv 1", command).splitlines()
    rows = [line.partition(",")[2] if line[:1].isdigit() or line[:7] == '"epoch"' else line for line in lines]
    (tmp_path / "run.txt").write_text(sysbench(60))
    (tmp_path / "d.csv").write_text("\n".join(rows) + "\n")
    (cell,) = read_folder([tmp_path], FORMATS, Options(every_s=every_s)).cells
    users = [one for one in cell.others if "machine.cpu_user_pct" in one.metrics]
    assert [one.end_s for one in users] == [float(step_s * number) for number in range(1, 13)]


def test_seconds_that_begin_elsewhere_are_told_so(tmp_path: Path) -> None:
    rows = "".join(f"{600 + i},{50 * i}\n" for i in range(N))
    found = read(tmp_path, {"c.csv": "ts,com_commit\n" + rows})
    assert "its seconds (600 to 629) do not lie in the run" in told(found)["c.csv"]
