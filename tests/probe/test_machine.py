from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable
from pathlib import Path

from flatwater.probe import describe_machine, describe_storage, start_probes


def test_the_machine() -> None:
    told = describe_machine()
    assert told["cores"] == os.cpu_count()
    assert told["kernel"] == os.uname().release
    assert told["memory_bytes"] > 0
    text = json.dumps(told)
    assert os.uname().nodename not in text
    assert getpass.getuser() == "root" or getpass.getuser() not in text


def test_a_device_and_a_file_on_it(device: Callable[..., Path], mount: Callable[..., Path]) -> None:
    path = device(32, "ext4")
    assert describe_storage(path)["device"] == str(path)
    told = describe_storage(mount(path))
    assert (told["device"], told["file_system"], told["device_bytes"]) == (str(path), "ext4", 32 * 2**20)
    assert told["logical_block_bytes"] in (512, 4096)
    assert "rw" in told["mount_options"].split(",")
    assert told["file_system_block_bytes"] in (1024, 4096)
    assert 0 < told["file_system_free_bytes"] <= told["file_system_bytes"] <= 32 * 2**20
    assert "partition_start_bytes" not in told, "the whole device is used"


def test_memory_of_the_machine_by_node() -> None:
    told = describe_machine()
    assert told["swap_bytes"] >= 0
    assert told.get("transparent_huge_pages") in ("always", "madvise", "never", None)
    assert 0 < sum(told.get("numa_node_bytes", [told["memory_bytes"]])) <= told["memory_bytes"] * 1.2


def test_every_probe_names_its_series_by_layer(tmp_path: Path) -> None:
    for probe in start_probes(tmp_path):
        for name, value in probe.sample().items():
            assert name.split(".")[0] in ("machine", "storage", "workload")
            assert name.endswith(("_pct", "_bytes", "_per_s", "_us", "_depth")), "the unit comes last"
            assert isinstance(value, float | int)
