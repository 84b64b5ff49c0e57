"""A file that is swap is refused with that reason, whatever the experiment allows."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from lab import MIB, Lab

from flatwater.errors import UserError
from flatwater.runner import swapped
from flatwater.runner.swapped import require_not_in_use


def test_a_file_that_is_swap_is_told_as_such(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    file = lab.folder / "my swap"
    file.write_bytes(bytes(2**20))
    kernel = lab.folder / "swaps"
    name = str(file).replace(" ", "\\040")
    kernel.write_text(f"Filename\tType\tSize\tUsed\tPriority\n/dev/sdz1 partition 1 0 -1\n{name} file 1020 0 -2\n")
    monkeypatch.setattr(swapped, "SWAPS", kernel)
    link = lab.folder / "link"
    link.symlink_to(file)
    for path in (file, link):
        for overwrite in (False, True):
            ran = lab.go({"mode": "rndwr"}, {"path": str(path), "size": "512KiB", "overwrite": overwrite})
            assert ran.code == 2 and "is swap that is in use" in ran.error and "swapoff" in ran.error
    assert file.read_bytes() == bytes(2**20)


@pytest.mark.skipif(shutil.which("mkswap") is None, reason="there is no mkswap on this machine")
def test_the_kernel_is_asked(lab: Lab, as_root: None) -> None:
    file = lab.folder / "swap"
    file.write_bytes(bytes(4 * 2**20))
    file.chmod(0o600)
    subprocess.run(["mkswap", str(file)], check=True, capture_output=True)
    if subprocess.run(["swapon", str(file)], capture_output=True).returncode:
        pytest.skip("swap cannot be switched on here")
    try:
        ran = lab.go({"mode": "rndwr"}, {"path": str(file), "size": "1MiB"})
    finally:
        subprocess.run(["swapoff", str(file)], check=True)
    assert ran.code == 2 and "is swap that is in use" in ran.error


@pytest.mark.parametrize("ours", [False, True])
def test_a_file_below_a_loop_device_is_not_written(
    lab: Lab, as_root: None, undo: ExitStack, mount: Callable[..., Path], ours: bool
) -> None:
    """Its mounted file system would be destroyed, which `storage.overwrite` of a file does not say."""
    file, link = lab.folder / "image", lab.folder / "link"
    file.write_bytes(bytes(16 * MIB))
    if ours:
        file.unlink()
        assert lab.go(storage={"path": str(file), "size": 16 * MIB}).code == 0
    link.symlink_to(file)
    loop = subprocess.run(["losetup", "-f", "--show", file], check=True, capture_output=True, text=True).stdout.strip()
    undo.callback(subprocess.run, ["losetup", "-d", loop], check=True)
    subprocess.run(["mkfs.ext4", "-q", loop], check=True)
    place = mount(loop)
    (place / "thesis").write_text("precious")
    subprocess.run(["sync", "-f", place], check=True)
    before = file.read_bytes()
    for path in (file, link):
        ran = lab.go({"mode": "rndwr"}, {"path": str(path), "size": 8 * MIB, "overwrite": True})
        assert ran.code == 2 and f"is in use ({loop} is a loop device on it)" in ran.error
        with pytest.raises(UserError, match="is a loop device on it"):
            require_not_in_use(path, "--file")
    assert file.read_bytes() == before


def test_no_list_is_no_swap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(swapped, "SWAPS", tmp_path / "absent")
    assert not swapped.is_swap_file(tmp_path)
