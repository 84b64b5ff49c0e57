from __future__ import annotations

from pathlib import Path

from benchmarks.job import Job, Setting
from benchmarks.noise import Noise
from benchmarks.opening import Opening
from benchmarks.page import Circumstances, Measured, page
from benchmarks.pairs import Target, ratio
from benchmarks.programs import PROGRAMS
from benchmarks.recording import Case, Cost

WHERE = Circumstances(
    command=".venv/bin/python -m benchmarks",
    date="2026-02-03 10:00 UTC",
    machine={"cpu": "Example 3000", "cores": 2, "memory_bytes": 2**34, "kernel": "6.1.0", "hypervisor": True},
    storage={"path": "/secret/place", "device": "/dev/vda", "file_system": "ext4"},
    versions=["flatwater 0.1.0", "fio 3.33"],
    noise=Noise(others_cores=0.5, steal_pct=0.0),
    setting=Setting(Path("/secret/place"), 2**30, 4),
    rounds=6,
    recording_rounds=9,
)


def measured(peer: str, target: Target | None) -> Measured:
    return Measured(
        job=Job("rndrd", "io_uring", depth=32),
        peer=peer,
        iops=(44_000.0, 40_000.0),
        cpu_us=(3.6, 5.0),
        whole_cpu_us=(7.0, 6.0),
        iops_ratio=ratio([1.1] * 6, [1.0] * 6),
        cpu_ratio=ratio([0.72] * 6, [1.0] * 6),
        cpu_target=target,
    )


def lines_of(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"| {start}")]


def test_each_row_has_its_target_and_verdict() -> None:
    cost = Cost(Case("psync", 64, 1, hot=True), (990.0, 1000.0), (2.02, 2.0), ratio([0.99] * 9, [1.0] * 9))
    rows = [measured("fio", Target("at most", 0.7)), measured("fio, batches of 8", None)]
    text = page(WHERE, rows, [cost], Opening(1_000_000, 6.0, 2**29), PROGRAMS)
    iops, iops_shown, cpu, cpu_shown = lines_of(text, "io_uring, random read, depth 32")
    assert iops.endswith("| fio | 44,000 | 40,000 | 1.100 [1.100, 1.100] | ≥ 1 | met |")
    assert "| 3.60 | 5.00 | 0.720 [0.720, 0.720] | ≤ 0.7 | **not met** | 7.00 / 6.00 |" in cpu
    assert "shown only" in iops_shown
    assert "shown only" in cpu_shown
    assert lines_of(text, "16 KiB random read, psync")[0].endswith("| +1.00 % [+1.00, +1.00] | < 2 % | met |")
    assert lines_of(text, "time") == ["| time | 6.00 s | < 5 s | **not met** |"]
    assert lines_of(text, "memory") == ["| memory | 512 MiB | < 1 GiB | met |"]


def test_the_page_says_how_and_where_and_names_no_folder() -> None:
    text = page(WHERE, [measured("fio", Target("at most", 0.7))], [], None, PROGRAMS)
    for part in ("`.venv/bin/python -m benchmarks`", "2026-02-03", "fio 3.33", "Example 3000", "6.1.0", "noisy"):
        assert part in text
    assert "    fio --name=bench --filename=test_file.0" in text
    assert "    flatwater run benchmarks/fileio.toml" in text
    assert "secret" not in text
    assert "recording costs" not in text
