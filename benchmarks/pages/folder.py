"""A folder of many runs: one modelled run, and copies of it with other names, times and means."""

from __future__ import annotations

import json
import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flatwater.experiment import load
from flatwater.runner.executors import LOCAL, make_executor
from flatwater.runner.progress import SilentReporter
from flatwater.runner.sweep import run_experiment

EXPERIMENT = Path(__file__).with_name("run.toml")
#: Files that differ in each copy, or that a reader of the list opens: each copy has its own. Series are linked.
_OWN = ("summary.json", "machine.json", "experiment.toml", "started.json")
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def make_run(path: Path) -> Path:
    """One modelled run of a few seconds."""
    run_experiment(load(EXPERIMENT), path, SilentReporter(), lambda *_: None, executor=make_executor(LOCAL, 1))
    return path


def make_runs(sample: Path, folder: Path, count: int) -> None:
    """Copies of a run: each has a name, a title, a time and a mean of its own; the later, the newer."""
    manifest = json.loads((sample / "flatwater.json").read_text())
    summary = json.loads((sample / "summary.json").read_text())
    mean = summary["cells"][0]["mean"]
    for number in range(count):
        place = folder / f"run-{number:05}"
        shutil.copytree(sample, place, copy_function=_copy)
        made = (_FIRST + timedelta(minutes=40 * number)).isoformat()
        manifest |= {"title": f"Run number {number}", "created_at": made}
        summary["cells"][0]["mean"] = mean * (1 + number % 101 / 1000)
        _replace(place / "flatwater.json", manifest)
        _replace(place / "summary.json", summary)


def _copy(source: str, target: str) -> None:
    if Path(source).name in _OWN:
        shutil.copyfile(source, target)
    else:
        os.link(source, target)


def _replace(path: Path, content: object) -> None:
    # A linked file has another name elsewhere: this name alone gets a new file.
    path.unlink()
    path.write_text(json.dumps(content))
