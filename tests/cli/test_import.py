from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from flatwater.cli import importing
from flatwater.errors import UserError
from flatwater.results import open_result

sys.path.insert(0, str(Path(__file__).parents[1] / "results"))
from sampled import iostat, sysbench

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
    assert "one of: auto, fio-json, fio-log, sysbench, tpcc, hammerdb" in str(error)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "bench"
    place.mkdir()
    (place / "run.txt").write_text(sysbench(60))
    (place / "iostat.txt").write_text(iostat(60))
    (place / "notes\x1b[31m.md").write_text("# notes")
    return place


def test_a_folder(folder: Path) -> None:
    output = CliRunner().invoke(app, [str(folder), "--out", str(folder / "r")])
    assert output.exit_code == 0, output.exception
    lines = output.output.splitlines()
    assert "run.txt: sysbench: a run of 60 s in tps" in lines
    assert any(line.startswith("iostat.txt: iostat: 60 samples of 1 s; no times") for line in lines)
    assert any("storage is sda (of 3: --device takes another); not taken: %rrqm" in line for line in lines)
    assert any("left out: no output that we know" in line for line in lines) and "\x1b" not in output.output
    assert lines[-1] == str(folder / "r")
    again = CliRunner().invoke(app, [str(folder), "--out", str(folder.parent / "r2"), "--json"])
    told = json.loads(again.output)
    assert {Path(one["path"]).name: one["format"] for one in told["files"]}["iostat.txt"] == "iostat"
    assert told["cells"][0]["unit"] == "tps" and told["result"] == str(folder.parent / "r2")
    assert open_result(folder / "r").name == "bench"


def test_files_with_a_samplers_among_them(folder: Path) -> None:
    files = [str(folder / name) for name in ("run.txt", "iostat.txt")]
    output = CliRunner().invoke(app, [*files, "--out", str(folder / "r"), "--device", "sdb"])
    assert output.exit_code == 0, output.exception
    assert "storage is sdb" in output.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--timezone", "Paris"], "is no time zone"),
        (["--timezone", "+99:00"], "is no time zone"),
        (["--format", "sysbench"], "is of files, and this is a folder"),
    ],
)
def test_arguments_that_make_no_sense(folder: Path, arguments: list[str], told: str) -> None:
    error = CliRunner().invoke(app, [str(folder), "--out", str(folder / "r"), *arguments]).exception
    assert isinstance(error, UserError) and told in str(error)
    assert not (folder / "r").exists()


def test_a_device_that_is_not_there(folder: Path) -> None:
    output = CliRunner().invoke(app, [str(folder), "--out", str(folder / "r"), "--device", "sdz"])
    assert output.exit_code == 0 and "has no sdz: it has loop0, sda, sdb" in output.output


@pytest.mark.parametrize("named", [False, True], ids=["process substitution", "no writer"])
def test_a_pipe_is_refused_and_nothing_of_it_is_lost(tmp_path: Path, named: bool) -> None:
    """A look at its beginning would take that away from the reading, and without a writer it would wait for ever."""
    reading, writing = os.pipe()
    os.write(writing, sysbench(60).encode()[:4096])
    os.close(writing)
    os.mkfifo(tmp_path / "fifo")
    path = tmp_path / "fifo" if named else Path(f"/dev/fd/{reading}")
    error = CliRunner().invoke(app, [str(path), "--out", str(tmp_path / "r")]).exception
    assert isinstance(error, UserError) and error.what == "is a pipe, not a file" and error.hint
    assert len(os.read(reading, 65536)) == 4096 and not (tmp_path / "r").exists()
    os.close(reading)


#: Names that Linux takes, and that are no text, or more than one line of it.
NAMES = [b"\xff\xfe", b"na\nme", b"\x1b[31mred", "\u202egnp".encode(), b"<b>"]


@pytest.mark.parametrize("raw", NAMES, ids=repr)
@pytest.mark.parametrize("place", ["the folder", "a run", "a recording", "a file by itself", "nothing known"])
def test_names_of_any_bytes_are_stored_and_shown_safely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, raw: bytes, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(raw)
    folder = tmp_path / (odd if place == "the folder" else "bench")
    folder.mkdir()
    run = folder / (f"{odd}.txt" if place in ("a run", "a file by itself") else "run.txt")
    run.write_text(sysbench(20))
    if place != "a file by itself":
        (folder / (f"{odd}.log" if place == "a recording" else "iostat.log")).write_text(iostat(20))
        (folder / (odd if place == "nothing known" else "notes")).write_text("nothing")
    given = run if place == "a file by itself" else folder
    output = CliRunner().invoke(app, [str(given)])
    assert output.exit_code == 0, output.exception
    lines = output.output.splitlines()
    assert all(line.isprintable() for line in lines)
    (result,) = [open_result(path) for path in tmp_path.iterdir() if path.name.endswith("-result")]
    assert result.path.name.isprintable() and lines[-1] == result.path.name
    assert result.manifest.title.isprintable() and json.dumps(result.experiment)
    assert len(result.cells) == 1


def test_a_place_that_is_no_text_is_refused(tmp_path: Path) -> None:
    out = tmp_path / os.fsdecode(b"\xff")
    error = CliRunner().invoke(app, [str(SAMPLES / "tpcc.txt"), "--out", str(out)]).exception
    assert isinstance(error, UserError) and "must be UTF-8" in str(error)


