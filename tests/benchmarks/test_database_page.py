from __future__ import annotations

from pathlib import Path

from benchmarks.database.calls import Calls
from benchmarks.database.compare import Measured
from benchmarks.database.crowd import Crowd
from benchmarks.database.loading import Loading
from benchmarks.database.page import Circumstances, Found, page
from benchmarks.database.rows import POINT_SELECT, ROWS, TPCC
from benchmarks.database.strip import Strip
from benchmarks.database.work import Address, Place, Setting
from benchmarks.noise import Noise
from benchmarks.pairs import ratio

WHERE = Circumstances(
    command=".venv/bin/python -m benchmarks.database",
    date="2026-02-03 10:00 UTC",
    machine={"cpu": "Example 3000", "cores": 2, "memory_bytes": 2**34, "kernel": "6.1.0", "hypervisor": True},
    storage={"path": "/secret/place", "device": "/dev/vda", "file_system": "ext4"},
    versions=["MariaDB 10.11.19", "flatwater 0.1.0"],
    noise=Noise(others_cores=0.0, steal_pct=0.0),
    setting=Setting(Path("/secret/place"), Address("/secret/mysql.sock", "flatwater", "hush"), 10, 1_000_000, 5),
    my_cnf="[mysqld]\ninnodb_buffer_pool_size = 1G",
    rounds=6,
    load_rounds=2,
    strip_pairs=30,
    strip_interval_s=1.0,
)
SAME = ratio([1.0] * 6, [1.0] * 6)


def measured(way: int, rate: float, cpu: float) -> Measured:
    return Measured(
        work=TPCC,
        place=Place(cores="apart"),
        way=ROWS[0].ways[way],
        peer="tpcc-mysql",
        rate=(20_000.0 * rate, 20_000.0),
        cpu_ms=(510.0 * cpu, 510.0),
        whole_cpu_ms=(500.0, 510.0),
        server_cpu_ms=(1500.0, 1520.0),
        rate_ratio=ratio([rate] * 6, [1.0] * 6),
        cpu_ratio=ratio([cpu] * 6, [1.0] * 6),
        whole_ratio=SAME,
    )


def lines_of(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"| {start}")]


def test_each_row_has_its_target_and_verdict() -> None:
    loading = Loading(
        (10, 2),
        (5e6, 1.1e6),
        (20.0, 50.0),
        (250_000.0, 22_000.0),
        (0.5, 7.0),
        (3.5, 11.0),
        ratio([11.4, 11.4], [1.0, 1.0]),
        ratio([4.0, 4.0], [18.0, 18.5]),
    )
    found = Found(loading=loading, measured=[measured(0, 0.97, 0.8), measured(1, 1.5, 0.6)])
    found.strip = Strip(POINT_SELECT, (29_950.0, 30_000.0), ratio([0.998] * 30, [1.0] * 30), 0.4, 1.1)
    text = page(WHERE, found)
    plain, pipeline = lines_of(text, "TPC-C, NOTPM")
    assert plain.endswith(
        "| socket, cores apart | flatwater | tpcc-mysql | 19,400 | 20,000 | 0.970 [0.970, 0.970] | ≥ 0.95 | met |"
    )
    assert "shown only" in pipeline
    plain, pipeline = lines_of(text, "TPC-C, transactions")
    assert "| 408.0 | 510.0 | 0.800 [0.800, 0.800] | ≤ 0.9 | met | 500.0, 1.000 | 1500.0 / 1520.0 |" in plain
    assert "| 0.600 [0.600, 0.600] | ≤ 0.5 | **not met** |" in pipeline
    assert lines_of(text, "rows a second")[0].endswith(
        "| 250,000 | 22,000 | 11.400 [11.400, 11.400] | ≥ 12 | **not met** |"
    )
    assert "| 4.00 | 18.00 |" in lines_of(text, "CPU µs a row, both")[0]
    assert lines_of(text, "OLTP point_select")[0].endswith("| 0.40 + 1.10 | +0.20 % [+0.20, +0.20] | < 1 % | met |")


def test_calls_and_crowds_are_told() -> None:
    found = Found(calls=[Calls(TPCC, "tpcc-mysql", 3.07, (("recvfrom", 1.52), ("sendto", 1.0)))])
    found.crowd = Crowd(
        10_000, held=False, queries_per_s=25_000, errors=3, connected_max=9_999, rss_max_bytes=2**28, cpu_us=26
    )
    text = page(WHERE, found)
    assert lines_of(text, "TPC-C") == ["| TPC-C | tpcc-mysql | 3.07 | recvfrom 1.52, sendto 1.00 |"]
    assert lines_of(text, "held") == ["| held | **no** |"]
    assert lines_of(text, "memory") == ["| memory of flatwater at most | 256 MiB |"]


def test_the_page_says_how_and_where_and_keeps_secrets() -> None:
    text = page(WHERE, Found(measured=[measured(0, 1.0, 0.8)], skipped={"system calls": "no strace here"}))
    for part in ("`.venv/bin/python -m benchmarks.database`", "2026-02-03", "Example 3000", "MariaDB 10.11.19"):
        assert part in text
    assert "- system calls: no strace here" in text
    assert "    innodb_buffer_pool_size = 1G" in text
    assert "    flatwater run benchmarks/database/tpcc.toml --set 'database.url=mysql://SOCKET?user=flatwater'" in text
    assert "    tpcc_start -h localhost -d tpcc -u flatwater -p PASSWORD -S SOCKET -w 10" in text
    assert "secret" not in text
    assert "hush" not in text
    assert "Many connections" not in text
