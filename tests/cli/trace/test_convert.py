from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Flatwater = Callable[..., tuple[int, str, str]]


def test_there_and_back(flatwater: Flatwater, iolog: Path) -> None:
    code, told, _ = flatwater("convert", iolog, "small.trace")
    assert code == 0 and told.startswith("written: small.trace, 6 requests, ")
    assert flatwater("convert", "small.trace", "again.iolog", "--to", "iolog", "--json")[0] == 0
    shown = [json.loads(flatwater("show", path, "--json")[1]) for path in (iolog, "small.trace", "again.iolog")]
    assert [one.pop("format") for one in shown] == ["iolog", "flatwater", "iolog"]
    assert shown[0] == shown[1] == shown[2]


def test_what_is_there_stays(flatwater: Flatwater, iolog: Path) -> None:
    Path("out").write_text("precious")
    code, _, errors = flatwater("convert", iolog, "out")
    assert code == 2 and "out: cannot be written" in errors and "another file" in errors
    assert Path("out").read_text() == "precious"
    code, _, errors = flatwater("convert", iolog, "new", "--to", "msr")
    assert code == 2 and "`msr` cannot be written" in errors and not Path("new").exists()


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_fio_writes_what_is_read_and_reads_what_is_written(flatwater: Flatwater, iolog: Path) -> None:
    job = [
        "fio",
        "--name=job",
        "--filename=data",
        "--size=1M",
        "--bs=4k",
        "--rw=randrw",
        "--thread",
        "--ioengine=psync",
    ]
    subprocess.run([*job, "--write_iolog=fio.log"], check=True, capture_output=True)
    found = json.loads(flatwater("show", "fio.log", "--json")[1])
    assert found["requests"]["read"] + found["requests"]["write"] == 256 and found["bytes"]["read"] > 0
    assert flatwater("convert", "fio.log", "ours.iolog", "--to", "iolog")[0] == 0
    replay = ["fio", "--name=replay", "--read_iolog=ours.iolog", "--replay_redirect=data", "--ioengine=psync"]
    told = subprocess.run([*replay, "--replay_no_stall=1", "--output-format=json"], check=True, capture_output=True)
    job_told = json.loads(told.stdout)["jobs"][0]
    assert job_told["read"]["total_ios"] == found["requests"]["read"]
    assert job_told["write"]["total_ios"] == found["requests"]["write"]
