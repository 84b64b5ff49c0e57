from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.cli import main

GOLDEN = Path(__file__).parent / "golden"
IOLOG = """\
fio version 3 iolog
0 /dev/sdb add
0 /dev/sdb open
100 /dev/sdb write 8192 4096
150 /dev/sdb read 0 4096
151 /dev/sdb datasync 0 0
160 /dev/sdb read 4096 16384
170 /dev/sdb read 0 4096
190 /dev/sdb trim 4096 4096
200 /dev/sdb close
"""


@pytest.fixture
def iolog(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small trace in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = Path("small.iolog")
    path.write_text(IOLOG)
    return path


@pytest.fixture
def flatwater(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs `flatwater trace ...` as a shell would: exit code, standard output, standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["flatwater", "trace", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), told.out, told.err

    return run
