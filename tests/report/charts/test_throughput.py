from __future__ import annotations

from pathlib import Path

import synthetic

from flatwater.report.charts import WANTED
from flatwater.report.charts.throughput import Throughput
from flatwater.report.recorded import Recorded, read
from flatwater.results import Event, Phase, open_result


def test_marks_what_was_judged(recorded: Recorded) -> None:
    [figure] = Throughput().draw(recorded)
    assert [trace["name"] for trace in figure.data] == ["dip", "stall", "throughput", "mean 427.1 MiB/s"]
    dips, stalls = figure.data[0], figure.data[1]
    assert dips["x"].count(None) == 4
    # Seconds 840 to 843, on an axis in minutes.
    assert stalls["x"][:3] == [14.0, 14.0, 14.05]
    assert figure.layout["yaxis"]["range"][0] == 0


def test_names_the_phases_and_the_seam(recorded: Recorded) -> None:
    [figure] = Throughput().draw(recorded)
    texts = [note["text"] for note in figure.layout["annotations"]]
    assert texts[:2] == ["precondition", "warm-up"]
    assert any("resumed" in text for text in texts)
    shapes = figure.layout["shapes"]
    assert [shape["type"] for shape in shapes] == ["rect", "rect", "rect", "line", "line"]
    assert (shapes[0]["x0"], shapes[0]["x1"]) == (0, 200 / 60)


def test_what_is_not_measured_is_shaded_and_named(tmp_path: Path) -> None:
    names = ["warmup", "approach", "measure", "drain", "verify"]
    phases = [Phase(name=name, start_s=20 * i, end_s=20 * (i + 1)) for i, name in enumerate(names)]
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    synthetic.write_rows(result, iter([(0, synthetic.columns(synthetic.np.random.default_rng(1), 100, 300, [], []))]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 300.0, 100, phases=phases)])
    [figure] = Throughput().draw(read(open_result(result.path).cells[0], WANTED, 100))
    texts = [note["text"] for note in figure.layout["annotations"]]
    assert texts == ["warm-up", "approach to steady state", "drain", "verify"]
    assert [shape["x0"] for shape in figure.layout["shapes"]] == [0, 20, 60, 80]


def test_without_a_judgement_there_is_only_the_line(unfinished_path: Path) -> None:
    recorded = read(open_result(unfinished_path).cells[0], WANTED, 100)
    [figure] = Throughput().draw(recorded)
    assert [trace["name"] for trace in figure.data] == ["throughput"]


def test_the_unit_of_an_unfinished_cell_is_the_one_asked_for(tmp_path: Path) -> None:
    path = synthetic.unfinished(tmp_path / "r", 10)
    toml = path / "experiment.toml"
    toml.write_text(toml.read_text().replace('kind = "fileio"', 'unit = "IOPS"'))
    [figure] = Throughput().draw(read(open_result(path).cells[0], WANTED, 100))
    assert figure.layout["yaxis"]["title"]["text"] == "throughput, IOPS"


def test_notes_that_would_cover_each_other_move_down(tmp_path: Path) -> None:
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    synthetic.write_rows(result, iter([(0, synthetic.columns(synthetic.np.random.default_rng(1), 100, 300, [], []))]))
    events = [
        Event(time_s=50, kind="fault", text="killed"),
        Event(time_s=51, kind="recovered", text="back"),
        Event(time_s=80, kind="fault", text="killed again"),
        Event(time_s=81, kind="round", text="of no interest here"),
    ]
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 300.0, 100, events=events)])
    [figure] = Throughput().draw(read(open_result(result.path).cells[0], WANTED, 100))
    rows = [(note["text"].strip("&#8201;"), note.get("yshift", 0)) for note in figure.layout["annotations"]]
    assert rows == [("warm-up", 0), ("fault", 0), ("recovered", -14), ("fault", 0)]


def test_incidents_that_come_again_and_again_have_one_name(tmp_path: Path) -> None:
    result = synthetic.create(tmp_path / "r", [({}, 0)])
    synthetic.write_rows(result, iter([(0, synthetic.columns(synthetic.np.random.default_rng(1), 100, 300, [], []))]))
    waits = "writers wait for room in the log: the oldest change is 400 MB old"
    times = [50, 52, 60, 250]
    events = [*(Event(time_s=at, kind="incident", text=waits) for at in times)]
    events.append(Event(time_s=54, kind="incident", text="member 2 failed"))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 300.0, 100, events=events)])
    [figure] = Throughput().draw(read(open_result(result.path).cells[0], WANTED, 100))
    names = [note["text"].strip("&#8201;") for note in figure.layout["annotations"]][1:]
    first, last, other = names
    assert first == "writers wait for room in the log, 3 times"
    assert last.startswith("writers wait for room in the log: the oldest") and other == "member 2 failed"
    lines = [shape["x0"] for shape in figure.layout["shapes"] if shape.get("line", {}).get("dash") == "dot"]
    assert sorted(lines) == sorted([*times, 54]), "each has its line"


def test_the_transition_of_a_write_run_is_marked(recorded_card: Recorded) -> None:
    [figure] = Throughput().draw(recorded_card)
    marks = {note["text"].replace("&#8201;", ""): note["x"] for note in figure.layout["annotations"]}
    assert (marks["transition"], marks["steady"]) == (5.0, 15.0), "minutes"
    lines = [shape for shape in figure.layout["shapes"] if shape.get("line", {}).get("dash") == "dashdot"]
    assert [shape["x0"] for shape in lines] == [5.0, 15.0]
