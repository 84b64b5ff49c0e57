"""Result folders that are whole, unfinished, cut short or hostile: read, or refused in one line."""

from __future__ import annotations

import json
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from lab import Lab

from flatwater.errors import UserError
from flatwater.results import Result, open_result
from flatwater.results.facts import facts_of
from flatwater.results.schema import SCHEMA_VERSION

LEAVES = ["flatwater.json", "summary.json", "machine.json", "experiment.toml", "series.parquet"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete result of two cells."""
    return Lab(tmp_path_factory.mktemp("whole")).go({"duration_s": 0.3}, sweep={"workload.threads": [1, 2]}).out


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a kill -9 in the first of two cells left."""
    lab = Lab(tmp_path_factory.mktemp("killed"))
    run = lab.start(lab.write({"duration_s": 30, "mode": "rndrd"}, sweep={"workload.threads": [1, 2]}))
    run.until_recorded(4)
    return run.send(signal.SIGKILL).out


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[Path], Path]:
    def make(source: Path) -> Path:
        target = tmp_path / "result"
        for path in sorted(source.rglob("*")):
            there = target / path.relative_to(source)
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(path.read_bytes()) if path.is_file() else there.mkdir(exist_ok=True)
        return target

    return make


def walk(result: Result) -> int:
    """Reads all that a report or a comparison might; how many values there were."""
    values = 0
    for cell in result.cells:
        assert cell.label and isinstance(cell.set, dict)
        _ = cell.phases, cell.events, cell.measured_span()
        for layer, metric in cell.metrics():
            values += len(cell.series(layer, metric))
    return values


def one_line(path: Path) -> str:
    """The refusal of a folder, which is for the user to mend: exit 2, one line."""
    with pytest.raises(UserError) as refusal:
        walk(open_result(path))
    text = str(refusal.value)
    assert "\n" not in text and len(text) < 2000
    return text


class TestWhole:
    def test_holds_what_was_asked_and_what_was_found(self, whole: Path) -> None:
        assert {path.name for path in whole.iterdir()} == {*LEAVES, "histograms.parquet", "started.json"}
        result = open_result(whole)
        assert result.experiment["sweep"] == {"workload.threads": [1, 2]}
        assert result.machine["cores"] == os.cpu_count()
        assert {"kernel", "memory_bytes", "flatwater", "storage"} <= set(result.machine)
        assert result.manifest.status == "complete"
        assert [cell.set for cell in result.cells] == [{"workload.threads": 1}, {"workload.threads": 2}]
        assert walk(result) > 100

    def test_names_no_user_and_no_host(self, whole: Path) -> None:
        text = "".join((whole / name).read_text() for name in ("machine.json", "flatwater.json"))
        assert os.uname().nodename not in text

    def test_an_unknown_series_is_empty(self, whole: Path) -> None:
        assert len(open_result(whole).cells[0].series("database", "checkpoint_age_bytes")) == 0


