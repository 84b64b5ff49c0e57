"""A machine of our making for each test."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the import mode of pytest does not
from recordings import Lab


@pytest.fixture
def machine_lab(tmp_path: Path) -> Lab:
    """An empty machine."""
    lab = Lab(tmp_path / "machine")
    (lab.root / "bin").mkdir(parents=True)
    return lab
