"""The page of repeated runs: the sentences of `flatwater trend`, and each figure drawn."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from servelab import Lab

sys.path.append(str(Path(__file__).parents[1] / "analysis" / "trend"))
sys.path.append(str(Path(__file__).parents[1] / "cli"))
from each_result import HOSTILE
from repeated import make_run

from flatwater.errors import UserError
from flatwater.report.document import Document, Drawing, Items, Rows
from flatwater.serve import trends
from flatwater.serve.folders import find_results
from flatwater.serve.listed import Listed, read_listed

#: The run from which on everything is slower, by a tenth.
SLOWER = 20


@pytest.fixture(scope="module")
def nightly(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nightly")
    noise = random.Random(7)
    for number in range(40):
        mean = (1000.0 if number < SLOWER else 900.0) * (1 + noise.uniform(-0.01, 0.01))
        make_run(folder, number, mean, p99_us=500.0 * (1 + noise.uniform(-0.01, 0.01)))
    make_run(folder / "others", 1, 5.0, name="alone")
    return folder


def listed(folder: Path) -> list[Listed]:
    return [read_listed(place) for place in find_results([folder])]


def drawings(document: Document) -> list[Drawing]:
    return [block for block in document.blocks if isinstance(block, Drawing)]


def test_what_was_repeated_is_found(nightly: Path) -> None:
    found = listed(nightly)
    assert trends.repeated(found) == [("nightly", 40)]
    chosen = trends.chosen(found, "nightly")
    assert len(chosen) == 40 and chosen[0].created_at < chosen[-1].created_at
    assert trends.chosen(found, "nosuch") == []


def test_a_change_is_in_the_table_and_in_the_chart(nightly: Path) -> None:
    document = trends.trend(trends.chosen(listed(nightly), "nightly"))
    assert document.headline == "1 change of level in 40 runs."
    (row,) = next(block for block in document.blocks if isinstance(block, Rows)).rows
    assert row[1] == "mean, IOPS" and row[4] == "worse"
    items = " ".join(text for block in document.blocks if isinstance(block, Items) for text in block.texts)
    # By the names of the list: no path of this machine is on the page.
    assert f"first seen in run-{SLOWER:03}" in items and str(nightly) not in items
    assert "no change of latency_us.p99" in items
    changed, unchanged = drawings(document)
    runs, levels = changed.figure.data
    assert len(runs["y"]) == 40 and runs["x"][0] == 1
    assert levels["x"] == [0.5, SLOWER + 0.5, None, SLOWER + 0.5, 40.5, None]
    assert levels["y"][0] == pytest.approx(1000, rel=0.01) and levels["y"][3] == pytest.approx(900, rel=0.01)
    (line,), (note,) = changed.figure.layout["shapes"], changed.figure.layout["annotations"]
    assert line["x0"] == note["x"] == SLOWER + 0.5 and note["text"].endswith(" %, 2026-01-21")
    assert len(unchanged.figure.data) == 1 and not unchanged.figure.layout["shapes"]


def test_runs_of_another_machine_are_apart(tmp_path: Path) -> None:
    for number in range(3):
        make_run(tmp_path, number, 100.0)
    make_run(tmp_path, 5, 100.0, machine={"cpu": "another"})
    document = trends.trend(trends.chosen(listed(tmp_path), "nightly"))
    items = [text for block in document.blocks if isinstance(block, Items) for text in block.texts]
    assert any("run-005 is not comparable with run-002" in text and "another" in text for text in items)


def test_what_cannot_be_compared_is_told(tmp_path: Path) -> None:
    make_run(tmp_path, 1, 100.0, source="import:sysbench")
    with pytest.raises(UserError, match="no run of it can be compared"):
        trends.trend(listed(tmp_path))


def test_the_newest_runs_are_enough(nightly: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trends, "RUNS_MAX", 30)
    chosen = trends.chosen(listed(nightly), "nightly")
    assert len(chosen) == 30 and chosen[-1].place.name.endswith("039")
    assert "Only the newest 30 runs" in str(trends.trend(chosen).blocks[-1])


def test_the_pages(nightly: Path, tmp_path: Path) -> None:
    for number in range(2):
        make_run(tmp_path, number, 100.0, name=HOSTILE)
    with Lab([nightly, tmp_path]) as lab:
        assert "43 results are still being read" in lab.ask("/trend").text
        lab.ask("/")
        text = lab.ask("/trend").text
        assert 'href="/trend?name=nightly"' in text and "alone" not in text and "<img src=x" not in text
        answer = lab.ask("/trend?name=nightly")
        assert answer.status == 200 and "1 change of level in 40 runs." in answer.text and 'href="/"' in answer.text
        assert lab.ask("/trend?name=nosuch").status == 404
        assert lab.ask("/trend?name=").status == 404
        link = next(one for one in text.split('href="') if one.startswith("/trend?name=") and "nightly" not in one)
        answer = lab.ask(link.partition('"')[0].replace("&amp;", "&"))
        assert answer.status == 200 and "<img src=x" not in answer.text
