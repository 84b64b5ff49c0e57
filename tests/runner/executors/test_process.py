"""What a process of the pool says to its parent, and when it ends."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from lab import Lab
from modelledlab import write_modelled

from flatwater.experiment import load
from flatwater.runner.executors.process import Errand, FinishedCell, Trouble, Worker
from flatwater.runner.interrupt import Interrupt


def errand(lab: Lab, cells: int = 4) -> Errand:
    return Errand(load(write_modelled(lab, range(10, 10 + cells))), lab.folder / "result", {"cores": 2})


def said(connection: Connection) -> list[list[FinishedCell] | None]:
    found = []
    while connection.poll():
        found.append(connection.recv())
    return found


class TestWorker:
    def test_tells_each_cell_and_the_end_of_each_batch(self, lab: Lab) -> None:
        ours, theirs = Pipe()
        for batch in ((0, [0, 2]), (0, [3]), None):
            ours.send(batch)
        Worker(theirs, [errand(lab)], Interrupt()).serve()
        told = said(ours)
        cells = [[one.summary.cell for one in some] if some else None for some in told]
        assert [number for some in cells for number in some or [None]] == [0, 2, None, 3, None]
        assert all(one.took.wall_s > 0 and not one.summary.histograms for some in told for one in some or [])
        assert (lab.folder / "result/cells/0003/summary.json").exists()
        assert "all" in (lab.folder / "result/cells/0003/summary.json").read_text(), "on the disk it is whole"

    def test_turns_from_one_experiment_to_another_and_back(self, lab: Lab) -> None:
        ours, theirs = Pipe()
        other = Errand(load(write_modelled(lab, [500])), lab.folder / "other", {})
        for batch in ((0, [1]), (1, [0]), (0, [3]), None):
            ours.send(batch)
        Worker(theirs, [errand(lab), other], Interrupt()).serve()
        told = [one.summary for some in said(ours) for one in some or []]
        assert [(one.cell, one.set["workload.rate_per_s"]) for one in told] == [(1, 11), (0, 500), (3, 13)]
        assert sorted(path.parent.parent.parent.name for path in lab.folder.glob("*/cells/*/summary.json")) == [
            "other",
            "result",
            "result",
        ]

    def test_begins_nothing_more_when_asked_to_stop(self, lab: Lab) -> None:
        ours, theirs = Pipe()
        asked = Interrupt()
        asked.requested = True
        for batch in ((0, [0, 1]), None):
            ours.send(batch)
        Worker(theirs, [errand(lab)], asked).serve()
        assert said(ours) == [None]


class TestProcess:
    """As the pool starts it."""

    @pytest.fixture
    def started(self, lab: Lab) -> tuple[subprocess.Popen[bytes], Connection, int]:
        ours, theirs = socket.socketpair()
        their_life, our_life = os.pipe()
        call = "from flatwater.runner.executors.process import main; main({}, {})"
        child = subprocess.Popen(
            [sys.executable, "-c", call.format(theirs.fileno(), their_life)],
            pass_fds=(theirs.fileno(), their_life),
        )
        theirs.close()
        os.close(their_life)
        return child, Connection(ours.detach()), our_life

    def test_ends_when_nobody_listens_any_more(self, started: tuple[subprocess.Popen[bytes], Connection, int]) -> None:
        child, connection, life = started
        connection.close()
        assert child.wait(30) == 0
        os.close(life)

    def test_ends_at_once_when_its_parent_died(
        self, lab: Lab, started: tuple[subprocess.Popen[bytes], Connection, int]
    ) -> None:
        child, connection, life = started
        connection.send_bytes(pickle.dumps([errand(lab)]))
        os.close(life)
        assert child.wait(30) == 1
        connection.close()

    def test_a_result_that_cannot_be_written_is_told(
        self, lab: Lab, started: tuple[subprocess.Popen[bytes], Connection, int]
    ) -> None:
        child, connection, life = started
        asked = errand(lab)
        Path(asked.path).write_text("a file is in the folder's place")
        connection.send_bytes(pickle.dumps([asked]))
        connection.send((0, [0]))
        told = connection.recv()
        assert isinstance(told, Trouble) and (told.errno, "Not a directory" in told.text) == (20, True)
        assert child.wait(30) == 0
        connection.close()
        os.close(life)

    def test_a_bug_is_told_with_its_traceback(
        self, lab: Lab, started: tuple[subprocess.Popen[bytes], Connection, int]
    ) -> None:
        child, connection, life = started
        connection.send_bytes(pickle.dumps([errand(lab)]))
        connection.send((0, [99]))
        told = connection.recv()
        assert isinstance(told, Trouble) and told.errno is None and "IndexError" in told.text
        assert child.wait(30) == 0
        connection.close()
        os.close(life)

    def test_ctrl_c_is_the_parents_to_judge(
        self, lab: Lab, started: tuple[subprocess.Popen[bytes], Connection, int]
    ) -> None:
        """SIGTERM asks for an end after the cell; until then the process serves."""
        child, connection, life = started
        connection.send_bytes(pickle.dumps([errand(lab)]))
        connection.send((0, [0]))
        assert connection.recv()[0].summary.cell == 0
        assert connection.recv() is None
        child.send_signal(signal.SIGTERM)
        connection.send((0, [1]))
        assert connection.recv() is None, "nothing more is begun"
        connection.send(None)
        assert child.wait(30) == 0
        connection.close()
        os.close(life)
