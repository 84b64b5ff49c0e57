from __future__ import annotations

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from flatwater.cli import importing
from flatwater.errors import UserError
from flatwater.results import open_result

SAMPLES = Path(__file__).parents[1] / "results" / "imports"

app = typer.Typer()
app.command(importing.NAME, epilog=importing.EXAMPLES)(importing.verb)


def test_prints_the_verdict_and_where_the_result_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output = CliRunner().invoke(app, [str(SAMPLES / "tpcc_old.txt")])
    assert output.exit_code == 0, output.exception
    lines = output.output.splitlines()
    assert lines[0].startswith("tpcc_old: Flat: 24,")
    assert lines[-1] == "tpcc_old-result"
    result = open_result(tmp_path / "tpcc_old-result")
    assert (result.manifest.source, result.manifest.status, result.manifest.title) == (
        "import",
        "complete",
        "Imported from tpcc_old.txt",
    )


def test_the_logs_of_one_run_are_named_by_their_prefix(tmp_path: Path) -> None:
    logs = [str(path) for path in sorted((SAMPLES / "fio_logs").glob("avg_*"))]
    output = CliRunner().invoke(app, [*logs, "--out", str(tmp_path / "r")])
    assert output.exit_code == 0, output.exception
    assert open_result(tmp_path / "r").name == "avg"


def test_files_of_several_formats_are_cells_of_one_result(tmp_path: Path) -> None:
    files = [str(SAMPLES / name) for name in ("fio_mix.json", "sysbench_05_fileio.txt")]
    CliRunner().invoke(app, [*files, "--out", str(tmp_path / "r"), "--name", "both"])
    result = open_result(tmp_path / "r")
    assert result.name == "both"
    assert [cell.set for cell in result.cells] != [{}, {}]


def test_an_existing_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    error = CliRunner().invoke(app, [str(SAMPLES / "tpcc.txt"), "--out", str(tmp_path)]).exception
    assert isinstance(error, UserError)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_an_unknown_format(tmp_path: Path) -> None:
    error = CliRunner().invoke(app, [str(SAMPLES / "tpcc.txt"), "--format", "csv"]).exception
    assert isinstance(error, UserError)
    assert "one of: auto, fio-json, fio-log, sysbench, tpcc" in str(error)
