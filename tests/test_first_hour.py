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
#: A result of a year ago, for the page that compares with one.
LAST_YEAR = "flatwater run fill-level-tachion-400 --set sweep.storage.fill=[0.2,0.4] --set storage.capacity_scale=0.01"
#: What `flatwater health` ends with: well, warning, critical, unknown. Which one is the machine's.
HEALTH = (0, 1, 2, 3)


def blocks(page: Path, language: str) -> list[str]:
    """The code of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(page: Path) -> list[str]:
    """The lines of a page's commands."""
    return [line for block in blocks(page, "sh") for line in block.splitlines()]


def shown(page: Path) -> list[str]:
    """Every command of ours on a page: the lines above, those that need files of the reader's, and those in a text."""
    text = page.read_text(encoding="utf-8")
    inline = re.findall(r"`(flatwater [^`]+)`", re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    fences = re.findall(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    lines = [line for language, block in fences if language in ("sh", "") for line in block.splitlines()]
    return [" ".join(line.split()) for line in (*lines, *inline) if line.startswith("flatwater ")]


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
    said = [shlex.split(line) for line in shown(page)]
    assert said
    for _, verb, *arguments in said:
        assert verb in verbs, verb
        options = {name for parameter in verbs[verb].params for name in (*parameter.opts, *parameter.secondary_opts)}
        options.add("--help")
        assert not [name for name in arguments if name.startswith("--") and name not in options], arguments
        if verb in ("run", "check") and not arguments[0].startswith("results/"):
            overrides = [value for name, value in pairwise(arguments) if name == "--set"]
            load(arguments[0], overrides)


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
@pytest.mark.slow
def test_the_modelled_commands_of_a_how_to_run(page: Path, tmp_path: Path) -> None:
    """Those that need no drive and no server of the reader's, in their order. Only the runs are made short."""
    others = {"results/old": LAST_YEAR} if page.stem == "last-year" else {}
    for folder, command in others.items():
        run(f"{command} --out {folder}", tmp_path)
    made = set(others)
    for written in commands(page):
        out = re.search(r"--out (results/\S+)", written)
        needs = set(re.findall(r"results/\w+", written)) - ({out[1]} if out is not None else set())
        if PLACE in written or not needs <= made:
            continue
        run(written, tmp_path)
        if out is not None:
            made.add(out[1])
    if any(name in page.read_text(encoding="utf-8") for name in ("cost-choices", "results/old")):
        assert len(made) > len(others)


def run(written: str, folder: Path) -> None:
    """One command of a page, on a share of its time."""
    program, *arguments = shlex.split(written)
    assert program == "flatwater"
    if arguments[0] == "run" and not arguments[1].endswith(".toml"):
        arguments += ["--set", "workload.warmup_s=2", "--set", "workload.duration_s=11"]
    path = str(Path(sys.executable).with_name(program))
    done = subprocess.run([path, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{written}\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr


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
