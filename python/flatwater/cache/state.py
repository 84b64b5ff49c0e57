"""What is stored of caches: one folder for what is permanent, one for what ends with the cache's processes.

LASTING/NAME/state.json     the cache: its devices, its settings
LASTING/NAME/log            the log of its processes
RUNNING/NAME/process.json   the supervisor: its pid and its start time
RUNNING/NAME/control        the socket of the supervisor
RUNNING/NAME/nbd-socket     the identity of the socket that it made for NBD
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from flatwater._engine import file_witness
from flatwater.cache.messages import ShownJob
from flatwater.errors import FlatwaterError, UserError
from flatwater.owned import write_atomic
from flatwater.spelling import suggest

#: A name of a cache is the name of a folder, and one word of a command line.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KIND, _VERSION = "flatwater-cache", 1
#: The file with the identity of the NBD socket, in RUNNING/NAME.
SOCKET = "nbd-socket"


@dataclass
class CacheState:
    """What is stored permanently of a cache, besides its superblock."""

    name: str
    uuid: str
    fast: str
    backing: str
    #: The file of the pairing record.
    pair: str
    block_bytes: int
    #: Size of the cache on the cache device when it was made, and size of the backing device.
    fast_bytes: int
    slow_bytes: int
    preset: str | None = None
    #: The settings that the user has set, as text. All others have the defaults of the version that runs.
    settings: dict[str, str] = field(default_factory=dict)
    #: Size after the last resize; None: `fast_bytes`.
    used_bytes: int | None = None
    #: Pinned ranges: first byte and length of each. They do not overlap.
    pins: list[list[int]] = field(default_factory=list)
    #: The identities of both devices (identity.py); empty for caches that an older version made.
    fast_identity: dict[str, str] = field(default_factory=dict)
    backing_identity: dict[str, str] = field(default_factory=dict)
    #: Dirty blocks when it was made, stopped or drained last; None: not known, because it runs or was killed.
    dirty_blocks: int | None = None
    #: The mount point and the NBD socket of the last start.
    mount: str | None = None
    nbd: str | None = None
    created_s: float = field(default_factory=time.time)

    @property
    def in_use_bytes(self) -> int:
        """Bytes of the cache device that the cache uses, as it was made or resized."""
        return self.fast_bytes if self.used_bytes is None else self.used_bytes

    def save(self) -> None:
        """Writes it to the disk, atomically. Errors: FlatwaterError."""
        folder = lasting_folder(self.name)
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            write_whole(folder / "state.json", {"kind": _KIND, "version": _VERSION} | asdict(self))
        except OSError as error:
            raise FlatwaterError(f"cannot keep the cache's state in {folder}: {error.strerror}") from None


@dataclass(frozen=True)
class Process:
    """A process, identified beyond its pid: a pid can be used again, but not with the same start time."""

    pid: int
    #: Clock ticks after the boot, proc(5).
    start: int
    boot: str

    @classmethod
    def current(cls) -> Process:
        """The process that calls it."""
        return cls(os.getpid(), _start_of(os.getpid()) or 0, _boot())

    @property
    def alive(self) -> bool:
        """Whether this very process still runs, not another one with its pid."""
        return self.boot == _boot() and self.start != 0 and _start_of(self.pid) == self.start


def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def _start_of(pid: int) -> int | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The second field is the program's name in brackets, which may contain anything. The last bracket ends it.
    rest = text.rpartition(")")[2].split()
    return None if rest[0] in "ZX" else int(rest[19])


def _base() -> tuple[Path, Path]:
    chosen = os.environ.get("FLATWATER_STATE_DIR")
    if chosen:
        return Path(chosen).absolute() / "lasting", Path(chosen).absolute() / "running"
    if os.geteuid() == 0:
        return Path("/var/lib/flatwater/cache"), Path("/run/flatwater/cache")
    lasting = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state") / "flatwater/cache"
    running = os.environ.get("XDG_RUNTIME_DIR")
    return lasting, Path(running) / "flatwater/cache" if running else lasting / ".running"


def lasting_folder(name: str) -> Path:
    """The folder of what is permanent of a cache."""
    return _base()[0] / name


def running_folder(name: str) -> Path:
    """The folder of what ends with a cache's processes."""
    return _base()[1] / name


def check_name(name: str) -> str:
    """The name, if it is a possible one. Errors: UserError."""
    if not _NAME.fullmatch(name):
        hint = "letters, digits, dots, dashes and underscores, at most 64, a letter or digit first"
        raise UserError(f"{name!r} is no name for a cache", where="--name", hint=hint)
    return name


def list_names() -> list[str]:
    """The names of all caches whose state is stored here."""
    try:
        folders = sorted(_base()[0].iterdir())
    except OSError:
        return []
    return [folder.name for folder in folders if (folder / "state.json").exists()]


