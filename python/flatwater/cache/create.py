"""Making a cache on two devices or files, after all checks."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from flatwater.cache import engine
from flatwater.cache.identity import differs, identity_of
from flatwater.cache.locate import identified, located
from flatwater.cache.state import CacheState, check_name, find_state, lasting_folder, list_names, load_state
from flatwater.errors import FlatwaterError, UserError
from flatwater.owned.mounted import require_free_place, require_no_data_directory, require_no_device_folder
from flatwater.place import Place, claim, contents, open_place, overlap, require_space, require_unused

#: Possible sizes of a block: from a sector of today's devices to InnoDB's largest page.
BLOCK_BYTES = (4096, 8192, 16384, 32768, 65536)
#: With fewer blocks, the metadata would be larger than the data.
_BLOCKS_MIN = 64
#: The pairing record's length and beginning (crates/core/src/cache/journal/mod.rs).
_PAIR_BYTES, _PAIR_MAGIC = 4096, b"flatwater pair \n"


@dataclass(frozen=True)
class Wanted:
    """A request to make a cache."""

    fast: Path
    backing: Path
    name: str
    block_bytes: int = 16384
    #: Bytes of the cache device to use; None: all.
    size_bytes: int | None = None
    preset: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    #: The file of the pairing record; None: beside a backing file, or with the cache's state for a backing device.
    pair: Path | None = None
    #: Overwrite what is on the cache device, and use a backing device that belongs to another cache.
    force: bool = False


def create(wanted: Wanted) -> CacheState:
    """Makes a cache. The content of the backing device stays. The caller holds `state.alone()`.

    Errors: UserError for anything impossible or dangerous; then nothing is written.
    """
    check_name(wanted.name)
    if load_state(wanted.name) is not None:
        raise UserError(
            f"a cache is called {wanted.name} already", where="--name", hint="another name, or destroy that one first"
        )
    if wanted.block_bytes not in BLOCK_BYTES:
        raise UserError(
            f"blocks of {wanted.block_bytes} B cannot be", where="--block-size", hint="4KiB, 8KiB, 16KiB, 32KiB, 64KiB"
        )
    engine.settings_of(wanted.preset, wanted.settings)
    backing = _backing_place(wanted)
    with ExitStack() as undo, ExitStack() as claims:
        fast = _fast_place(wanted, backing, undo)
        size = _size(wanted, fast)
        for place, where in ((fast, "FAST"), (backing, "BACKING")):
            claims.callback(os.close, claim(place, where))
        pair = _pair_path(wanted, backing)
        state = CacheState(
            name=wanted.name,
            uuid=str(uuid.uuid4()),
            fast=str(fast.path),
            backing=str(backing.path),
            pair=str(pair),
            block_bytes=wanted.block_bytes,
            fast_bytes=size,
            slow_bytes=backing.bytes,
            preset=wanted.preset,
            settings=dict(wanted.settings),
            dirty_blocks=0,
        )
        state = identified(state)
        stale = _require_unpaired(wanted, backing, pair)
        _make_pair(wanted, backing, pair, undo)
        engine.make(state, force=wanted.force)
        state.save()
        undo.pop_all()
        if stale is not None:
            # The backing device no longer belongs to the earlier cache.
            stale.unlink(missing_ok=True)
    return state


def _backing_place(wanted: Wanted) -> Place:
    backing = open_place(wanted.backing, "BACKING")
    if backing is None:
        raise UserError(
            f"{wanted.backing} does not exist", where="BACKING", hint=f"truncate -s 100G {wanted.backing} makes a file"
        )
    if backing.bytes == 0:
        raise UserError(
            f"{wanted.backing} is empty: there is nothing to cache",
            where="BACKING",
            hint=f"truncate -s 100G {wanted.backing} makes it 100 GiB long",
        )
    if backing.bytes % 4096:
        raise UserError(
            f"{wanted.backing} is {backing.bytes} B long, which is no multiple of 4096",
            where="BACKING",
            hint=f"truncate -s %4096 {wanted.backing} rounds it up",
        )
    require_unused(backing, "BACKING")
    found = engine.look(backing.path)
    if found is not None and not wanted.force:
        raise UserError(
            f"{wanted.backing} is itself a cache device{_name_of(found.uuid)}",
            where="BACKING",
            hint="is the order FAST BACKING? Otherwise --force",
        )
    return backing


def _fast_place(wanted: Wanted, backing: Place, undo: ExitStack) -> Place:
    """The cache device, made if it is a file that does not exist yet."""
    from flatwater.experiment.units import print_size

    fast = open_place(wanted.fast, "FAST")
    if fast is not None:
        same = overlap(fast, backing)
        if same:
            raise UserError(same, where="FAST", hint="a cache needs two: a fast one and a slow one")
        require_unused(fast, "FAST")
    least = wanted.block_bytes * _BLOCKS_MIN + engine.OVERHEAD_BYTES_MIN
    if wanted.size_bytes is not None and wanted.size_bytes < least:
        raise UserError(
            f"{print_size(wanted.size_bytes)} are too small for a cache", where="--size", hint=f"{least} at least"
        )
    if fast is None or (fast.kind == "file" and fast.bytes == 0):
        return _make_file(wanted, fast, undo)
    if wanted.size_bytes is not None and wanted.size_bytes > fast.bytes:
        told = f"{print_size(wanted.size_bytes)} are more than the {print_size(fast.bytes)} of {wanted.fast}"
        raise UserError(told, where="--size", hint="a smaller size, or leave it out to use all")
    if fast.bytes < least:
        raise UserError(f"{wanted.fast} is too small for a cache: {fast.bytes} B", where="FAST", hint=f"{least} B")
    if not wanted.force:
        _require_nothing_lost(wanted, fast)
    return fast


def _make_file(wanted: Wanted, fast: Place | None, undo: ExitStack) -> Place:
    require_no_device_folder(wanted.fast, "FAST")
    require_free_place(wanted.fast, "FAST")
    if wanted.size_bytes is None:
        what = "is empty" if fast is not None else "does not exist"
        raise UserError(f"{wanted.fast} {what}", where="FAST", hint="--size 10GiB makes it so long")
    folder = Path(os.path.realpath(wanted.fast)).parent
    if not folder.is_dir():
        raise UserError(
            f"{wanted.fast} does not exist, and neither does its directory", where="FAST", hint=f"mkdir -p {folder}"
        )
    require_space(folder, wanted.size_bytes, "--size")
    try:
        if fast is None:
            flags, file = os.O_CREAT | os.O_EXCL, wanted.fast
        else:
            flags, file = 0, fast.path
        handle = os.open(file, flags | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise UserError(f"{wanted.fast} cannot be made: {error.strerror}", where="FAST") from None
    if fast is None:
        undo.callback(Path(wanted.fast).unlink, missing_ok=True)
    try:
        # Allocates the space now: a sparse file that cannot grow would fail when it is full of dirty data.
        os.posix_fallocate(handle, 0, wanted.size_bytes)
    except OSError as error:
        raise FlatwaterError(f"cannot give {wanted.fast} its space: {error.strerror}", where="--size") from None
    finally:
        os.close(handle)
    made = open_place(wanted.fast, "FAST")
    assert made is not None
    return made


def _require_nothing_lost(wanted: Wanted, fast: Place) -> None:
    from flatwater.experiment.units import print_size

    found = engine.look(fast.path)
    if found is not None:
        state = "stopped cleanly" if found.was_clean else "not stopped cleanly"
        raise UserError(
            f"{wanted.fast} is a cache device already{_name_of(found.uuid)}, {state}, with "
            f"{found.dirty_blocks:,} dirty blocks that would be lost",
            where="FAST",
            hint="`flatwater cache destroy` it, or --force",
        )
    held = contents(fast)
    if held is not None:
        raise UserError(
            f"{wanted.fast} ({print_size(fast.bytes)}) holds {held}: it would be destroyed",
            where="FAST",
            hint="another place, or --force if it is not needed",
        )


def _name_of(uuid_: str) -> str:
    for name in list_names():
        state = load_state(name)
        if state is not None and state.uuid == uuid_:
            return f" ({name})"
    return f" (UUID {uuid_})"


def _size(wanted: Wanted, fast: Place) -> int:
    """The size of the cache, rounded down to whole blocks."""
    return (wanted.size_bytes or fast.bytes) // wanted.block_bytes * wanted.block_bytes


def _pair_path(wanted: Wanted, backing: Place) -> Path:
    if wanted.pair is not None:
        return Path(os.path.realpath(wanted.pair.parent)) / wanted.pair.name
    return _beside(backing) or lasting_folder(wanted.name) / "pair"


def _require_unpaired(wanted: Wanted, backing: Place, pair: Path) -> Path | None:
    """Checks that the backing device belongs to no other cache; gives the stale pairing record beside it, if any.

    Errors: UserError if it belongs to a cache whose state is stored here, even with `force`: that cache would still
    trust its content; or, without `force`, to a cache that only the pairing record names.
    """
    for other in _stored_caches():
        if _is_on(other, backing):
            raise UserError(
                f"the backing device belongs to the cache {other.name} already",
                where="BACKING",
                hint=f"flatwater cache destroy {other.name} first; nothing that is dirty in it is lost by that",
            )
        if Path(other.pair) == pair:
            raise UserError(
                f"{pair} is the pairing record of the cache {other.name}", where="--pair", hint="another file"
            )
    beside = _beside(backing)
    if beside is None or beside == pair:
        return None
    owner = read_pair(beside)
    if owner and not wanted.force:
        raise UserError(
            f"the backing device belongs to the cache {owner}, as {beside} says",
            where="BACKING",
            hint="destroy that one first, or --force",
        )
    return beside if owner is not None else None


def _stored_caches() -> Iterator[CacheState]:
    for name in list_names():
        with suppress(FlatwaterError):
            state = load_state(name)
            if state is not None:
                yield located(state)[0]


def _is_on(cache: CacheState, backing: Place) -> bool:
    if cache.backing_identity and differs(cache.backing_identity, identity_of(backing.path) or {}):
        return False
    try:
        theirs = open_place(cache.backing, "BACKING")
    except FlatwaterError:
        return cache.backing == str(backing.path)
    return theirs is not None and overlap(theirs, backing) is not None


def _make_pair(wanted: Wanted, backing: Place, pair: Path, undo: ExitStack) -> None:
    """Makes an empty pairing record (zeros), or leaves the one beside the backing device, which names its owner.

    Errors: UserError if there is any other file of this name.
    """
    try:
        require_no_data_directory(pair, "--pair" if wanted.pair is not None else "BACKING")
        if wanted.pair is None:
            pair.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(pair, flags, 0o600)
    except FileExistsError:
        return _require_pair_file(pair, usual=wanted.pair is None or pair == _beside(backing))
    except OSError as error:
        raise UserError(f"{pair} cannot be made: {error.strerror}", where="--pair", hint="another place") from None
    undo.callback(pair.unlink, missing_ok=True)
    try:
        os.write(handle, bytes(_PAIR_BYTES))
    except OSError as error:
        raise UserError(f"{pair} cannot be written: {error.strerror}", where="--pair", hint="another place") from None
    finally:
        os.close(handle)
    return None


def _require_pair_file(pair: Path, *, usual: bool) -> None:
    """Accepts a pairing record at its usual path: the engine checks it later. Errors: UserError for any other file."""
    owner = read_pair(pair)
    if owner is None or (not owner and not usual):
        raise UserError(f"{pair} exists and is no pairing record", where="--pair", hint="another file, or move it away")
    if owner and not usual:
        raise UserError(f"{pair} is the pairing record of the cache {owner}", where="--pair", hint="another file")


def read_pair(path: Path) -> str | None:
    """The UUID of the cache in a pairing record; empty for an empty record. None: the file is no pairing record."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        info = os.fstat(handle)
        page = os.read(handle, _PAIR_BYTES) if stat.S_ISREG(info.st_mode) and info.st_size == _PAIR_BYTES else b""
    finally:
        os.close(handle)
    if len(page) < _PAIR_BYTES:
        return None
    if page == bytes(_PAIR_BYTES):
        return ""
    # The record has several copies in a row. A power failure may have torn one of them.
    sectors = [page[at : at + 512] for at in range(0, _PAIR_BYTES, 512)]
    return next((str(uuid.UUID(bytes=copy[16:32])) for copy in sectors if copy.startswith(_PAIR_MAGIC)), None)


