"""The identity of a file or a disk, independent of its path: disks may get other names.

An identity is text by kind. Two identities are of different places if a kind that both have differs. They are of the
same place if all kinds that both have agree. A kind that the kernel does not give is not in the identity.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from flatwater._engine import file_witness

#: The identity of a disk: kinds, and the files below its folder in sysfs that may have them.
_DISK_FILES = {
    "wwid": ("wwid", "device/wwid"),
    "serial": ("serial", "device/serial", "device/cid"),
    "dm": ("dm/uuid",),
    "md": ("md/uuid",),
}
#: LOOP_GET_STATUS64 (linux/loop.h). The struct begins with the file's device, its inode, its device number, and the
#: offset of the loop device in the file.
_LOOP_GET_STATUS64, _LOOP_INFO_BYTES = 0x4C05, 232
#: Longer text is cut.
_TEXT_MAX = 200

#: Text by kind.
Identity = dict[str, str]


def identity_of(path: str | Path) -> Identity | None:
    """The identity of a file or a block device; empty if the kernel gives none. None: there is no such place."""
    try:
        # O_PATH: it is not read. Links are followed, as the users of the place do.
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(descriptor)
        if stat.S_ISBLK(info.st_mode):
            return _of_device(os.major(info.st_rdev), os.minor(info.st_rdev))
        return _of_file(descriptor, info) if stat.S_ISREG(info.st_mode) else None
    except OSError:
        return None
    finally:
        os.close(descriptor)


def differs(kept: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """The first kind that differs: then they are two places. None: no kind differs."""
    return next((kind for kind in kept if kind in now and kept[kind] != now[kind]), None)


def is_same(kept: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether they certainly are one place: a kind besides partition and offset agrees, and none differs."""
    agrees = any(now.get(kind) == text for kind, text in kept.items() if kind not in ("part", "offset"))
    return agrees and differs(kept, now) is None


def in_words(identity: Mapping[str, str]) -> str:
    """The identity for people: `serial S3Z8NB0K, wwid eui.0025`."""
    return ", ".join(f"{kind} {text}" for kind, text in identity.items() if kind not in ("part", "offset"))


def digests(identity: Mapping[str, str]) -> str:
    """An identity short enough for a superblock: each kind with a digest of its text."""
    return " ".join(f"{kind}:{_digest(text)}" for kind, text in sorted(identity.items()))


def read_digests(text: str) -> Identity:
    """The digests in the text of `digests`, by kind."""
    return dict(part.split(":", 1) for part in text.split(" ") if ":" in part)


def digested(identity: Mapping[str, str]) -> Identity:
    """An identity in the form of `read_digests`, for a comparison."""
    return read_digests(digests(identity))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def find_device(kept: Mapping[str, str]) -> Path | None:
    """The block device with an identity, under its present name.

    None if there is none, or if there are several, as with the invented serial numbers of emulators.
    """
    if "part" not in kept:
        return None
    found = set()
    for folder in sorted(Path("/sys/class/block").glob("*")):
        with suppress(OSError, ValueError):
            major, minor = map(int, (folder / "dev").read_text().split(":"))
            # In the names in sysfs, `!` stands for the `/` of names in /dev.
            node = Path("/dev") / folder.name.replace("!", "/")
            if is_same(kept, _of_device(major, minor)) and node.is_block_device():
                found.add(node)
    return found.pop() if len(found) == 1 else None


def _of_file(descriptor: int, info: os.stat_result) -> Identity:
    # Without a time of birth, the number of an inode is no identity: it is used again, and some file systems change it.
    born_ns, _ = file_witness(descriptor)
    return {} if born_ns is None else {"inode": str(info.st_ino), "born": f"{born_ns // 10**9}.{born_ns % 10**9:09}"}


def _of_device(major: int, minor: int) -> Identity:
    folder = Path(f"/sys/dev/block/{major}:{minor}").resolve()
    number = _text(folder / "partition")
    found = {"part": number or "0"}
    if number is not None:
        partuuid = _partuuid(folder, f"{major}:{minor}")
        found |= {"partuuid": partuuid} if partuuid else {}
        return dict(_of_disk(folder.parent)) | found
    return dict(_of_disk(folder)) | found


def _of_disk(folder: Path) -> Iterator[tuple[str, str]]:
    for kind, files in _DISK_FILES.items():
        value = next((text for file in files if (text := _text(folder / file))), None)
        if value is not None:
            yield kind, value[:_TEXT_MAX]
    if (folder / "loop").is_dir():
        yield from _of_loop(folder).items()


def _of_loop(folder: Path) -> Identity:
    """The identity of a loop device: that of its file, and the offset in it."""
    try:
        handle = os.open(Path("/dev") / folder.name, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        answer = fcntl.ioctl(handle, _LOOP_GET_STATUS64, bytes(_LOOP_INFO_BYTES))
    except OSError:
        return {}
    finally:
        os.close(handle)
    _, inode, _, offset = struct.unpack_from("=4Q", answer)
    below = identity_of(_text(folder / "loop/backing_file") or "") or {}
    of_file = {kind: text for kind, text in below.items() if kind != "part"}
    # The number of the inode is known even if the file was deleted, or this process cannot see it.
    return {f"file-{kind}": text for kind, text in ({"inode": str(inode)} | of_file).items()} | {"offset": str(offset)}


def _partuuid(folder: Path, number: str) -> str | None:
    for line in (_text(folder / "uevent") or "").splitlines():
        if line.startswith("PARTUUID="):
            return line.partition("=")[2]
    for line in (_text(Path(f"/run/udev/data/b{number}")) or "").splitlines():
        if line.startswith("E:ID_PART_ENTRY_UUID="):
            return line.partition("=")[2]
    return None


def _text(path: Path) -> str | None:
    try:
        text = path.read_text(errors="replace").strip()
    except (OSError, ValueError):
        return None
    return "".join(letter for letter in text if letter.isprintable() or letter == "\n") or None
