from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from servelab import started_run, write_event, write_seconds

from flatwater.errors import UserError
from flatwater.serve import tail as tail_module
from flatwater.serve.tail import Lines, Tail

WANTED = ("workload.throughput", "workload.latency_p99_us", "storage.late")


def test_a_journal_is_read_on(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    tail = Tail(result.cells[0], WANTED)
    assert tail.advance() is False and tail.rows == 0  # there is none yet
    write_seconds(result, 0, 3)
    tail.advance()
    write_event(result, 2.5, "it broke")
    write_seconds(result, 3, 2, storage__late=7.0)
    tail.advance()
    assert tail.rows == 5 and list(tail.times) == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert [event.text for event in tail.events] == ["it broke"]
    assert [(one.name, one.start_s, one.end_s) for one in tail.phases] == [("measure", 0.0, 5.0)]
    # Before it was recorded, nothing is known of a series.
    late = tail.series("storage", "late").value
    assert np.isnan(late[:3]).all() and list(late[3:]) == [7.0, 7.0]
    assert ("database", "checkpoint_age_bytes") not in tail.metrics()
    assert tail.last("workload.latency_p99_us") == 900.0
    tail.close()


def test_a_line_that_is_not_whole_waits_for_its_rest(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 2)
    whole = result.cells[0].journal.read_bytes()
    cut = len(whole) - 20
    result.cells[0].journal.write_bytes(whole[:cut])
    tail = Tail(result.cells[0], WANTED)
    tail.advance()
    assert tail.rows == 1
    with result.cells[0].journal.open("ab") as handle:
        handle.write(whole[cut:])
    tail.advance()
    assert tail.rows == 2
    tail.close()


@given(st.lists(st.integers(1, 60), max_size=12))
def test_wherever_it_is_cut_the_lines_are_the_same(tmp_path_factory: pytest.TempPathFactory, cuts: list[int]) -> None:
    result = started_run(tmp_path_factory.mktemp("cut") / "run")
    write_seconds(result, 0, 2)
    journal = result.cells[0].journal
    whole = journal.read_bytes()
    journal.write_bytes(b"")
    lines, found, at = Lines(journal), [], 0
    for cut in [*cuts, len(whole)]:
        with journal.open("ab") as handle:
            handle.write(whole[at : at + cut])
        at += cut
        found += [line["time_s"] for line in lines.read()]
    lines.close()
    assert found == [1.0, 2.0]


def test_a_cell_that_begins_anew_is_read_anew(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 5)
    tail = Tail(result.cells[0], WANTED)
    tail.advance()
    result.cells[0].journal.rename(tmp_path / "aside")
    write_seconds(result, 0, 2)
    assert tail.advance() is True
    assert tail.rows == 2
    tail.close()


def test_what_was_merged_into_the_result_is_read_to_its_end(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 2)
    tail = Tail(result.cells[0], WANTED)
    tail.advance()
    write_seconds(result, 2, 2)
    result.cells[0].journal.unlink()
    assert tail.advance() is False
    assert tail.rows == 4
    tail.close()


def test_what_no_run_wrote_is_refused(tmp_path: Path) -> None:
    result = started_run(tmp_path / "run")
    write_seconds(result, 0, 1)
    with result.cells[0].journal.open("a") as handle:
        handle.write("<b>no line</b>\n")
    tail = Tail(result.cells[0], WANTED)
    with pytest.raises(UserError, match="line 2 is not JSON"):
        tail.advance()
    tail.close()


def test_a_run_of_weeks_needs_no_more_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_module, "ROWS_MAX", 1000)
    result = started_run(tmp_path / "run")
    tail = Tail(result.cells[0], WANTED)
    for block in range(6):
        write_seconds(result, block * 1000, 1000, workload__throughput=float(100 + block))
        tail.advance()
    assert tail.rows == 6000 and len(tail.times) <= 1000
    assert {len(column) for column in tail.columns.values()} == {len(tail.times)}
    # The last seconds are whole, and the old ones are there still.
    assert list(tail.times)[-400:] == [float(at) for at in range(5601, 6001)]
    assert min(tail.times) < 1000 and set(tail.columns["workload.throughput"]) == {100, 101, 102, 103, 104, 105}
    tail.close()
