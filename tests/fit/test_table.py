from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from flatwater import cli
from flatwater.errors import UserError
from flatwater.fit import Condition, Evaluator, Measurement, read_measurements

GIB = 2**30
OWN = """
title = "own"
about = "own"
[workload]
kind = "fileio"
mode = "rndwr"
threads = 8
warmup_s = 1
duration_s = 4
unit = "MiB/s"
[storage]
kind = "ssd"
device = "virident-tachion-400-slc"
capacity_scale = 0.03
[sweep]
"storage.fill" = [0.5, 1.0]
"""


def read(tmp_path: Path, text: str) -> list[Measurement]:
    path = tmp_path / "table.csv"
    path.write_text(text)
    return read_measurements([str(path)])


def test_a_row_says_how_it_was_measured(tmp_path: Path) -> None:
    text = "used_bytes, mode, block_size, threads, queue_depth, metric, value, source\n"
    (row,) = read(tmp_path, f"# a comment\n{text}100GiB, rndrd, 4KiB, 2, 16, p95_us, 300, me\n")
    assert row.condition == Condition(
        mode="rndrd", block_bytes=4096, threads=2, queue_depth=16, engine="io_uring", used_bytes=100 * GIB
    )
    assert (row.metric, row.value, row.source) == ("p95_us", 300.0, "me")


def test_what_a_row_does_not_say_is_one_thread_on_a_full_device(tmp_path: Path) -> None:
    (row,) = read(tmp_path, "fill,metric,value\n,IOPS,500\n")
    assert row.condition == Condition()


def test_a_share_may_be_written_in_percent(tmp_path: Path) -> None:
    rows = read(tmp_path, "fill,metric,value\n0.8,IOPS,500\n80%,IOPS,500\n")
    assert [row.condition.fill for row in rows] == [0.8, 0.8]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", 'there is no column "metric"'),
        ("fill,value\n1,2\n", 'there is no column "metric"'),
        ("fill,metric\n1,IOPS\n", 'there is no column "value"'),
        ("fil,metric,value\n1,IOPS,2\n", '"fil" is not a column (hint: did you mean fill?)'),
        ("fill,metric,value\n", "there are no rows in it"),
        ("metric,value\niops,2\n", 'row 1: metric: "iops" is not a metric (hint: did you mean IOPS?)'),
        ("metric,value\ntps,2\n", 'metric: "tps" is not a metric (hint: one of MiB/s, IOPS, p50_us'),
        ("metric,value\nIOPS,1\nIOPS,fast\n", 'row 2: value: "fast" is not a number over 0'),
        ("metric,value\nIOPS,-1\n", 'value: "-1" is not a number over 0'),
        ("metric,value\nIOPS,nan\n", 'value: "nan" is not a number over 0'),
        ("metric,value\nIOPS,inf\n", 'value: "inf" is not a number over 0'),
        ("metric,value\nIOPS,\n", "row 1: value is empty"),
        (
            "fill,metric,value\n1.2,IOPS,1\n",
            'fill: "1.2" is not a share of the capacity (hint: a share of the capacity:',
        ),
        ("threads,metric,value\n0,IOPS,1\n", 'threads: "0" is not a whole number over 0'),
        ("used_bytes,metric,value\nmuch,IOPS,1\n", 'used_bytes: "much" is not a size (hint: a size: 100GiB)'),
        ("engine,metric,value\nlibaio,IOPS,1\n", 'engine: "libaio" is not an engine'),
    ],
)
def test_a_bad_table_is_told_in_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, text)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot be read: No such file"):
        read_measurements([str(tmp_path / "none.csv")])


def test_a_table_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_bytes(b"metric,value\n\xff\xfe,1\n")
    with pytest.raises(UserError, match="is not UTF-8 text"):
        read_measurements([str(tmp_path / "table.csv")])


def test_an_experiment_gives_its_published_figures() -> None:
    rows = read_measurements(["fill-level-tachion-400"])
    assert [row.value for row in rows if row.condition.fill in (0.2, 1.0)] == [990.0, 417.0]
    assert all(row.condition.engine == "io_uring" and row.condition.queue_depth == 32 for row in rows)


def test_latencies_of_an_experiment_are_rows_too() -> None:
    rows = read_measurements(["card-threads-writes"])
    assert ("p95_us", 3100.0, 8) in [(row.metric, row.value, row.condition.threads) for row in rows]


def test_an_experiment_without_published_figures() -> None:
    with pytest.raises(UserError, match="has no \\[\\[published\\]\\] throughput or latency"):
        read_measurements(["quick"])


def test_own_result_folders(tmp_path: Path) -> None:
    """A run of a modelled card, read as measurements: the model says the same of them."""
    experiment = tmp_path / "own.toml"
    experiment.write_text(OWN)
    ran = CliRunner().invoke(cli.make_app(), ["run", str(experiment), "--out", str(tmp_path / "result")])
    assert ran.exit_code == 0, ran.output
    rows = read_measurements([str(tmp_path / "result")])
    assert {(row.condition.fill, row.metric) for row in rows} == {
        (fill, metric) for fill in (0.5, 1.0) for metric in ("MiB/s", "p95_us")
    }
    for row in rows:
        ours = Evaluator("virident-tachion-400-slc").figures(row.condition)[row.metric]
        assert ours == pytest.approx(row.value, rel=0.05), row


def test_a_folder_that_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="not a flatwater result"):
        read_measurements([str(tmp_path)])
