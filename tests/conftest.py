"""What tests of several folders need: a lab, and real file systems and devices (as root)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent / "runner"))  # the import mode of pytest does not
from lab import Lab
from signals import start_children_with_default_signals

start_children_with_default_signals()
# How long an example takes says nothing here: other tests run meanwhile.
settings.register_profile("flatwater", deadline=None)
settings.load_profile("flatwater")

MakeTmpfs = Callable[[int], Path]
MakeDevice = Callable[..., Path]
Mount = Callable[..., Path]


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the cases of `slow_cases` as slow. Errors: a case that there is not, if all of the test were collected."""
    unknown: dict[str, set[str]] = {}
    counts: Counter[str] = Counter()
    for item in items:
        mark = item.get_closest_marker("slow_cases")
        if mark is not None and isinstance(item, pytest.Function):
            test = item.nodeid.partition("[")[0]
            counts[test] += 1
            unknown.setdefault(test, set(mark.args)).discard(item.callspec.id)
            if item.callspec.id in mark.args:
                item.add_marker("slow")
    for test, cases in unknown.items():
        if cases and counts[test] > 1:
            raise pytest.UsageError(f"{test} has no case {sorted(cases)[0]!r}, which slow_cases names")


@pytest.fixture(scope="session", autouse=True)
def _surroundings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test makes a cache or an index that this machine keeps in mind, and no width of a terminal counts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FLATWATER_CACHE_DIR", str(tmp_path_factory.mktemp("indexes")))
        patch.setenv("FLATWATER_STATE_DIR", str(tmp_path_factory.mktemp("caches")))
        # Workers of pytest-xdist get it.
        patch.delenv("COLUMNS", raising=False)
        yield


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A directory to run experiments in."""
    with closing(Lab(tmp_path)) as lab:
        yield lab


@pytest.fixture
def as_root() -> None:
    """Skips what needs mounts and devices."""
    if os.geteuid() != 0:
        pytest.skip("mounting file systems and making block devices takes root")


@pytest.fixture
def undo() -> Iterator[ExitStack]:
    """Is unwound at the test's end, last first: unmounts, detaches."""
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def mount(as_root: None, undo: ExitStack, tmp_path: Path) -> Mount:
    """Mounts a device (or a tmpfs: `none`) with options, and gives the mount point."""

    def make(source: Path | str, *options: str, name: str | None = None) -> Path:
        target = tmp_path / (name or f"mount-{len(list(tmp_path.iterdir()))}")
        target.mkdir(exist_ok=True)
        _call("mount", *options, str(source), str(target))
        # Lazily: a run that a failed test left behind must not keep it.
        undo.callback(_call, "umount", "--lazy", str(target))
        return target

    return make


@pytest.fixture
def tmpfs(mount: Mount) -> MakeTmpfs:
    """A small file system in memory: `tmpfs(32)` has 32 MiB."""
    return lambda size_mib: mount("none", "-t", "tmpfs", "-o", f"size={size_mib}m")


@pytest.fixture
def device(as_root: None, undo: ExitStack, tmp_path: Path) -> MakeDevice:
    """A block device: `device(64)` has 64 MiB, `device(64, "ext4")` also holds a file system."""

    def make(size_mib: int, holds: str | None = None, *options: str) -> Path:
        image = tmp_path / f"image-{len(list(tmp_path.iterdir()))}"
        with image.open("wb") as handle:
            handle.truncate(size_mib * 2**20)
        if holds is not None:
            maker = {"swap": "mkswap"}.get(holds, f"mkfs.{holds}")
            if shutil.which(maker) is None:
                pytest.skip(f"there is no {maker} on this machine")
            _call(maker, *{"ext4": ["-q"], "btrfs": ["-q"], "xfs": ["-q"]}.get(holds, []), *options, str(image))
        made = subprocess.run(
            ["losetup", "--find", "--show", *(["--partscan"] if holds is None else []), str(image)],
            capture_output=True,
            text=True,
            check=False,
        )
        if made.returncode != 0:
            pytest.skip(f"no loop device can be made here: {made.stderr.strip()}")
        path = Path(made.stdout.strip())
        undo.callback(_call, "losetup", "--detach", str(path))
        return path

    return make


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
