from __future__ import annotations

import os
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment import InvalidExperimentError, find_experiment, load

MINIMAL = '[workload]\nmode = "rndrd"\n'


def write(folder: Path, text: str, name: str = "my.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_minimal_file(tmp_path: Path) -> None:
    experiment = load(write(tmp_path, MINIMAL))
    assert (experiment.name, experiment.repeat, experiment.seed) == ("my", 1, 1)
    assert experiment.workload.mode == "rndrd"
    assert experiment.layers == {"workload": "real", "database": "none", "cache": "none", "storage": "real"}


def test_a_name_of_the_library() -> None:
    assert load("quick").name == "quick"
    assert find_experiment("quick").name == "quick.toml"


def test_a_directory_does_not_hide_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path)
    assert load("demo").name == "demo"


def test_sizes_and_durations_are_plain_numbers_after_loading(tmp_path: Path) -> None:
    text = '[workload]\nmode = "randrw"\nblock_size = "4KiB"\nduration_s = "1h"\n[storage]\nsize = "2GB"\n'
    experiment = load(write(tmp_path, text))
    assert (experiment.workload.block_size, experiment.workload.duration_s) == (4096, 3600.0)
    assert (experiment.storage.size, experiment.size_per_file) == (2 * 10**9, 2 * 10**9)


def test_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "dos.toml"
    path.write_bytes(b"\xef\xbb\xbf" + MINIMAL.replace("\n", "\r\n").encode())
    assert load(path).workload.mode == "rndrd"


def test_a_seed_on_the_command_line(tmp_path: Path) -> None:
    assert load(write(tmp_path, "seed = 3\n" + MINIMAL), seed=7).seed == 7
    with pytest.raises(UserError, match="--seed -1: seed: must be at least 0"):
        load(write(tmp_path, MINIMAL), seed=-1)


def test_the_first_problem_stands_for_all(tmp_path: Path) -> None:
    path = write(tmp_path, '[workload]\nmode = "rndrd"\nthreads = 0\nfiles = 0\n')
    with pytest.raises(InvalidExperimentError) as caught:
        load(path)
    first = "workload.threads: must be at least 1, not 0 (and 1 more: `flatwater check` lists them)"
    assert str(caught.value) == f"{path}:3: {first}"
    assert [str(problem) for problem in caught.value.problems] == [
        f"{path}:3: workload.threads: must be at least 1, not 0",
        f"{path}:4: workload.files: must be at least 1, not 0",
    ]
    assert caught.value.exit_code == 2


def refused(path: Path | str) -> str:
    with pytest.raises(UserError) as caught:
        load(path)
    return str(caught.value)


def test_what_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, MINIMAL)
    os.mkfifo("pipe.toml")
    assert refused(".") == ".: is a directory, not an experiment file"
    assert refused("pipe.toml") == "pipe.toml: is not a regular file"
    assert refused("mi.toml") == "mi.toml: no such file (hint: did you mean my.toml?)"
    assert refused("sub/quik.toml") == "sub/quik.toml: no such file (hint: did you mean quick?)"
    assert refused("fil-level") == (
        "fil-level: neither a file nor an experiment of the library (hint: did you mean fill-level?)"
    )
    assert "`flatwater list`" in refused("zzzzzz")
    assert "cannot be read" in refused("x" * 5000)
    assert "cannot be read" in refused("a\0b") or "neither" in refused("a\0b")
    assert refused("").endswith("is a directory, not an experiment file")


def test_a_file_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "big.toml"
    with path.open("wb") as file:
        file.truncate(2**34)
    assert refused(path) == f"{path}: is larger than 16 MiB: not an experiment file"
    path = tmp_path / "latin.toml"
    path.write_bytes('title = "x"\nabout = "caf\u00e9"\n'.encode("latin-1"))
    assert refused(path) == f"{path}:2: is not UTF-8 text (hint: save the file as UTF-8)"
    path.write_bytes(os.urandom(10_000) + b"\xff")
    assert "is not UTF-8 text" in refused(path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL)
    path.chmod(0)
    assert refused(path) == f"{path}: cannot be read: Permission denied"


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 50_000, "a = " + "{a=" * 50_000, "a." * 5000 + "b = 1", "[" + "a." * 5000 + "b]\n"]
)
def test_deep_nesting(tmp_path: Path, text: str) -> None:
    assert "nested too deeply" in refused(write(tmp_path, text)) or "not valid TOML" in refused(write(tmp_path, text))
