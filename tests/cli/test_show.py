from __future__ import annotations

import socket
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from flatwater.cli import show
from flatwater.cli.arguments import complete_either, complete_experiment, complete_run, complete_url
from flatwater.errors import UserError
from flatwater.experiment import load
from flatwater.experiment.device.files import device_files
from flatwater.experiment.library import library_files

app = typer.Typer()
app.command(show.NAME, epilog=show.EXAMPLES)(show.verb)
run = CliRunner()


def test_the_text_is_the_file_s() -> None:
    assert run.invoke(app, ["quick"]).stdout == library_files()["quick"].read_text()


def test_the_resolved_experiment_reads_back(tmp_path: Path) -> None:
    result = run.invoke(app, ["fill-level", "--resolved"])
    path = tmp_path / "copy.toml"
    path.write_text(result.stdout)
    assert load(path) == load("fill-level")


def test_overrides_are_shown() -> None:
    shown = run.invoke(app, ["quick", "--set", "workload.block_size=16384"]).stdout
    assert 'block_size = "16KiB"' in shown


def test_a_wrong_name() -> None:
    result = run.invoke(app, ["quik"])
    assert isinstance(result.exception, UserError)
    assert "did you mean quick?" in str(result.exception)
    result = run.invoke(app, ["virident-tachion-400"])
    assert "did you mean virident-tachion-400-slc?" in str(result.exception)


def test_completion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("cards.toml", "other.txt", "sub/inner.toml"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).touch()
    assert "card-write-curve" in complete_experiment("card-w")
    assert complete_experiment("cards") == ["cards.toml"]
    assert complete_experiment("su") == ["sub/"]
    assert complete_experiment("sub/") == ["sub/inner.toml"]
    assert complete_experiment("nowhere/") == []
    assert set(library_files()) <= set(complete_experiment(""))


def test_a_device_with_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, path = next(iter(device_files().items()))
    assert run.invoke(app, [name]).stdout == path.read_text().rstrip("\n") + "\n"
    assert "[sources]" in path.read_text()
    assert name in complete_either(name[:4])
    assert "quick" in complete_either("qui")
    for option in (["--resolved"], ["--set", "x=1"]):
        result = run.invoke(app, [name, *option])
        assert isinstance(result.exception, UserError) and option[0] in str(result.exception)


def test_a_device_is_no_experiment() -> None:
    with pytest.raises(UserError, match=r"is a modelled device, not an experiment \(hint: flatwater run fill-level"):
        load(next(iter(device_files())))


def test_the_help_has_examples() -> None:
    assert "flatwater show fill-level" in run.invoke(app, ["--help"]).stdout


def test_results_and_servers_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results/monday").mkdir(parents=True)
    (tmp_path / "result.txt").touch()
    assert complete_run("res") == ["results"]
    assert complete_run("results/") == ["results/monday"]
    assert complete_run("nowhere/x") == []
    place = tmp_path / "s.sock"
    monkeypatch.setattr("flatwater.cli.arguments._SOCKETS", (str(place), str(tmp_path / "results")))
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        assert complete_url("my") == [f"mysql://{place}", "mysql://"]
        assert complete_run("mysql:") == [f"mysql://{place}", "mysql://"]
    assert complete_url("res") == []
