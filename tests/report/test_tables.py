from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic

from flatwater.report.page import render, tiles
from flatwater.report.sentences import notices
from flatwater.report.tables import Table, metric_words, tables
from flatwater.results import CellSummary, Result
from flatwater.results.health import CellHealth, DriveHealth


def summary_of(result: Result) -> CellSummary:
    found = result.cells[0].summary
    assert found is not None
    return found


def by_title(summary: CellSummary) -> dict[str, Table]:
    return {table.title: table for table in tables(summary)}


def test_a_crashed_cell_has_them_all(crashed: Result) -> None:
    found = by_title(summary_of(crashed))
    assert list(found) == ["Response times", "Counted while measuring", "Recoveries", "Servers", "Consistency"]
    assert found["Response times"].rows == [["New-Order", "8.12 ms", "5 s", "yes"], ["Delivery", "5.2 s", "5 s", "no"]]
    assert found["Response times"].bad == {1}
    assert ["connect failures", "880"] in found["Counted while measuring"].rows
    assert found["Recoveries"].rows == [["1", "22.1 s"]]
    assert found["Servers"].rows == [["0 to 3", "MariaDB", "10.11.14", "Debian 12", "5 s", "none"]]
    words = [row[2] for row in found["Consistency"].rows]
    assert words == ["holds", "violated 2 times", "does not apply"]
    assert found["Consistency"].bad == {1}


def test_what_the_drives_say(crashed: Result) -> None:
    summary = summary_of(crashed).model_copy()
    text = ["card: <b>half</b> of its rated life is used", "card: the maker allows 40 TB"]
    summary.health = CellHealth(drives=[DriveHealth(device="card", modelled=True)], text=text)
    table = by_title(summary)["Drives"]
    assert (table.head, table.rows) == (["as the model predicts"], [[sentence] for sentence in text])
    summary.health = CellHealth(drives=[DriveHealth(device="/dev/sda")], text=text[:1])
    assert by_title(summary)["Drives"].head == ["what they say"]
    summary.health = CellHealth()
    assert "Drives" not in by_title(summary)


def test_they_are_in_the_page(crashed: Result) -> None:
    html = render(crashed)
    for words in (
        "What happened when",
        "warehouse 1, district 4",
        "does not apply",
        '<tr class="bad">',
        "killed (kill -9)",
    ):
        assert words in html
    told = dict(tiles(summary_of(crashed)))
    assert told["consistency"] == "1 of 2 conditions hold"
    assert told["queries"].endswith(" /s")


def test_wrong_data_is_said_first(crashed: Result) -> None:
    assert [(notice.level, notice.text) for notice in notices(crashed)][:2] == [
        ("bad", "The data are not consistent: condition 3 violated."),
        ("warning", "Slower than the specification allows, at the 90th percentile: Delivery 5.2 s (allowed: 5 s)."),
    ]


def test_a_workload_without_a_database_has_none(single: Result) -> None:
    assert tables(summary_of(single)) == []
    assert "consistency" not in dict(tiles(summary_of(single)))


def test_conditions_of_several_servers_name_them() -> None:
    conditions: list[dict[str, Any]] = [
        {"number": 1, "title": "t", "applies": True, "holds": True, "instance": number} for number in (0, 1)
    ]
    found = by_title(synthetic.summary(0, {}, 1.0, 60, consistency=conditions))
    assert [row[0] for row in found["Consistency"].rows] == ["1, server 0", "1, server 1"]


def test_a_fault_of_the_database_is_said(tmp_path: Path) -> None:
    experiment = 'name = "x"\n[database]\nkind = "server"\n[database.fault]\nkind = "kill"\nat_s = 30\n'
    result = synthetic.create(tmp_path / "r", [({}, 0)], experiment=experiment)
    assert "A fault was injected on purpose: kill." in [notice.text for notice in notices(result)]


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("mean", "mean"),
        ("latency_us.p999", "latency p99.9"),
        ("database.checkpoint_age_bytes", "checkpoint age"),
        ("database.dirty_pct", "dirty"),
        ("storage.read_ops_per_s", "read ops per s"),
        ("transition_s", "transition"),
    ],
)
def test_metrics_in_words(metric: str, words: str) -> None:
    assert metric_words(metric) == words
