"""Physical order of the modelled InnoDB: more memory, a larger log, less to write or a faster card never cost.

Every generation with every such change. A generation of tomorrow is tried, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tomli_w
from lab import Lab

from flatwater.experiment.database.innodb_settings import has
from flatwater.experiment.database.lineage import GENERATIONS

#: The same transactions in another order: two seeds of one experiment differ by up to 3 %.
NOISE = 0.04
SETTINGS = "database.settings."
POOL, DOUBLEWRITE = f"{SETTINGS}innodb_buffer_pool_size", f"{SETTINGS}innodb_doublewrite"
COMMIT, DEVICE, FULL = f"{SETTINGS}innodb_flush_log_at_trx_commit", "storage.device", "storage.occupied_pct"
BASE = {POOL: "128M", DOUBLEWRITE: True, COMMIT: 1, DEVICE: "intel-x25-m", FULL: 75}
BETTER: dict[str, dict[str, Any]] = {
    "pool x 2": {POOL: "256M"},
    "pool x 8": {POOL: "1G"},
    "doublewrite off": {DOUBLEWRITE: False},
    "log written once a second": {COMMIT: 0},
    "card half full": {FULL: 50},
    "a faster card": {DEVICE: "fusion-io-iodrive-160-slc"},
}


def redo(generation: str, mib: int) -> dict[str, str]:
    """The redo log of a generation: two files, or one capacity."""
    if has(generation, "innodb_redo_log_capacity"):
        return {f"{SETTINGS}innodb_redo_log_capacity": f"{mib}M"}
    files = 2 if has(generation, "innodb_log_files_in_group") else 1
    return {f"{SETTINGS}innodb_log_file_size": f"{mib // files}M"}


@pytest.mark.slow
@pytest.mark.parametrize("generation", GENERATIONS)
def test_more_of_a_good_thing_never_costs_throughput(generation: str, tmp_path: Path) -> None:
    base = {**BASE, **redo(generation, 48)}
    better = {**BETTER, "redo log x 8": redo(generation, 384)}
    cells = [base, *({**base, **change} for change in better.values())]
    content = {
        "workload": {"kind": "tpcc", "warehouses": 5, "connections": 16, "warmup_s": 60, "duration_s": 120},
        "database": {"kind": "innodb-model", "generation": generation, "cores": 2, "warm": False, "settings": {}},
        "storage": {"kind": "ssd", "device": BASE[DEVICE], "capacity_scale": 0.1},
        "sweep": {"zip": {field: [cell[field] for cell in cells] for field in base}},
    }
    path = tmp_path / "order.toml"
    path.write_text(tomli_w.dumps(content))
    ran = Lab(tmp_path).run(path, "--json")
    assert ran.code == 0, ran.stderr
    # They are told in the order in which they end.
    first, *others = [cell["mean"] for cell in sorted(ran.cells, key=lambda cell: cell["cell"])]
    ratios = {name: mean / first for name, mean in zip(better, others, strict=True)}
    assert len(ran.cells) == len(cells) and not {n: r for n, r in ratios.items() if r < 1 - NOISE}, (generation, ratios)
