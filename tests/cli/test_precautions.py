"""What `--set` makes another question is not compared with what was published."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.cli.precautions import only_like_figures
from flatwater.cli.request import RunRequest
from flatwater.experiment import Experiment, load, written_text

#: Random writes of a modelled card by its used share, with eleven published figures.
FILE = "fill-level-tachion-400"
SHUFFLED = "some cells delete that, and the cells of each repeat run in another order"


def checked(*overrides: str, file: str | Path = FILE) -> Experiment:
    request = RunRequest(files=(str(file),), overrides=overrides)
    return only_like_figures(load(file, overrides), request, file)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("workload.mode=rndrd", "workload.mode (rndwr / rndrd)"),
        ("workload.block_size=64KiB", "workload.block_size ("),
        ("workload.threads=3", "workload.threads ("),
        ("storage.size=1GiB", "storage.size ("),
    ],
)
def test_another_workload_or_size_has_no_published_figures(
    override: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    experiment = checked(override)
    assert not experiment.published and not experiment.expected
    warned = capsys.readouterr().err
    assert warned.startswith("warning: what was published is not compared: --set asks another question (")
    assert told in warned


@pytest.mark.parametrize(
    "overrides",
    [
        (),
        ("workload.duration_s=10",),
        ("sweep.storage.fill=[0.2,0.4]",),
        ("storage.fill=0.2",),
        ("storage.capacity_scale=0.01",),
        ("scale=0.5",),
        ("storage.parameters.collector.policy=fifo",),
        ("workload.mode=rndwr",),
    ],
)
def test_another_stack_time_or_choice_of_cells_keeps_them(
    overrides: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert checked(*overrides).published
    assert not capsys.readouterr().err


def test_a_file_that_is_no_experiment_as_it_stands_is_not_asked(tmp_path: Path) -> None:
    text = '[workload]\nkind = "fileio"\nmode = "rndrd"\n[storage]\nkind = "ssd"\nsize = "1GiB"\n'
    text += '[[published]]\nvalue = 1\nunit = "IOPS"\nsource = "a paper"\n'
    (tmp_path / "half.toml").write_text(text)
    assert checked("storage.device=intel-520", file=tmp_path / "half.toml").published


@pytest.mark.parametrize(
    ("name", "overrides", "told"),
    [
        ("demo", (), "needs and writes a file of 1 GiB in {}; that stays for the next run"),
        ("demo", ("storage.keep=false",), "needs and writes a file of 1 GiB in {}; the last cell deletes that"),
        (
            "demo",
            ("workload.files=4",),
            "needs and writes 4 files that have together 1 GiB in {}; that stays for the next run",
        ),
        ("disk", (), "needs and writes a file of 8 GiB in {}; the last cell deletes that"),
        (
            "disk",
            ("repeat=2",),
            "needs and writes a file of 8 GiB in {}; " + SHUFFLED,
        ),
        ("disk", ("sweep.storage.size=[1073741824,2147483648]",), None),
        ("tpcc-quick", (), None),
    ],
)
def test_what_is_written_is_told(tmp_path: Path, name: str, overrides: tuple[str, ...], told: str | None) -> None:
    text = written_text(load(name, [f"storage.path={tmp_path}", *overrides]))
    assert text == (told and told.format(tmp_path))


def test_nothing_is_told_of_a_file_that_is_there_and_of_models(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    assert written_text(load("demo", [f"storage.path={tmp_path}/mine"])) is None
    assert written_text(load(FILE)) is None
