from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import synthetic

from flatwater.analysis.bound.evidence import Database
from flatwater.report.charts import WANTED
from flatwater.report.charts.sessions import COMMITS, PLACES, SAMPLED, Sessions
from flatwater.report.figure import Figure
from flatwater.report.recorded import read
from flatwater.results import open_result


def draw(path: Path, found: dict[str, np.ndarray]) -> list[Figure]:
    result = synthetic.create(path, [({}, 0)])
    synthetic.write_rows(result, iter([(0, found)]))
    synthetic.write_summaries(result, [synthetic.summary(0, {}, 1.0, 60)])
    return Sessions().draw(read(open_result(path).cells[0], WANTED, 100))


def test_the_places_of_a_modelled_server_are_stacked_up_to_its_sessions(tmp_path: Path) -> None:
    shares = np.linspace(0, 1, 60)
    found = dict.fromkeys(PLACES, np.zeros(60))
    found |= {"database.sessions_running": 16 * shares, "database.sessions_committing": 16 * (1 - shares)}
    [figure] = draw(tmp_path / "r", found)
    assert [trace["name"] for trace in figure.data] == ["on a processor", "in a commit"], "no other has a session"
    assert all(trace["stackgroup"] for trace in figure.data)
    assert figure.layout["yaxis"]["range"][1] == pytest.approx(16 * 1.06), "the sum, and not the sum of the highest"


def test_of_a_real_server_what_was_sampled_and_timed(tmp_path: Path) -> None:
    found = {name: np.full(60, 2.0) for name in SAMPLED} | {COMMITS: np.full(60, 8e6)}
    [figure] = draw(tmp_path / "r", found)
    assert figure.data[0]["name"] == "in a commit" and len(figure.data) == 1 + len(SAMPLED)
    assert not any("stackgroup" in trace for trace in figure.data), "a session may be in two of them"
    assert figure.layout["yaxis"]["range"][1] == pytest.approx(8 * 1.06)
    [alone] = draw(tmp_path / "a", {COMMITS: np.full(60, 8e6)})
    assert [trace["name"] for trace in alone.data] == ["in a commit"]
    assert draw(tmp_path / "n", {"database.threads_running": np.ones(60)}) == []


def test_every_place_that_a_model_records_is_drawn() -> None:
    recorded = {f"database.{one.name}" for one in fields(Database) if one.name.startswith("sessions_")}
    assert recorded <= {*PLACES, *SAMPLED}
