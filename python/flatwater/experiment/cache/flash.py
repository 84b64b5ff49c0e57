"""The flash cache: its device, its size and its settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from flatwater.errors import UserError
from flatwater.experiment.cache.settings import Settings, low_share
from flatwater.experiment.cache.storage import moved, read_storage
from flatwater.experiment.layer import Layer
from flatwater.experiment.problem import Problem, refuse
from flatwater.experiment.storage import FileStorage, ModelledStorage, Storage
from flatwater.experiment.units import Size, print_size

#: The block sizes of the engine (crates/core/src/cache/journal/layout.rs).
BLOCK_SIZES = tuple(4096 << power for power in range(5))
#: Superblocks, journal and checkpoints use a part of the cache device. On a smaller one, hardly a block would be left.
SIZE_MIN = 1 << 20
#: The word for `[storage]`, as in `database.placement`.
DATA = "storage"
#: Fields of a storage without a meaning for a cache device: (field, what to use instead).
_NOT_OF_A_CACHE = (
    ("size", "how much of it the cache uses is cache.size"),
    ("fill", "how much of it the cache uses is cache.size"),
    ("purge", "a cache is made anew for each cell"),
    ("fault", "faults are injected into the storage below"),
    ("exclusive_writes", "no file system is on it"),
    ("file_system", "no file system is on it"),
)


def _block_size(size: int) -> int:
    if size not in BLOCK_SIZES:
        raise refuse(f"must be a power of two from 4 to 64 KiB, not {print_size(size)}", 'block_size = "16KiB"')
    return size


class FlashCache(Settings, Layer):
    """A fast device in front of the storage."""

    LAYER: ClassVar[str] = "cache"
    REALITY: ClassVar[Literal["real", "modelled", "none"]] = "real"

    kind: Literal["flash"] = "flash"
    #: false: the cell runs without a cache, so that a sweep can compare both.
    enabled: bool = True
    #: What it is in front of: the storage of the data, or one of `database.storages`, by its name.
    before: Annotated[str, Field(min_length=1)] = DATA
    #: The default settings: FlashCache's, vCache's, or flatwater's own.
    preset: Literal["none", "flashcache", "vcache"] = "none"
    #: Used bytes of the cache device, with metadata. Default: all of a modelled or block device.
    size: Size | None = None
    #: The unit of the cache: bytes that are cached and evicted together.
    block_size: Annotated[Size, AfterValidator(_block_size)] = 16384
    #: In virtual time: start with the content that the workload would have left.
    warm: bool = False
    #: The fast device. A template may leave it out; a run needs it.
    storage: Annotated[Storage | None, BeforeValidator(read_storage)] = None

    @property
    def fast(self) -> Storage:
        """The fast device. Raises UserError if the experiment names none."""
        if self.storage is None:
            raise UserError("is missing: the fast device", where="cache.storage", hint='[cache.storage] kind = "ssd"')
        return self.storage

    def conflicts(self) -> Iterator[Problem]:
        """Marks in the wrong order, a wrong device, a cache that is larger than its device."""
        low, high = self.dirty_low_pct, self.dirty_high_pct
        if low is not None and high is not None and low > high:
            what = f"must be at most dirty_high_pct ({high:g}), not {low:g}"
            yield _problem("dirty_low_pct", what, None, "dirty_high_pct")
        if self.size is not None and self.size < SIZE_MIN:
            yield _problem("size", f"must be at least {print_size(SIZE_MIN)}, not {print_size(self.size)}")
        if self.allow_processes and set(self.allow_processes) & set(self.deny_processes or ()):
            yield _problem("deny_processes", "a process cannot be allowed and denied", None, "allow_processes")
        if self.storage is not None:
            yield from self._storage_conflicts(self.storage)

    def _storage_conflicts(self, storage: Storage) -> Iterator[Problem]:
        own = [moved(problem) for problem in storage.conflicts()]
        yield from own
        defaults = type(storage).model_fields
        for name, why in _NOT_OF_A_CACHE:
            if name in defaults and getattr(storage, name) != defaults[name].default:
                yield _problem(f"storage.{name}", f"has no meaning on a cache device: {why}", "take it out", "storage")
        if not own and isinstance(storage, ModelledStorage) and storage.device is not None and self.size is not None:
            room = storage.modelled_device.usable_bytes(storage.use())
            if self.size > room:
                what = f"a cache of {print_size(self.size)} does not fit the {print_size(room)} of {storage.device}"
                yield _problem("size", what, "a smaller size, or a larger device", "storage")

    def changes(self) -> dict[str, str]:
        """The settings that differ from the preset, by name, in the engine's form."""
        changes = self.said()
        if self.dirty_high_pct is not None and self.dirty_low_pct is None:
            changes["dirty_low_pct"] = repr(self.dirty_high_pct * low_share(self.preset))
        return changes

    @property
    def in_virtual_time(self) -> bool:
        """Whether its device is modelled in virtual time."""
        return isinstance(self.storage, ModelledStorage) and not self.storage.real_time

    @property
    def files(self) -> FileStorage:
        """The cache device as a file or a block device; for callers that know that it is."""
        if not isinstance(self.storage, FileStorage):
            raise TypeError("the cache device is modelled")
        return self.storage

    @property
    def text(self) -> str:
        """The cache in a few words: `flash cache of 80 GiB, flashcache's settings, write-back`."""
        told = ["flash cache" if self.size is None else f"flash cache of {print_size(self.size)}"]
        if self.before != DATA:
            told.append(f"in front of {self.before}")
        if self.preset != "none":
            told.append(f"{self.preset}'s settings")
        said = self.said()
        told += [said[name] if name == "mode" else f"{name} {said[name]}" for name in said]
        return ", ".join(told[:5])


def _problem(field: str, what: str, hint: str | None = None, *others: str) -> Problem:
    names = tuple(f"cache.{name}" for name in (field, *others))
    return Problem(names[0], what, hint, names)
