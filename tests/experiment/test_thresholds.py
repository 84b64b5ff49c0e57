"""`[thresholds]`: what may be written, and limits that no run could be held against."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.experiment import InvalidExperimentError, load, to_toml
from flatwater.experiment.thresholds import Limit, Thresholds

FILE = """\
[workload]
kind = "fileio"
mode = "rndwr"
duration_s = 20

[storage]
kind = "ssd"
device = "intel-910-2x200"

[thresholds]
"""


def written(folder: Path, limits: str, text: str = FILE) -> Path:
    path = folder / "limits.toml"
    path.write_text(text + limits)
    return path


def test_every_limit_is_read_and_written_back(tmp_path: Path) -> None:
    limits = """\
mean_min = 1000
p95_max_s = "5ms"
p99_max_s = "20ms"
p999_max_s = 0.1
flatness_min = 0.9
verdict = "flat"
life_min_years = 3
cost_max = 0.5
baseline = "results/main"
ratio_min = 0.95
[thresholds.metrics]
"storage.write_amplification" = { max = 3 }
"latency_us.p50" = { min = 10, max = 900 }
"""
    experiment = load(written(tmp_path, limits))
    assert experiment.thresholds is not None
    assert experiment.thresholds.p99_max_s == 0.02 and experiment.thresholds.verdict == ["flat"]
    again = tmp_path / "again.toml"
    again.write_text(to_toml(experiment))
    assert load(again).thresholds == experiment.thresholds


def test_without_a_table_there_are_none(tmp_path: Path) -> None:
    assert load("quick").thresholds is None


@pytest.mark.parametrize(
    ("limits", "line", "message"),
    [
        ("mean_min = -1", 11, "must be more than 0"),
        ("mean_min = nan", 11, "must be a finite number"),
        ('p99_max_s = "soon"', 11, "is not a duration"),
        ("flatness_min = 1.5", 11, "must be at most 1"),
        ('verdict = "fine"', 11, "is not a choice"),
        ("verdict = []", 11, "must not be empty"),
        ("p99_max = 3", 11, "did you mean p"),
        ('metrics = { "latency_us.p99" = { mx = 3 } }', 11, "unknown field (hint: did you mean max?)"),
        ('metrics = { "latency_us.p99" = { zork = 3 } }', 11, "unknown field (hint: there is: min, max)"),
        ("ratio_min = 0.9", 11, "says nothing without baseline"),
        ('baseline = "results/main"', 11, "says nothing without ratio_min"),
        ("", 10, "thresholds: has no limit"),
        ('metrics = { "storage.size" = {} }', 11, "there is neither min nor max"),
        ('metrics = { "nonsense" = { max = 1 } }', 11, "thresholds.metrics.nonsense: 'nonsense' is not a metric"),
        ('metrics = { "latency_us.p50" = { min = 3, max = 2 } }', 11, "is above max (2)"),
        ("checkpoint_age_max_pct = 80", 11, "there is no database"),
    ],
)
def test_nonsense_is_told_with_its_line(tmp_path: Path, limits: str, line: int, message: str) -> None:
    path = written(tmp_path, limits + "\n")
    with pytest.raises(InvalidExperimentError) as caught:
        load(path)
    assert message in str(caught.value) and f"limits.toml:{line}" in str(caught.value)


def test_a_latency_that_is_not_recorded_has_no_limit(tmp_path: Path) -> None:
    text = FILE.replace("duration_s = 20", "duration_s = 20\nrecord_latency = false")
    with pytest.raises(InvalidExperimentError, match="no latency is recorded"):
        load(written(tmp_path, "p99_max_s = 1\n", text))


def test_a_limit_on_the_command_line(tmp_path: Path) -> None:
    experiment = load(written(tmp_path, "mean_min = 1\n"), ["thresholds.mean_min=7"])
    assert experiment.thresholds is not None and experiment.thresholds.mean_min == 7


def test_every_limit_is_told_in_words() -> None:
    """A new field that `told` leaves out is found here: each limit alone must give a line that names it."""
    one: dict[str, object] = {
        "verdict": ["flat", "dips"],
        "metrics": {"database.dirty_pct.max": {"min": 1, "max": 75}},
        "baseline": "results/main",
        "ratio_min": 0.95,
    }
    for name in Thresholds.model_fields:
        given = {name: one.get(name, 0.5)}
        if name in ("baseline", "ratio_min"):
            given = {"baseline": one["baseline"], "ratio_min": one["ratio_min"]}
        told = Thresholds.model_validate(given).told
        assert told, name
        assert name == "metrics" or all(line.startswith(("ratio_min", name)) for line in told)
    assert Thresholds(metrics={"database.dirty_pct.max": Limit(min=1, max=75)}).told == [
        "database.dirty_pct.max: at least 1",
        "database.dirty_pct.max: at most 75",
    ]
    assert Thresholds.model_validate({"p99_max_s": "20ms", "mean_min": 50000}).told == [
        "mean_min: at least 50,000, in the run's unit",
        "p99_max_s: at most 0.02 s",
    ]
    assert Thresholds().told == []