class TestUnfinished:
    def test_is_read_as_far_as_it_came(self, killed: Path) -> None:
        first, second = open_result(killed).cells
        assert first.summary is None and second.summary is None
        throughput = first.series("workload", "throughput")
        assert len(throughput) >= 4
        np.testing.assert_allclose(np.diff(throughput.time_s), 0.1, atol=0.05)
        assert [phase.name for phase in first.phases] == ["measure"]
        assert (second.metrics(), second.phases) == ([], [])

    def test_a_torn_last_line_is_no_line(self, killed: Path, copy: Callable[[Path], Path]) -> None:
        path = copy(killed)
        journal = path / "cells/0000/journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        for cut in (1, len(lines[3]) // 2, len(lines[3]) - 1):
            journal.write_bytes(b"".join(lines[:3]) + lines[3][:cut])
            assert len(open_result(path).cells[0].series("workload", "throughput")) == 3

    def test_an_empty_journal_is_an_empty_cell(self, killed: Path, copy: Callable[[Path], Path]) -> None:
        path = copy(killed)
        (path / "cells/0000/journal.jsonl").write_bytes(b"")
        assert walk(open_result(path)) == 0

    @pytest.mark.parametrize(
        "line",
        [
            "not json",
            "[]",
            "7",
            '{"metrics": 7, "time_s": 1}',
            '{"metrics": {"workload.ops_per_s": 1}}',
            '{"metrics": {"nodot": 1}, "time_s": 1}',
            '{"metrics": {"workload.ops_per_s": "many"}, "time_s": 1}',
            '{"metrics": {"workload.ops_per_s": [1]}, "time_s": 1}',
            '{"metrics": {}, "time_s": "now"}',
            '{"metrics": {}, "time_s": null}',
            '{"metrics": {}, "time_s": 1, "start_s": {}}',
            '{"metrics": {}, "time_s": 1, "histograms": 3}',
            '{"metrics": {}, "time_s": 1, "histograms": {"read": 3}}',
            '{"metrics": {}, "time_s": 1, "histograms": {"read": "%%%"}}',
            '{"event": 3}',
            '{"event": {"time_s": "x"}}',
            '{"metrics": {"a.b": 1' + "0" * 400 + '}, "time_s": 1}',
            '{"metrics": {}, "time_s": 1' + "0" * 400 + "}",
            '{"metrics": {}, "time_s": 1' + "0" * 5000 + "}",
            "[" * 100_000,
            '{"a":' * 100_000,
            "\0",
            "\udcff",
        ],
        ids=lambda line: line[:40],
    )
    def test_a_hostile_line_is_refused(self, killed: Path, copy: Callable[[Path], Path], line: str) -> None:
        path = copy(killed)
        with (path / "cells/0000/journal.jsonl").open("ab") as journal:
            journal.write(line.encode("utf-8", "surrogateescape") + b"\n")
        assert "journal.jsonl" in one_line(path) or "cells/0000" in one_line(path)

    def test_a_killed_repetition_does_not_show_the_figures_of_the_time_before(self, lab: Lab) -> None:
        """An interrupted cell is begun again and killed: its old summary is history."""
        file = lab.write({"duration_s": 30, "mode": "rndrd"})
        run = lab.start(file)
        run.until_recorded(2)
        assert run.send(signal.SIGINT).code == 130
        again = lab.start(file, "--resume", out=run.out)
        again.until_recorded(6)
        again.send(signal.SIGKILL)
        assert open_result(run.out).cells[0].summary is None


class TestRefused:
    def test_what_is_no_result(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        assert "no such folder" in one_line(tmp_path / "nowhere")
        assert "not a flatwater result" in one_line(tmp_path)
        assert "not a flatwater result" in one_line(tmp_path / "file")
        one_line(tmp_path / ("x" * 300))
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        one_line(tmp_path / "loop")

    @pytest.mark.parametrize("leaf", LEAVES)
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"{",
            b"\0\xff\xfe",
            b"null",
            b"[]",
            b"7",
            b'"text"',
            b"[" * 100_000,
            b"1" + b"0" * 5000,
            b"a = [" * 50_000,
        ],
        ids=lambda content: repr(content[:12]),
    )
    def test_a_damaged_file(self, whole: Path, copy: Callable[[Path], Path], leaf: str, content: bytes) -> None:
        path = copy(whole)
        (path / leaf).write_bytes(content)
        if (leaf, content) == ("experiment.toml", b""):
            walk(open_result(path))  # no fields is TOML too
        else:
            one_line(path)

    @pytest.mark.parametrize("leaf", LEAVES)
    def test_a_file_cut_short(self, whole: Path, copy: Callable[[Path], Path], leaf: str) -> None:
        path = copy(whole)
        content = (path / leaf).read_bytes()
        for share in (0.1, 0.5, 0.99):
            (path / leaf).write_bytes(content[: int(len(content) * share)])
            if leaf != "experiment.toml":  # which may end anywhere between two lines
                one_line(path)

    @pytest.mark.parametrize("leaf", ["experiment.toml", "series.parquet"])
    def test_a_missing_file(self, whole: Path, copy: Callable[[Path], Path], leaf: str) -> None:
        path = copy(whole)
        (path / leaf).unlink()
        one_line(path)

    @pytest.mark.parametrize("leaf", [*LEAVES, "folder"])
    def test_a_fifo_or_a_folder_in_a_files_place(self, whole: Path, copy: Callable[[Path], Path], leaf: str) -> None:
        path = copy(whole)
        name = "summary.json" if leaf == "folder" else leaf
        (path / name).unlink()
        (path / name).mkdir() if leaf == "folder" else os.mkfifo(path / name)
        one_line(path)

    def test_a_newer_version(self, whole: Path, copy: Callable[[Path], Path]) -> None:
        path = copy(whole)
        raw = json.loads((path / "flatwater.json").read_text())
        (path / "flatwater.json").write_text(json.dumps(raw | {"schema_version": SCHEMA_VERSION + 1}))
        assert "upgrade flatwater" in one_line(path)

    @pytest.mark.parametrize(
        "change",
        [
            {"schema_version": "one"},
            {"kind": "something-else"},
            {"cells": {}},
            {"cells": [{"index": "../../../etc", "repeat": 0, "set": {}, "seed": 1}]},
            {"cells": [{"index": -1, "repeat": 0, "set": {}, "seed": 1}]},
            {"cells": [{"index": 10**30, "repeat": 0, "set": {}, "seed": 1}]},
            {"cells": [{"index": 0, "repeat": 0, "set": {}, "seed": 1}] * 2},
            {"status": "fine"},
            {"surprise": 1},
        ],
        ids=str,
    )
    def test_a_hostile_manifest(self, whole: Path, copy: Callable[[Path], Path], change: dict[str, object]) -> None:
        path = copy(whole)
        raw = json.loads((path / "flatwater.json").read_text())
        (path / "flatwater.json").write_text(json.dumps(raw | change))
        one_line(path)

    def test_names_lead_nowhere(self, whole: Path, copy: Callable[[Path], Path], tmp_path: Path) -> None:
        path = copy(whole)
        raw = json.loads((path / "flatwater.json").read_text()) | {
            "name": "../../outside",
            "title": "<script>\n\x1b[2J",
        }
        (path / "flatwater.json").write_text(json.dumps(raw))
        before = sorted(tmp_path.parent.iterdir())
        walk(open_result(path))
        assert sorted(tmp_path.parent.iterdir()) == before

    def test_any_flipped_byte(self, whole: Path, copy: Callable[[Path], Path]) -> None:
        """Either it is read, or it is refused in one line. (Not in Parquet's footer: some of what can be wrong there
        makes pyarrow abort the process.)"""
        path = copy(whole)
        chance = random.Random(11)
        for number in range(150):
            leaf = path / chance.choice([*LEAVES, "series.parquet", "series.parquet"])
            content = leaf.read_bytes()
            damaged = bytearray(content)
            end = len(content)
            if leaf.suffix == ".parquet":
                end -= int.from_bytes(content[-8:-4], "little") + 8
            for _ in range(chance.choice([1, 1, 8])):
                damaged[chance.randrange(end)] = chance.randrange(256)
            leaf.write_bytes(damaged)
            try:
                walk(open_result(path))
            except UserError as error:
                assert "\n" not in str(error)
            except Exception as error:
                raise AssertionError(f"seed 11, flip {number} of {leaf.name}: {error!r}") from error
            leaf.write_bytes(content)


