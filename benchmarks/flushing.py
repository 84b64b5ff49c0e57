"""Makes the table and the pictures of docs/models/flushing.md: `python -m benchmarks.flushing`."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.tables import page_with

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "models" / "flushing.md"
PICTURES = ROOT / "docs" / "pictures"
EXPERIMENT = "flushing-policies"
#: The table is between these lines.
BEGIN, END = "<!-- table -->", "<!-- end of the table -->"


def main() -> None:
    """Runs the experiment, draws a picture for each policy, and writes the table into the page."""
    argparse.ArgumentParser(prog="python -m benchmarks.flushing", description=__doc__).parse_args()
    flatwater = str(Path(sys.executable).with_name("flatwater"))
    with tempfile.TemporaryDirectory(prefix="flatwater-flushing-") as name:
        result, drawn = Path(name) / "result", Path(name) / "drawn"
        subprocess.run([flatwater, "run", EXPERIMENT, "--out", str(result)], check=True)
        subprocess.run([flatwater, "report", str(result), "--svg", str(drawn)], check=True)
        cells = json.loads((result / "summary.json").read_text())["cells"]
        told = json.loads((result / "flatwater.json").read_text())["cells"]
        rows = []
        for number, (cell, values) in enumerate(zip(cells, told, strict=True)):
            policy = values["set"]["database.flushing"]
            shutil.copy(drawn / f"{number:04}-database.svg", PICTURES / f"flushing-{policy}.svg")
            rows.append(_row(policy, cell))
    PAGE.write_text(page_with(PAGE, BEGIN, END, f"{_HEAD}{''.join(rows)}".rstrip()))


_HEAD = """\
| policy | NOTPM | flatness | checkpoint age, share of its limit | dirty % | pages/s by the policy | \
pages/s at the log's limit |
|---|---|---|---|---|---|---|
"""


def _row(policy: str, cell: dict[str, Any]) -> str:
    def mean(name: str) -> float:
        return float(cell["metrics"][f"database.{name}"]["mean"])

    age = mean("checkpoint_age_bytes") / mean("checkpoint_age_max_bytes")
    pages, forced = mean("pages_flushed_adaptive_per_s"), mean("pages_flushed_sync_per_s")
    return (
        f"| {policy} | {cell['mean']:,.0f} | {cell['flatness']:.2f} | {age:.2f} | {mean('dirty_pct'):.0f} "
        f"| {pages:,.0f} | {forced:,.0f} |\n"
    )


if __name__ == "__main__":
    main()
