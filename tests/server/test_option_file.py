from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.server import Binary
from flatwater.server.option_file import write_option_file

AWKWARD = {"init_connect": "SET @a = 'b # c'", "version_comment": 'back\\slash "quoted"', "ft_stopword_file": "; x"}


def test_the_file_is_readable_and_the_experiment_has_the_last_word(tmp_path: Path) -> None:
    path = tmp_path / "my.cnf"
    write_option_file(
        path,
        {"datadir": "/a b/data", "skip_networking": ""},
        {"max_connections": "100", "local_infile": "1"},
        {"max_connections": "20"},
    )
    assert path.read_text() == (
        "# Written by flatwater for one server, which it starts with --defaults-file: no other file is read.\n"
        "[mysqld]\n"
        "\n# where it lies and how it is reached\n"
        'datadir = "/a b/data"\n'
        "skip_networking\n"
        "\n# picked by flatwater for this use\n"
        "local_infile = 1\n"
        "\n# from the experiment: database.settings\n"
        "max_connections = 20\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_server_reads_the_values_that_were_written(tmp_path: Path, binary: Binary) -> None:
    path = tmp_path / "my.cnf"
    write_option_file(path, {}, {}, AWKWARD)
    done = subprocess.run(
        [binary.path, f"--defaults-file={path}", "--print-defaults"], capture_output=True, text=True, check=True
    )
    for name, value in AWKWARD.items():
        assert f"--{name}={value}" in done.stdout


def test_a_value_cannot_bring_lines_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"database\.settings\.init_connect: a setting's value is one line"):
        write_option_file(tmp_path / "my.cnf", {}, {}, {"init_connect": "x\nuser = root"})