class TestVerbs:
    """What `open_result` refuses, the verbs refuse in the same line."""

    @pytest.mark.parametrize("leaf", LEAVES)
    @pytest.mark.parametrize("verb", ["report", "compare"])
    def test_in_one_line(self, whole: Path, copy: Callable[[Path], Path], lab: Lab, verb: str, leaf: str) -> None:
        path = copy(whole)
        (path / leaf).write_bytes(b"[" * 100_000)
        ran = lab.run(path, *([whole] if verb == "compare" else []), verb=verb)
        if (leaf, verb) == ("series.parquet", "compare"):
            return  # it compares what the summaries say
        assert (ran.code, ran.stdout) == (2, "")
        assert str(path) in ran.error

    @pytest.mark.parametrize("verb", ["report", "compare"])
    def test_nothing_there(self, whole: Path, lab: Lab, verb: str) -> None:
        more = [whole] if verb == "compare" else []
        ran = lab.run(lab.folder / "nowhere", *more, verb=verb)
        assert (ran.code, "no such folder" in ran.error) == (2, True)


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ({"cores": 8, "storage": {"path": "/d", "rotational": False}}, True),
        ({"cores": "many"}, False),
        ({"cores": -1}, False),
        ({"cores": True}, False),
        ({"memory_bytes": 1.5}, False),
        ({"memory_bytes": 10**30}, False),
        ({"storage": []}, False),
        ({"storage": "a disk"}, False),
        ({"numa_node_bytes": [1, "x"]}, False),
        ({"numa_node_bytes": [1, 2]}, True),
        ({"workers": [{"cores": 2}]}, True),
        ({"workers": [7]}, False),
        ({"of another tool": [None]}, True),
    ],
)
def test_a_fact_of_a_wrong_type_is_unknown(told: dict[str, object], kept: bool) -> None:
    """machine.json may be anybody's: rules of advice ask a storage for its path."""
    assert facts_of(told) == (told if kept else {})


def test_facts_inside_facts_are_looked_at_too() -> None:
    told = {"storage": {"path": 7, "model": "A DISK"}, "workers": [{"cores": "x", "cpu": "A CPU"}]}
    assert facts_of(told) == {"storage": {"model": "A DISK"}, "workers": [{"cpu": "A CPU"}]}
