"""What a host must find at a path before it may write there."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from flatwater.errors import FlatwaterError, UserError
from flatwater.experiment import make_experiment
from flatwater.owned import Identity
from flatwater.runner.interrupt import Interrupt
from flatwater.runner.progress import SilentReporter
from flatwater.runner.stack.layers.shared import Shared
from flatwater.runner.stack.target import shared as module
from flatwater.runner.stack.target.opening import open_target
from flatwater.runner.stack.target.prepare import prepare_target
from flatwater.runner.stack.target.shared import see, shared
from flatwater.runner.stack.target.target import Target

MakeDevice = Callable[..., Path]
Mount = Callable[..., Path]
MIB = 2**20


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """Two files of flatwater's."""
    return prepared(tmp_path, files=2)


def prepared(path: Path, mode: str = "rndrw", files: int = 1, **storage: object) -> Target:
    cell = make_experiment(
        {
            "workload": {"mode": mode, "files": files, "direct": False},
            "storage": {"path": str(path), "size": 2 * MIB, **storage},
        }
    )
    target = open_target(cell)
    prepare_target(cell, target, 1, SilentReporter(), Interrupt())
    return target


def as_another_kernel(wanted: Shared) -> Shared:
    """As if the host that looks were another machine than the one that has checked."""
    return replace(wanted, boot_id="another")


def refused(wanted: Shared) -> str:
    with pytest.raises(UserError) as caught:
        see(wanted)
    assert "\n" not in str(caught.value)
    return str(caught.value)


class TestFiles:
    def test_the_same_folder_gives_a_permit_for_its_files(self, target: Target) -> None:
        with shared(target, writes=True, made=True) as wanted:
            for seen in (see(wanted), see(as_another_kernel(wanted))):
                assert seen.permit is not None
                assert seen.permit.files == tuple(Identity.of(path.stat()) for path in target.paths)
                seen.close()

    def test_the_mark_is_gone_afterwards(self, target: Target, tmp_path: Path) -> None:
        before = sorted(tmp_path.iterdir())
        with shared(target, writes=True, made=True) as wanted:
            assert len(list(tmp_path.iterdir())) == len(before) + 1
        assert sorted(tmp_path.iterdir()) == before
        assert "is another one there" in refused(wanted)

    def test_a_run_that_reads_gives_no_permit(self, target: Target) -> None:
        with shared(target, writes=False, made=True) as wanted:
            assert see(wanted).permit is None

    def test_before_the_files_are_made(self, target: Target) -> None:
        with shared(target, writes=True, made=False) as wanted:
            assert wanted.files == () and see(wanted).permit is None

    def test_another_word(self, target: Target) -> None:
        with shared(target, writes=True, made=True) as wanted:
            assert wanted.token is not None
            for word in ("", "another", wanted.token[1] + "more"):
                told = refused(replace(wanted, token=(wanted.token[0], word)))
                assert "is another one there, so it writes to another storage" in told

    def test_a_link_in_place_of_the_mark(self, target: Target, tmp_path: Path) -> None:
        with shared(target, writes=True, made=True) as wanted:
            assert wanted.token is not None
            link = tmp_path / "link"
            link.symlink_to(wanted.token[0])
            assert "cannot read in" in refused(replace(wanted, token=(link, wanted.token[1])))

    def test_no_folder(self, target: Target, tmp_path: Path) -> None:
        with shared(target, writes=True, made=True) as wanted:
            assert wanted.token is not None
            gone = tmp_path / "gone" / wanted.token[0].name
            assert f"the folder {gone.parent} is not there" in refused(replace(wanted, token=(gone, "x")))

    def test_another_file_of_the_name(self, target: Target) -> None:
        with shared(target, writes=True, made=True) as wanted:
            path = target.paths[1]
            copy = path.read_bytes()
            path.rename(path.with_suffix(".moved"))
            path.write_bytes(copy)
            assert f"{path} is another file there" in refused(wanted)

    def test_a_shorter_file(self, target: Target) -> None:
        with shared(target, writes=True, made=True) as wanted:
            os.truncate(target.paths[0], MIB // 2)
            assert "524,288 B there" in refused(wanted)

    def test_another_mark_on_the_inode(self, target: Target) -> None:
        with shared(target, writes=True, made=True) as wanted:
            if wanted.files[0].mark is None:
                pytest.skip("the file system has no extended attributes")
            other = tuple(replace(file, mark="0" * 32) for file in wanted.files)
            assert "is another file there" in refused(replace(wanted, files=other))

    def test_a_folder_that_nothing_can_be_made_in(self, target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(folder: int, mode: int) -> tuple[str, int]:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(module, "create_file", full)
        marking = shared(target, writes=True, made=True)
        with pytest.raises(FlatwaterError, match="by which the load hosts know it: No space left"):
            marking.__enter__()

    def test_what_fails_meanwhile_is_not_blamed_on_the_mark(self, target: Target) -> None:
        with pytest.raises(OSError, match="mine"), shared(target, writes=True, made=True):
            raise OSError("mine")


class TestDevices:
    def test_one_that_is_written_gets_its_bytes_back(self, device: MakeDevice) -> None:
        disk = device(4)
        target = prepared(disk, overwrite=True)
        before = disk.read_bytes()
        with shared(target, writes=True, made=True) as wanted:
            assert disk.read_bytes() != before
            seen = see(wanted)
            assert seen.permit is not None and seen.permit.files == (Identity.of(disk.stat()),)
        assert disk.read_bytes() == before
        assert "holds other bytes there" in refused(wanted)
        target.release()

    def test_one_that_is_read_is_compared(self, device: MakeDevice) -> None:
        disk, other, larger = device(4), device(4), device(5)
        target = prepared(disk, "rndrd")
        before = disk.read_bytes()
        with shared(target, writes=False, made=True) as wanted:
            assert disk.read_bytes() == before and len(wanted.pieces) == module.SAMPLES
            assert see(wanted).permit is None
            # The same bytes do no harm.
            see(replace(wanted, path=other))
            assert "5,242,880 B there" in refused(replace(wanted, path=larger))
            other.write_bytes(b"x" * 4 * MIB)
            assert "holds other bytes there" in refused(replace(wanted, path=other))
        target.release()

    def test_a_file_in_place_of_a_device(self, device: MakeDevice, tmp_path: Path) -> None:
        target = prepared(device(4), overwrite=True)
        (tmp_path / "file").write_bytes(bytes(4 * MIB))
        with shared(target, writes=True, made=True) as wanted:
            assert "is no block device there" in refused(replace(wanted, path=tmp_path / "file"))
            assert "cannot use" in refused(replace(wanted, path=tmp_path / "gone"))
        target.release()

    def test_another_kernel_claims_it_and_refuses_one_in_use(self, device: MakeDevice, mount: Mount) -> None:
        disk = device(8)
        target = prepared(disk, overwrite=True)
        with shared(target, writes=True, made=True) as wanted:
            target.locks.release()
            seen = see(as_another_kernel(wanted))
            assert "is in use" in refused(as_another_kernel(wanted))
            seen.close()
        used = device(8, "ext4")
        mount(used)
        target = prepared(device(8), overwrite=True)
        with shared(target, writes=True, made=True) as wanted:
            (at, _), *_ = wanted.pieces
            same = module._digest(module._read_piece(used, at))
            elsewhere = replace(wanted, path=used, pieces=((at, same),))
            assert "is mounted on" in refused(as_another_kernel(elsewhere))
        target.release()