def load_state(name: str) -> CacheState | None:
    """The stored state of a cache; None if there is none. Errors: FlatwaterError for a damaged file."""
    path = lasting_folder(name) / "state.json"
    try:
        content = json.loads(path.read_bytes())
        if content.pop("kind") != _KIND:
            raise KeyError("kind")
        version = content.pop("version")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        hint = "`flatwater cache start FAST --backing BACKING` makes it anew from the superblock; move this file away"
        raise FlatwaterError(f"{path} is damaged", hint=hint) from None
    if version > _VERSION:
        raise FlatwaterError(f"{path} was written by a later flatwater", hint="use that one")
    known = {one.name for one in fields(CacheState)}
    try:
        return CacheState(**{key: value for key, value in content.items() if key in known})
    except TypeError:
        raise FlatwaterError(f"{path} is damaged", hint="move it away; the cache itself is untouched") from None


def find_state(text: str) -> CacheState:
    """The cache with a name, or with the path of its cache device. Errors: UserError with the existing names."""
    if _NAME.fullmatch(text):
        found = load_state(text)
        if found is not None:
            return found
    real = os.path.realpath(text)
    for name in list_names():
        with suppress(FlatwaterError):
            state = load_state(name)
            if state is not None and state.fast == real:
                return state
    names = list_names()
    known = suggest(text, names) if names else "there is none yet: flatwater cache create"
    raise UserError(f"no cache is called {text!r}", where="NAME", hint=known)


def read_process(name: str) -> Process | None:
    """The supervisor of a cache; None if the cache does not run (a file may be left of an earlier process)."""
    path = running_folder(name) / "process.json"
    try:
        process = Process(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
    return process if process.alive else None


def write_whole(path: Path, content: dict[str, object]) -> None:
    """Writes JSON atomically and durably. Errors: OSError."""
    write_atomic(path, json.dumps(content, indent=1))


def keep_settings(name: str, changed: dict[str, str]) -> None:
    """Stores changed settings for the next start. A command and the supervisor may do so at the same time.

    Errors: FlatwaterError.
    """
    with _changing(name) as state:
        if state is not None:
            state.settings |= changed


def keep_job(name: str, job: ShownJob) -> None:
    """Stores the effect of a completed job for the next start: a new size, a pinned or an unpinned range.

    Errors: FlatwaterError.
    """
    if job["kind"] not in ("resize", "pin", "unpin"):
        return
    with _changing(name) as state:
        if state is None:
            return
        if job["kind"] == "resize":
            state.used_bytes = job["bytes"]
            return
        begin, length = job["range"] or (0, 0)
        end = begin + length
        # The parts of earlier ranges before and after this one stay pinned.
        cut = [(first, min(first + length, begin)) for first, length in state.pins]
        cut += [(max(first, end), first + length) for first, length in state.pins]
        cut += [(begin, end)] if job["kind"] == "pin" else []
        state.pins = [[first, last - first] for first, last in sorted(cut) if first < last]


def socket_identity(path: Path) -> list[int | str | None] | None:
    """The identity of a socket's file; None if there is no file.

    The number of an inode is used again. Its time of birth, or its generation (in the file handle), is then different.
    """
    try:
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        info, (born_ns, handle) = os.fstat(descriptor), file_witness(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return [info.st_dev, info.st_ino, born_ns, None if handle is None else handle.hex()]


def read_socket(name: str) -> list[int | str | None] | None:
    """The identity of the NBD socket that a process of this cache made and has not removed."""
    try:
        found = json.loads((running_folder(name) / SOCKET).read_text())["identity"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return found if isinstance(found, list) else None


def keep_dirty(name: str, blocks: int | None) -> None:
    """Stores the number of dirty blocks of a stopped cache. Errors: FlatwaterError."""
    with _changing(name) as state:
        if state is not None:
            state.dirty_blocks = blocks


def keep_changes(before: CacheState, after: CacheState) -> CacheState:
    """Stores the fields of a stopped cache that differ from `before`; gives the stored state.

    Fields that another process changed meanwhile keep its values. Errors: FlatwaterError.
    """
    with _changing(before.name, make=True) as state:
        if state is None:
            after.save()
            return after
        for field in fields(CacheState):
            if getattr(after, field.name) != getattr(before, field.name):
                setattr(state, field.name, getattr(after, field.name))
        return state


@contextmanager
def _changing(name: str, *, make: bool = False) -> Iterator[CacheState | None]:
    """The stored state of a cache, locked, and saved at the end; None if there is none.

    `make`: its folder is made if there is none, for a cache that has no state on this machine yet.
    """
    folder = lasting_folder(name)
    try:
        if make:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise FlatwaterError(f"cannot keep the cache's settings in {folder}: {error.strerror}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        state = load_state(name)
        yield state
        if state is not None:
            state.save()
    finally:
        os.close(handle)


@contextmanager
def alone() -> Iterator[None]:
    """Locks the stored state of all caches: only one command at a time creates, starts, stops or destroys."""
    base = _base()[0]
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle = os.open(base / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        hint = "FLATWATER_STATE_DIR names another place"
        raise FlatwaterError(f"cannot store the state of caches in {base}: {error.strerror}", hint=hint) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
