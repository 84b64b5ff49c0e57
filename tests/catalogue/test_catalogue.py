"""What the tables of a catalogue say is what the results say, now: whatever an index remembers."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flatwater.catalogue import RUN, TABLES, Catalogue, index, read_catalogue
from flatwater.catalogue import catalogue as module
from flatwater.catalogue.find import find_results
from flatwater.catalogue.many import read_many, stamps_of
from flatwater.catalogue.rows import read_rows
from flatwater.results import open_result
from flatwater.results.tags import change_tags

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
import synthetic


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return synthetic.single(tmp_path_factory.mktemp("original") / "result", 30, histograms=False)


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Every folder has an index, whose files are never too young."""
    monkeypatch.setattr(module, "RUNS_MIN", 1)
    monkeypatch.setattr(index, "YOUNG_NS", -(10**15))
    monkeypatch.setenv("FLATWATER_CACHE_DIR", str(tmp_path / "indexes"))
    yield tmp_path / "indexes"


def rows(catalogue: Catalogue) -> dict[str, list[dict[str, Any]]]:
    """The rows of the tables, in an order that does not depend on that of reading."""
    return {name: sorted(table.to_pylist(), key=repr) for name, table in catalogue.tables.items()}


def copies(original: Path, folder: Path, *names: str) -> None:
    for name in names:
        shutil.copytree(original, folder / name)


def test_the_rows_are_those_of_the_result(original: Path) -> None:
    catalogue = read_catalogue([original])
    result = open_result(original)
    (run,) = catalogue.tables["runs"].to_pylist()
    assert (run[RUN], run["name"], run["cells_done"]) == (str(original), result.name, 1)
    (cell,) = result.cells
    summary = cell.summary
    assert summary is not None and summary.latency_us is not None
    (row,) = catalogue.tables["summary"].to_pylist()
    for name in ("verdict", "unit", "mean", "mean_ci95", "flatness", "samples", "operations", "verdict_text"):
        assert row[name] == getattr(summary, name), name
    assert row["latency_p95_us"] == summary.latency_us.p95
    assert (row["dips"], row["stalls"]) == (len(summary.dips), len(summary.stalls))
    metrics = {
        (one["layer"], one["metric"]): (one["mean"], one["max"]) for one in catalogue.tables["metrics"].to_pylist()
    }
    assert metrics == {tuple(name.split(".", 1)): (one.mean, one.max) for name, one in summary.metrics.items()}
    kinds = [one["kind"] for one in catalogue.tables["events"].to_pylist()]
    assert len(kinds) == len(summary.events) + len(summary.dips) + len(summary.stalls) > 0
    (machine,) = catalogue.tables["machine"].to_pylist()
    assert (machine["cpu"], machine["storage_model"]) == (result.machine["cpu"], "EXAMPLE 960")


def test_every_column_is_described_and_every_table_has_its_types(original: Path) -> None:
    tables = read_catalogue([original]).tables
    assert tables.keys() == {table.name for table in TABLES}
    for table in TABLES:
        assert table.about and all(column.about for column in table.columns)
        assert tables[table.name].schema.names == [RUN, *(column.name for column in table.columns)]
        assert [field.type for field in tables[table.name].schema][1:] == [column.type for column in table.columns]


def test_what_a_kill_left_has_the_cells_that_are_over(original: Path, tmp_path: Path) -> None:
    copies(original, tmp_path, "run")
    for name, text in (("flatwater.json", "running"), ("summary.json", "complete")):
        told = json.loads((tmp_path / "run" / name).read_text()) | {"status": text}
        (tmp_path / "run" / name).write_text(json.dumps(told))
    assert "summary" not in read_rows(tmp_path / "run").rows, "summary.json has the state before that run"
    (tmp_path / "run/cells/0000").mkdir(parents=True)
    (cell,) = json.loads((tmp_path / "run/summary.json").read_text())["cells"]
    (tmp_path / "run/cells/0000/summary.json").write_text(json.dumps(cell))
    read = read_rows(tmp_path / "run")
    assert read.unfinished and len(read.rows["summary"]) == 1


def test_an_index_gives_what_reading_gives(original: Path, tmp_path: Path, indexed: Path) -> None:
    folder = tmp_path / "results"
    copies(original, folder, "a", "b", "deep/c")
    first = rows(read_catalogue([folder]))
    assert list(indexed.rglob("*.arrow"))
    second = read_catalogue([folder])
    assert rows(second) == first and len(second.runs) == 3


