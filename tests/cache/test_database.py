"""A real MariaDB under TPC-C on ext4 on the cached device, while the serving process is killed again and again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
import tomli_w
from cachelab import CacheLab
from waiting import until


def _call(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stderr}"
    return done.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_tpcc_is_consistent_although_the_serving_process_was_killed(
    mounted: CacheLab, undo: ExitStack, tmp_path: Path
) -> None:
    path = f"{os.environ['PATH']}:/usr/sbin"
    if shutil.which("mariadbd", path=path) is None and shutil.which("mysqld", path=path) is None:
        pytest.skip("there is no database server on this machine")
    mounted.make(backing_mib=1536, size_mib=256)
    mounted.start()
    undo.callback(mounted.run, "stop", "db", "--force")
    loop = _call("losetup", "--find", "--show", "--direct-io=on", "--sector-size", "4096", mounted.device).strip()
    undo.callback(subprocess.run, ["losetup", "--detach", loop], capture_output=True)
    _call("mkfs.ext4", "-q", loop)
    data = tmp_path / "volume"
    data.mkdir()
    _call("mount", "-o", "noatime", loop, data)
    undo.callback(subprocess.run, ["umount", "--lazy", data], capture_output=True)
    file = tmp_path / "tpcc.toml"
    settings = {"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "32M"}
    content = {
        "workload": {"kind": "tpcc", "warehouses": 1, "connections": 4, "duration_s": 20},
        "database": {"kind": "server", "settings": settings},
        "storage": {"path": str(data)},
    }
    file.write_text(tomli_w.dumps(content))
    running = mounted.lab.start(file, "--json", out=tmp_path / "result")
    killed = 0
    while running.process.poll() is None:
        time.sleep(1.5)
        status = mounted.status()
        if status["state"] == "serving":
            os.kill(status["serving_process"], signal.SIGKILL)
            killed += 1
            mounted.wait(state="serving")
    stdout, stderr = running.process.communicate()
    assert running.process.returncode == 0, stderr
    assert killed >= 5
    cell = json.loads(stdout)
    assert cell["mean"] > 0
    result = json.loads((tmp_path / "result" / "summary.json").read_text())
    conditions = result["cells"][0]["consistency"] if "cells" in result else result[0]["consistency"]
    assert conditions and all(one["violations"] in (0, None) for one in conditions), conditions
    _call("umount", data)
    assert not _call("e2fsck", "-fn", loop).count("FIXED")
    _call("losetup", "--detach", loop)
    # It is gone when the last mount of it is, which a namespace of another process may hold.
    until(lambda: not Path(f"/sys/block/{Path(loop).name}/loop").exists(), f"{loop} is still in use")
    told = mounted.go("stop", "db", "--drain")
    assert told["safe_to_unplug"] is True
    _call("e2fsck", "-fn", mounted.backing)
