from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flatwater.errors import UserError
from flatwater.experiment.database.option_line import LINE_BYTES_MAX, line_fault, option_line, value_of_line
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


#: What a server's reader treats differently: quotes, comments, escapes, blanks, and bytes that Latin-1 takes for one.
LETTERS = st.one_of(
    st.sampled_from("\"'#;\\= ~.[]!/-nstrbax\x7fàé€\U0001f600\u00a0\u2028"), st.characters(codec="utf-8")
)


def read_back(path: Path) -> list[str]:
    """What MariaDB's tool, which reads files as its server does, finds in the file."""
    tool = shutil.which("my_print_defaults")
    if tool is None:
        pytest.skip("my_print_defaults is not installed")
    done = subprocess.run([tool, f"--defaults-file={path}", "mysqld"], capture_output=True, check=True)
    return done.stdout.decode(errors="surrogateescape").removesuffix("\n").split("\n")


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(LETTERS, min_size=1, max_size=40), min_size=1, max_size=12))
def test_a_value_arrives_unchanged_or_is_refused(tmp_path: Path, values: list[str]) -> None:
    path, taken = tmp_path / "my.cnf", {}
    for number, value in enumerate(values):
        if line_fault(f"setting_{number}", value) is None:
            taken[f"setting_{number}"] = value
        else:
            assert any(ord(character) < 32 for character in value)
    write_option_file(path, {}, {}, taken)
    assert read_back(path) == ([f"--{name}={value}" for name, value in taken.items()] or [""])


@pytest.mark.parametrize(
    "value", ['/srv/a"#b', '~"#x', '.."#x', "a\\", '"', "'", " a ", '\\"#', "à", "x = y", "[mysqld]"]
)
def test_what_once_arrived_as_something_else(tmp_path: Path, value: str) -> None:
    path = tmp_path / "my.cnf"
    write_option_file(path, {"datadir": value}, {}, {})
    assert read_back(path) == [f"--datadir={value}"]


#: One letter of each kind: as it is, quoted, escaped (two bytes in the line), of two, three and four bytes.
KINDS = ["x", " ", '"', "\\", "#", "é", "€", "\U0001f600"]


@pytest.mark.parametrize("letter", KINDS)
@pytest.mark.parametrize("name", ["a", "default_time_zone", "x" * 64])
def test_the_longest_line_arrives_whole_and_no_longer_one_is_written(tmp_path: Path, name: str, letter: str) -> None:
    longest = next(n for n in range(LINE_BYTES_MAX, 0, -1) if line_fault(name, letter * n) is None)
    path = tmp_path / "my.cnf"
    write_option_file(path, {}, {}, {name: letter * longest})
    assert LINE_BYTES_MAX - 8 < max(len(line) for line in path.read_bytes().splitlines(keepends=True)) <= LINE_BYTES_MAX
    assert read_back(path) == [f"--{name}={letter * longest}"]
    before = path.read_bytes()
    for more in (1, 2, 100, 4096):
        with pytest.raises(UserError, match=rf"^database\.settings\.{name}: .* bytes") as raised:
            write_option_file(path, {}, {}, {name: letter * (longest + more)})
        assert "\n" not in str(raised.value) and len(str(raised.value)) < 300
    assert path.read_bytes() == before


def test_a_long_value_brings_no_setting_of_its_own(tmp_path: Path) -> None:
    value = "é" * 2037 + "plugin_dir=/srv/u/x"
    with pytest.raises(UserError, match="default_time_zone"):
        write_option_file(tmp_path / "my.cnf", {}, {}, {"default_time_zone": value})


def test_the_server_itself_reads_the_longest_line_whole(tmp_path: Path, binary: Binary) -> None:
    path, value = tmp_path / "my.cnf", "é" * 1980
    write_option_file(path, {}, {}, {"init_connect": value})
    done = subprocess.run([binary.path, f"--defaults-file={path}", "--print-defaults"], capture_output=True, check=True)
    assert f"--init_connect={value}".encode() in done.stdout


def test_a_path_that_is_not_utf_8_arrives_as_its_bytes(tmp_path: Path) -> None:
    path, folder = tmp_path / "my.cnf", os.fsdecode(b"/srv/\xff#\xa0")
    write_option_file(path, {"datadir": folder}, {}, {})
    assert read_back(path) == [f"--datadir={folder}"]


@pytest.mark.parametrize("name", ["a=b", "a\nb", "#a", "", "a b", "[a", "!include"])
def test_a_name_cannot_bring_a_line_of_its_own(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="is not the name of a setting"):
        write_option_file(tmp_path / "my.cnf", {}, {}, {name: "1"})


@given(st.text(LETTERS, min_size=1, max_size=40))
def test_flatwater_reads_its_own_line_as_the_server_does(value: str) -> None:
    if line_fault("socket", value) is None:
        assert value_of_line(option_line("socket", value).decode()) == value
