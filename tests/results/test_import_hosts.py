"""Recordings of several hosts are told with their names, and make no line together, whatever the program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from flatwater.results.importers import FORMATS, Options, read_folder
from flatwater.results.importers.samplers import SAMPLERS, Recording

sys.path.insert(0, str(Path(__file__).parent))
from sampled import FORMS, SAMPLES, sysbench

N = 30
ALL = SAMPLES | FORMS
#: Forms that tell no host.
NAMELESS = {"vmstat", "vmstat -t", "dstat text", "mysqladmin", "mysqladmin -r", "counters", "hammerdb-counter"}
NAMELESS |= {"counters, seconds", "NOPM samples"}
NAMED = sorted({*ALL} - NAMELESS)


def of_host(form: str, host: str) -> str:
    text = ALL[form](N).replace("(host)", f"({host})").replace('"Host:","host"', f'"Host:","{host}"')
    text = text.replace('"nodename": "host"', f'"nodename": "{host}"')
    assert host in text
    return text if text.endswith("\n") else text + "\n"


def read(place: Path, text: str) -> Recording:
    path = place / "x.txt"
    path.write_text(text)
    return next(one for one in SAMPLERS if one.recognises(path, text)).read(path)


@pytest.mark.parametrize("form", NAMED)
def test_one_file_of_two_hosts_is_that_of_the_first(tmp_path: Path, form: str) -> None:
    alone, other = of_host(form, "db1"), of_host(form, "client7")
    first, both = read(tmp_path, alone), read(tmp_path, alone + other)
    assert (both.samples, both.devices) == (first.samples, first.devices)
    assert first.told == []
    (told,) = both.told
    line = int(told.split()[1].rstrip(":"))
    assert "client7" in (alone + other).splitlines()[line - 1]
    assert "client7" in told and "db1" in told
    assert read(tmp_path, alone + of_host(form, "db1.example.com")).told == []


@pytest.mark.parametrize("form", NAMED)
def test_two_files_of_two_hosts_are_told(tmp_path: Path, form: str) -> None:
    other = "mpstat" if form.startswith(("iostat", "dstat", "dool", "sysstat")) else "iostat -t"
    for host, told in (("client7", True), ("db1.example.com", False)):
        (tmp_path / "run.txt").write_text(sysbench(N))
        (tmp_path / "one.txt").write_text(of_host(form, "db1"))
        (tmp_path / "two.txt").write_text(of_host(other, host))
        (cell,) = read_folder([tmp_path], FORMATS, Options()).cells
        found = [one for one in cell.warnings if "2 hosts" in one]
        assert bool(found) == told
        assert not told or ("db1 (one.txt)" in found[0] and "client7 (two.txt)" in found[0])
