from __future__ import annotations

import psutil
import pytest

from flatwater.probe.memory import MemoryProbe, SwapProbe


def test_bytes_of_this_machine() -> None:
    told = MemoryProbe().sample()
    assert set(told) == {f"machine.memory_{kind}_bytes" for kind in ("available", "cached", "dirty", "writeback")}
    total = psutil.virtual_memory().total
    assert all(0 <= value <= total for value in told.values())
    assert told["machine.memory_available_bytes"] == pytest.approx(psutil.virtual_memory().available, rel=0.1)


def test_what_is_swapped_is_counted_since_the_last_look(monkeypatch: pytest.MonkeyPatch) -> None:
    told = iter(["nr_free_pages 7\npswpin 100\npswpout 20\n", "nr_free_pages 7\npswpin 101\npswpout 20\n"])
    at = iter([1.0, 3.0])
    monkeypatch.setattr("flatwater.probe.memory.read_text", lambda _: next(told))
    monkeypatch.setattr("flatwater.probe.memory.time.monotonic", lambda: next(at))
    monkeypatch.setattr("flatwater.probe.memory.os.sysconf", lambda _: 4096)
    assert SwapProbe().sample() == {
        "machine.swap_read_bytes_per_s": 2048.0,
        "machine.swap_written_bytes_per_s": 0.0,
    }


def test_no_series_where_the_kernel_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr("flatwater.probe.memory.read_text", missing)
    assert SwapProbe().sample() == {}
