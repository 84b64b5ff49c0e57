"""What of a result a page goes on with. A result may be anybody's: most of these are hostile."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from stoppedlab import MODELLED, SHORT, stopped

from flatwater.errors import UserError
from flatwater.experiment import load, to_toml
from flatwater.experiment.library import library_files
from flatwater.results import open_result
from flatwater.results.foreign import as_foreign
from flatwater.results.lock import run_alone
from flatwater.results.result import ELSEWHERE
from flatwater.results.started import Started
from flatwater.runner.executors.bench import plan_cell
from flatwater.serve.launch import wish as wish_module
from flatwater.serve.launch.resumption import PlacesMissing, Problems, Resumption, only_places, resumption
from flatwater.serve.launch.shelf import Shelf

SHELF = Shelf()


def resumed(root: Path, *given: str) -> Resumption:
    with as_foreign([root]):
        return resumption(root / "run", root, SHELF, given)


def refusal(root: Path, *given: str) -> str:
    """Why it does not go on, all of it."""
    with pytest.raises(UserError) as caught:
        resumed(root, *given)
    error = caught.value
    return "\n".join(str(one) for one in (error.problems if isinstance(error, Problems) else [error]))


@pytest.fixture(autouse=True)
def no_program_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatwater.server.binary.subprocess.run", lambda *_, **__: pytest.fail("a program was run"))


@pytest.fixture
def unlooked(monkeypatch: pytest.MonkeyPatch) -> None:
    """No place of a storage is looked up."""
    monkeypatch.setattr(wish_module, "_is_directory", lambda path: pytest.fail(f"{path} was looked up"))


def test_a_modelled_run_goes_on_as_the_librarys_experiment(tmp_path: Path) -> None:
    result = stopped(tmp_path / "run")
    found = resumed(tmp_path)
    # Never the file of the result, whatever it says.
    assert found.wish.file == library_files()[MODELLED] and found.folder == result.path
    assert to_toml(load(found.wish.file, found.wish.lines)) == (result.path / "experiment.toml").read_text()


def test_a_place_is_named_by_who_resumes(tmp_path: Path, unlooked: None) -> None:
    stopped(tmp_path / "run", "quick", [f"storage.path={tmp_path}"])
    with pytest.raises(PlacesMissing, match=f"storage.path = {tmp_path}") as caught:
        resumed(tmp_path)
    assert caught.value.places == [("storage.path", str(tmp_path))]
    with pytest.raises(PlacesMissing):
        resumed(tmp_path, "storage.path=/tmp", f"cache.storage.path={tmp_path}")


def test_with_its_place_a_real_run_goes_on(tmp_path: Path) -> None:
    stopped(tmp_path / "run", "quick", [f"storage.path={tmp_path}", "workload.threads=2"])
    found = resumed(tmp_path, f'storage.path="{tmp_path}"')
    assert "workload.threads=2" in found.wish.lines


def test_a_place_that_is_no_directory_is_refused_as_at_the_start(tmp_path: Path) -> None:
    stopped(tmp_path / "run", "quick", ["storage.path=/dev/null"])
    assert "the place of a storage is a directory that exists" in refusal(tmp_path, "storage.path=/dev/null")


@pytest.mark.parametrize("line", ["workload.threads=3", "x", "", "storage={path='/tmp',a=1}"])
def test_only_places_are_written_again(line: str) -> None:
    with pytest.raises(UserError, match="goes on as it was begun"):
        only_places([line])
    assert only_places(["storage.path=/tmp", "database.storages.log.path=/x"])


def hostile(name: str, change: Callable[[dict[str, Any]], object], lines: tuple[str, ...] = ()) -> str:
    """The text of an experiment of the library, changed by hand."""
    tables = tomllib.loads(to_toml(load(library_files()[name], lines)))
    change(tables)
    return tomli_w.dumps(tables)


SERVER = ("storage.path=/tmp",)
FILE = ("database.machine=/etc/shadow",)


@pytest.mark.parametrize(
    ("name", "change", "told"),
    [
        ("tpcc-quick", lambda t: t["database"].update(binary="/tmp/evil"), "a program is not named by its path"),
        ("tpcc-quick", lambda t: t["database"].update(binary="reboot"), "a program is not named by its path"),
        ("tpcc-quick", lambda t: t["sweep"].update({"database.binary": ["mysqld", "./x"]}), "a program is not named"),
        (
            "tpcc-quick",
            lambda t: t["sweep"].update(zip=[{"database.binary": ["/x"], "workload.warehouses": [1]}]),
            "a program is not named",
        ),
        ("tpcc-quick", lambda t: t.update(database={"kind": "server", "binary": "/tmp/evil"}), "a program is not"),
        ("tpcc-quick", lambda t: t["database"].update(url="mysql://root@db1/x"), "a load on a server of others"),
        ("tpcc-quick", lambda t: t["database"]["settings"].update(init_connect="SET x"), "statements of your own"),
        ("tpcc-quick", lambda t: t["database"]["settings"].update(datadir="/home"), "a file is not named"),
        ("tpcc-quick", lambda t: t.update(load={"hosts": 3}), "other hosts"),
        ("own-sql", lambda t: t["workload"].update(setup=["DROP DATABASE x"]), "statements of your own"),
        ("quick", lambda t: t["storage"].update(overwrite=True), "is not overwritten from a page"),
        ("quick", lambda t: t["sweep"].update({"storage.overwrite": [False, True]}), "is not overwritten"),
        ("quick", lambda t: t.update(workload={"kind": "replay", "trace": "/etc/passwd"}), "a file is not named"),
        ("quick", lambda t: t.update(thresholds={"baseline": "other"}), "a file is not named"),
        (MODELLED, lambda t: t["storage"].update(device="/tmp/mine.toml"), "a file is not named"),
        ("adaptive-card", lambda t: t["database"].update(machine="x.toml"), "a file is not named"),
        ("adaptive-card", lambda t: t["database"].update(flushing="evil.py:Policy"), "a file is not named"),
        ("adaptive-card", lambda t: t.update(twin={"database": {"machine": "/x"}}), "a file is not named"),
    ],
)
def test_nothing_that_no_page_may_ask_for_is_taken_from_a_result(
    tmp_path: Path, name: str, change: Callable[[dict[str, Any]], object], told: str, unlooked: None
) -> None:
    lines = SERVER if name in ("tpcc-quick", "own-sql", "quick") else ()
    stopped(tmp_path / "run", name, lines, text=hostile(name, change, lines))
    why = refusal(tmp_path, *SERVER)
    assert told in why and "if it is yours, in a terminal: flatwater resume" in why


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t["storage"].update(path="/home/ann"),
        lambda t: t.update(storage={"kind": "file", "path": "/home/ann", "size": "1MiB"}),
        lambda t: t["sweep"].update({"storage.path": ["/tmp", "/home/ann"]}),
        lambda t: t["sweep"].update(zip=[{"storage.path": ["/home/ann"], "workload.threads": [1]}]),
        lambda t: t.update(cache={"kind": "flash", "storage": {"kind": "file", "path": "/home/ann", "size": "1MiB"}}),
        lambda t: t.update(database={"storages": {"log": {"kind": "file", "path": "/home/ann"}}}),
    ],
)
def test_no_place_is_hidden_from_who_resumes(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], unlooked: None
) -> None:
    stopped(tmp_path / "run", "quick", SERVER, text=hostile("quick", change, SERVER))
    with pytest.raises(PlacesMissing, match="/home/ann"):
        resumed(tmp_path, *SERVER)


@pytest.mark.parametrize(
    "change",
    [
        # Figures beside the run are the library's: their cells name fields, and files with them.
        lambda t: t.update(published=[{"set": {"database.machine": "/etc/shadow"}, "value": 1, "source": "x"}]),
        lambda t: t.update(expected=[{"set": {"database.workload": "x.toml"}, "verdict": "flat"}]),
        lambda t: t.pop("about"),
        lambda t: t.pop("source"),
    ],
)
def test_what_comes_out_is_the_results_experiment_to_the_letter(
    tmp_path: Path, change: Callable[[dict[str, Any]], object]
) -> None:
    stopped(tmp_path / "run", text=hostile(MODELLED, change, SHORT))
    assert "holds another experiment" in refusal(tmp_path)


@pytest.mark.parametrize("text", ["a = [" * 5000, "x", "storage = 1", "a." * 3000 + "b = 1", "[storage]\n'a=b' = 1\n"])
def test_what_is_no_experiment_is_refused(tmp_path: Path, text: str) -> None:
    (stopped(tmp_path / "run").path / "experiment.toml").write_text(text)
    assert refusal(tmp_path)


@pytest.mark.parametrize("name", ["mine", "../quick", "", "quick.toml", "/etc/passwd"])
def test_an_experiment_that_is_none_of_the_library_is_refused(tmp_path: Path, name: str) -> None:
    stopped(tmp_path / "run")
    result = open_result(tmp_path / "run")
    result.manifest.name = name
    result.write_manifest()
    assert "is none of the library" in refusal(tmp_path)


@pytest.mark.parametrize("which", ["seed", "set", "index", "missing", "more"])
def test_the_cells_are_those_of_the_experiment(tmp_path: Path, which: str) -> None:
    lines = ("sweep.storage.fill=[0.5, 0.25]", "workload.duration_s=2")
    experiment = load(library_files()[MODELLED], lines)
    one, other = (plan_cell(experiment, index) for index in range(2))
    changes: dict[str, dict[str, Any]] = {
        "seed": {"seed": 9},
        "set": {"set": {"storage.path": "/home/ann"}},
        "index": {"index": 7},
    }
    cells = {"missing": [one], "more": [one, other, other.model_copy(update={"index": 2})]}.get(which)
    cells = cells or [one, other.model_copy(update=changes[which])]
    stopped(tmp_path / "run", lines=lines, cells=cells)
    assert "has not the cells of its experiment" in refusal(tmp_path)


def link(path: Path, target: Path) -> None:
    if path.is_dir():
        path.rename(target)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "cells",
            "cells/0000",
            "cells/0000/journal.jsonl",
            "cells/0000/series-0000.parquet",
            "cells/0000/earlier.json",
        ),
        *("set-aside", "servers", "run.lock", "summary.json", "series.parquet", "tags.json", "anything", "a/b/c"),
    ],
)
def test_a_link_is_not_written_through(tmp_path: Path, name: str) -> None:
    run = stopped(tmp_path / "run").path
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    link(run / name, tmp_path / "elsewhere")
    assert f"{name}: it is a link" in refusal(tmp_path)


def test_what_has_another_name_is_not_written(tmp_path: Path) -> None:
    run = stopped(tmp_path / "run").path
    mine = tmp_path / "mine"
    mine.write_text("x")
    os.link(mine, run / "cells" / "0000" / "series-0000.parquet")
    assert "the file has another name, too" in refusal(tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    run = stopped(tmp_path / "run").path
    os.mkfifo(run / "cells" / "0000" / "servers.json")
    assert "servers.json: it is no file" in refusal(tmp_path)


def test_what_others_may_change_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stopped(tmp_path / "run").path
    (run / "machine.json").chmod(0o666)
    assert "machine.json: every user may write to it" in refusal(tmp_path)
    (run / "machine.json").chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert "it belongs to another user" in refusal(tmp_path)


@pytest.mark.parametrize("which", ["mid", "run"])
def test_who_may_put_another_folder_in_its_place_is_told(tmp_path: Path, which: str) -> None:
    run = stopped(tmp_path / "mid" / "run").path
    with as_foreign([tmp_path]):
        assert resumption(run, tmp_path, SHELF, ())
        (run.parent if which == "mid" else run).chmod(0o777)
        with pytest.raises(UserError, match=r"mid above it: every" if which == "mid" else "every user may write"):
            resumption(run, tmp_path, SHELF, ())


def test_a_group_of_others_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = stopped(tmp_path / "run").path
    (run / "cells").chmod(0o775)
    # A group of one's own: what many systems give each user, with umask 002.
    assert resumed(tmp_path)
    monkeypatch.setattr(os, "getegid", lambda: os.getgid() + 1)
    assert "cells: other users of its group may write to it" in refusal(tmp_path)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"from": "\\u0000"}', '{"from": "\\ud800"}', '{"from": 1}', "\0"])
def test_options_that_no_run_wrote_are_passed_over(tmp_path: Path, text: str) -> None:
    (stopped(tmp_path / "run").path / "started.json").write_text(text)
    assert resumed(tmp_path)


@pytest.mark.parametrize("line", ['{"phase": "measure"}', '{"phase": "measure", "time_s": 9.0, "start_s": 8.0}'])
def test_rounds_without_their_figures_are_passed_over(tmp_path: Path, line: str) -> None:
    lines = (f"storage.path={tmp_path}", "storage.size=1GiB")
    journal = stopped(tmp_path / "run", "snia-iops", lines).cells[0].journal
    journal.write_text(f"{journal.read_text()}{line}\n")
    assert resumed(tmp_path, lines[0])


def test_a_journal_of_phases_without_end_is_not_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flatwater.results.journal_phases.ENTRIES_MAX", 10)
    journal = stopped(tmp_path / "run").cells[0].journal
    journal.write_text(journal.read_text() + '{"phase": "a", "time_s": 1}\n{"phase": "b", "time_s": 1}\n' * 10)
    assert "more than 10 phases" in refusal(tmp_path)


def test_nothing_is_uploaded_where_a_result_says(tmp_path: Path) -> None:
    run = stopped(tmp_path / "run").path
    (run / "upload.json").write_text('{"places": [{"url": "s3://attacker/x", "run": "0"}]}')
    assert "uploaded to a store, which no page does" in refusal(tmp_path)


def test_a_folder_of_too_many_files_is_not_looked_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flatwater.serve.launch.theirs.ENTRIES_MAX", 3)
    stopped(tmp_path / "run")
    assert "more than 3 files" in refusal(tmp_path)


@pytest.mark.parametrize(
    ("started", "told"),
    [
        (Started(on="tcp://attacker:8786"), "was begun with --on tcp://attacker:8786"),
        (Started(load_on="tcp://attacker:8786"), "was begun with --load-on"),
    ],
)
def test_no_other_machine_is_asked_for_a_result(tmp_path: Path, started: Started, told: str) -> None:
    stopped(tmp_path / "run", started=started)
    assert told in refusal(tmp_path)


def test_a_relative_place_counts_from_where_the_run_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    stopped(tmp_path / "run", "quick", ["storage.path=data"])
    assert resumed(tmp_path, "storage.path=data")
    (tmp_path / "other" / "data").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "other")
    assert f"was begun in {tmp_path}, where its paths begin" in refusal(tmp_path, "storage.path=data")


def test_only_below_the_folder_that_takes_new_runs(tmp_path: Path) -> None:
    stopped(tmp_path / "run")
    for root in (tmp_path / "results", tmp_path / "run"):
        with pytest.raises(UserError, match="where this server puts runs"):
            resumption(tmp_path / "run", root, SHELF, ())


def test_the_words_are_those_of_the_command_line(tmp_path: Path) -> None:
    result = stopped(tmp_path / "run", status="complete")
    assert f"{result.path} is complete: nothing is missing" in refusal(tmp_path)
    result.write_manifest("interrupted")
    with run_alone(result.path):
        assert f"process {os.getpid()} runs it already" in refusal(tmp_path)
    result.manifest.flatwater_version = "0.0.1"
    result.write_manifest()
    assert "was begun by flatwater 0.0.1, this is" in refusal(tmp_path)
    result.manifest.source = "fio"
    result.write_manifest()
    assert "was imported, and not run: nothing is missing of it" in refusal(tmp_path)


def test_a_damaged_and_a_foreign_journal_are_left_to_a_terminal(tmp_path: Path) -> None:
    cell = stopped(tmp_path / "run").cells[0]
    (cell.folder / ELSEWHERE).write_text("{}")
    assert "a worker of a cluster measured it" in refusal(tmp_path)
    (cell.folder / ELSEWHERE).unlink()
    assert resumed(tmp_path)
    cell.journal.write_text("{not json}\n" + cell.journal.read_text())
    why = refusal(tmp_path)
    assert "its journal is damaged" in why and "in a terminal: flatwater resume" in why
