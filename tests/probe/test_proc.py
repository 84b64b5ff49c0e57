from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flatwater.probe.proc import read_text, threads_of


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"a" * 50_000 + b"\xff")
    assert read_text(str(path)) == "a" * 50_000 + "\ufffd"
    assert read_text(f"/proc/{os.getpid()}/stat").split()[0] == str(os.getpid())


def test_the_threads_of_a_process_and_of_one_that_has_ended() -> None:
    assert str(os.getpid()) in threads_of(os.getpid())
    gone = subprocess.Popen([sys.executable, "-S", "-c", ""])
    gone.wait()
    with pytest.raises(OSError):
        threads_of(gone.pid)