@pytest.mark.parametrize("where", ["series.merge_parts", "finish", "analyse"])
@pytest.mark.parametrize(
    "error", [KeyboardInterrupt, OSError(28, "No space left on device"), UserError("no")], ids=repr
)
@pytest.mark.parametrize("there", [False, True], ids=["new", "an empty folder"])
def test_an_import_that_ends_early_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, error: BaseException, there: bool
) -> None:
    def fails(*arguments: object, **options: object) -> None:
        raise error

    out = tmp_path / "there" / "r" if there else tmp_path / "new" / "below" / "r"
    if there:
        out.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    with monkeypatch.context() as patch:
        target = {
            "series.merge_parts": "flatwater.results.result.merge_parts",
            "finish": "flatwater.results.result.Cell.finish",
            "analyse": "flatwater.analysis.analyse",
        }[where]
        patch.setattr(target, fails)
        output = CliRunner().invoke(app, [str(SAMPLES / "tpcc.txt"), "--out", str(out)])
    assert output.exit_code != 0
    if isinstance(output.exception, UserError) and not isinstance(error, UserError):
        assert str(out) in str(output.exception) and ".flatwater-" not in str(output.exception)
    assert sorted(tmp_path.rglob("*")) == before
    assert CliRunner().invoke(app, [str(SAMPLES / "tpcc.txt"), "--out", str(out)]).exit_code == 0
    assert open_result(out).manifest.status == "complete"
    assert not [path for path in tmp_path.rglob("*") if path.name.startswith(".flatwater-")]


@pytest.mark.parametrize("out", ["file", "file/r", "full", "loop", "loop/r", "n" * 300])
def test_places_where_no_result_can_be(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(tmp_path.rglob("*"))
    error = CliRunner().invoke(app, [str(SAMPLES / "tpcc.txt"), "--out", str(tmp_path / out)]).exception
    assert isinstance(error, UserError) and str(tmp_path / out) in str(error)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_to_an_empty_folder_and_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert CliRunner().invoke(app, [str(SAMPLES / "tpcc.txt"), "--out", str(tmp_path / "link")]).exit_code == 0
    assert (tmp_path / "link").is_symlink() and open_result(tmp_path / "real").manifest.status == "complete"
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert CliRunner().invoke(app, [str(SAMPLES / "tpcc.txt"), "--out", "."]).exit_code == 0
    assert Path("flatwater.json").exists()


def imported(tmp_path: Path, *arguments: object) -> tuple[str, BaseException | None]:
    out = tmp_path / "out" / str(len(list(tmp_path.glob("out/*"))))
    output = CliRunner().invoke(app, [*map(str, arguments), "--out", str(out)])
    return output.output, output.exception


@pytest.mark.parametrize("sampled", [False, True])
def test_a_file_that_is_given_twice_is_taken_once(tmp_path: Path, sampled: bool) -> None:
    run = tmp_path / "run.txt"
    run.write_text(sysbench(30))
    (tmp_path / "iostat.txt").write_text(iostat(30))
    paths = [run, tmp_path, run] if sampled else [run, run, tmp_path / "." / "run.txt"]
    output, error = imported(tmp_path, *paths)
    assert error is None
    assert "run.txt: " in output and "given twice: it is taken once" in output
    assert len(open_result(tmp_path / "out" / "0").cells) == 1


@pytest.mark.parametrize("beside", [True, False])
def test_a_device_that_no_file_has_is_told(tmp_path: Path, beside: bool) -> None:
    if beside:
        (tmp_path / "run.txt").write_text(sysbench(30))
    (tmp_path / "iostat.txt").write_text(iostat(30))
    output, error = imported(tmp_path, tmp_path, "--device", "sdz")
    told = output if beside else str(error)
    assert "sdz" in told and "loop0, sda, sdb" in told
    assert "no throughput of its own" not in told


@pytest.mark.parametrize("every", ["nan", "inf", "-1", "0"])
def test_an_interval_that_is_no_number_is_refused(tmp_path: Path, every: str) -> None:
    (tmp_path / "run.txt").write_text(sysbench(30))
    (tmp_path / "iostat.txt").write_text(iostat(30))
    _, error = imported(tmp_path, tmp_path, "--every", every)
    assert isinstance(error, UserError)
    assert f"--every: {every} is no interval" in str(error)


@pytest.mark.parametrize(
    ("prefix", "hint"),
    [
        ("sysbench-1  | ", "--no-log-prefix"),
        ("Nov 29 22:00:00 db1 sysbench[123]: ", "journalctl -o cat"),
        ("2026-11-29T22:00:00+0000 db1 sysbench[123]: ", "journalctl -o cat"),
    ],
)
def test_what_stands_before_each_line_is_named(tmp_path: Path, prefix: str, hint: str) -> None:
    (tmp_path / "a").mkdir()
    run = tmp_path / "a" / "run.txt"
    run.write_text("".join(f"{prefix}{line}\n" for line in sysbench(30).splitlines()))
    for path in (run, tmp_path / "a"):
        _, error = imported(tmp_path, path)
        assert isinstance(error, UserError)
        assert hint in str(error)


@pytest.mark.parametrize("content", [b"", b"hello\n", b"\0\0", sysbench(30).replace("tps: 50", "tps: 5O").encode()])
def test_a_folder_without_anything_gives_no_false_hint(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "run.txt").write_bytes(content)
    _, error = imported(tmp_path, tmp_path / "a")
    assert isinstance(error, UserError)
    assert "run.txt" in str(error) and "--json" not in str(error)
