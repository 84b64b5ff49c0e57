"""A result in which nothing was measured does not block its --out; one measured second, or one foreign entry, does."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results import CellSummary, Phase, create_result, open_result
from flatwater.results.schema import CellPlan, Manifest

EXPERIMENT = "name = 'x'"


def manifest(status: str = "running", source: str = "run") -> Manifest:
    plans = [CellPlan(index=0, repeat=0, set={}, seed=0)]
    return Manifest(
        name="x", flatwater_version="1", status="running", created_at="", seed=1, cells=plans, source=source
    ).model_copy(update={"status": status})


def failed_run(path: Path) -> Path:
    """What a run leaves whose server did not start."""
    result = create_result(path, manifest(), EXPERIMENT, {})
    (cell,) = result.cells
    cell.folder.mkdir()
    cell.journal.touch()
    cell.finish(CellSummary(cell=0, seed=0, status="failed", error="did not start", unit="tps"))
    logs = path / "servers" / "0000"
    logs.mkdir(parents=True)
    (logs / "error.log").write_text("cannot start")
    result.seal("failed")
    return path


def everything(path: Path) -> dict[str, str]:
    return {str(one.relative_to(path)): one.read_text(errors="replace") for one in path.rglob("*") if one.is_file()}


def test_the_next_run_takes_it_over(tmp_path: Path) -> None:
    out = failed_run(tmp_path / "out")
    again = create_result(out, manifest(), "name = 'mended'", {"cores": 2})
    assert (again.experiment["name"], again.manifest.status, again.cells[0].summary) == ("mended", "running", None)
    assert not again.cells[0].folder.exists() and not (out / "summary.json").exists()
    # Why it had failed is still there to read.
    assert (out / "set-aside" / "servers-1" / "0000" / "error.log").read_text() == "cannot start"
    open_result(out)


def test_again_and_again(tmp_path: Path) -> None:
    out = failed_run(tmp_path / "out")
    for number in (1, 2, 3):
        failed_run(out)
        assert (out / "set-aside" / f"servers-{number}").is_dir()


def write(name: str, text: str = "of somebody else") -> Callable[[Path], None]:
    def damage(out: Path) -> None:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)

    return damage


def set_status(status: str, source: str = "run") -> Callable[[Path], None]:
    return write("flatwater.json", manifest(status, source).model_dump_json())


def link(name: str) -> Callable[[Path], None]:
    def damage(out: Path) -> None:
        (out.parent / "elsewhere").mkdir()
        (out / name).symlink_to(out.parent / "elsewhere")

    return damage


def measured(end_s: float, operations: int = 0) -> Callable[[Path], None]:
    phases = [Phase(name="measure", start_s=0, end_s=end_s)]
    summary = CellSummary(cell=0, seed=0, status="failed", unit="tps", phases=phases, operations=operations)
    return write("cells/0000/summary.json", summary.model_dump_json())


SECOND = json.dumps({"time_s": 1.0, "start_s": 0.0, "phase": "measure", "metrics": {"workload.throughput": 1.0}})


@pytest.mark.parametrize(
    "damage",
    [
        write("notes.txt"),
        write("cells/0000/notes.txt"),
        write("cells/mine/notes.txt"),
        write("servers/mine.log"),
        write("set-aside/0000-1/journal.jsonl"),
        write("cells/0000/earlier.json"),
        write("cells/0001/series-0.parquet"),
        write("cells/0000/journal.jsonl", SECOND + "\n"),
        write("cells/0000/journal.jsonl", "{broken\n" + SECOND + "\n"),
        write("cells/0000/summary.json", "{}"),
        write("series.parquet"),
        write("flatwater.json", "{"),
        link("cells/0002"),
        link("notes"),
        measured(1),
        measured(0.5, operations=3),
        set_status("running"),
        set_status("complete"),
        set_status("failed", "import"),
    ],
)
def test_nothing_measured_or_foreign_is_touched(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    out = failed_run(tmp_path / "out")
    damage(out)
    before = everything(out)
    with pytest.raises(UserError, match="exists and is not empty"):
        create_result(out, manifest(), EXPERIMENT, {})
    assert everything(out) == before


def test_an_interrupted_run_too(tmp_path: Path) -> None:
    out = failed_run(tmp_path / "out")
    set_status("interrupted")(out)
    create_result(out, manifest(), EXPERIMENT, {})


def test_one_that_only_began_too(tmp_path: Path) -> None:
    """The server refused the last of its connections: a sample of a moment in which nothing was done."""
    out = failed_run(tmp_path / "out")
    measured(0.002)(out)
    create_result(out, manifest(), EXPERIMENT, {})
