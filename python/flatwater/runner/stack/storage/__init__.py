"""The storage layer: the place of the data. Real and modelled storages are side by side.

real.py    files and block devices of this machine
modelled/  devices of `devices/`: virtual.py in virtual time; emulated.py in real time, served as a file

Under a real cache, a storage of either sort is a `Device`.
"""

from __future__ import annotations

from typing import assert_never

from flatwater.experiment import Experiment, FileStorage, ModelledStorage
from flatwater.experiment.cache import FlashCache
from flatwater.experiment.cache.flash import DATA
from flatwater.experiment.database import Server
from flatwater.experiment.storage import Storage as StorageFields
from flatwater.runner.stack.layers.storage import SLOW, Device, Role, Storage


def open_storage(cell: Experiment) -> Storage:
    """The storage of a cell."""
    storage = cell.storage
    if isinstance(cell.cache, FlashCache) and cell.cache.before == DATA and not cell.in_virtual_time:
        return open_device(storage, SLOW)
    if isinstance(storage, ModelledStorage):
        if not storage.real_time:
            from flatwater.runner.stack.storage.modelled.virtual import VirtualDevice

            return VirtualDevice()
        from flatwater.runner.stack.storage.modelled.emulated import EmulatedFiles

        return EmulatedFiles()
    if not isinstance(storage, FileStorage):
        assert_never(storage)
    from flatwater.runner.stack.storage.real import Elsewhere, LocalFiles

    attached = isinstance(cell.database, Server) and cell.database.attached
    return Elsewhere() if attached else LocalFiles()


def open_device(storage: StorageFields, role: Role) -> Device:
    """The storage for one of the two roles under a real cache."""
    if isinstance(storage, ModelledStorage):
        from flatwater.runner.stack.storage.modelled.emulated import EmulatedDevice

        return EmulatedDevice(role, storage)
    if not isinstance(storage, FileStorage):
        assert_never(storage)
    from flatwater.runner.stack.storage.real import FileDevice

    return FileDevice(role, storage)
