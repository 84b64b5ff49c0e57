"""The peer itself is nobody's package: a program that only says what MQSim says stands in for it, to be read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.model.mqsim import FLOW, REQUESTS, measure_mqsim, missing

from flatwater.errors import FlatwaterError

FAKE = """\
#!PYTHON
# A fake: reads the flow as MQSim does, takes CPU time and memory for each request, and says what is looked for.
import pathlib, re, sys
assert sys.argv[1:] == ["-i", "ssd.xml", "-w", "flow.xml"], sys.argv
asked = re.search(r"<Total_Requests_To_Generate>(\\d+)<", pathlib.Path("flow.xml").read_text())
requests = int(asked[1])
kept = [bytes(100) for _ in range(requests)]
print("MQSim finished at some time")
print("Flow Host.IO_Flow.Synth.No_0 - total requests generated: %d total requests serviced:%d" % (SERVED, SERVED))
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The fake's file, in the only folder of the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "ssdconfig.xml").write_text("<its/>")
    monkeypatch.setenv("PATH", str(folder))
    return folder / "MQSim"


def make(fake: Path, served: str) -> None:
    fake.write_text(FAKE.replace("PYTHON", sys.executable).replace("SERVED", served))
    fake.chmod(0o755)


def test_what_each_request_takes_is_the_difference_of_two_runs(fake: Path, tmp_path: Path) -> None:
    make(fake, "requests")
    assert missing() is None
    peer = measure_mqsim(tmp_path)
    assert peer.requests_per_cpu_s > 0
    # At least the bytes that it keeps; its allocator's rounding is its own. What this process holds is none of it.
    assert 100 <= peer.bytes_per_request < 1000
    assert (tmp_path / "flow.xml").read_text() == FLOW.format(requests=REQUESTS[-1])


@pytest.mark.parametrize("served", ["requests - 1", "0"])
def test_one_that_did_less_than_it_was_asked_for_is_no_peer(fake: Path, tmp_path: Path, served: str) -> None:
    make(fake, served)
    with pytest.raises(FlatwaterError, match="did not do the requests"):
        measure_mqsim(tmp_path)


def test_one_that_says_something_else_is_no_peer(fake: Path, tmp_path: Path) -> None:
    fake.write_text("#!/bin/sh\n# A fake that says nothing of requests.\necho done\n")
    fake.chmod(0o755)
    with pytest.raises(FlatwaterError, match="did not do the requests"):
        measure_mqsim(tmp_path)


def test_one_that_aborts_says_its_last_words(fake: Path, tmp_path: Path) -> None:
    fake.write_text("#!/bin/sh\n# A fake that aborts.\necho 'no free block' >&2\nexit 134\n")
    fake.chmod(0o755)
    with pytest.raises(FlatwaterError, match=r"MQSim failed \(134\): no free block"):
        measure_mqsim(tmp_path)


def test_one_that_is_missing_says_so(fake: Path) -> None:
    assert "MQSim is not on the PATH" in (missing() or "")