def _beside(backing: Place) -> Path | None:
    """The usual path of the pairing record of a backing file; None for a device."""
    return backing.path.with_name(f"{backing.path.name}.flatwater-pair") if backing.kind == "file" else None


def adopt(fast_path: str, backing_path: str | None, name: str | None, pair: str | None) -> CacheState:
    """The state of a cache whose stored state was lost, or is on another machine, from its superblock.

    Errors: UserError.
    """
    fast = open_place(fast_path, "FAST")
    superblock = engine.look(fast.path) if fast is not None else None
    if fast is None or superblock is None:
        return find_state(fast_path)  # its error names the existing caches
    if backing_path is None:
        raise UserError(
            f"{fast_path} is a cache device, and nothing here knows of which backing device",
            where="FAST",
            hint=f"flatwater cache start {fast_path} --backing BACKING",
        )
    backing = open_place(backing_path, "--backing")
    if backing is None:
        raise UserError(f"{backing_path} does not exist", where="--backing")
    chosen = check_name(name or f"cache-{superblock.uuid[:8]}")
    if load_state(chosen) is not None:
        raise UserError(f"a cache is called {chosen} already", where="--name", hint="another --name")
    wanted = Wanted(fast.path, backing.path, chosen, pair=Path(pair) if pair else None)
    return CacheState(
        name=chosen,
        uuid=superblock.uuid,
        fast=str(fast.path),
        backing=str(backing.path),
        pair=str(_pair_path(wanted, backing)),
        block_bytes=superblock.block_bytes,
        fast_bytes=superblock.fast_bytes,
        slow_bytes=superblock.slow_bytes,
    )