def test_what_did_not_change_is_not_read_again(
    original: Path, tmp_path: Path, indexed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "results"
    copies(original, folder, "a", "b")
    read: list[str] = []

    def noted(place: Path, runs: list[str], young_ns: int) -> Any:
        read.extend(runs)
        return read_many(place, runs, young_ns)

    monkeypatch.setattr(module, "read_many", noted)
    read_catalogue([folder])
    assert read == ["a", "b"]
    read_catalogue([folder])
    assert read == ["a", "b"]
    change_tags(folder / "b", {"k": "v"})
    catalogue = read_catalogue([folder])
    assert read == ["a", "b", "b"]
    assert catalogue.tables["tags"].to_pylist() == [{RUN: str(folder / "b"), "tag": "k", "value": "v"}]
    assert read_catalogue([folder / "a"]).runs == [str(folder / "a")]


def test_a_change_of_the_same_size_and_time_is_seen(original: Path, tmp_path: Path, indexed: Path) -> None:
    """As `touch -d`, `cp -p` and `rsync -a` make them."""
    folder = tmp_path / "results"
    copies(original, folder, "a")
    read_catalogue([folder])
    file = folder / "a/flatwater.json"
    before = file.stat()
    file.write_text(file.read_text().replace('"fill-level"', '"FILL-LEVEL"'))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size and file.stat().st_mtime_ns == before.st_mtime_ns
    (run,) = read_catalogue([folder]).tables["runs"].to_pylist()
    assert run["name"] == "FILL-LEVEL"


def test_a_file_that_just_changed_is_read_the_next_time_too(
    original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copies(original, tmp_path, "a")
    assert stamps_of(tmp_path, ["a"], index.young_ns())["a"] == ""
    monkeypatch.setattr(index, "YOUNG_NS", -(10**15))
    assert stamps_of(tmp_path, ["a"], index.young_ns())["a"] != ""


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.sampled_from(["add", "remove", "tag", "untag", "damage", "mend", "list"]), max_size=8))
def test_any_history(original: Path, tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    folder = tmp_path_factory.mktemp("history")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "RUNS_MIN", 1)
        patch.setattr(index, "YOUNG_NS", -(10**15))
        patch.setenv("FLATWATER_CACHE_DIR", str(folder / ".indexes"))
        copies(original, folder, "first", "second")
        for number, step in enumerate(steps):
            if step == "add":
                copies(original, folder, f"new-{number}")
            elif step == "remove":
                shutil.rmtree(folder / "second", ignore_errors=True)
            elif step == "tag":
                change_tags(folder / "first", {f"tag-{number}": "x"})
            elif step == "untag":
                (folder / "first/tags.json").unlink(missing_ok=True)
            elif step == "damage":
                (folder / "first/summary.json").write_text("{")
            elif step == "mend":
                shutil.copy(original / "summary.json", folder / "first/summary.json")
            found = read_catalogue([folder])
            patch.setattr(module, "RUNS_MIN", 10**9)
            without = read_catalogue([folder])
            patch.setattr(module, "RUNS_MIN", 1)
            assert rows(found) == rows(without) and found.left_out == without.left_out


@pytest.mark.parametrize("damage", [b"", b"garbage", b"half", b"version", b"number"])
def test_a_damaged_index_costs_nothing_but_time(original: Path, tmp_path: Path, indexed: Path, damage: bytes) -> None:
    folder = tmp_path / "results"
    copies(original, folder, "a", "b")
    first = rows(read_catalogue([folder]))
    (file,) = indexed.rglob("*.arrow")
    if damage == b"half":
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    elif damage == b"version":
        file.write_bytes(file.read_bytes().replace(b"flatwater-index", b"flatwater-INDEX"))
    elif damage == b"number":
        kept = index.read_index(folder)
        numbers = pa.array([7] * len(kept.tables["runs"]), pa.int32())
        kept.tables["runs"] = kept.tables["runs"].set_column(0, kept.tables["runs"].schema.field(RUN), numbers)
        index.write_index(folder, kept)
    else:
        file.write_bytes(damage)
    assert index.read_index(folder).runs == []
    assert rows(read_catalogue([folder])) == first


def test_an_index_that_cannot_be_kept(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RUNS_MIN", 1)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("FLATWATER_CACHE_DIR", str(tmp_path / "file/below"))
    copies(original, tmp_path, "a")
    assert read_catalogue([tmp_path]).runs == [str(tmp_path / "a")]


def test_nothing_is_written_among_the_results(original: Path, tmp_path: Path, indexed: Path) -> None:
    folder = tmp_path / "results"
    copies(original, folder, "a")
    before = sorted(folder.rglob("*"))
    read_catalogue([folder])
    assert sorted(folder.rglob("*")) == before


def test_where_results_are_looked_for(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copies(original, tmp_path, "a", "b/c", "1/2/3/4", "1/2/3/5/6", ".hidden/d", "a/inside")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    (tmp_path / "circle").symlink_to(tmp_path)
    (place,) = find_results([tmp_path])
    assert place.found == ["1/2/3/4", "a", "b/c"] and not place.left_out
    first, second = find_results([tmp_path / "a", tmp_path])
    assert (first.found, second.found) == (["."], ["1/2/3/4", "b/c"])
    monkeypatch.chdir(tmp_path)
    assert set(read_catalogue([Path(), Path("b")]).runs) == {"1/2/3/4", "a", "b/c"}


def test_a_name_that_is_not_utf_8_is_left_out(original: Path, tmp_path: Path) -> None:
    copies(original, tmp_path, "a", "b\udcff")
    catalogue = read_catalogue([tmp_path])
    assert catalogue.runs == [str(tmp_path / "a")]
    assert list(catalogue.left_out.values()) == ["its path is not UTF-8 text"]


def test_damaged_tags_do_not_hide_the_run(original: Path, tmp_path: Path, indexed: Path) -> None:
    copies(original, tmp_path, "a")
    (tmp_path / "a/tags.json").write_text("[]")
    for _ in range(2):
        catalogue = read_catalogue([tmp_path])
        assert catalogue.runs == [str(tmp_path / "a")]
        assert "its tags" in catalogue.left_out[str(tmp_path / "a")]


def test_figures_that_no_column_holds(original: Path, tmp_path: Path) -> None:
    copies(original, tmp_path, "a")
    told = json.loads((tmp_path / "a/summary.json").read_text())
    told["cells"][0] |= {"operations": 10**30, "started_at": "never"}
    (tmp_path / "a/summary.json").write_text(json.dumps(told))
    (row,) = read_catalogue([tmp_path]).tables["summary"].to_pylist()
    assert row["operations"] is None and row["started_at"] is None
