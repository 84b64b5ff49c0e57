"""What a worker tells of its cells, and what a client makes of it: no scheduler is needed for that."""

from __future__ import annotations

import errno
import json
import zlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from flatwater.results import Cell, create_result
from flatwater.results.result import ELSEWHERE
from flatwater.results.schema import CellPlan, Manifest
from flatwater.runner.executors import relay
from flatwater.runner.executors.relay import Received, Teller, whole_lines
from flatwater.runner.resuming import set_aside


def line(at: int) -> bytes:
    told = {"time_s": at + 1.0, "start_s": float(at), "phase": "measure", "metrics": {"workload.throughput": 1.0}}
    return json.dumps(told).encode() + b"\n"


class Client:
    """A result with two cells, and what is told of them."""

    def __init__(self, folder: Path) -> None:
        plans = [CellPlan(index=index, repeat=0, set={}, seed=1) for index in (0, 1)]
        manifest = Manifest(name="x", flatwater_version="1", status="running", created_at="", seed=1, cells=plans)
        self.result = create_result(folder / "result", manifest, "name = 'x'", {})
        self.cells: dict[int, Cell] = {cell.index: cell for cell in self.result.cells}
        self.notes: list[str] = []
        self.shown: list[tuple[int, bytes]] = []
        self.received = Received(
            "run", set_aside, lambda cell, piece: self.shown.append((cell.index, piece)), self.note
        )

    def note(self, text: str) -> None:
        self.notes.append(text)

    def hear(self, lines: bytes, at: int, *, cell: int = 0, attempt: str = "a", run: str = "run") -> None:
        message = {"run": run, "attempt": attempt, "cell": cell, "at": at, "lines": zlib.compress(lines)}
        self.received.hear((0.0, message))
        self.received.keep(self.cells)

    def journal(self, cell: int = 0) -> bytes:
        return self.cells[cell].journal.read_bytes()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    client = Client(tmp_path)
    yield client
    client.received.close()


def test_a_worker_tells_whole_lines_and_each_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "TELL_EVERY_S", 0.01)
    told: list[dict[str, Any]] = []
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    with closing(Teller(told.append, "run")) as teller:
        teller.turn_to(0, one)
        with one.open("wb") as journal:
            journal.write(line(0) + line(1)[:20])
            journal.flush()
            until(lambda: told)
            journal.write(line(1)[20:] + line(2))
            journal.flush()
            until(lambda: len(told) > 1)
        teller.turn_to(0, None)
        teller.turn_to(1, two)
        two.write_bytes(line(7))
        until(lambda: len(told) > 2)
    assert [(one["cell"], one["at"], zlib.decompress(one["lines"])) for one in told] == [
        (0, 0, line(0)),
        (0, len(line(0)), line(1) + line(2)),
        (1, 0, line(7)),
    ]
    assert {(one["run"], one["attempt"]) for one in told} == {("run", teller.attempt)}


def test_a_message_is_small_and_a_long_line_is_told_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relay, "PIECE_BYTES", 100)
    path = tmp_path / "journal"
    path.write_bytes(b"x" * 29 + b"\n" + b"y" * 69 + b"\n" + b"z" * 1000 + b"\nrest")
    assert whole_lines(path, 0) == b"x" * 29 + b"\n" + b"y" * 69 + b"\n"
    assert whole_lines(path, 100) == b"z" * 1000 + b"\n"
    assert whole_lines(path, 1101) == b"" == whole_lines(tmp_path / "nosuch", 0)


def test_a_client_has_what_was_told(client: Client) -> None:
    client.hear(line(0), 0)
    client.hear(line(1) + line(2), len(line(0)))
    client.hear(line(0), 0, cell=1, attempt="b")
    assert client.journal() == line(0) + line(1) + line(2) and client.journal(1) == line(0)
    assert client.shown == [(0, line(0)), (0, line(1) + line(2)), (1, line(0))]
    assert (client.cells[0].folder / ELSEWHERE).exists()


def test_other_runs_and_cells_that_do_not_run_are_not_heard(client: Client) -> None:
    client.hear(line(0), 0, run="another")
    client.hear(line(0), 0, cell=9)
    assert list((client.result.path / "cells").iterdir()) == [] and client.shown == []


def test_nothing_is_added_after_a_gap(client: Client) -> None:
    client.hear(line(0), 0)
    client.hear(line(2), len(line(0) + line(1)))
    client.hear(line(0), 0)
    assert client.journal() == line(0) == client.shown[-1][1]


def test_another_try_begins_anew_and_the_one_before_is_kept(client: Client) -> None:
    client.hear(line(0) + line(1), 0, attempt="lost")
    client.hear(line(0), 0, attempt="second")
    # A worker that was taken for lost still speaks.
    client.hear(line(2), len(line(0) + line(1)), attempt="lost")
    assert client.journal() == line(0)
    aside = client.result.path / "set-aside/0000-1"
    assert (aside / "journal.jsonl").read_bytes() == line(0) + line(1) and (aside / ELSEWHERE).exists()
    assert client.received.of(client.cells[0], "second") and not client.received.of(client.cells[0], "lost")


@pytest.mark.parametrize("files", [["series-00000.parquet", "summary.json"], ["journal.jsonl", "summary.json"]])
def test_what_was_delivered_takes_its_place(client: Client, files: list[str]) -> None:
    client.hear(line(0), 0)
    cell = client.cells[0]
    cell.journal.write_bytes(line(0) + line(1))
    client.received.replaced(cell, files)
    assert cell.journal.exists() == ("journal.jsonl" in files) and not (cell.folder / ELSEWHERE).exists()
    assert client.received.close() == []


def test_a_cell_that_was_not_told_of_keeps_its_journal(client: Client) -> None:
    """It is a failed one's, which the worker sent."""
    cell = client.cells[0]
    cell.folder.mkdir()
    cell.journal.write_bytes(line(0))
    client.received.replaced(cell, ["summary.json"])
    assert client.journal() == line(0)


def test_a_full_disk_ends_the_watching_and_not_the_run(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    client.hear(line(0), 0)

    journal = client.received._journals[0]
    assert journal.handle is not None
    journal.handle.close()

    class Full:
        def write(self, piece: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

    journal.handle = Full()  # type: ignore[assignment]
    client.hear(line(1), len(line(0)))
    client.hear(line(2), len(line(0)))
    assert client.notes == [
        "x: cannot be watched from here on (No space left on device); its worker goes on, and has all of it"
    ]
    assert client.journal() == line(0)
    client.received.let_go(client.cells[0])
    # Another try has another chance.
    client.hear(line(0), 0, attempt="b")
    assert client.journal() == line(0) and len(client.notes) == 1


def test_what_cannot_be_moved_away_is_not_taken_for_this_try(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.hear(line(0), 0, attempt="lost")

    def rename(path: Path, target: Path) -> Path:
        raise OSError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "rename", rename)
    for at in range(3):
        client.hear(line(at), at * len(line(0)), attempt="second")
    assert client.journal() == line(0) and len(client.notes) == 1
    assert not client.received.of(client.cells[0], "second"), "its delivery makes room first"
