"""Files of this machine, as a place and as a device of a real cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from flatwater.errors import UserError
from flatwater.experiment import FileStorage
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.stack.layers.storage import CONTENT, FAST, SLOW, Role
from flatwater.runner.stack.storage.real import FileDevice

MIB = 2**20


def device(place: Path, role: Role = SLOW) -> FileDevice:
    return FileDevice(role, FileStorage(path=str(place)))


def opened(place: Path, size: int, *, kept: bool, role: Role = SLOW) -> FileDevice:
    one = device(place, role)
    one.open(size, 1, 1.0, kept=kept)
    one.wait_ready(Interrupt())
    return one


def test_a_device_is_a_file_of_its_length_in_a_folder_of_ours(tmp_path: Path) -> None:
    slow, fast = opened(tmp_path, MIB, kept=True), opened(tmp_path, 2 * MIB, kept=False, role=FAST)
    assert slow.file == tmp_path / "flatwater-cached-device" / CONTENT
    assert fast.file == tmp_path / "flatwater-cache-device" / CONTENT
    assert [one.file.stat().st_size for one in (slow, fast)] == [slow.bytes, fast.bytes] == [MIB, 2 * MIB]
    assert not slow.begun and not fast.begun


def test_content_goes_on_only_if_it_is_kept_and_as_long(tmp_path: Path) -> None:
    for size, kept, resumable in (
        (MIB, True, False),
        (MIB, True, True),
        (2 * MIB, True, False),
        (2 * MIB, False, False),
    ):
        one = opened(tmp_path, size, kept=kept)
        assert one.begun is resumable, (size, kept)
        assert one.file.read_bytes()[:4] == (b"data" if resumable else bytes(4))
        with one.file.open("r+b") as handle:
            handle.write(b"data")
        one.close()


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    opened(tmp_path, MIB, kept=True).release()
    content = tmp_path / "flatwater-cached-device" / CONTENT
    content.unlink()
    content.write_text("precious")
    one = device(tmp_path)
    for kept in (True, False):
        with pytest.raises(UserError, match="was not made by flatwater"):
            one.open(MIB, 1, 1.0, kept=kept)
        one.close()
    one.remove()
    assert content.read_text() == "precious"


def test_removed_it_leaves_no_folder_and_what_was_never_opened_is_not_looked_for(tmp_path: Path) -> None:
    one = opened(tmp_path, MIB, kept=True)
    one.close()
    device(tmp_path).remove()
    assert one.file.exists()
    one.remove()
    assert not any(tmp_path.iterdir())


def test_a_device_that_does_not_fit_is_refused_at_its_own_field(tmp_path: Path) -> None:
    for role, where in ((SLOW, "storage.size"), (FAST, "cache.size")):
        one = device(tmp_path, role)
        with pytest.raises(UserError, match="do not fit") as refused:
            one.open(2**60, 1, 1.0, kept=False)
        assert refused.value.where == where
        one.close()
