"""HammerDB's log, alone and with the series that its counter or a script wrote."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import read_files

sys.path.insert(0, str(Path(__file__).parent))
from import_samples import SAMPLES, imported, summary
from sampled import HAMMERDB, counters, hammerdb_counter, nopm_samples, vmstat
from test_import_folder import kept, place, read, write

__all__ = ["place"]


def test_a_file_by_itself(tmp_path: Path) -> None:
    (cell,) = imported(tmp_path / "r", "hammerdb.txt").cells
    assert (summary(cell).mean, summary(cell).operations, len(cell.phases)) == (3000.0, 13800, 1)


def test_the_older_order_several_runs_and_failures(tmp_path: Path) -> None:
    text = (SAMPLES / "hammerdb.txt").read_text()
    old = "Vuser 1:TEST RESULT : System achieved 6900 Oracle TPM at 3000 NOPM\nVuser 3:FINISHED FAILED\n"
    (tmp_path / "x.txt").write_text(text + old + text)
    cells = read_files([tmp_path / "x.txt"])
    assert [(cell.label, cell.totals["nopm"], cell.totals["tpm"]) for cell in cells] == [
        (f"x {number}", 3000, 6900) for number in (1, 2, 3)
    ]
    assert "1 virtual user failed" in cells[2].warnings and "the length of the test is not told" in cells[1].warnings


class TestHammerdb:
    def test_its_log_alone(self, place: Path) -> None:
        write(place, hammerdb_txt=HAMMERDB)
        (cell,) = kept(place, read(place)).cells
        assert cell.summary is not None
        assert (cell.summary.mean, cell.summary.unit, cell.summary.verdict) == (3000.0, "NOPM", None)

    def test_what_was_done_in_an_unknown_time_is_not_known(self, place: Path) -> None:
        write(place, hammerdb_txt=HAMMERDB.splitlines()[-1] + "\n")
        (cell,) = kept(place, read(place)).cells
        assert cell.summary is not None and cell.summary.operations is None

    def test_its_counter_without_the_ramp_up(self, place: Path) -> None:
        write(place, hammerdb_txt=HAMMERDB, hdbtcount_txt=hammerdb_counter(180), vmstat_txt=vmstat(180))
        (cell,) = kept(place, read(place)).cells
        assert cell.summary is not None and cell.summary.verdict == "flat" and cell.summary.unit == "tpm"
        assert [(one.name, one.start_s, one.end_s) for one in cell.phases] == [("warmup", 0, 60), ("measure", 60, 180)]
        assert len(cell.measured("workload", "throughput")) == 120
        assert len(cell.measured("machine", "cpu_user_pct")) == 120

    def test_samples_of_the_test_alone_have_no_ramp_up(self, place: Path) -> None:
        write(place, hammerdb_txt=HAMMERDB, nopm_txt=nopm_samples(120), counters_txt=counters(180))
        (cell,) = kept(place, read(place)).cells
        assert cell.summary is not None and cell.summary.unit == "NOPM" and cell.summary.samples == 120

    def test_the_same_result_twice(self, place: Path) -> None:
        line = HAMMERDB.splitlines()[-1]
        write(place, result_txt=line + "\n", summary_txt="about\n" + line + "\n")
        found = read(place)
        assert len(found.cells) == 1 and "the same result as" in found.reports[-1].left_out

    def test_one_that_did_not_end(self, place: Path) -> None:
        write(place, hammerdb_txt=HAMMERDB.rpartition("Vuser 1:TEST")[0])
        with pytest.raises(UserError, match="the run did not end"):
            read(place)

    @pytest.mark.parametrize("minutes", ["0", "100000", "9" * 400])
    @pytest.mark.parametrize("beside", [True, False])
    def test_figures_that_no_run_has_are_told_with_their_line(self, place: Path, minutes: str, beside: bool) -> None:
        text = HAMMERDB.replace("period of 2", f"period of {minutes}").replace("16 Active", "0 Active")
        write(place, hammerdb_txt=text, **({"hdbtcount_txt": hammerdb_counter(180)} if beside else {}))
        (cell,) = kept(place, read(place)).cells
        assert cell.summary is not None
        assert f"hammerdb.txt:5: {minutes[:20]} minutes of test cannot be: not taken" in cell.summary.warnings
        assert "hammerdb.txt:9: 0 virtual users cannot be: not taken" in cell.summary.warnings
        assert "connections" not in cell.result.experiment["workload"]


def test_thousands_that_are_apart(tmp_path: Path) -> None:
    path = tmp_path / "h.log"
    path.write_text("Vuser 1:TEST RESULT : System achieved 12,345 NOPM from 1,028,000 MySQL TPM\n")
    (cell,) = read_files([path])
    assert (cell.totals["nopm"], cell.totals["tpm"]) == (12345, 1_028_000)
    path.write_text("Vuser 1:TEST RESULT : System achieved 12,34 NOPM from 28000 MySQL TPM\n")
    with pytest.raises(UserError, match=r"h\.log:1: no figure of HammerDB's result: '12,34'"):
        read_files([path])


@pytest.mark.parametrize("step_s", [10, 1])
def test_a_counter_without_times_has_the_ramp_up_left_out(tmp_path: Path, step_s: int) -> None:
    """`tcset timestamps` is off unless it is asked for: the lines are those of the ramp-up (60 s), then of the test."""
    lines = ["1000 MySQL tpm"] * (60 // step_s) + ["6900 MySQL tpm"] * (120 // step_s)
    write(tmp_path, hammerdb_txt=HAMMERDB, hdbtcount_txt="\n".join(lines) + "\n")
    (cell,) = read(tmp_path).cells
    assert (cell.intervals[0].start_s, cell.intervals[-1].end_s, cell.operations) == (60, 180, 13800)
    assert {one.metrics["workload.throughput"] for one in cell.intervals} == {6900.0}
    told = f"hdbtcount.txt: its lines have no times: taken to be {step_s} s apart (--every tells another interval)"
    assert told in cell.warnings


def test_a_counter_that_is_longer_than_the_test_is_told(tmp_path: Path) -> None:
    """It ran before the ramp-up, or behind the test: nothing tells which, so the part that is judged is a guess."""
    write(tmp_path, hammerdb_txt=HAMMERDB, hdbtcount_txt=hammerdb_counter(390))
    (cell,) = read(tmp_path).cells
    assert cell.intervals[-1].end_s == 180
    assert any("hdbtcount.txt: 210 samples left out: it is 210 s longer than the test" in one for one in cell.warnings)
