"""Caches to test with."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from cachelab import CacheLab
from lab import Lab


@pytest.fixture
def caches(lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CacheLab]:
    """A lab of caches without mounts."""
    state = tmp_path / "state"
    monkeypatch.setenv("FLATWATER_STATE_DIR", str(state))
    with closing(CacheLab(lab, state)) as found:
        yield found


@pytest.fixture
def mounted(caches: CacheLab) -> CacheLab:
    """A lab of caches that can be mounted."""
    if os.geteuid() != 0:
        pytest.skip("mounting takes root")
    if not Path("/dev/fuse").exists():
        pytest.skip("this kernel serves no files")
    return caches
