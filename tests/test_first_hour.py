"""The commands of the tutorial run, those of the how-to pages are commands, and the code of data frames works."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet
import pytest
import typer.main

from flatwater.cli import make_app
from flatwater.experiment import load

DOCS = Path(__file__).parents[1] / "docs"
TUTORIAL = DOCS / "first-hour.md"
HOW_TO = sorted((DOCS / "how-to").glob("*.md"))
#: The place for data that the pages name.
PLACE = "/mnt/flash"
#: How the longer runs are made short, by what their command begins with. Nothing else of a command is changed.
SHORTER = {
    "flatwater run disk ": "--set scale=0.04 --set record.interval_s=0.1",
    "flatwater run demo-tpcc ": "--set workload.warehouses=1 --set workload.warmup_s=1 --set workload.duration_s=12",
}
#: What `flatwater health` ends with: well, warning, critical, unknown. Which one is the machine's.
HEALTH = (0, 1, 2, 3)


def blocks(page: Path, language: str) -> list[str]:
    """The code of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """The lines of a page's commands."""
    return [line for block in blocks(page, "sh") for line in block.splitlines()]


@pytest.mark.slow
def test_the_first_hour(tmp_path: Path) -> None:
    if shutil.which("mariadbd", path="/usr/sbin:/usr/bin") is None:
        pytest.skip("no mariadbd here")
    flash = tmp_path / "flash"
    flash.mkdir()
    (prices,) = blocks(TUTORIAL, "toml")
    (tmp_path / "prices.toml").write_text(prices)
    shortened = set()
    for written in commands(TUTORIAL):
        command = written.replace(PLACE, str(flash))
        for begin, more in SHORTER.items():
            if command.startswith(begin):
                command = f"{command} {more}"
                shortened.add(begin)
        arguments = shlex.split(command)
        if arguments[0] == "flatwater":
            arguments[0] = str(Path(sys.executable).with_name("flatwater"))
        done = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True, check=False)
        allowed = HEALTH if " health " in written else (0,)
        assert done.returncode in allowed, f"{written}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
    assert shortened == set(SHORTER)
    # What disk wrote is gone, and the sheet to send is there.
    assert [path.name for path in flash.iterdir()] == ["server"]
    assert (tmp_path / "results/server/one-page.html").is_file()


def test_what_check_is_shown_to_say_is_what_it_says(tmp_path: Path) -> None:
    shown = re.search(r"^    disk: ok.*\n    .*$", TUTORIAL.read_text(encoding="utf-8"), re.MULTILINE)
    assert shown is not None
    arguments = [str(Path(sys.executable).with_name("flatwater")), "check", "disk", "--set", f"storage.path={tmp_path}"]
    said = subprocess.run(arguments, capture_output=True, text=True, check=True).stdout
    assert said.replace(str(tmp_path), PLACE).splitlines() == [line.strip() for line in shown.group().splitlines()]


@pytest.mark.parametrize("page", [TUTORIAL, *HOW_TO], ids=lambda page: page.stem)
def test_the_commands_of_a_page_are_commands(page: Path) -> None:
    """Verbs, options, experiments and overrides exist."""
    verbs = typer.main.get_command(make_app()).commands  # type: ignore[attr-defined]
    said = [shlex.split(line) for line in commands(page) if line.startswith("flatwater ")]
    assert said
    for _, verb, *arguments in said:
        options = {name for parameter in verbs[verb].params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert not [name for name in arguments if name.startswith("--") and name not in options], arguments
        if verb in ("run", "check") and not arguments[0].startswith("results/"):
            overrides = [value for name, value in pairwise(arguments) if name == "--set"]
            load(arguments[0], overrides)


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_a_how_to_ends_in_a_decision(page: Path) -> None:
    headings = re.findall(r"^## (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert headings[-1] == "Decide"


def test_every_page_is_linked() -> None:
    index = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    pages = [*HOW_TO, *(path for path in DOCS.glob("*.md"))]
    assert not [path.name for path in pages if f"(docs/{path.relative_to(DOCS)})" not in index]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small modelled run."""
    folder = tmp_path_factory.mktemp("frames") / "result"
    arguments = ["run", "fill-level-tachion-400", "--set", "sweep.storage.fill=[0.2, 0.4]"]
    arguments += [
        "--set",
        "workload.warmup_s=1",
        "--set",
        "workload.duration_s=12",
        "--set",
        "storage.capacity_scale=0.01",
    ]
    program = str(Path(sys.executable).with_name("flatwater"))
    subprocess.run([program, *arguments, "--out", str(folder)], check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("code", blocks(DOCS / "dataframes.md", "python"), ids=lambda code: code.split()[1])
def test_the_recipes_for_data_frames_work(code: str, result: Path) -> None:
    library = code.split()[1]
    pytest.importorskip(library.partition(".")[0])
    frames: dict[str, object] = {}
    exec(code.replace("RESULT", str(result)), frames)
    rows = pyarrow.parquet.read_table(result / "series.parquet").to_pylist()
    expected = [row for row in rows if (row["layer"], row["metric"]) == ("workload", "throughput")]
    assert {row["cell"] for row in expected} == {0, 1} and len(expected) > 20
    assert len(frames["frame"]) == len(expected)  # type: ignore[arg-type]
