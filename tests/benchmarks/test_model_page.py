from __future__ import annotations

from typing import Any

from benchmarks.model.child import Told
from benchmarks.model.emulated import CASES, Beside, Timed
from benchmarks.model.mqsim import Peer
from benchmarks.model.page import Circumstances, Found, page
from benchmarks.noise import Noise
from benchmarks.pairs import ratio

REQUESTS = (600_000, 200_000)
FLOOR, CARD = CASES[0], CASES[-1]


def where(**fields: Any) -> Circumstances:
    told: dict[str, Any] = {
        "command": ".venv/bin/python -m benchmarks.model",
        "date": "2026-02-03 10:00 UTC",
        "machine": {"cpu": "Example 3000", "cores": 2, "memory_bytes": 2**34, "kernel": "6.1.0", "hypervisor": True},
        "versions": ["flatwater 0.1.0"],
        "noise": Noise(others_cores=0.0, steal_pct=0.0),
        "rounds": 6,
        "emulation_s": 4.0,
    }
    return Circumstances(**(told | fields))


def told(per_cpu_s: float = 3e6, *, page_bytes: float = 7.0, growth: float = 1.0, open_cpu_s: float = 1.0) -> Told:
    pages = 1_000_000
    return Told(
        operations=int(per_cpu_s * 2),
        open_cpu_s=open_cpu_s,
        run_cpu_s=2.0,
        device_bytes=int(page_bytes * pages),
        half_rss_bytes=100_000_000,
        end_rss_bytes=int(growth * 100_000_000),
        flash_pages=pages,
        write_amplification=2.5,
    )


def lines_of(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(f"| {start}")]


def test_medians_are_held_against_the_targets() -> None:
    steady = [told(1e6), told(3e6), told(4e6)]
    lines = page(where(), Found(steady=steady), REQUESTS).splitlines()
    assert any(line.startswith("| host page writes a CPU second | 3,000,000 | ≥ ") for line in lines)
    assert "| write amplification meanwhile | 2.500 |  |  |" in lines
    assert "| flash pages of 16 KiB | 1,000,000 |  |  |" in lines
    assert "| bytes of memory a flash page | 7.00 | ≤ 8 | met |" in lines
    assert "| growth of memory | 1.0000 | ≤ 1.02 | met |" in lines
    text = page(where(), Found(steady=[told(1e6, page_bytes=9.0, growth=1.5)]), REQUESTS)
    assert text.count("**not met**") == 3


def test_preconditions_are_told_side_by_side() -> None:
    found = Found(simulated=[told(open_cpu_s=16.0)], jumped=[told(open_cpu_s=0.5)])
    text = page(where(), found, REQUESTS)
    assert lines_of(text, "simulated") == ["| simulated, CPU s | 16.0 | ≤ 15 | **not met** |"]
    assert lines_of(text, "jumped") == ["| jumped, CPU s | 0.5 |  |  |"]


def test_the_peer_stands_beside_ours() -> None:
    found = Found(fresh=[told(3e6)] * 6, peers=[Peer(1e5, 300.0)] * 6, against_peer=ratio([30.0] * 6, [1.0] * 6))
    text = page(where(), found, REQUESTS)
    assert "between 200,000 and 600,000 requests" in text
    assert "|  | flatwater | MQSim | ratio, 97 % |" in text
    assert lines_of(text, "requests a") == [
        "| requests a CPU second | 3,000,000 | 100,000 | 30.000 [30.000, 30.000] |",
    ]
    assert lines_of(text, "bytes of memory that") == ["| bytes of memory that a request adds | 0.00 | 300 |  |"]


def test_the_floor_stands_apart_from_what_has_a_model_beside_it() -> None:
    found = Found(
        emulated=[
            Beside(FLOOR, 8, Timed(400_000, 100_000.0, 41.6, lag_p95_us=12.4, late_pct=0.051)),
            Beside(CARD, 32, Timed(4000, 1000.0, 150.0, lag_p95_us=80.0, late_pct=6.0), Timed(8000, 2000.0, 100.0)),
            Beside(CARD, 1, Timed(4000, 1000.0, 150.0), Timed(8000, 2000.0, 100.0)),
        ]
    )
    text = page(where(), found, REQUESTS)
    assert "one run of 4 s a row" in text
    assert "**bold** above 5 %" in text
    assert lines_of(text, FLOOR.title) == ["| memory without latency, reads | 8 | 100,000 | 42 | 12 | 0.05 |"]
    assert lines_of(text, CARD.title) == [
        "| fusion-io-iodrive-160-slc, writes | 32 | 4,000 | 150 | 100 | 1.50 | 1,000 | 2,000 | 80 | **6.00** |",
        "| fusion-io-iodrive-160-slc, writes | 1 | 4,000 | 150 | 100 | 1.50 | 1,000 | 2,000 |  |  |",
    ]


def test_the_page_says_how_and_where_and_names_no_folder() -> None:
    found = Found(sweeps="| the sweeps |", skipped={"MQSim": "not on the PATH"})
    text = page(where(), found, REQUESTS)
    for part in ("`.venv/bin/python -m benchmarks.model`", "2026-02-03", "Example 3000", "flatwater 0.1.0"):
        assert part in text
    assert "## Not measured\n\n- MQSim: not on the PATH\n" in text
    assert text.endswith("| the sweeps |\n")
    for absent in ("steady state\n", "## Beside MQSim", "## Emulation", "| storage |"):
        assert absent not in text, absent
    storage = {"path": "/secret/place", "device": "/dev/vda", "file_system": "ext4"}
    text = page(where(storage=storage), found, REQUESTS)
    assert lines_of(text, "storage") == ["| storage | /dev/vda, ext4; the emulated devices' content |"]
    assert "secret" not in text
