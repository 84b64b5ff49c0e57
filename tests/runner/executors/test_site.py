"""What a worker says of itself, and what it sends: no scheduler is needed for that."""

from __future__ import annotations

from pathlib import Path

import pytest
from lab import Lab

pytest.importorskip("distributed")

from flatwater import __version__
from flatwater.errors import FlatwaterError
from flatwater.experiment import load
from flatwater.results import CellSummary, create_result
from flatwater.results.schema import Manifest
from flatwater.runner.executors.bench import plan_cell
from flatwater.runner.executors.dask import _store
from flatwater.runner.executors.executor import Took
from flatwater.runner.executors.site import Delivery, _files, digests, facts, refusal

SUMMARY = CellSummary(cell=0, seed=1, status="complete", unit="IOPS")


def test_facts_are_those_of_this_process() -> None:
    told = facts()
    assert told["flatwater"] == __version__
    assert len(told["engine"]) == 12 and told["machine"]["cores"] >= 1


def test_the_same_is_not_refused_and_what_differs_is_named() -> None:
    ours = facts()
    assert refusal("tcp://w:1", dict(ours), ours) is None
    version = refusal("tcp://w:1", ours | {"flatwater": "0.2.0"}, ours)
    assert str(version).startswith(f"worker tcp://w:1 has flatwater 0.2.0, this is {__version__} (hint: ")
    build = refusal("tcp://w:1", ours | {"engine": "else"}, ours)
    assert "another build" in str(build) and "else" in str(build) and ours["engine"] in str(build)


def test_devices_are_known_by_what_is_in_their_files(tmp_path: Path) -> None:
    one, other = tmp_path / "one.toml", tmp_path / "other.toml"
    one.write_text("same")
    other.write_text("same")
    told = digests([str(one), str(other), str(tmp_path / "none.toml")])
    assert told[str(one)] == told[str(other)] is not None
    assert told[str(tmp_path / "none.toml")] is None


def test_the_journal_stays_behind_when_all_of_it_is_in_the_parts(tmp_path: Path) -> None:
    cell = tmp_path / "cells" / "0000"
    cell.mkdir(parents=True)
    for name in ("journal.jsonl", "summary.json", "series-00000.parquet"):
        (cell / name).write_text(name)
    assert set(_files(tmp_path, SUMMARY)) == {"cells/0000/summary.json", "cells/0000/series-00000.parquet"}
    failed = SUMMARY.model_copy(update={"status": "failed"})
    assert "cells/0000/journal.jsonl" in _files(tmp_path, failed)


@pytest.mark.parametrize("name", ["../../outside", "/etc/passwd", "cells/0001/summary.json", "flatwater.json", "cells"])
def test_a_file_that_is_none_of_its_cell_is_refused(lab: Lab, name: str) -> None:
    experiment = load(lab.write())
    plans = [plan_cell(experiment, 0)]
    manifest = Manifest(name="x", flatwater_version="1", status="running", created_at="", seed=1, cells=plans)
    result = create_result(lab.folder / "result", manifest, "", {})
    delivery = Delivery(SUMMARY, {name: b"no", "cells/0000/summary.json": b"{}"}, Took())
    before = sorted(lab.folder.rglob("*"))
    with pytest.raises(FlatwaterError, match="none of its cell"):
        _store(result.cells[0], delivery)
    assert sorted(lab.folder.rglob("*")) == before
