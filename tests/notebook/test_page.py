"""The code of docs/notebook.md runs, block after block, as the cells of a notebook would."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

import flatwater as fw

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from each_result import KINDS

PAGE = Path(__file__).parents[2] / "docs/notebook.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
EXPERIMENT = """\
name = "small"
[workload]
kind = "fileio"
mode = "rndrw"
threads = 2
warmup_s = 1
duration_s = 12
[storage]
kind = "ssd"
device = "intel-910-2x200"
capacity_scale = 0.02
"""


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(EXPERIMENT)
    fw.run("small.toml", out="RESULT")
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(block, names)
    assert names["cells"].num_rows == 1 and names["latencies"].num_rows > 10
    assert "plotly.js" in Path("picture.html").read_text()
    ((_, ratio, low, high),) = names["ratios"]
    assert low <= ratio <= high and 0.5 < ratio < 2
    (trace,) = names["picture"]["data"]
    assert len(trace["x"]) == len(trace["y"]) == names["seconds"].num_rows
    # What is called ten lines is.
    (ten,) = [block for block in BLOCKS if "picture = " in block]
    assert len([line for line in ten.splitlines() if line and not line.startswith("import")]) <= 10


def test_the_pages_picture_of_a_server(tmp_path: Path) -> None:
    """The same lines on a server's run have three strips."""
    KINDS["tpcc, modelled"](tmp_path / "run")
    (ten,) = [block for block in BLOCKS if "picture = " in block]
    names: dict[str, Any] = {}
    exec(ten.replace("RESULT", str(tmp_path / "run")), names)
    assert [trace["yaxis"] for trace in names["picture"]["data"]] == ["y", "y2", "y3"]
