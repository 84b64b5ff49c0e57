from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from flatwater.analysis.bound import read_evidence
from flatwater.analysis.bound.onset import explain
from flatwater.results.schema import Event

sys.path.insert(0, str(Path(__file__).parents[1]))
from known_series import make_result

MODELLED: dict[str, Any] = {
    "workload": {"kind": "tpcc"},
    "database": {"kind": "innodb-model"},
    "storage": {"kind": "ssd", "device": "intel-x25-e"},
}
LAYERS = dict.fromkeys(("workload", "database", "storage"), "modelled")
EVERY, LENGTH, SECONDS = 20, 3, 120


def dipping(usual: float, low: float, lead: int = 0) -> list[float]:
    """A line that is elsewhere for three seconds of every twenty, beginning `lead` seconds early."""
    return [low if at >= EVERY and (at + lead) % EVERY < LENGTH + lead else usual for at in range(SECONDS)]


def explained(tmp_path: Path, more: dict[str, list[float]], events: list[Event] | None = None) -> Any:
    result = make_result(tmp_path / "run", [({}, 0, dipping(1000, 100))], more=more, experiment=MODELLED, layers=LAYERS)
    cell = result.cells[0]
    assert cell.summary is not None
    cell.summary.events = events or []
    return explain(read_evidence(cell))


def test_what_left_its_level_first_is_told_as_the_beginning(tmp_path: Path) -> None:
    found, period_s, text = explained(
        tmp_path,
        {
            "database.pages_flushed_sync_per_s": dipping(0, 5000, lead=1),
            "storage.gc_share_pct": dipping(5, 80),
        },
    )
    assert len(found) == SECONDS // EVERY - 1
    assert period_s == pytest.approx(EVERY)
    assert all("log's limit rose from 0/s to 5,000/s" in one.began[0] for one in found)
    assert all("came back to its level" in one.ended[0] for one in found)
    assert "5 dips, one every 20 s: 5 of the 5 looked at began when pages flushed at the log's limit rose" in text


def test_what_never_moved_is_not_told(tmp_path: Path) -> None:
    found, _, text = explained(tmp_path, {"storage.gc_share_pct": [5.0] * SECONDS})
    assert all(one.began == one.ended == [] for one in found)
    assert text.endswith("nothing that was recorded left its level first.")


def test_what_follows_a_dip_is_no_cause(tmp_path: Path) -> None:
    late = dipping(5, 80)
    found, *_ = explained(tmp_path, {"storage.gc_share_pct": [*late[-LENGTH + 1 :], *late][:SECONDS]})
    assert all(one.began == [] for one in found)


def test_an_incident_of_the_device_is_told(tmp_path: Path) -> None:
    event = Event(time_s=20.0, kind="incident", text="the battery relearns")
    found, *_ = explained(tmp_path, {}, [event])
    assert [one.began for one in found if one.start_s == 20] == [["the battery relearns"]]


def test_a_flat_line_has_no_interruptions(tmp_path: Path) -> None:
    result = make_result(tmp_path / "run", [({}, 0, [1000.0] * SECONDS)], experiment=MODELLED, layers=LAYERS)
    assert explain(read_evidence(result.cells[0])) == ([], None, "")
