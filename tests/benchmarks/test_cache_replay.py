"""libCacheSim is nobody's package: a program that only says what its cachesim says stands in for it, to be read."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from benchmarks.cache.replay import compare, missing, run_ours, section, write_zipf

FAKE = """\
#!PYTHON
import os, sys
assert sys.argv[2:3] + sys.argv[4:] == ["oracleGeneral", "100000", "--ignore-obj-size=true"], sys.argv
requests = os.path.getsize(sys.argv[1]) // 24
sum(range(3_000_000))
print(f"x.bin {sys.argv[3]} cache size 100000, {requests} req, miss ratio 0.1234, throughput 1.00 MQPS")
"""


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    write_zipf(tmp_path / "zipf.bin", 150_000)
    return tmp_path / "zipf.bin"


def test_ours_alone(trace: Path) -> None:
    assert "not on the PATH" in (missing() or "")
    rate, miss_ratio = run_ours(trace, "lru", 150_000)
    assert rate > 0 and 0.3 < miss_ratio < 0.6
    found = compare(trace, 150_000, 1)
    page = section(found, 150_000)
    assert list(found) == ["lru", "fifo", "s3-fifo"] and "Not measured beside libCacheSim" in page


def test_beside_a_peer(trace: Path) -> None:
    fake = trace.parent / "cachesim"
    fake.write_text(FAKE.replace("PYTHON", sys.executable))
    fake.chmod(0o755)
    found = compare(trace, 150_000, 1)
    assert found["lru"].their_miss_ratio == 0.1234 and found["lru"].against is not None
    assert "**no**" in section(found, 150_000)
