from __future__ import annotations

from flatwater.server import Binary, loading_settings
from flatwater.server.settings import SHAPING
from flatwater.server.sizes import read_size

GIB = 2**30


def test_nothing_of_it_shapes_the_data(binary: Binary) -> None:
    lines = loading_settings(binary, memory_bytes=16 * GIB, data_bytes=GIB)
    assert not lines.keys() & SHAPING
    assert not lines.keys() - binary.options().keys()
    assert lines["innodb_fast_shutdown"] == "0"
    assert lines["local_infile"] == "1"


def test_memory_follows_the_data_up_to_a_share(binary: Binary) -> None:
    def pool(memory: int, data: int) -> int | None:
        return read_size(loading_settings(binary, memory_bytes=memory, data_bytes=data)["innodb_buffer_pool_size"])

    assert pool(16 * GIB, 2 * GIB) == 2.5 * GIB
    assert (pool(16 * GIB, 200 * GIB) or 0) < 7 * GIB
    assert pool(GIB // 8, 2**20) == 128 * 2**20


def test_the_log_is_larger_for_more_data(binary: Binary) -> None:
    def redo(data: int) -> int | None:
        return read_size(
            loading_settings(binary, memory_bytes=16 * GIB, data_bytes=data).get("innodb_log_file_size", "")
        )

    if redo(GIB) is not None:
        assert (redo(2**20) or 0) < (redo(2 * GIB) or 0) < (redo(100 * GIB) or 0) <= 2 * GIB
