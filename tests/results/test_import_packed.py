"""Files of every format are read as they are kept: packed, or with the colours of a terminal."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.results.importers import FORMATS, Options, find_importer, read_files, read_folder, texts
from flatwater.results.importers.samplers import SAMPLERS

sys.path.insert(0, str(Path(__file__).parent))
from import_samples import SAMPLES as RUNS
from sampled import FORMS, SAMPLES, sysbench

PACKERS: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
OF_RUNS = [[path] for path in sorted(RUNS.iterdir()) if path.is_file()]
OF_RUNS += [sorted((RUNS / "fio_logs").glob(f"{prefix}_*")) for prefix in ("avg", "each")]
ALL = SAMPLES | FORMS


def coloured(text: str) -> str:
    return re.sub(r"(?m)^(.+)$", "\x1b[0;37m\\1\x1b[0m", text)


def put(place: Path, paths: list[Path], change: Callable[[bytes], bytes], suffix: str = "") -> list[Path]:
    place.mkdir()
    for path in paths:
        (place / (path.name + suffix)).write_bytes(change(path.read_bytes()))
    return sorted(place.iterdir())


def test_the_samples_are_of_every_format() -> None:
    assert {find_importer(paths[0]).NAME for paths in OF_RUNS} == {one.NAME for one in FORMATS}
    assert {one.NAME for one in SAMPLERS} <= {*ALL}


@pytest.mark.parametrize("paths", OF_RUNS, ids=lambda paths: paths[0].name)
@pytest.mark.parametrize("how", [*PACKERS, "colours"])
def test_a_run(tmp_path: Path, how: str, paths: list[Path]) -> None:
    if how == "colours":
        changed = put(tmp_path / "x", paths, lambda content: coloured(content.decode()).encode())
    else:
        changed = put(tmp_path / "x", paths, PACKERS[how], f".{how}")
    whole, found = read_files(paths), read_files(changed)
    assert [(one.label, one.intervals, one.operations, one.settings) for one in found] == [
        (one.label, one.intervals, one.operations, one.settings) for one in whole
    ]
    assert [len(one.warnings) for one in found] == [len(one.warnings) for one in whole]


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize("how", [*PACKERS, "colours"])
def test_a_recording(tmp_path: Path, how: str, form: str) -> None:
    (tmp_path / "run.txt").write_text(sysbench(30))
    plain = ALL[form](30).encode()
    content = coloured(plain.decode()).encode() if how == "colours" else PACKERS[how](plain)
    kept = []
    for name, one in (("beside.txt", plain), (f"beside.txt{'' if how == 'colours' else f'.{how}'}", content)):
        (tmp_path / name).write_bytes(one)
        found = read_folder([tmp_path], FORMATS, Options())
        kept.append((found.cells[0].others, [one.taken for one in found.reports]))
        (tmp_path / name).unlink()
    assert kept[0] == kept[1]
    assert kept[0][0]


def test_one_that_unpacks_to_any_size_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "TEXT_BYTES_MAX", 1 << 20)
    for suffix, pack in PACKERS.items():
        path = tmp_path / f"x.txt.{suffix}"
        path.write_bytes(pack((sysbench(30) + "\n" * (64 << 20)).encode()))
        assert path.stat().st_size < 1 << 20
        with pytest.raises(UserError, match="larger than 1 MiB"):
            read_files([path])


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_one_that_is_cut_off_is_told(tmp_path: Path, suffix: str, cut: float) -> None:
    path = tmp_path / f"x.txt.{suffix}"
    content = PACKERS[suffix](sysbench(3000).encode())
    path.write_bytes(content[: int(len(content) * cut)])
    with pytest.raises(UserError, match="cannot be unpacked") as error:
        read_files([path])
    assert "\n" not in str(error.value)


def test_archives_are_to_be_unpacked(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text(sysbench(30))
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        archive.add(tmp_path / "x.txt", "x.txt")
    shutil.make_archive(str(tmp_path / "y"), "zip", tmp_path, "x.txt")
    (tmp_path / "z.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 99)
    for name in ("x.tar", "y.zip", "z.zst"):
        with pytest.raises(UserError) as error:
            read_files([tmp_path / name])
        assert "unpack it first" in str(error.value.hint)


def test_a_log_that_lies_there_twice_counts_once(tmp_path: Path) -> None:
    put(tmp_path / "x", OF_RUNS[-1], lambda content: content)
    packed = tmp_path / "x" / f"{OF_RUNS[-1][0].name}.gz"
    packed.write_bytes(gzip.compress(OF_RUNS[-1][0].read_bytes()))
    with pytest.raises(UserError, match="is the same log, packed"):
        read_files(sorted((tmp_path / "x").iterdir()))
