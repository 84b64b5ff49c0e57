"""A disk that is full, at whatever moment: what is left can be gone on with, or nothing is left."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from lab import Lab
from modelledlab import write_modelled

from flatwater.owned import is_random_name, write_atomic
from flatwater.results import open_result

Tmpfs = Callable[..., Path]


def fill(place: Path, free_kib: int) -> Path:
    """Leaves so much room on a small file system."""
    filler = place / "filler"
    filler.unlink(missing_ok=True)
    room_kib = int(subprocess.check_output(["df", "--output=avail", "-k", str(place)], text=True).split()[1])
    with filler.open("wb") as handle:
        handle.write(bytes(max(0, room_kib - free_kib) * 1024))
    return filler


def strays(folder: Path) -> list[Path]:
    """Files that are neither whole nor ours to leave."""
    return [path for path in folder.rglob("*") if ".partial" in path.name or is_random_name(path.name)]


@pytest.mark.slow
def test_at_every_moment_of_a_run(lab: Lab, tmpfs: Tmpfs) -> None:
    """From no room at all to enough: each page more lets it come a little further."""
    place = tmpfs(2)
    file = write_modelled(lab, [500.0, 900.0], duration_s=30)
    seen: set[str] = set()
    for number, free_kib in enumerate(range(0, 4096, 4)):
        out = place / f"out{number}"
        filler = fill(place, free_kib)
        ran = lab.run(file, "--jobs", "1", out=out)
        filler.unlink()
        assert not strays(place), free_kib
        if ran.code == 0:
            seen.add("enough")
            break
        assert ran.code == 1, ran.stderr
        assert "No space left" in ran.error or "No space" in ran.error or "cannot write" in ran.error, ran.stderr
        seen.add("before" if not out.exists() else "made")
        again = lab.flatwater("resume", out) if out.exists() else lab.run(file, out=out)
        assert again.code == 0, (free_kib, again.stderr)
        assert open_result(out).manifest.status == "complete"
        subprocess.run(["rm", "-r", str(out)], check=True)
    assert seen == {"before", "made", "enough"}, "the disk was full at each of these moments"


@pytest.mark.parametrize("free_kib", [0, 4, 64, 512])
def test_a_report(lab: Lab, tmpfs: Tmpfs, free_kib: int) -> None:
    ran = lab.go()
    place = tmpfs(2)
    fill(place, free_kib)
    done = lab.run(ran.out, "--out", place / "x.html", verb="report")
    assert done.code != 0 and "No space left" in done.error
    assert [path.name for path in place.iterdir()] == ["filler"]


@pytest.mark.parametrize("verb", [["--published"], ["--png"], ["--svg"]])
def test_other_things_that_a_report_writes(lab: Lab, tmpfs: Tmpfs, verb: list[str]) -> None:
    ran = lab.go()
    place = tmpfs(1)
    fill(place, 0)
    done = lab.run(ran.out, verb[0], place / "x", verb="report")
    assert done.code != 0
    assert {path.name for path in place.rglob("*") if path.is_file()} == {"filler"}


class TestHalfMade:
    """As a kill leaves a folder while it is made."""

    def test_it_is_taken(self, lab: Lab) -> None:
        file = lab.write()
        whole = lab.run(file)
        for number, names in enumerate([(), ("experiment.toml",), ("experiment.toml", "started.json", "machine.json")]):
            for arguments in ((), ("--resume",)):
                out = lab.folder / f"half{number}{len(arguments)}"
                (out / "cells").mkdir(parents=True)
                for name in names:
                    (out / name).write_bytes((whole.out / name).read_bytes())
                ran = lab.run(file, *arguments, out=out)
                assert ran.code == 0, ran.stderr

    @pytest.mark.parametrize("names", [(), ("experiment.toml",)])
    def test_a_file_that_was_being_written_is_no_hindrance(
        self, lab: Lab, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
    ) -> None:
        file = lab.write()
        whole = lab.run(file)
        out = lab.folder / "half"
        (out / "cells").mkdir(parents=True)
        for name in names:
            (out / name).write_bytes((whole.out / name).read_bytes())

        def killed(*arguments: object, **options: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "rename", killed)
            patch.setattr(os, "unlink", killed)
            with pytest.raises(KeyboardInterrupt):
                write_atomic(out / "started.json", "half")
        assert len(list(out.iterdir())) == 2 + len(names)
        assert lab.run(file, out=out).code == 0

    @pytest.mark.parametrize("names", [("experiment.toml",), ("machine.json",), ("cells/x",), ("holiday.jpg",)])
    def test_what_is_somebody_s_is_not(self, lab: Lab, names: tuple[str, ...]) -> None:
        out = lab.folder / "theirs"
        (out / "cells").mkdir(parents=True)
        for name in names:
            (out / name).write_text("precious")
        for arguments in ((), ("--resume",)):
            assert lab.run(lab.write(), *arguments, out=out).code == 2
        assert all((out / name).read_text() == "precious" for name in names)
